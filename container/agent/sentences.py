"""A text that arrives in fragments, to sentences.

A gap between two words is judged when the characters that decide it are there, and by those alone: so the result does
not depend on how the text was cut into fragments. The end of a line decides at once, and in most other cases the first
letter of the next word; after an abbreviation, an initial or an ellipsis the whole word does.
"""

import time
import unicodedata
from collections.abc import Callable

from container.agent.boundary import (
    Gap,
    Wait,
    cut,
    forced,
    in_word,
    line_end,
    writes_no_spaces,
)

__all__ = ["MAX_CHARS", "SentenceSplitter"]

MAX_CHARS = 280
"""About 18 s of speech, and below the 510 phonemes that Kokoro takes at once."""


class SentenceSplitter:
    """Cuts a growing text into sentences. Joined they are the text, but for the white space between them.

    `language` is an ISO 639-1 code. A sentence longer than `max_chars` characters, and one that waits for `max_seconds`
    on `clock` (None: no such limit), is cut at the best place it has: the end of a sentence, of a clause, of a word.
    """

    def __init__(
        self,
        language: str = "en",
        *,
        max_chars: int = MAX_CHARS,
        max_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_chars < 1:
            raise ValueError(f"max_chars is {max_chars}; expected 1 or more")
        self._language = language
        self._max_chars = max_chars
        self._max_seconds = max_seconds
        self._clock = clock
        self._start_over("")

    def _start_over(self, rest: str) -> None:
        self._text = rest.lstrip()
        self._since = self._clock()
        self._at = 0
        """How many characters have been looked at."""
        self._last_end = 0
        """Where the latest word ends, and where the gap before it is: it starts with `_gap` and ends with `_word`."""
        self._gap = 0
        self._word = 0
        self._undecided = False

    @property
    def pending(self) -> str:
        """The characters that are not part of a finished sentence yet."""
        return self._text

    @property
    def overdue_at(self) -> float | None:
        """The time on the clock from which :meth:`feed`, even of "", cuts what is pending; None: never."""
        return None if self._max_seconds is None or not self._text else self._since + self._max_seconds

    def feed(self, fragment: str) -> list[str]:
        """Take the next characters, any number of them; return the sentences that they completed."""
        if not self._text:
            self._start_over(fragment)
        else:
            self._text += fragment
        done: list[str] = []
        while self._at < len(self._text):
            end = self._step()
            if end is None and self._at > self._max_chars:
                head = self._text[: self._max_chars]
                end = forced(head, self._language, timed=False) or self._whole_characters(len(head))
            if end is not None:
                self._emit(end, done)
        if self.overdue_at is not None and self._clock() >= self.overdue_at:
            self._emit_overdue(done)
        return done

    def flush(self) -> list[str]:
        """Return what is left: the text ends here, and what is fed afterwards is a new one."""
        done: list[str] = []
        if self._undecided and (end := self._judge(self._at, whole=True)) is not None:
            self._emit(end, done)
            while self._at < len(self._text):  # the rest is one word: it can't be cut again
                self._step()
        if rest := self._text.strip():
            done.append(rest)
        self._start_over("")
        return done

    def clear(self) -> None:
        """Forget what is left: the speaker was interrupted."""
        self._start_over("")

    def _step(self) -> int | None:
        """Look at one more character; return where the text is to be cut, if that is certain now."""
        at, inside = self._at, in_word(self._text[self._at])
        self._at += 1
        if inside and (at == 0 or self._last_end < at):
            self._gap, self._word, self._undecided = self._last_end, at, True
        end = self._judge(at + inside, whole=not inside) if self._undecided else None
        if inside:
            self._last_end = at + 1
        elif end is None and self._text[at].isspace():
            over = line_end(self._text[: self._last_end], self._text[self._last_end : at + 1])
            end = None if over is None else self._last_end + over
        return end

    def _judge(self, word_end: int, *, whole: bool) -> int | None:
        text = self._text
        gap = Gap(
            text[: self._gap],
            text[self._gap : self._word],
            text[self._word : word_end],
            whole,
            text[word_end : word_end + 1],
        )
        verdict = cut(gap, self._language)
        self._undecided = verdict is Wait.FOR_MORE
        return None if verdict is None or isinstance(verdict, Wait) else self._gap + verdict

    def _emit(self, end: int, done: list[str]) -> None:
        if sentence := self._text[:end].strip():
            done.append(sentence)
        self._start_over(self._text[end:])

    def _emit_overdue(self, done: list[str]) -> None:
        """Cut a text that has waited too long, but not inside or behind a word that may still go on."""
        end = forced(self._text, self._language, timed=True)
        if (end := end or self._without_spaces()) is not None:
            self._emit(end, done)

    def _without_spaces(self) -> int | None:
        """Return where to cut a text of a script that has no spaces, before what may go on; None of another one."""
        end = len(self._text)
        while end and not writes_no_spaces(self._text[end - 1]):
            end -= 1
        if end == len(self._text):
            end -= 1  # a mark may come that belongs to the last character
        elif end and not in_word(self._text[end]):
            return None
        return self._whole_characters(end) if end > 0 else None

    def _whole_characters(self, end: int) -> int:
        """Return the last place up to `end` that is not inside a composed character."""
        while end > 1 and (_joined(self._text[end]) or self._text[end - 1] == "\u200d"):
            end -= 1
        return end


def _joined(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff"
