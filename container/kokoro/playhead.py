"""The listener of one request, as far as the server can know."""


class Playhead:
    """Where a listener is who plays whatever there is: how much audio is still ahead, in seconds."""

    def __init__(self, now: float) -> None:
        self.dry_at = now
        """When the listener has heard all there is, or had; until something is heard, when the request began."""

    def add(self, seconds: float, now: float) -> float:
        """Append audio that is there at `now`, and return the silence before it: it is played from then on."""
        silence = max(now - self.dry_at, 0.0)
        self.dry_at = max(self.dry_at, now) + seconds
        return silence

    def ahead_s(self, now: float) -> float:
        """Return how much is left to play."""
        return max(self.dry_at - now, 0.0)
