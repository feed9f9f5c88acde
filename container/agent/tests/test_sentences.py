"""The splitter: gold, any fragmentation, nothing lost or repeated, caps."""

# ruff: noqa: RUF001  # CJK characters look like others, and are meant

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from container.agent.score import look_ahead, ours
from container.agent.sentences import SentenceSplitter
from container.agent.tests.gold import HELD_OUT, gold

ALPHABET = st.sampled_from([
    *"abAIX12 \n\t.!?,:;()[]\"'“”„«»*_#-…",
    "Dr", "p.m", "U.S", "e.g", "etc", "http://a.b", " The ", ". ", "! ", "? ", "\n\n", "1. ", "- ",
    "。", "？", "「", "」", "と", "好", "।", "क्", "😀", "👍🏽",
    "\u200d", "\u2028", "\r\n", "\ud800", "é", "e\u0301", "ي",
])  # fmt: skip
TEXTS = st.lists(ALPHABET, max_size=60).map("".join)
LANGUAGES = st.sampled_from(["en", "de", "ja", "hi", "fr", "es", "zh"])


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def split(fragments: list[str], language: str = "en", max_chars: int = 280) -> list[str]:
    splitter = SentenceSplitter(language, max_chars=max_chars)
    return [sentence for fragment in fragments for sentence in splitter.feed(fragment)] + splitter.flush()


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(("language", "text", "sentences"), gold())
def test_gold_in_any_fragmentation(language: str, text: str, sentences: list[str]) -> None:
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1].removesuffix(" ")
    fragmentations = [[text], list(text), words, [text[at : at + 4] for at in range(0, len(text), 4)]]
    assert [split(fragments, language) for fragments in fragmentations] == [sentences] * 4


def test_most_of_the_texts_that_it_was_not_made_for_are_cut_as_a_person_would() -> None:
    wrong = [text for language, text, sentences in gold(HELD_OUT) if split(list(text), language) != sentences]
    assert len(wrong) <= 5, wrong


def test_gold_covers_languages_enough() -> None:
    assert len(gold()) >= 60
    assert len({language for language, _, _ in gold()}) >= 10


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.lists(st.integers(0, 200)), st.sampled_from([5, 12, 40, 280]), LANGUAGES)
def test_the_fragmentation_does_not_matter_and_nothing_is_lost(
    text: str, cuts: list[int], max_chars: int, language: str
) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    whole = split([text], language, max_chars)
    assert split([text[a:b] for a, b in itertools.pairwise(places)], language, max_chars) == whole
    assert split(list(text), language, max_chars) == whole
    assert squeezed("".join(whole)) == squeezed(text)
    assert all(sentence == sentence.strip() != "" for sentence in whole)
    assert all(len(sentence) <= max_chars + 1 for sentence in whole)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, LANGUAGES)
def test_a_second_flush_gives_nothing_and_the_next_text_is_a_new_one(text: str, language: str) -> None:
    splitter = SentenceSplitter(language)
    first = splitter.feed(text) + splitter.flush()
    assert splitter.flush() == []
    assert splitter.feed(text) + splitter.flush() == first


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.lists(st.floats(0, 3), min_size=1, max_size=80), LANGUAGES)
def test_time_loses_nothing_either(text: str, waits: list[float], language: str) -> None:
    clock = Time()
    splitter = SentenceSplitter(language, max_seconds=2.0, clock=clock)
    pieces = []
    for char, wait in zip(text, itertools.cycle(waits), strict=False):
        pieces += splitter.feed(char)
        clock.now += wait
    assert squeezed("".join(pieces + splitter.flush())) == squeezed(text)


def test_a_sentence_is_there_with_the_first_letter_of_the_next() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed("It was 1980.") == []
    assert splitter.feed(" A") == ["It was 1980."]


def test_after_an_abbreviation_the_whole_next_word_decides() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed("He left the U.S. Th") == []
    assert splitter.feed("e ") == ["He left the U.S."]


@pytest.mark.parametrize(
    ("first", "enough", "sentence"),
    [
        ("He thought about it...", " Th", "He thought about it..."),  # nobody stammers "it... Th"
        ("It is 5 a.m.", " Be", "It is 5 a.m."),  # no day and no time zone begins so; with "B" the BST does
    ],
)
def test_the_first_letters_of_a_word_decide_where_they_can(first: str, enough: str, sentence: str) -> None:
    splitter = SentenceSplitter()
    assert splitter.feed(first) == []
    assert splitter.feed(enough) == [sentence]


