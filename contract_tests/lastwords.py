"""What a container wrote while a check ran, cut down to what tells why it failed."""

from collections.abc import Sequence

__all__ = ["last_words"]

_MOST = 25
_HEAD = 3
_LONGEST = 300


def last_words(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the last traceback and all that follows it, or else the last lines: at most 25, of bounded length."""
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines if line.strip()]
    begin = next((at for at in range(len(shown) - 1, -1, -1) if "Traceback (most recent call last)" in shown[at]), None)
    if begin is None:
        return tuple(shown[-_MOST:])
    # a chain of exceptions: the first one is the cause of the others
    while begin and (earlier := _joined(shown, begin)) is not None:
        begin = earlier
    block = shown[max(0, begin - 1) :]  # the line above says whose exception it is
    if len(block) <= _MOST:
        return tuple(block)
    tail = _MOST - _HEAD - 1
    return (*block[:_HEAD], f"… {len(block) - _HEAD - tail} lines", *block[-tail:])


_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")


def _joined(lines: Sequence[str], begin: int) -> int | None:
    """Return where the traceback begins that the one at ``begin`` is chained to, None if it stands alone."""
    if not any(words in line for line in lines[max(0, begin - 2) : begin] for words in _CHAINED):
        return None
    return next((at for at in range(begin - 1, -1, -1) if "Traceback (most recent call last)" in lines[at]), None)
