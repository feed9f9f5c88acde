# ruff: noqa: RUF001  # phonetic and CJK symbols are what is tested
import re
import time

import pytest

from container.kokoro.normalise import normalise, unreadable
from container.kokoro.spelling import pronounceable, spell
from container.kokoro.splitting import MAX_CHARS, halves, pieces, sentences
from container.kokoro.vocabulary import is_speech, keep_known, symbols, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there. How are you?", ["Hello there. ", "How are you?"]),
        ("It is $3.50 now. Really!", ["It is $3.50 now. ", "Really!"]),
        ("Dr. Smith met J. R. R. Tolkien at 5 a.m. sharp.", ["Dr. Smith met J. R. R. Tolkien at 5 a.m. sharp."]),
        ('He said "Stop." Then left.', ['He said "Stop." ', "Then left."]),
        ("Wait... what?! No.", ["Wait... ", "what?! ", "No."]),
        ("你好。再见！行", ["你好。", "再见！", "行"]),
        ("one\ntwo", ["one\n", "two"]),
        ("no stop", ["no stop"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "word " * 400,
        "x" * 2_000,
        "A clause, another clause; a third: and so on, " * 40,
        "逗号，分开，" * 200,
        "Short. " + "long " * 100 + ". End.",
        " \n " * 300,
        ". " * 500,
        "Mr. " * 5_000,
    ],
)
def test_pieces_lose_nothing_and_stay_short(text: str) -> None:
    parts = pieces(text)
    assert "".join(parts) == text
    assert all(0 < len(part) <= MAX_CHARS for part in parts)


@pytest.mark.parametrize("text", ["." * 20_000 + "x", ".)" * 10_000, "," + ")" * 19_999, "Mr. " * 5_000, "—" * 20_000])
def test_the_longest_texts_are_cut_before_anyone_waits(text: str) -> None:
    begun = time.process_time()
    pieces(text)
    assert time.process_time() - begun < 0.25  # it happens on the event loop


def test_long_sentences_are_cut_at_clauses_then_at_words() -> None:
    clause = "this is one clause of a very long sentence that does not end, "
    assert all(part.endswith(", ") for part in pieces(clause * 10))
    assert all(part.endswith(" ") for part in pieces("word " * 200))


@pytest.mark.parametrize(
    ("text", "expected"), [("ab cd", ("ab ", "cd")), ("abcd", ("ab", "cd")), ("a bcdefgh", ("a ", "bcdefgh"))]
)
def test_halves(text: str, expected: tuple[str, str]) -> None:
    assert halves(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-11-29.", "on November 29, 2026."),
        ("$1.5M and £3bn", "1.5 million dollars and 3 billion pounds"),
        ("1234567890123456", "1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6"),
        ("Zürich café Æsir", "Zurich cafe Aesir"),
        ("20 °C", "20 degrees Celsius"),
        ("好！", "好! "),
        ("half \ud800 pair", "half \ufffd pair"),
        ("plain", "plain"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_foreign_letters_are_spelled_by_their_names() -> None:
    assert normalise("да").split() == ["de", "a"]
    assert normalise("こん") == "kon"
    assert unreadable(normalise("да こん 你好")) == "你好"


@pytest.mark.parametrize(
    ("word", "american", "british"),
    [
        ("shemp", "ʃˈɛmp", "ʃˈɛmp"),
        ("blorfing", "blˈɔɹfɪŋ", "blˈɔːfɪŋ"),
        ("strake", "stɹˈAk", "stɹˈAk"),
        ("quade", "kwˈAd", "kwˈAd"),
        ("noppy", "nˈɑpi", "nˈɒpiː"),
        ("grotion", "ɡɹˈOʃən", "ɡɹˈQʃən"),
    ],
)
def test_spelling(word: str, american: str, british: str) -> None:
    assert spell(word, british=False) == american
    assert spell(word, british=True) == british


def test_every_word_gets_known_symbols() -> None:
    for word in ("aeiou", "zzz", "e", "qi", "yyy", "xylem", "eee", "tsktsk", "aqf"):
        sounds = spell(word, british=False)
        assert sounds
        assert keep_known(sounds) == sounds


def test_pronounceable() -> None:
    assert pronounceable("kubectl")
    assert not pronounceable("xlrq")
    assert not pronounceable("angstschrft")


def test_vocabulary() -> None:
    assert tokens("a.") == [0, 43, 4, 0]
    assert len(symbols()) == 114
    assert keep_known("a❓b") == "ab"
    assert is_speech("a")
    assert not is_speech("ˈ… .")
    assert not re.search(r"\d", "".join(symbols()))


@pytest.mark.parametrize("text", ["9" * 400, "a" * 5000, "x " + "y" * 100 + "."])
def test_a_word_without_an_end_is_cut_into_pieces_that_take_short_turns(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert max(map(len, cut)) <= 240
    assert all(len(piece) <= 40 or " " in piece for piece in cut)
