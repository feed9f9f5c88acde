"""What is spoken next: pieces so long that each one is computed while those before it play.

A long first sentence is begun with a clause of it, and what follows may be cut too, but only as the engine's measured
pace demands. Nothing is cut for an engine that could not keep up with the parts.
"""

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from container.kokoro.pace import EDGE_S, Outlook
from container.kokoro.splitting import MAX_CHARS, Cut, cuts, first_part, joint_s, letters, sentences

LEAD_MIN = 16
"""Letters in a part of a sentence: about a second of speech; shorter ones sound odd on their own."""
_REST_MIN = 8
"""Letters that a cut leaves for the rest of the sentence."""
_GAIN_MIN = 1 / 4
"""Share of the first sentence that has to be left after the opening clause: for less, no cut."""
_SLACK_S = 0.05
"""Between the end of a computation and its audio in the listener's ear."""
_WORTH_S = 0.2
"""A pause inside a sentence is worse than one between two: a cut has to shorten the silence by more than this."""
_SIGHT = 1000
"""Letters that are looked at for the next piece; no piece is longer."""
_OPENINGS = 6
"""Clauses of the first sentence after which a cut is considered."""
_HORIZON = 8
"""Sentences that are looked ahead before the first cut is made."""


@dataclass(frozen=True)
class Piece:
    """What is spoken at once, and how much silence is left before and after it; None leaves what the model made."""

    text: str
    lead_s: float | None = None
    tail_s: float | None = None


class Plan:
    """The pieces of one text, chosen one at a time. Joined, they are the text.

    `outlook` says what pieces cost and play, asked anew for each; with None nothing is cut but what is too long.
    """

    def __init__(self, text: str, outlook: Callable[[], Outlook] | None = None) -> None:
        self._sentences = deque(sentences(text))
        self._rest = ""
        self._outlook = outlook
        self._joint: float | None = None

    def next(self, ahead_s: float | None = None) -> Piece | None:
        """Return the next piece, or None after the last one.

        `ahead_s` is how much audio the listener still has, in seconds; None as long as nothing was heard.
        """
        while not self._rest.strip() and self._sentences:
            self._rest += self._sentences.popleft()
        if not self._rest:
            return None
        text = self._choose(ahead_s)
        self._rest = self._rest[len(text) :]
        lead = self._joint
        self._joint = joint_s(text) if self._rest or self._sentences else None
        return Piece(text, lead, self._joint)

    def _choose(self, ahead_s: float | None) -> str:
        if self._outlook is None:
            return first_part(self._rest)
        outlook = self._outlook()
        sight = _Sight(self._rest)
        if ahead_s is None:
            return _opening(sight, islice(self._sentences, _HORIZON), outlook)
        return _best(sight, ahead_s, outlook, Cut.WORD).parts[0]


class _Sight:
    """A sentence as far as it is looked at, and where it can be cut: found once, for it is gone through many times."""

    def __init__(self, sentence: str) -> None:
        weights = letters(sentence[:_SIGHT])
        end = bisect_right(weights, _SIGHT) - 1  # an ideograph counts as several letters
        self.text = sentence[:end]
        self.weights = weights[: end + 1]
        """Letters of each prefix of the text, ascending."""
        self._places: dict[Cut, list[int]] = {}
        self._ends: dict[int, int] = {}

    def places(self, worst: Cut) -> list[int]:
        """Return the positions of all cuts that are not worse than `worst`, ascending."""
        if worst not in self._places:
            self._places[worst] = cuts(self.text, worst)
        return self._places[worst]

    def end(self, at: int) -> int:
        """Return where a piece that begins at `at` has to end."""
        if at not in self._ends:
            self._ends[at] = at + len(first_part(self.text[at:]))
        return self._ends[at]

    def letters(self, start: int, end: int) -> int:
        """Return the weight of a part."""
        return self.weights[end] - self.weights[start]


@dataclass(frozen=True)
class _Course:
    """How a sentence would go: its parts, the silence that breaks into it, and what is ahead at its end, in seconds."""

    parts: list[str]
    dry_s: float
    ahead_s: float


def _silence(before: str | None, part: str) -> float:
    """Return how much of the silence that the model makes around a part is heard; `before` is None for the first."""
    heard = EDGE_S
    if before is not None and (joint := joint_s(before)) is not None:
        heard -= max(0.3 - joint, 0.0)
    if (joint := joint_s(part)) is not None:
        heard -= max(0.5 - joint, 0.0)
    return heard


