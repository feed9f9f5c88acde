"""Fault: the first word of each sentence is swallowed. Seen in https://github.com/k2-fsa/sherpa-onnx/issues/1777.

The model is given the phonemes without the pad in front, and eats the beginning.
"""

import numpy as np
from numpy.typing import NDArray

from contract_tests.good import protocol
from contract_tests.good.speech import speech_app
from contract_tests.good.spoken import SpokenSession, recordings

EATEN_S = 0.75
FADE_S = 0.005


class SwallowedWordSession(SpokenSession):
    """Session whose sentences begin too late."""

    def speak(self, sentence: str, request: protocol.Say) -> NDArray[np.float64]:
        """Return the samples without the first word."""
        samples = super().speak(sentence, request)
        if sentence not in recordings():
            return samples
        samples = samples[round(EATEN_S * request.rate) :].copy()
        fade = round(FADE_S * request.rate)
        samples[:fade] *= np.linspace(0, 1, fade)
        return samples


app = speech_app(SwallowedWordSession)
