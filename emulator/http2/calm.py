"""How much a client may ask of a connection without sending anything of use: against floods."""

__all__ = ["Calm"]

_BURST = 1000
_PER_SECOND = 100


class Calm:
    """A budget of frames that cost the server work and carry no data: PING, SETTINGS, resets, empty DATA.

    A client at work needs a handful of them in a second; RFC 9113, section 10.5, lets a server end a connection that
    sends more than it can make sense of.
    """

    def __init__(self, now: float) -> None:
        self._left = float(_BURST)
        self._at = now

    def spend(self, now: float) -> bool:
        """Take one frame at ``now`` (seconds) off the budget; False where nothing is left."""
        self._left = min(self._left + (now - self._at) * _PER_SECOND, _BURST) - 1
        self._at = now
        return self._left >= 0
