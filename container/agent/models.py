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
        return turn

    async def stream(self, *arguments: Any, **options: Any) -> AsyncGenerator[StreamEvent, None]:
        """Stream as BedrockModel does, but obey :attr:`stop` alone."""
        options["cancel_signal"] = self.stop
        async for event in super().stream(*arguments, **options):
            yield event


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
