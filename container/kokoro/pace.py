"""How long a piece will play and take to compute: running estimates, from the pieces spoken so far."""

from dataclasses import dataclass

EDGE_S = 0.8
"""Silence that the model puts around every piece at speed 1: a third of a second before, half a second after."""
_RATE_S = 0.06
"""Seconds of speech for a letter, before anything was heard; English, measured over the default voice."""
_FACTOR = 1 / 3
"""Seconds of computing for a second of audio, before anything was measured: two CPU cores."""
_GAIN, _GAIN_DEVIATION, _DEVIATIONS = 1 / 8, 1 / 4, 2
"""Smoothing, and distance of the safe estimate from the mean, as TCP has them for its round-trip time (RFC 6298)."""


@dataclass(frozen=True)
class Outlook:
    """What is expected of one voice at one speed, on the share of the engine that one listener gets.

    `factor`: seconds of computing for a second of audio, on the safe side. `rate`: seconds of speech for a letter.
    """

    factor: float
    rate: float
    speed: float = 1.0

    def computing_s(self, letters: int) -> float:
        """Return how long a piece of so many letters takes to compute."""
        return self.factor * (EDGE_S + self.rate * letters) / self.speed

    def playing_s(self, letters: int, silence_s: float = EDGE_S) -> float:
        """Return how long a piece plays that keeps so much of the silence around it."""
        return (silence_s + self.rate * letters) / self.speed


class Pace:
    """Estimates that follow the engine: by language how fast it speaks, and for all how fast it computes."""

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}
        self._factor: float | None = None
        self._deviation = 0.0

    @property
    def factor(self) -> float:
        """Seconds of computing for a second of audio, on the safe side."""
        if self._factor is None:
            return _FACTOR
        return self._factor + _DEVIATIONS * self._deviation

    def observe(self, letters: int, language: str, speed: float, audio_s: float, computing_s: float) -> None:
        """Take note of a piece: its audio as the model made it, silence included, and what that took, in seconds."""
        if audio_s <= 0 or letters <= 0:
            return
        factor = computing_s / audio_s
        if self._factor is None:
            self._factor, self._deviation = factor, factor / 4
        else:
            error = factor - self._factor
            self._factor += _GAIN * error
            self._deviation += _GAIN_DEVIATION * (abs(error) - self._deviation)
        rate = max(audio_s * speed - EDGE_S, 0.0) / letters
        known = self._rates.get(language, _RATE_S)
        # a long piece says more about the rate than a short one
        self._rates[language] = known + (rate - known) * min(letters / 400, 0.5)

    def outlook(self, language: str, speed: float, listeners: int = 1) -> Outlook:
        """Return what to expect where `listeners` share the engine."""
        return Outlook(self.factor * max(listeners, 1), self._rates.get(language, _RATE_S), speed)
