"""The log: lines for people, or one JSON object a line. Records may carry `fields`."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping

from container.kokoro.settings import Settings

_OURS = "container.kokoro"


def set_up(settings: Settings) -> None:
    """Send all log records, and warnings, to stderr in the format that was chosen."""
    logging.basicConfig(level=logging.INFO, handlers=[_handler(settings)], force=True)
    logging.captureWarnings(capture=True)  # torch has some, in lines of their own


def set_up_unless_done(settings: Settings) -> None:
    """Send the container's own records to stderr where nobody has said yet where records go.

    For servers that import the application: they set up loggers of their own alone, and the rest is theirs to keep.
    """
    logger = logging.getLogger(_OURS)
    if not logger.hasHandlers():
        logger.addHandler(_handler(settings))
        logger.setLevel(logging.INFO)


def _handler(settings: Settings) -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    return handler


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


class TextFormatter(logging.Formatter):
    """Time, level, logger, message, and the fields as `name=value`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the parent's name
        """Append the fields to the message."""
        pairs = (f"{name}={json.dumps(value)}" for name, value in _fields(record).items())
        return " ".join([super().formatMessage(record), *pairs])


class JsonFormatter(logging.Formatter):
    """`time` (UTC), `level`, `logger`, `message`, `traceback` where there is one, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line | dict(_fields(record)), default=str)


def where(error: BaseException) -> str:
    """Return an exception's kind and its stack without its message, which may quote a client's text."""
    stack = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"{type(error).__name__} at\n{stack}"
