"""What a container wrote while a check ran, cut down to what tells why it failed."""

import re
from collections.abc import Sequence

__all__ = ["last_words"]

_MOST = 25
_HEAD = 3
_LONGEST = 300


def last_words(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the last traceback and all that follows it, or else the last lines: at most 25, of bounded length.

    One that only says that the caller has gone comes at the end of many sessions: it counts where there is no other.
    """
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines if line.strip()]
    starts = [at for at, line in enumerate(shown) if "Traceback (most recent call last)" in line]
    if not starts:
        return tuple(shown[-_MOST:])
    begin = next((at for at in reversed(starts) if not _caller_gone(shown, at)), starts[-1])
    end = next((at - 1 for at in starts if at > begin and _caller_gone(shown, at)), len(shown))
    # a chain of exceptions: the first one is the cause of the others
    while begin and (earlier := _joined(shown, begin)) is not None:
        begin = earlier
    block = shown[max(0, begin - 1) : end]  # the line above says whose exception it is
    if len(block) <= _MOST:
        return tuple(block)
    tail = _MOST - _HEAD - 1
    return (*block[:_HEAD], f"… {len(block) - _HEAD - tail} lines", *block[-tail:])


def _caller_gone(lines: Sequence[str], begin: int) -> bool:
    """Tell whether the traceback at ``begin`` ends with an exception that means no more than that."""
    raised = next((line for line in lines[begin + 1 :] if not line.startswith((" ", "\t"))), "")
    return _GONE.match(raised) is not None


_GONE = re.compile(r"([\w.]+\.)?(WebSocketDisconnect|ClientDisconnected|ConnectionClosed\w*)\b")
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")


def _joined(lines: Sequence[str], begin: int) -> int | None:
    """Return where the traceback begins that the one at ``begin`` is chained to, None if it stands alone."""
    if not any(words in line for line in lines[max(0, begin - 2) : begin] for words in _CHAINED):
        return None
    return next((at for at in range(begin - 1, -1, -1) if "Traceback (most recent call last)" in lines[at]), None)
