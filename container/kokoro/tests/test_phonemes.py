# ruff: noqa: RUF001  # phonetic symbols are what is tested
from concurrent.futures import ThreadPoolExecutor

import pytest

from container.kokoro.phonemes import Phonemizer, Reading
from container.kokoro.vocabulary import MAX_PHONEMES, keep_known


def test_both_englishes(phonemizer: Phonemizer) -> None:
    assert phonemizer.read("Hello there.", "a").runs == ("həlˈO ðˈɛɹ.",)
    assert phonemizer.read("Hello there.", "b").runs == ("həlˈQ ðˈɛː.",)


def test_context_decides(phonemizer: Phonemizer) -> None:
    assert phonemizer.read("I read it yesterday.", "a") != phonemizer.read("I will read it.", "a")
    past = phonemizer.read("He has read it.", "a").runs[0]
    future = phonemizer.read("He will read it.", "a").runs[0]
    assert "ɹˈɛd" in past
    assert "ɹˈid" in future


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("kubectl", "kˈʌbɛktl"),
        ("COVID19 now", "nˌIntˈin"),
        ("xlrq", "ˈɛks ˈɛl ˈɑɹ kjˈu"),
        ("foo42bar", "fˈɔɹTi tˈu"),
        ("café", "kæfˈA"),
        ("$3.50", "θɹˈi dˈɑləɹz"),
        ("$2M", "mˈɪljᵊn dˈɑləɹz"),
        ("٣", "θɹˈi"),
        ("our site: https://example.com/a", "sˈIt"),
        ("5°C", "sˈɛlsiəs"),
        ("50%", "pəɹsˈɛnt"),
    ],
)
def test_nothing_is_dropped(phonemizer: Phonemizer, text: str, part: str) -> None:
    reading = phonemizer.read(text, "a")
    assert part in " ".join(reading.runs)
    assert reading.unspoken == ""


@pytest.mark.parametrize("text", ["", " ", "...", "😀", "。！？", "—", '"', "()", "#", "\ufffd"])
def test_nothing_to_speak(phonemizer: Phonemizer, text: str) -> None:
    assert phonemizer.read(text, "a") == Reading(())


def test_ideographs_are_reported(phonemizer: Phonemizer) -> None:
    assert phonemizer.read("你好", "a") == Reading((), "你好")


@pytest.mark.parametrize(
    "text",
    [
        "9" * 240,
        "7,777,777 " * 24,
        "x" * 240,
        "W" * 240,
        "1.2.3.4.5,,6..7 -3 --4 1e9 0x1F 1/2/3 3:45 '90s 5'10\"",
        "a_b-c.d/e\\f|g~h`i^j*k=l+m&n%o$p#q@r!s?t",
        "\x00\x01\u200b\u202e\ufeff tab\tnew\nline",
        "\ud800 \udfff",
        "[[[[](" * 40,
        "ÀÉÎÕÜ ß Æ ﬁ Ⅳ ① ½ ª º µ Ω ℃ ™ ©",
        "ԱԲԳ ךלם ابت अआइ กขค აბგ",
        "'''' ‘’‘’ s' 's '",
    ],
)
@pytest.mark.parametrize("british", [False, True])
def test_odd_texts_never_fail_and_fit(phonemizer: Phonemizer, text: str, british: bool) -> None:
    for run in phonemizer.read(text, "b" if british else "a").runs:
        assert 0 < len(run) <= MAX_PHONEMES
        assert keep_known(run) == run


def test_threads_do_not_mix_their_words(phonemizer: Phonemizer) -> None:
    texts = [f"Word number {number} and kubectl{'x' * number}." for number in range(40)]
    alone = [phonemizer.read(text, "a") for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: phonemizer.read(text, "a"), texts)) == alone
