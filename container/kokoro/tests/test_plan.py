"""Pieces and their times, simulated: an engine of any speed, a listener who plays in real time, arithmetic as clock."""

import time
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from container.kokoro.pace import EDGE_S, Outlook, Pace
from container.kokoro.plan import Piece, Plan
from container.kokoro.splitting import letters, sentences

FAST, TWO_CORES, ONE_CORE, SLOW = 0.05, 0.33, 0.56, 1.4
LONG_OPENING = (
    "Although the morning had begun with heavy rain, the crew decided to set sail, because the harbour master, who had "
    "watched the sky for forty years, promised sun by noon. The second sentence, though it has clauses, is left alone."
)
SPEECH = (
    "Thank you for calling, your order left our warehouse this morning and is on its way to you. It should be with you "
    "tomorrow between nine and noon, unless the weather turns. You can follow it online. Is there anything "
    "else that I can do for you, or is that all for now?"
)


@dataclass
class Heard:
    """What a listener had: seconds until the first audio, of silence that broke in, and the pieces."""

    first_s: float
    dry_s: float
    texts: list[str]


@dataclass(frozen=True)
class Engine:
    """Takes `factor` seconds for each second that it makes; a letter takes `rate` seconds of speech."""

    factor: float
    rate: float = 0.06

    def made_s(self, piece: Piece) -> float:
        return EDGE_S + self.rate * letters(piece.text)[-1]

    def heard_s(self, piece: Piece) -> float:
        cut = (0.3 - piece.lead_s if piece.lead_s is not None else 0) + (
            0.5 - piece.tail_s if piece.tail_s is not None else 0
        )
        return self.made_s(piece) - cut


def listen(text: str, engine: Engine, *, cut: bool, pace: Pace | None = None) -> Heard:
    """Compute piece after piece, play at once whatever there is."""
    pace = pace or trained(engine)
    plan = Plan(text, partial(pace.outlook, "a", 1.0) if cut else None)
    now = dry_at = dry = 0.0
    first = None
    texts: list[str] = []
    while (piece := plan.next(None if first is None else max(dry_at - now, 0.0))) is not None:
        took = engine.factor * engine.made_s(piece)
        now += took
        pace.observe(letters(piece.text)[-1], "a", 1.0, engine.made_s(piece), took)
        if first is None:
            first = dry_at = now
        dry += max(now - dry_at, 0.0)
        dry_at = max(now, dry_at) + engine.heard_s(piece)
        texts.append(piece.text)
    assert first is not None
    return Heard(first, dry, texts)


def trained(engine: Engine) -> Pace:
    """Return a pace that has heard a few sentences of this engine."""
    pace = Pace()
    for size in (12, 60, 90, 40, 120, 70, 30, 100):
        audio = EDGE_S + engine.rate * size
        pace.observe(size, "a", 1.0, audio, engine.factor * audio)
    return pace


WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)
JOINTS = st.sampled_from([" "] * 8 + [", "] * 2 + [" and ", "; "])
SENTENCES = st.lists(st.tuples(WORDS, JOINTS), min_size=1, max_size=40).map(
    lambda words: "".join(word + joint for word, joint in words).rstrip(" ,;") + ". "
)
TEXTS = st.lists(SENTENCES, min_size=1, max_size=8).map("".join)
FACTORS = st.floats(0.1, 0.95)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS, FACTORS, st.floats(0.05, 0.075))
def test_the_pieces_are_the_text_and_the_first_is_never_later_than_the_first_sentence(
    text: str, factor: float, rate: float
) -> None:
    engine = Engine(factor, rate)
    ours, theirs = listen(text, engine, cut=True), listen(text, engine, cut=False)
    assert "".join(ours.texts) == text
    assert ours.first_s <= theirs.first_s
    assert sentences(text)[0].startswith(ours.texts[0]) or ours.texts[0] == theirs.texts[0]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS, FACTORS, st.floats(0.05, 0.075))
def test_a_cut_never_lets_a_listener_run_dry_who_would_not_with_whole_sentences(
    text: str, factor: float, rate: float
) -> None:
    engine = Engine(factor, rate)
    if listen(text, engine, cut=False).dry_s == 0:
        assert listen(text, engine, cut=True).dry_s == 0


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS, FACTORS, st.floats(0.05, 0.075))
def test_there_is_hardly_more_silence_than_with_whole_sentences(text: str, factor: float, rate: float) -> None:
    engine = Engine(factor, rate)
    # a cut that shortens one silence is computed, too: the silence around its parts, which is not heard
    assert listen(text, engine, cut=True).dry_s <= listen(text, engine, cut=False).dry_s + 0.5


def test_a_long_first_sentence_is_begun_with_a_clause_and_as_few_cuts_as_the_engine_allows() -> None:
    first = "Although the morning had begun with heavy rain, "
    assert listen(LONG_OPENING, Engine(FAST), cut=True).texts[0] == first
    fast, slower = listen(LONG_OPENING, Engine(FAST), cut=True), listen(LONG_OPENING, Engine(0.42), cut=True)
    assert len(fast.texts) == 3
    assert slower.texts[0] == first
    assert slower.texts[1].startswith("the crew decided to set sail, ")
    assert slower.texts[1].endswith("for forty years, ")
    for heard in (fast, slower):
        assert heard.texts[-1] == "The second sentence, though it has clauses, is left alone."
        assert heard.dry_s == 0


