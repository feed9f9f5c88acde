"""What can go wrong with the language model, as one exception with a stable code."""

from strands.types.exceptions import ContextWindowOverflowException, MaxTokensReachedException, ModelThrottledException

__all__ = ["ModelError", "model_error"]


class ModelError(Exception):
    """The model failed. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def model_error(failure: Exception, limit_s: float) -> ModelError:
    """Say what an exception out of the agent means; `limit_s` is how long it was waited for."""
    if isinstance(failure, ModelThrottledException):
        return ModelError("model_throttled", f"the model is throttled: {failure}; try again later")
    if isinstance(failure, MaxTokensReachedException):
        return ModelError("max_tokens", f"the answer was cut off at the token limit of the model: {failure}")
    if isinstance(failure, ContextWindowOverflowException):
        return ModelError("context_overflow", f"the conversation is too long for the model: {failure}")
    if isinstance(failure, TimeoutError):
        return ModelError("model_silent", f"the model sent nothing for {limit_s:g} s")
    return ModelError("model_error", f"the model failed: {type(failure).__name__}: {failure}")
