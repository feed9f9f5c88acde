"""What can go wrong, in three kinds: the container's setup, one client's request, one synthesis."""


class SetupError(Exception):
    """The container cannot start: weights, voices, an extra or an option. The text says what to do."""


class RequestError(Exception):
    """A request that is refused. `code` is stable, `field` names the culprit, `status` is for HTTP."""

    def __init__(
        self, code: str, message: str, *, field: str | None = None, request_id: object = "unknown", status: int = 400
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.request_id = request_id
        self.status = status


class SynthesisError(Exception):
    """The model raised or returned something that is not audio."""
