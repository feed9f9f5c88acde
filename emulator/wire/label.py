"""What becomes of a session whose container lacks the bidirectional label (switch ``missing_label``)."""

from emulator import facts
from emulator.wire.exceptions import RequestError
from emulator.wire.request import model_error

__all__ = ["label_error"]


def label_error(policy: str, variant: str) -> RequestError:
    """Return the answer for ``refuse-424`` and ``refuse-400``."""
    label = facts.text("ctr.label")
    what = f"the image lacks the label {label}=true, so SageMaker opens no WebSocket to it"
    if policy == "refuse-424":
        return model_error(variant, what)
    return RequestError(
        facts.integer("err.400-input"), "InputValidationError", what.capitalize(), {"ErrorCode": "INVALID_INPUT"}
    )
