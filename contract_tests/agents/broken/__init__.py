"""Agents with exactly one fault each."""

from dataclasses import dataclass

__all__ = ["AGENTS", "Agent"]


@dataclass(frozen=True)
class Agent:
    """One agent of the suite's own test bench.

    ``app`` as ``agent:`` names it; ``caught_by``: id of the check whose fault it has, None for a good one;
    ``stands_for``: the mistake as people make it, with the public report that it stands for; ``cause``: what the first
    cause that its check names has to say.
    """

    name: str
    app: str
    caught_by: str | None
    stands_for: str
    cause: str = ""

    @property
    def source(self) -> str:
        """The file that it is written in, from the root of the repository."""
        return f"{self.app.split(':')[0].replace('.', '/')}.py"


def _broken(module: str, caught_by: str, stands_for: str, cause: str) -> Agent:
    return Agent(module.replace("_", "-"), f"contract_tests.agents.broken.{module}:app", caught_by, stands_for, cause)


AGENTS = (
    Agent("standin", "contract_tests.agents.good.standin:app", None, "An agent of a hundred lines on Starlette"),
    _broken(
        "raw_separators",
        "CT20",
        "U+2028 and the like stand in the events as they are. https://github.com/langgenius/dify/pull/39008",
        "ensure_ascii=False",
    ),
    _broken(
        "nan_duration",
        "CT20",
        "NaN in an event. https://github.com/home-assistant/home-assistant-js-websocket/issues/80",
        "A number that is no number",
    ),
    _broken(
        "repr_events",
        "CT20",
        "The SDK's own events in the stream. https://github.com/strands-agents/harness-sdk/issues/1928",
        "An event of an SDK",
    ),
    _broken(
        "odd_base64",
        "CT20",
        "Each frame of the voice becomes base64 as it came. https://github.com/livekit/agents-js/issues/2068",
        "Each frame of the voice is encoded as it came",
    ),
    _broken(
        "dropped_byte",
        "CT20",
        "The odd byte of a frame is thrown away. https://github.com/pipecat-ai/pipecat/pull/4952",
        "An odd byte is thrown away",
    ),
    _broken(
        "collects",
        "CT20",
        "The audio of a turn is one event. https://github.com/aws/aws-sdk-ruby/issues/3348",
        "All audio is collected",
    ),
    _broken(
        "cuts_at_dots",
        "CT21",
        "A sentence ends at every full stop. https://github.com/pipecat-ai/pipecat/issues/1756",
        "It cuts at every full stop",
    ),
    _broken(
        "forgets_tail",
        "CT21",
        "What ends without a full stop is never spoken. https://github.com/pipecat-ai/pipecat/pull/250",
        "What stands behind the last full stop is never handed over",
    ),
    _broken(
        "glued_tool",
        "CT21",
        "The texts before and behind a tool grow together. https://github.com/livekit/agents/issues/3798",
        "The buffer is not flushed where the model stops to use a tool",
    ),
    _broken(
        "shared_buffer",
        "CT21",
        "One splitter for all turns. https://github.com/pipecat-ai/pipecat/issues/5341",
        "The buffer of the splitter belongs to the module",
    ),
    _broken(
        "end_is_done",
        "CT22",
        "The end of the socket is the end of the sentence. https://github.com/Migushthe2nd/MsEdgeTTS/issues/34",
        "The end of the socket is taken for the end of the sentence",
    ),
    _broken(
        "skips_errors",
        "CT22",
        "An error of the voice is skipped. https://github.com/smallest-inc/smallest-python-sdk/issues/115",
        "An error message of the container is an unknown message",
    ),
    _broken(
        "unwatched_open",
        "CT22",
        "Nobody looks at the task that listens to the voice. https://github.com/pipecat-ai/pipecat/pull/4803",
        "and nobody looks at it",
    ),
    _broken(
        "left_behind",
        "CT22",
        "A turn goes on when its caller has left. https://github.com/NousResearch/hermes-agent/pull/3427",
        "is not ended with the request",
    ),
    _broken(
        "session_each",
        "CT22",
        "A speech session for each sentence. https://github.com/vellum-ai/vellum-assistant/pull/20336",
        "A session is opened for each sentence",
    ),
    _broken(
        "blocked_ping",
        "CT22",
        "The agent works on the event loop. https://github.com/aws/bedrock-agentcore-sdk-python/pull/46",
        "The turn blocks the event loop",
    ),
)
