"""What operators see: Prometheus metrics, and one log line for each request. Never the text of a request."""

import logging
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

from container.kokoro.errors import RequestError
from container.kokoro.messages import Utterance
from container.kokoro.speech import Delivery

type Transport = Literal["websocket", "http"]
type Outcome = Literal["complete", "cancelled", "disconnected", "failed", "refused"]

_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30)
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2, 5)

_BUSY = 503
"""The status of what is refused although nothing is wrong with it: too much waits, or no model is ready."""

_log = logging.getLogger("container.kokoro.requests")


def outcome_of(error: RequestError) -> Outcome:
    """Return how a request ended that was answered with `error`."""
    return "failed" if error.status >= 500 and error.status != _BUSY else "refused"


class Telemetry:
    """The metrics of one application, in a registry of its own."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._open = 0
        self._sessions = Gauge("kokoro_sessions", "Open WebSocket sessions", registry=registry)
        self.waiting = Gauge("kokoro_waiting", "Sentences that wait for the model", registry=registry)
        self.ready = Gauge("kokoro_ready", "1 when GET /ping answers 200", registry=registry)
        self.in_flight = Gauge("kokoro_requests_in_flight", "Requests being spoken", ["transport"], registry=registry)
        self._limits = Gauge("kokoro_limit", "Settings that requests are refused over", ["what"], registry=registry)
        self._model = Info("kokoro_model", "Engine and weights, once they are loaded", registry=registry)
        self._refused = Counter("kokoro_sessions_refused", "Sessions over the limit", registry=registry)
        self._requests = Counter(
            "kokoro_requests", "Requests by how they ended", ["transport", "outcome"], registry=registry
        )
        self._queued = Histogram(
            "kokoro_queue_seconds",
            "From the arrival of a request to its turn in its session",
            ["transport"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._first_audio = Histogram(
            "kokoro_first_audio_seconds",
            "From a request's turn to its first audio",
            ["transport"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._factor = Histogram(
            "kokoro_real_time_factor", "Computing time / audio time", buckets=_FACTORS, registry=registry
        )
        self._characters = Counter("kokoro_characters", "Characters of requests begun", registry=registry)
        self._audio = Counter("kokoro_audio_seconds", "Audio handed out", registry=registry)
        self._computing = Counter("kokoro_synthesis_seconds", "Time in the model and its phonemizer", registry=registry)

    def limits(self, **limits: int) -> None:
        """Set what may be open, queued or waiting at most."""
        for what, limit in limits.items():
            self._limits.labels(what).set(limit)

    def model(self, description: str) -> None:
        """Set what speaks."""
        self._model.info({"description": description})

    def open_sessions(self, number: int) -> None:
        """Set the number of open sessions."""
        self._open = number
        self._sessions.set(number)

    def session_refused(self) -> None:
        """Count a session over the limit."""
        self._refused.inc()

    def refused(self, transport: Transport, code: str) -> None:
        """Count and log a message or body that holds no request."""
        self._requests.labels(transport, "refused").inc()
        _log.info("request refused", extra={"fields": {"transport": transport, "outcome": "refused", "code": code}})

    def gone(self, transport: Transport) -> None:
        """Count a request whose client left before it was there as a whole."""
        self._requests.labels(transport, "disconnected").inc()
        _log.info("request", extra={"fields": {"transport": transport, "outcome": "disconnected"}})

    def done(
        self,
        transport: Transport,
        utterance: Utterance,
        delivery: Delivery | None,
        outcome: Outcome,
        *,
        queued_s: float = 0.0,
        code: str | None = None,
    ) -> None:
        """Count and log a request that is over, and that was in the queue of its session for `queued_s`.

        `delivery` is None where it was over before its turn; `code` is that of the error it was answered with.
        """
        self._requests.labels(transport, outcome).inc()
        fields: dict[str, object] = {"transport": transport, "outcome": outcome}
        fields |= {} if code is None else {"code": code}
        fields |= {
            "request_id": utterance.request_id,
            "voice": utterance.voice,
            "characters": len(utterance.text),
            "queued_s": round(queued_s, 3),
        }
        if delivery is not None and outcome != "refused":
            fields |= self._spoken(transport, utterance, delivery, queued_s)
        _log.info("request", extra={"fields": fields | {"sessions": self._open}})

    def _spoken(
        self, transport: Transport, utterance: Utterance, delivery: Delivery, queued_s: float
    ) -> dict[str, object]:
        """Measure a request that was begun, and return what the log says about that."""
        fields: dict[str, object] = {
            "audio_s": round(delivery.seconds, 3),
            "elapsed_s": round(delivery.elapsed_s, 3),
            "waiting": delivery.waiting,
        }
        self._queued.labels(transport).observe(queued_s)
        self._characters.inc(len(utterance.text))
        self._audio.inc(delivery.seconds)
        self._computing.inc(delivery.computing_s)
        if delivery.first_audio_s is not None:
            self._first_audio.labels(transport).observe(delivery.first_audio_s)
            fields["first_audio_s"] = round(delivery.first_audio_s, 3)
        if delivery.computed_s:
            factor = delivery.computing_s / delivery.computed_s
            self._factor.observe(factor)
            fields["real_time_factor"] = round(factor, 3)
        return fields

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
