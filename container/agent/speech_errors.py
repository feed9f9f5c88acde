"""What can go wrong with speech, as one exception with a stable code."""

__all__ = ["SpeechError"]


class SpeechError(Exception):
    """The speech side failed. `code` is for programs, the message for people: what happened, what was expected."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
