"""Fault: another text is spoken. Seen in https://github.com/mapbox/mapbox-navigation-ios/issues/1391.

Sentences are kept in a cache, and its key takes two of them for the same.
"""

import numpy as np
from numpy.typing import NDArray

from contract_tests.good import protocol
from contract_tests.good.speech import speech_app
from contract_tests.good.spoken import SpokenSession

KEPT: dict[tuple[str, str, int, int], NDArray[np.float64]] = {}


class CarelessCacheSession(SpokenSession):
    """Session that takes sentences which begin alike and are equally long for the same."""

    def speak(self, sentence: str, request: protocol.Say) -> NDArray[np.float64]:
        """Return what was made for the same key before."""
        key = (sentence[:12], request.voice, request.rate, len(sentence))
        if key not in KEPT:
            KEPT[key] = super().speak(sentence, request)
        return KEPT[key]


app = speech_app(CarelessCacheSession)
