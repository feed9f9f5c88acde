"""Text without a stop, in whatever language the profile's sentences are."""

import unicodedata

import pytest

from contract_tests.unpunctuated import unpunctuated


@pytest.mark.parametrize(
    "sentences", [("Hello there, nice to meet you.", "Good night."), ("你好。很高兴认识你。", "晚安。"), ("¿Qué tal?",)]
)
@pytest.mark.parametrize("length", [1, 50, 240])
def test_it_is_long_enough_and_holds_no_stop(sentences: tuple[str, ...], length: int) -> None:
    text = unpunctuated(sentences, length)
    assert length <= len(text) < length + 20
    assert not any(unicodedata.category(character).startswith("P") for character in text)


def test_words_stay_whole() -> None:
    assert unpunctuated(["Don't stop, it's well-made!"], 25) == "Don't stop it's well-made"


def test_sentences_without_words_still_give_text() -> None:
    assert unpunctuated(["...", ""], 9) == "word word"