def _course(
    sentence: _Sight, ahead_s: float, outlook: Outlook, worst: Cut | None, *, start: int = 0, most_s: float = math.inf
) -> _Course:
    """Follow a sentence to its end, each part the longest that is computed in time, cut no worse than `worst`.

    The course ends where it has more silence than `most_s`, and counts as one of endless silence.
    """
    text = sentence.text
    found: list[str] = []
    at, dry = start, 0.0
    while at < len(text):
        end = sentence.end(at)
        if outlook.computing_s(sentence.letters(at, end)) + _SLACK_S > ahead_s:
            end = _shorter(sentence, at, end, worst, ahead_s, outlook)
        part = text[at:end]
        cost = outlook.computing_s(sentence.letters(at, end)) + _SLACK_S
        dry += max(cost - ahead_s, 0.0)
        if dry > most_s:
            return _Course(found, math.inf, 0.0)
        silence = _silence(found[-1] if found else None, part)
        ahead_s = max(ahead_s - cost, 0.0) + outlook.playing_s(sentence.letters(at, end), silence)
        found.append(part)
        at = end
    return _Course(found, dry, ahead_s)


def _shorter(sentence: _Sight, at: int, end: int, worst: Cut | None, ahead_s: float, outlook: Outlook) -> int:
    """Return the last cut before `end` whose part is computed in time, else the first one, else `end`."""
    if worst is None:
        return end
    places, weights = sentence.places(worst), sentence.weights
    earliest = bisect_left(weights, weights[at] + LEAD_MIN)
    latest = min(end, bisect_right(weights, weights[-1] - _REST_MIN)) - 1
    first, behind = bisect_left(places, earliest), bisect_right(places, latest)
    if first >= behind:
        return end

    def cost(place: int) -> float:
        return outlook.computing_s(weights[place] - weights[at]) + _SLACK_S

    in_time = bisect_right(places, ahead_s, first, behind, key=cost)
    return places[max(in_time - 1, first)]


def _best(
    sentence: _Sight, ahead_s: float, outlook: Outlook, worst: Cut, *, start: int = 0, most_s: float = math.inf
) -> _Course:
    """Return the course with the best cuts of those that never run dry, else the one with the least silence.

    One with more silence than `most_s` may be any of those.
    """
    # a little more: a better cut has to be better by so much
    bound = most_s + _WORTH_S
    best = _course(sentence, ahead_s, outlook, None, start=start, most_s=bound)
    for kind in Cut:
        if best.dry_s <= 0 or kind > worst:
            break
        other = _course(sentence, ahead_s, outlook, kind, start=start, most_s=bound)
        if other.dry_s <= 0 or other.dry_s < best.dry_s - _WORTH_S:
            best = other
    return best


def _opening(sentence: _Sight, following: Iterable[str], outlook: Outlook) -> str:
    """Return the shortest opening of the first sentence after which no silence comes that would not come anyway.

    It ends with a clause; where the sentence has clauses, but all too short for this engine, with a phrase.
    """
    text, weights = sentence.text, sentence.weights
    whole = sentence.end(0)
    coming: list[_Sight] | None = None
    least = 0.0
    for worst in (Cut.CLAUSE, Cut.PHRASE):
        usable = [
            place
            for place in sentence.places(worst)
            if place < whole and LEAD_MIN <= weights[place] <= (1 - _GAIN_MIN) * weights[-1]
        ]
        if not usable:
            break
        for place in usable[:_OPENINGS]:
            if coming is None:
                coming = [_Sight(other) for other in following]
                least = _dry(sentence, whole, coming, outlook)
            if _dry(sentence, place, coming, outlook, most_s=least) <= least:
                return text[:place]
    return text[:whole]


def _dry(
    sentence: _Sight, opening: int, following: Sequence[_Sight], outlook: Outlook, *, most_s: float = math.inf
) -> float:
    """Return the silence that breaks into the text when it begins with `opening` characters, as far as one can see.

    No more is looked at than shows whether it is more than `most_s`.
    """
    ahead_s = outlook.playing_s(sentence.weights[opening], _silence(None, sentence.text[:opening]))
    longest_s = outlook.computing_s(MAX_CHARS) + _SLACK_S
    dry = 0.0
    for part, start in ((sentence, opening), *((other, 0) for other in following)):
        if ahead_s >= longest_s or dry > most_s:
            break  # whatever comes is computed in time, or it is too late
        if start < len(part.text):
            course = _best(part, ahead_s, outlook, Cut.PHRASE, start=start, most_s=most_s - dry)
            dry += course.dry_s
            ahead_s = course.ahead_s
    return dry
