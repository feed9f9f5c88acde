"""The model's way from "loading" to "ready" or "failed", and what /ping says on it."""

import logging
import threading
import time
from collections.abc import Callable

from container.kokoro.errors import RequestError, SetupError, SynthesisError
from container.kokoro.speech import Speech

_log = logging.getLogger(__name__)


class Model:
    """Loads speech in a thread of its own. Only ready means loaded *and* heard once."""

    def __init__(self, load: Callable[[], Speech]) -> None:
        self._load = load
        self._speech: Speech | None = None
        self._stage = "loading"
        self.failure: str | None = None
        """Why loading failed, for people; None as long as it has not."""
        self.done = threading.Event()
        """Set when the model is ready, or has failed."""

    def start(self, on_failure: Callable[[], None]) -> None:
        """Begin to load; `on_failure` is called from the loading thread when that fails."""
        threading.Thread(target=self._run, args=(on_failure,), name="model loader", daemon=True).start()

    def _run(self, on_failure: Callable[[], None]) -> None:
        begun = time.monotonic()
        try:
            speech = self._load()
            self._stage = "warming up"
            speech.warm_up()
        except Exception as error:  # noqa: BLE001  # whatever it is, the process must end and say why
            self._stage = "failed"
            if not isinstance(error, SetupError | SynthesisError):
                _log.exception("loading the model failed")
            self.failure = str(error) or type(error).__name__
            self.done.set()
            on_failure()
            return
        self._speech = speech
        _log.info("ready after %.1f s: %s", time.monotonic() - begun, speech.description)
        self.done.set()

    def stop(self) -> None:
        """Let go of the speech; requests are refused from now on."""
        if self._speech is not None:
            self._speech.stop()
            self._speech = None
        self._stage = "stopped"

    @property
    def unready(self) -> str | None:
        """Why /ping must not say 200, or None when it may."""
        if self._speech is None:
            return (
                f"the model is {self._stage}" if self.failure is None else f"the model failed to load: {self.failure}"
            )
        return "the model fails on every text" if self._speech.is_broken else None

    @property
    def description(self) -> str:
        """Engine and weights, or the stage reached."""
        return self._speech.description if self._speech else self._stage

    @property
    def waiting(self) -> int:
        """Sentences that wait for their turn."""
        return self._speech.waiting if self._speech else 0

    @property
    def voices(self) -> list[str] | None:
        """Names of the voices on offer; None before they are known."""
        return self._speech.voices if self._speech else None

    def speech(self, request_id: object = "unknown") -> Speech:
        """Return the speech that is ready. Raises RequestError for the request that needs it."""
        if self._speech is None:
            message = f"{self.unready}; wait until GET /ping answers 200"
            raise RequestError("not_ready", message, request_id=request_id, status=503)
        return self._speech