def test_the_slower_the_engine_the_longer_the_first_piece_and_never_silence() -> None:
    heard = [listen(SPEECH, Engine(factor), cut=True) for factor in (FAST, TWO_CORES, ONE_CORE, 0.8, 0.95)]
    lengths = [len(each.texts[0]) for each in heard]
    assert lengths == sorted(lengths)
    assert lengths[0] == len("Thank you for calling, ") < lengths[2] < len(sentences(SPEECH)[0])
    assert [each.dry_s for each in heard] == [0] * 5


def test_nothing_is_cut_for_an_engine_that_is_slower_than_speech() -> None:
    assert listen(SPEECH, Engine(SLOW), cut=True).texts[0] == sentences(SPEECH)[0]


def test_listeners_who_share_the_engine_get_a_longer_opening() -> None:
    pace = trained(Engine(TWO_CORES))
    openings = [Plan(SPEECH, partial(pace.outlook, "a", 1.0, listeners)).next() for listeners in (1, 2, 8)]
    lengths = [len(piece.text) for piece in openings if piece is not None]
    assert lengths[0] < lengths[1] < lengths[2] == len(sentences(SPEECH)[0])


@pytest.mark.parametrize(
    "text",
    ["Hello there.", "Yes, no.", "Well, I do not know what you mean by that at all.",
     "No clause in this long sentence at all here.", "1,000,000 people live there today and they all like it."],
)  # fmt: skip
def test_a_first_sentence_that_gains_nothing_is_left_whole(text: str) -> None:
    assert listen(text, Engine(FAST), cut=True).texts == [text]


def test_a_long_sentence_behind_a_short_one_is_cut_where_it_would_come_too_late() -> None:
    text = "That is very kind of you. We walked along the quiet river and talked about the weather until evening came."
    assert len(listen(text, Engine(FAST), cut=True).texts) == 2
    slow = listen(text, Engine(0.6), cut=True)
    assert listen(text, Engine(0.6), cut=False).dry_s > 0.9
    assert slow.dry_s == 0
    assert slow.texts[1].endswith(("river ", "weather "))


def test_the_silence_around_a_cut_is_shortened_and_that_around_a_sentence_is_not() -> None:
    plan = Plan("Here is an opening clause, and this is the long rest of it. The end.", lambda: Outlook(FAST, 0.06))
    first, second, third = plan.next(None), plan.next(1.5), plan.next(5.0)
    assert first == Piece("Here is an opening clause, ", None, 0.18)
    assert second == Piece("and this is the long rest of it. ", 0.18, None)
    assert third == Piece("The end.", None, None)
    assert plan.next(5.0) is None


@pytest.mark.parametrize("text", ["", " ", "\n\n", "..."])
def test_a_text_without_a_word_is_one_piece_or_none(text: str) -> None:
    assert "".join(listen(text, Engine(FAST), cut=True).texts) == text if text else Plan(text).next() is None


def test_a_line_break_before_the_first_word_goes_with_it() -> None:
    assert listen("\n \nHello there.", Engine(FAST), cut=True).texts == ["\n \nHello there."]


@pytest.mark.parametrize("factor", [0.95, 3.5])
@pytest.mark.parametrize(
    "text",
    ["a, " * 6000, "and " * 5000, "x" * 20_000, "Word, word and word. " * 900, "1, " * 6000, "—" * 6000,
     "一二、三四、" * 900, "りんご、みかん、" * 700, "Hello" + " " * 19_900 + "bye"],
)  # fmt: skip
def test_planning_takes_no_time(text: str, factor: float) -> None:
    plan = Plan(text, lambda: Outlook(factor, 0.06))
    ahead_s, most_s = None, 0.0
    while True:
        begun = time.process_time()  # of this process alone, whatever else the machine does
        piece = plan.next(ahead_s)
        most_s = max(most_s, time.process_time() - begun)
        if piece is None:
            break
        ahead_s = 2.0
    assert most_s < 0.25, "the event loop is held up"


def test_the_pace_follows_the_engine_and_stays_on_the_safe_side() -> None:
    pace = Pace()
    assert pace.factor == pytest.approx(1 / 3)
    for _ in range(3):
        pace.observe(60, "a", 1.0, 4.0, 1.2)
    assert 0.3 <= pace.factor < 0.5
    pace.observe(60, "a", 1.0, 4.0, 4.0)  # something else took the processor
    assert pace.factor > 0.6
    for _ in range(40):
        pace.observe(60, "a", 1.0, 4.0, 1.2)
    assert pace.factor == pytest.approx(0.3, abs=0.02)


def test_each_language_has_its_own_rate_and_speed_divides_it() -> None:
    pace = Pace()
    for _ in range(40):
        pace.observe(100, "j", 2.0, (EDGE_S + 10.0) / 2, 1.0)
    assert pace.outlook("j", 1.0).rate == pytest.approx(0.1, rel=0.05)
    assert pace.outlook("a", 1.0).rate == pytest.approx(0.06)
    assert pace.outlook("j", 2.0).playing_s(100) == pytest.approx((EDGE_S + 10.0) / 2, rel=0.05)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS, st.floats(0.1, 0.5), st.floats(0.05, 0.075))
def test_whoever_has_heard_three_seconds_never_runs_dry_where_the_engine_is_twice_as_fast_as_speech(
    text: str, factor: float, rate: float
) -> None:
    opening = "The opening has no place to cut in it at all today here. "
    assert listen(opening + text, Engine(factor, rate), cut=True).dry_s == 0
