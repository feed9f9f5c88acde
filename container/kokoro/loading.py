"""From settings to speech: weights, engine and phonemizer, in that order."""

from collections.abc import Callable

from container.kokoro import engine, voices
from container.kokoro.settings import Settings
from container.kokoro.speech import Speech
from container.kokoro.weights import resolve


def loader(settings: Settings) -> Callable[[], Speech]:
    """Return the function that loads; it takes seconds and raises SetupError."""

    def load() -> Speech:
        from container.kokoro.phonemes import Phonemizer  # noqa: PLC0415  # spaCy: 2 s in which /ping can answer

        weights = resolve(settings.weights, settings.engine)
        model = engine.load(settings.engine, weights)
        return Speech(
            model,
            # before the container is ready: nobody's first request waits for the dictionaries of another's language
            Phonemizer(map(voices.language, model.voice_names)),
            max_waiting=settings.max_waiting,
            first_clause=settings.first_clause == "on",
            log_text=settings.log_text == "on",
        )

    return load
