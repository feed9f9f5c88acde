"""PCM16: float samples to signed 16-bit little-endian mono bytes, cut into frames of whole samples."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

MODEL_RATE = 24_000
"""Samples a second of everything Kokoro produces."""

FIRST_FRAME_S = 0.1
"""The first frame is short: a client can start to play it that much earlier."""
FRAME_S = 0.25
"""12,000 bytes at 24 kHz: far below the 64 KiB that every client takes."""

Samples = npt.NDArray[np.float32]


_QUIET = 0.01
"""Peaks below this, full scale being 1.0, are silence; speech, with its quietest consonants, is kept with a margin."""
_WINDOW = 240


def trimmed(samples: Samples, lead_s: float | None, tail_s: float | None) -> Samples:
    """Shorten the silence before and after speech to these lengths in seconds, where it is longer. None: leave it."""
    windows = len(samples) // _WINDOW
    loud = np.flatnonzero(
        np.abs(samples[: windows * _WINDOW]).reshape(windows, _WINDOW).max(axis=1, initial=0) > _QUIET
    )
    if len(loud) == 0:
        return samples
    start = 0 if lead_s is None else int(loud[0]) * _WINDOW - round(lead_s * MODEL_RATE)
    end = len(samples) if tail_s is None else (int(loud[-1]) + 1) * _WINDOW + round(tail_s * MODEL_RATE)
    return samples[max(start, 0) : min(end, len(samples))]


def encode(samples: Samples) -> bytes:
    """Float samples (n,) in -1..1 to 2n bytes. Louder ones are clipped: wrapping round would be a loud click."""
    return np.rint(np.clip(samples, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()


class Framer:
    """Cuts the audio of one request into frames; the rest of a piece goes out with it, so nothing is held back."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.samples = 0
        """Samples handed out so far."""
        self._kept = np.zeros(0, dtype=np.float32)

    def frames(self, samples: Samples, *, more: bool = False) -> Iterator[bytes]:
        """Yield `samples` as PCM16 frames of 250 ms, the very first one of 100 ms, the last of a piece what is left.

        With `more` of the piece to come, what fills no frame is kept for then.
        """
        if len(self._kept):
            samples = np.concatenate((self._kept, samples))
            self._kept = samples[:0]
        start = 0
        while start < len(samples):
            length = round((FRAME_S if self.samples else FIRST_FRAME_S) * self.rate)
            part = samples[start : start + length]
            if more and len(part) < length:
                self._kept = part
                return
            start += len(part)
            self.samples += len(part)
            yield encode(part)

    @property
    def seconds(self) -> float:
        """Length of the audio handed out so far."""
        return self.samples / self.rate


def wav_header(rate: int, size: int | None = None) -> bytes:
    """Return the 44 bytes before `size` bytes of samples; where the length is unknown, both sizes are 0xFFFFFFFF."""
    unknown = b"\xff\xff\xff\xff"
    layout = b"".join(
        number.to_bytes(length, "little")
        for number, length in ((16, 4), (1, 2), (1, 2), (rate, 4), (rate * 2, 4), (2, 2), (16, 2))
    )
    whole, data = (
        (unknown, unknown) if size is None else ((size + 36).to_bytes(4, "little"), size.to_bytes(4, "little"))
    )
    return b"RIFF" + whole + b"WAVEfmt " + layout + b"data" + data
