"""Why a live run does not see a fact: for each one that no probe asks about, what seeing it would take."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

__all__ = ["REASONS", "why"]

_CONTAINER = "only the container can see it: deploy one that writes down what it gets, and read its log"
_BEHAVIOUR = "needs a container that behaves so, deployed on purpose: costs an instance for some minutes"
_ENDPOINT = "needs an endpoint of its own that is created, updated or fails: costs an instance for some minutes"
_LONG = "takes minutes to an hour for a single look"
_RARE = "AWS does it in trouble of its own, and nobody can ask for it"
_CLIENT = "is about another client, or about what a client does: the emulator's tests with that client show it"
_RAW = "needs a broken client, or a look at both sides of the service at once"
_DROPPED = "is left out of what boto3 gives of an error"
_WORD = "is no behaviour: documentation, a remark, or something that is not reproduced"
_METER = "needs a container that meters, and a product in the marketplace"
_BEDROCK = "belongs to Bedrock: asking costs tokens, or cannot be provoked"
_AGENT = "needs a turn with the agent (--agent-runtime and --yes)"
_AGENT_TROUBLE = "needs an agent that is slow, silent, broken, or speaks WebSocket"
_SIZE = "takes the upload of 25 MB or more"
_SHAPE = "one answer does not show it: the probe depends on what the container offers (profile) and on --idle-seconds"

REASONS: Mapping[str, tuple[str, ...]] = {
    _WORD: (
        *("wire.service", "wire.flow", "wire.host", "req.net-extra", "req.no-other-members", "ctr.beta-old"),
        *("ping.app-keepalive", "life.endpoint-kind", "err.not-here", "stream.error-codes", "unk.idle", "life.root"),
        *("err.sdk-result", "err.no-retry", "stream.unmodelled"),
    ),
    _CLIENT: (
        *("wire.path-question-mark", "sign.js-authority", "event.sdk-headers", "event.header-order", "err.424-timing"),
        *("stream.silent-end", "stream.rst-before-headers", "frame.client-decode", "event.max-headers"),
        *("event.max-payload", "event.request-union"),
    ),
    _RAW: ("req.payload-hash", "resp.after-upgrade"),
    _DROPPED: ("err.client-from-model",),
    _CONTAINER: (
        *("req.strip", "ctr.port", "ctr.query", "ctr.request-id", "ctr.upgrade", "ping.answer", "unk.ping-payload"),
        *("unk.upgrade-headers", "close.client-drop", "close.to-container", "life.run", "life.ping", "life.env"),
        *(
            "life.ping-post",
            "life.ping-timeout",
            "life.ping-interval",
            "life.stop",
            "rs.chunked",
            "frame.json-as-binary",
        ),
        *("err.424-no-forward", "err.424-primary"),
    ),
    _BEHAVIOUR: (
        *("ctr.accept-250ms", "unk.accept-late", "frag.out", "close.container-*", "unk.crash", "unk.text-error"),
        *("stream.internal", "inv.no-answer", "inv.timeout-text", "life.invoke-60s", "rs.broken", "ping.silent-cut"),
        *("unk.ping-tick", "unk.no-label", "stream.model-error", "stream.raises", "stream.encoding", "unk.part-max"),
    ),
    _ENDPOINT: ("life.*", "close.update", "close.ping-fails", "req.variant-weights"),
    _LONG: ("ping.*", "limit.duration", "unk.duration-end", "rs.time-exceeded", "rs.timeout-text", "unk.rs-limit"),
    _RARE: ("err.throttle", "err.500", "err.503"),
    _SIZE: ("inv.too-large", "unk.invoke-size", "agent.payload-max", "bedrock.body-max"),
    _METER: ("meter.*", "unk.meter-drop"),
    _AGENT_TROUBLE: (
        *("agent.ws-*", "agent.request-limit", "agent.stream-limit", "agent.idle-limit", "agent.init-text"),
        *("agent.bearer", "agent.headers", "agent.hang-up", "agent.chunks", "agent.stop-running", "agent.status"),
    ),
    _AGENT: ("agent.*",),
    _BEDROCK: ("bedrock.*",),
    _SHAPE: ("*",),
}
"""Patterns of ids by reason; the first that fits counts."""


def why(fact_id: str) -> str:
    """Return why a run may not have seen a fact."""
    return next(reason for reason, patterns in REASONS.items() if any(fnmatchcase(fact_id, each) for each in patterns))
