"""What was asked for beside what was heard, word by word."""

from collections.abc import Sequence
from dataclasses import dataclass

from contract_tests.recognition.wording import spoken_words

__all__ = ["Alignment", "align", "word_error_rate"]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The cheapest way from ``reference`` to ``heard``: pairs of words; None is a word that one of them lacks."""

    pairs: tuple[tuple[str | None, str | None], ...]

    @property
    def reference(self) -> list[str]:
        """The words that were asked for."""
        return [word for word, _ in self.pairs if word is not None]

    @property
    def heard(self) -> list[str]:
        """The words that were heard."""
        return [word for _, word in self.pairs if word is not None]

    @property
    def errors(self) -> int:
        """Words replaced, missing or added."""
        return sum(word != other for word, other in self.pairs)

    @property
    def rate(self) -> float:
        """Errors per word of the reference, 0.0 where all is right; more than 1 where much was added."""
        return self.errors / max(1, len(self.reference))

    @property
    def longest_gap(self) -> list[str]:
        """The longest run of words that were asked for and have no counterpart in what was heard."""
        longest: list[str] = []
        run: list[str] = []
        for word, other in self.pairs:
            if word is not None and other is None:
                run.append(word)
                longest = max(longest, run, key=len)
            else:
                run = []
        return list(longest)


def word_error_rate(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> float:
    """Return the share of words that were replaced, lost or added: 0.0 is word for word; can exceed 1.

    A text is normalised by :func:`~contract_tests.recognition.spoken_words`, a sequence is taken as its words. A
    compound counts as right however it is written (``weekday``, ``week day``).
    """
    return align(reference, hypothesis).rate


def align(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> Alignment:
    """Return the alignment with the fewest errors, compounds joined; see :func:`word_error_rate`."""
    wanted, heard = (
        spoken_words(words) if isinstance(words, str) else list(words) for words in (reference, hypothesis)
    )
    wanted, heard = _joined(wanted, heard), _joined(heard, wanted)
    costs = [[0] * (len(heard) + 1) for _ in range(len(wanted) + 1)]
    for row in range(len(wanted) + 1):
        for column in range(len(heard) + 1):
            if row and column:
                same = wanted[row - 1] == heard[column - 1]
                costs[row][column] = min(
                    costs[row - 1][column - 1] + (not same), costs[row - 1][column] + 1, costs[row][column - 1] + 1
                )
            else:
                costs[row][column] = row + column
    pairs: list[tuple[str | None, str | None]] = []
    row, column = len(wanted), len(heard)
    while row or column:
        here = costs[row][column]
        if row and column and here == costs[row - 1][column - 1] + (wanted[row - 1] != heard[column - 1]):
            row, column = row - 1, column - 1
            pairs.append((wanted[row], heard[column]))
        elif row and here == costs[row - 1][column] + 1:
            row -= 1
            pairs.append((wanted[row], None))
        else:
            column -= 1
            pairs.append((None, heard[column]))
    return Alignment(tuple(reversed(pairs)))


def _joined(words: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return ``words`` with neighbours joined where the other side writes them as one word."""
    known = set(other) - set(words)
    result: list[str] = []
    for word in words:
        if result and result[-1] + word in known:
            result[-1] += word
        else:
            result.append(word)
    return result
