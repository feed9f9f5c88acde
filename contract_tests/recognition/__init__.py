"""Speech recognition, to learn which words audio really says. Needs the extra ``recogniser``; English only.

How to use it, here or in a benchmark::

    from contract_tests.recognition import unavailable, word_error_rate, words_heard

    if (why := unavailable()) is None:
        heard = words_heard(pcm, 24_000)             # int16 array (n,) and its samples per second: blocks
        rate = word_error_rate("What was asked for.", heard)    # 0.0 is word for word

Encoded audio (MP3, AAC) has to be decoded first. The model is Whisper ``tiny.en``, shipped inside a package: nothing is
downloaded at run time.
"""

from contract_tests.recognition.alignment import Alignment, align, word_error_rate
from contract_tests.recognition.whisper import LANGUAGES, RecogniserMissingError, unavailable, words_heard
from contract_tests.recognition.wording import spoken_words

__all__ = [
    "LANGUAGES",
    "Alignment",
    "RecogniserMissingError",
    "align",
    "spoken_words",
    "unavailable",
    "word_error_rate",
    "words_heard",
]