def test_one_word_of_look_ahead_is_enough_but_where_it_may_be_a_name() -> None:
    cases = [case for case in gold() + gold(HELD_OUT) if split([case[1]], case[0]) == case[2]]
    words = {case[1]: look_ahead(ours, case) for case in cases}
    ahead = [count for counts in words.values() for count in counts]
    assert len(ahead) > 160
    assert max(ahead) == 2
    assert sum(count == 2 for count in ahead) <= 6, {text: counts for text, counts in words.items() if 2 in counts}


def test_look_ahead_is_counted_in_words() -> None:
    def late(_: str, fragments: Iterator[str]) -> Iterator[str]:
        yield from ["A b."] if [next(fragments) for _ in range(4)] else []
        yield "".join(["C d e.", *fragments])

    assert look_ahead(late, ("en", "A b. C d e.", ["A b.", "C d e."])) == [2]


def test_a_text_without_any_stop_is_cut_between_words() -> None:
    text = "word " * 400
    pieces = split([text], max_chars=100)
    assert len(pieces) == 20
    assert all(set(piece.split()) == {"word"} and len(piece) <= 100 for piece in pieces)


def test_a_long_sentence_is_cut_at_a_clause_if_there_is_one() -> None:
    pieces = split(
        ["when the night had come and the land was dark, the moon was the only light we would see"], max_chars=60
    )
    assert pieces[0] == "when the night had come and the land was dark,"


def test_a_text_without_blanks_is_cut_but_no_character_is() -> None:
    pieces = split(["e\u0301" * 50], max_chars=31)
    assert "".join(pieces) == "e\u0301" * 50
    assert all(piece[0] == "e" for piece in pieces)


def test_a_text_that_waits_too_long_is_cut_at_the_best_place() -> None:
    clock = Time()
    splitter = SentenceSplitter(max_seconds=2.0, clock=clock)
    assert splitter.feed("so we walked on, and on, and then the sto") == []
    assert splitter.overdue_at == 2.0
    clock.now = 1.9
    assert splitter.feed("") == []
    clock.now = 2.0
    assert splitter.feed("") == ["so we walked on, and on,"]
    assert splitter.pending == "and then the sto"
    clock.now = 3.9
    assert splitter.feed("rm came. ") == []
    clock.now = 4.0
    assert splitter.feed("") == ["and then the storm came."]
    assert splitter.overdue_at is None


def test_a_word_that_is_still_coming_is_not_cut_by_time() -> None:
    clock = Time()
    splitter = SentenceSplitter(max_seconds=1.0, clock=clock)
    splitter.feed("incompre")
    clock.now = 5.0
    assert splitter.feed("hensible") == []
    assert splitter.feed(" is") == ["incomprehensible"]


@pytest.mark.parametrize(
    "text",
    [
        "我们今天去公园玩",
        "สวัสดีครับ",
    ],
)
def test_a_text_of_a_script_without_blanks_is_cut_by_time_too(text: str) -> None:
    clock = Time()
    splitter = SentenceSplitter("zh", max_seconds=1.0, clock=clock)
    assert splitter.feed(text) == []
    clock.now = 1.0
    (cut,) = splitter.feed("")
    assert text.startswith(cut)
    assert len(text) - len(cut) in (1, 2)  # a last character to which marks may still come
    assert cut + splitter.pending == text


def with_pauses(fragments: list[str], language: str = "en") -> list[str]:
    """Feed fragments, each followed by a pause that is too long; give the sentences, and what waits behind "…"."""
    clock = Time()
    splitter = SentenceSplitter(language, max_seconds=1.0, clock=clock)
    pieces = []
    for fragment in fragments:
        pieces += splitter.feed(fragment)
        clock.now += 2.0
        pieces += splitter.feed("")
    return [*pieces, *(["…" + splitter.pending] if splitter.pending else [])]


