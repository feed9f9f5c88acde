"""Traces: the turn as a span, with Strands' own spans of agent, model and tools below it.

Below `speak`, the spans `first_text`, `first_sentence` and `first_audio` last from its beginning to what they are named
after. It holds the same as events, and as attributes `speech.first_text_ms` and so on, in milliseconds since
`agent_start`.
"""

import logging
import os
from collections.abc import Mapping

__all__ = ["set_up"]

_log = logging.getLogger(__name__)


def set_up(environment: Mapping[str, str] = os.environ) -> bool:
    """Export spans over OTLP where OTEL_EXPORTER_OTLP_ENDPOINT names a collector; return whether it does.

    Without the variable nothing is set up, and whoever did so before is left alone, as AgentCore's own instrumentation.
    """
    if not (environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return False
    try:
        from strands.telemetry import StrandsTelemetry  # noqa: PLC0415  # takes 0.3 s, and most runs export nothing

        StrandsTelemetry().setup_otlp_exporter()
    except Exception as error:  # noqa: BLE001 - an agent without traces is better than none
        _log.warning("traces are not exported: %s", error)
        return False
    return True
