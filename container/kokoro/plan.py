"""What is spoken next: pieces so long that each one is computed while those before it play.

A long first sentence is begun with a clause of it, and what follows may be cut too, but only as the engine's measured
pace demands. Nothing is cut for an engine that could not keep up with the parts.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from container.kokoro.pace import EDGE_S, Outlook
from container.kokoro.splitting import MAX_CHARS, Cut, cuts, joint_s, letters, parts, sentences

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
"""Characters that are looked at for the next piece; no piece is longer."""
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
        sight = self._rest[:_SIGHT]
        if self._outlook is None:
            return parts(sight)[0]
        outlook = self._outlook()
        if ahead_s is None:
            return _opening(sight, [sentence[:_SIGHT] for sentence in list(self._sentences)[:_HORIZON]], outlook)
        return _best(sight, ahead_s, outlook, Cut.WORD).parts[0]


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


def _course(sentence: str, ahead_s: float, outlook: Outlook, worst: Cut | None) -> _Course:
    """Follow a sentence to its end, each part the longest that is computed in time, cut no worse than `worst`."""
    weights = letters(sentence)
    places = [] if worst is None else cuts(sentence, worst)
    found: list[str] = []
    at, dry = 0, 0.0
    while at < len(sentence):
        end = at + len(parts(sentence[at:])[0])
        if outlook.computing_s(weights[end] - weights[at]) + _SLACK_S > ahead_s:
            end = _shorter(at, end, places, weights, ahead_s, outlook)
        part = sentence[at:end]
        cost = outlook.computing_s(weights[end] - weights[at]) + _SLACK_S
        dry += max(cost - ahead_s, 0.0)
        silence = _silence(found[-1] if found else None, part)
        ahead_s = max(ahead_s - cost, 0.0) + outlook.playing_s(weights[end] - weights[at], silence)
        found.append(part)
        at = end
    return _Course(found, dry, ahead_s)


def _shorter(at: int, end: int, places: list[int], weights: list[int], ahead_s: float, outlook: Outlook) -> int:
    """Return the last cut before `end` whose part is computed in time, else the first one, else `end`."""
    usable = [
        place
        for place in places
        if at < place < end and weights[place] - weights[at] >= LEAD_MIN and weights[-1] - weights[place] >= _REST_MIN
    ]
    fitting = [place for place in usable if outlook.computing_s(weights[place] - weights[at]) + _SLACK_S <= ahead_s]
    return max(fitting, default=min(usable, default=end))


def _best(sentence: str, ahead_s: float, outlook: Outlook, worst: Cut) -> _Course:
    """Return the course with the best cuts of those that never run dry, else the one with the least silence."""
    best = _course(sentence, ahead_s, outlook, None)
    for kind in Cut:
        if best.dry_s <= 0 or kind > worst:
            break
        other = _course(sentence, ahead_s, outlook, kind)
        if other.dry_s <= 0 or other.dry_s < best.dry_s - _WORTH_S:
            best = other
    return best


def _opening(sentence: str, following: list[str], outlook: Outlook) -> str:
    """Return the shortest opening of the first sentence after which no silence comes that would not come anyway.

    It ends with a clause; where the sentence has clauses, but all too short for this engine, with a phrase.
    """
    whole = parts(sentence)[0]
    weights = letters(sentence)
    least = None
    for worst in (Cut.CLAUSE, Cut.PHRASE):
        usable = [
            place
            for place in cuts(sentence, worst)
            if place < len(whole) and LEAD_MIN <= weights[place] <= (1 - _GAIN_MIN) * weights[-1]
        ]
        if not usable:
            break
        for place in usable[:_OPENINGS]:
            if least is None:
                least = _dry(whole, sentence[len(whole) :], following, outlook)
            if _dry(sentence[:place], sentence[place:], following, outlook) <= least:
                return sentence[:place]
    return whole


def _dry(first: str, rest: str, following: list[str], outlook: Outlook) -> float:
    """Return the silence that breaks into the text when it begins with `first`, as far as one can see."""
    ahead_s = outlook.playing_s(letters(first)[-1], _silence(None, first))
    longest_s = outlook.computing_s(MAX_CHARS) + _SLACK_S
    dry = 0.0
    for sentence in filter(None, (rest, *following)):
        if ahead_s >= longest_s:
            break  # whatever comes is computed in time
        course = _best(sentence, ahead_s, outlook, Cut.PHRASE)
        dry += course.dry_s
        ahead_s = course.ahead_s
    return dry
