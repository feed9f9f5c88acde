"""The language model of a turn, which can be stopped for certain."""

import copy
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

from botocore.config import Config
from strands.models import BedrockModel
from strands.models.model import Model
from strands.types.streaming import StreamEvent

from container.agent.settings import Settings

__all__ = ["BedrockModels", "ModelMaker", "StoppableBedrock"]

ModelMaker = Callable[[], Model]
"""Makes the model of one turn. If it has a `stop`, a threading.Event, that is set when the turn is over."""


class _Client:
    """A client of Bedrock Runtime that remembers the stream that it opened last."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._stream: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def converse_stream(self, **request: Any) -> Any:
        """Open a stream."""
        response = self._client.converse_stream(**request)
        self._stream = response["stream"]
        return response

    def close_stream(self) -> None:
        """Close it: botocore leaves the connection of a stream that breaks off to the garbage collector."""
        if self._stream is not None:
            self._stream.close()


class StoppableBedrock(BedrockModel):
    """A BedrockModel whose stream ends with :attr:`stop`.

    The agent's own signal is cleared when its invocation ends, so the thread that reads from Bedrock may never see it;
    this one stays set. The turns share a client, hence connections.
    """

    stop: threading.Event

    def for_turn(self) -> "StoppableBedrock":
        """Return a model for one turn."""
        turn = copy.copy(self)
        turn.stop = threading.Event()
        turn.client = _Client(self.client)
        return turn

    async def stream(self, *arguments: Any, **options: Any) -> AsyncGenerator[StreamEvent, None]:
        """Stream as BedrockModel does, but obey :attr:`stop` alone."""
        options["cancel_signal"] = self.stop
        try:
            async for event in super().stream(*arguments, **options):
                yield event
        except Exception:
            self.client.close_stream()  # the thread that read it has ended with this exception
            raise


class BedrockModels:
    """Makes Bedrock models; the URL is that of the region, or AWS_ENDPOINT_URL_BEDROCK_RUNTIME."""

    def __init__(self, settings: Settings) -> None:
        self._shared = StoppableBedrock(
            model_id=settings.model_id,
            region_name=settings.region,
            # a refused request is tried again by botocore, before there is any text; a broken stream never is
            boto_client_config=Config(
                connect_timeout=5,
                read_timeout=settings.model_timeout_s,
                retries={"mode": "standard", "total_max_attempts": 3},
                max_pool_connections=50,
            ),
        )

    def __call__(self) -> StoppableBedrock:
        """Make the model of one turn."""
        return self._shared.for_turn()

    def close(self) -> None:
        """Close the connections."""
        self._shared.client.close()
