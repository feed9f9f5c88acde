"""What could be heard in a check: a stretch of PCM, to look at and to play."""

import base64
import io
import wave
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Sound"]

_LONGEST_S = 6.0
_POINTS = 300


@dataclass(frozen=True, slots=True)
class Sound:
    """Signed 16-bit little-endian mono PCM at ``sample_rate`` Hz; ``what`` says of which request it is."""

    pcm: bytes = field(repr=False)
    sample_rate: int
    what: str

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.pcm) / 2 / self.sample_rate

    @property
    def shown_seconds(self) -> float:
        """The length of the stretch that is shown and played."""
        return min(self.seconds, _LONGEST_S)

    def _stretch(self) -> bytes:
        samples = min(len(self.pcm) // 2, round(self.shown_seconds * self.sample_rate))  # half a sample is left out
        return self.pcm[: samples * 2]

    def data_uri(self) -> str:
        """Return the stretch as a WAV file in a ``data:`` URI."""
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(self.sample_rate)
            file.writeframes(self._stretch())
        return f"data:audio/wav;base64,{base64.b64encode(out.getvalue()).decode()}"

    def envelope(self) -> list[tuple[float, float]]:
        """Return lowest and highest value (-1..1) of up to 300 pieces of equal length."""
        samples = np.frombuffer(self._stretch(), dtype="<i2").astype(np.float64) / 32768
        pieces = np.array_split(samples, min(_POINTS, max(1, len(samples)))) if len(samples) else []
        return [(round(float(piece.min()), 3), round(float(piece.max()), 3)) for piece in pieces if len(piece)]