@pytest.mark.parametrize(
    ("fragments", "pieces"),
    [
        (["He agreed with Dr.", " Smith today."], ["He agreed with", "Dr. Smith today."]),
        (["He agreed with Dr. Smi"], ["He agreed with", "…Dr. Smi"]),
        (["We saw the U.S.", " economy grow."], ["We saw the", "U.S. economy grow."]),
        (["It was J.", " R. R.", " Tolkien."], ["It was", "J. R. R. Tolkien."]),
        (["Dr.", " Smith came."], ["Dr. Smith came."]),
        (["The price is 3.", "5 dollars."], ["The price is", "3.5 dollars."]),
        (["I read https://a.b/c.", "html today."], ["I read", "https://a.b/c.html today."]),
        (["See vol. 2, no.", " 5 again."], ["See vol. 2,", "no. 5 again."]),
        (
            ['Then she asked "Really? Are', ' you sure?" and left.'],
            ["Then she asked", '"Really? Are you sure?" and left.'],
        ),
        (['Then she said, "Go.', '" And left.'], ["Then she said,", '"Go."', "And left."]),
        (["Type ``", "`python\nx"], ["Type", "```python", "…x"]),
        (["Type ``` n", "ow. "], ["Type", "``` now."]),
        (["Das war der 3.", " Versuch."], ["Das war der", "3. Versuch."]),
        (["价格是3.", "5元。"], ["价格是", "3.5元。"]),
        (["他说：“你好。", "”然后走了。"], ["他说：", "“你好。”然后走了。"]),
        # what is over is over
        (["It works.", " Next"], ["It works.", "…Next"]),
        (["Did it work?! "], ["Did it work?!"]),
        (["It costs 3. "], ["It costs 3."]),
        (["Bring it, etc."], ["Bring it, etc."]),
        (["It was so. and it goes o"], ["It was so.", "…and it goes o"]),
        (["Then she said “Go.”"], ["Then she said “Go.”"]),
    ],
)
def test_a_pause_is_no_end_of_a_sentence_where_the_word_before_it_may_go_on(
    fragments: list[str], pieces: list[str]
) -> None:
    language = "zh" if "。" in fragments[-1] else "de" if fragments[0].startswith("Das") else "en"
    assert with_pauses(fragments, language) == pieces


@pytest.mark.parametrize(
    ("text", "max_chars", "first"),
    [
        ("We had agreed with Dr. Smith that we would go", 24, "We had agreed with"),
        ("It helped the U.S. economy that we would go", 19, "It helped the"),
        ('this is what he asked, "Really? Are you sure about it?" and left', 40, "this is what he asked,"),
        ("this is what he asked (Really? Are you sure about it?) and left", 40, "this is what he asked"),
        ("Dr. Incomprehensible", 6, "Dr."),  # here is nothing else
    ],
)
def test_a_long_sentence_is_not_cut_behind_an_abbreviation_or_in_a_quotation(
    text: str, max_chars: int, first: str
) -> None:
    assert split([text], max_chars=max_chars)[0] == first
    assert split(list(text), max_chars=max_chars)[0] == first


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_wherever_the_pauses_are_no_piece_ends_in_an_abbreviation_or_inside_a_number(sizes: list[int]) -> None:
    text = "I met Dr. J. Smith of the U.S. Army, e.g. at 3.5 km, see vol. 2 of Prof. Lee and so on"
    places = [0, *itertools.accumulate(sizes)]
    pieces = with_pauses([text[a:b] for a, b in itertools.pairwise([*places, len(text)])])
    assert not [piece for piece in pieces if piece.endswith(".") and not piece.startswith("…")]
    assert squeezed("".join(pieces)).replace("…", "") == squeezed(text)


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("de", "Das ist der 3. Versuch. Er gelang.", ["Das ist der 3. Versuch.", "Er gelang."]),
        ("de", "Er wurde der 3. Das war gut.", ["Er wurde der 3.", "Das war gut."]),
        ("de", "Frag Hrn. Maier von der Fa. Schulz. Gut.", ["Frag Hrn. Maier von der Fa. Schulz.", "Gut."]),
        ("it", "L'on. Rossi parla. Due anni fa. Poi no.", ["L'on. Rossi parla.", "Due anni fa.", "Poi no."]),
        ("en", "Come on. Rossi is here.", ["Come on.", "Rossi is here."]),
        ("pt", "A Profa. Silva chegou. Bom.", ["A Profa. Silva chegou.", "Bom."]),
        ("zh", "他说：“你好。”然后走了。再见。", ["他说：“你好。”然后走了。", "再见。"]),
        ("ja", "「はい。」随分待った。", ["「はい。」", "随分待った。"]),
        ("en", "```\n2. Then run it. Go.", ["```\n2. Then run it.", "Go."]),
    ],
)
def test_more_abbreviations_ordinals_and_quotations(language: str, text: str, sentences: list[str]) -> None:
    assert split([text], language) == split(list(text), language) == sentences


def test_an_interrupted_text_does_not_come_back() -> None:
    splitter = SentenceSplitter()
    splitter.feed("This was never fin")
    splitter.clear()
    assert splitter.feed("New turn. Go") == ["New turn."]
    assert splitter.flush() == ["Go"]


def test_a_cap_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="max_chars is 0; expected 1 or more"):
        SentenceSplitter(max_chars=0)
