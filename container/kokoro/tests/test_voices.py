"""Voices by name, blends, and the languages that come with the weights."""
# ruff: noqa: RUF001  # phonetic and CJK symbols are what is tested

import numpy as np
import pytest

from container.kokoro import engine, languages, loading, voices
from container.kokoro.errors import RequestError
from container.kokoro.messages import Utterance
from container.kokoro.phonemes import Phonemizer
from container.kokoro.plan import Piece
from container.kokoro.settings import Settings
from container.kokoro.tests.fakes import FakeEngine
from container.kokoro.vocabulary import MAX_PHONEMES, keep_known
from container.kokoro.voices import Voices, blend, check_name

NAMES = ["af_bella", "af_heart", "bf_emma"]


@pytest.mark.parametrize(
    ("voice", "parts"),
    [
        ("af_heart", {"af_heart": 1.0}),
        ("af_heart+af_bella", {"af_heart": 0.5, "af_bella": 0.5}),
        ("af_heart(3)+af_bella(1)", {"af_heart": 0.75, "af_bella": 0.25}),
        ("af_heart + bf_emma(0.5)", {"af_heart": 2 / 3, "bf_emma": 1 / 3}),
    ],
)
def test_blends(voice: str, parts: dict[str, float]) -> None:
    check_name(voice, NAMES)
    assert dict(blend(voice)) == pytest.approx(parts)


@pytest.mark.parametrize(
    "voice", ["af_heart+", "+", "af_heart++af_bella", "af_heart(0)", "af_heart(-1)", "af_heart(nan)", "af_heart(1e9)",
              "af_heart(1)(2)", "af_heart+" * 8 + "af_heart", "a+" * 500_000],
)  # fmt: skip
def test_blends_that_are_none(voice: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_name(voice, NAMES)
    assert (caught.value.code, caught.value.field) == ("invalid_voice", "voice")


def test_an_unknown_voice_in_a_blend_is_named_with_its_neighbours() -> None:
    with pytest.raises(RequestError, match=r"voice 'af_bela' is not on offer. Did you mean af_bella"):
        check_name("af_heart+af_bela", NAMES)


def test_a_language_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "is_available", lambda _: False)
    with pytest.raises(RequestError, match="Spanish needs the extra 'espeak', which is not installed"):
        check_name("ef_dora", NAMES)


def test_a_blended_style_is_the_weighted_mean() -> None:
    one, two = np.zeros((510, 1, 256), np.float32), np.ones((510, 1, 256), np.float32)
    both = Voices({"af_one": one, "af_two": two})
    np.testing.assert_allclose(both.style("af_one(1)+af_two(3)", 9), np.full((1, 256), 0.75), rtol=1e-6)
    assert both.style("af_one+af_two", 1).dtype == np.float32


def test_a_voice_speaks_its_language_and_a_blend_that_of_its_first() -> None:
    assert [voices.language(name) for name in ("af_heart", "bm_lewis", "zf_xiaoni", "ef_dora+af_heart")] == list("abze")


@pytest.mark.parametrize(
    ("language", "text", "part"),
    [
        ("z", "你好，世界！", "ni↓xau↓, ʂɨ↘ʨje↘!"),
        ("z", "我有3个苹果", "sa→n"),
        ("z", "我用Python写代码", "pˈIθ"),
        ("j", "こんにちは。", "koɲɲiʨiβa"),
        ("j", "りんごを3個", "saɴ"),
        ("e", "Hola, ¿cómo estás?", "kˈomo estˈas?"),
        ("f", "Bonjour, ça va ?", "bɔ̃ʒˈuʁ,"),
        ("h", "नमस्ते", "nəmˈʌsteː"),
        ("i", "Ciao, come stai?", "ʧˈao,"),
        ("p", "Olá, como vai?", "olˈa,"),
    ],
)
def test_every_language_is_read(phonemizer: Phonemizer, language: str, text: str, part: str) -> None:
    if not languages.is_available(language):
        pytest.skip(f"the extra '{languages.extra_of(language)}' is not installed")
    assert part in " ".join(phonemizer.read(text, language).runs)


@pytest.mark.parametrize("language", [key for key in languages.NAMES if key not in languages.ENGLISH])
@pytest.mark.parametrize(
    "text",
    ["...", "", "\U0001f600", "9" * 300, "𠮷野家", "一" * 400, "a b c " * 200, "\ud800", "\x00", "3.14 -5 1/2 50%",
     "¿¡«»()", "Ａ１！", "。" * 50, "ーー", "<b>x</b>", "x\n\ny"],
)  # fmt: skip
def test_odd_texts_never_fail_and_fit_in_any_language(phonemizer: Phonemizer, language: str, text: str) -> None:
    if not languages.is_available(language):
        pytest.skip(f"the extra '{languages.extra_of(language)}' is not installed")
    for run in phonemizer.read(text, language).runs:
        assert 0 < len(run) <= MAX_PHONEMES
        assert keep_known(run) == run


@pytest.mark.parametrize("broken", [False, True])
def test_the_languages_of_the_voices_on_offer_are_loaded_before_the_container_is_ready(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, broken: bool
) -> None:
    asked: list[str] = []

    def load(language: str) -> languages.Read:
        asked.append(language)
        if broken:
            raise RuntimeError("damaged dictionary")
        return lambda _: "a"

    monkeypatch.setattr(languages, "load", load)
    model = FakeEngine(voice_names=["af_heart", "bf_emma", "jf_alpha", "jf_nezumi", "zf_xiaoni"])
    monkeypatch.setattr(loading, "resolve", lambda *_: None)
    monkeypatch.setattr(engine, "load", lambda *_: model)
    speech = loading.loader(Settings())()
    assert asked == ["j", "z"]
    speech.warm_up()
    if not broken:
        speech.speak(Piece("こんにちは"), Utterance("こんにちは", "jf_alpha"))
        assert asked == ["j", "z"], "nobody waits for a dictionary"
    assert ("Japanese cannot be read" in caplog.text) == broken
    speech.stop()
