"""Logs: a JSON object a line on standard error, with the request's id; never what is in a message.

Records of other libraries, and warnings, come as logger, level, place and the type of an exception: their
texts may repeat what they were given.
"""

import logging
import sys
import traceback
from contextlib import suppress
from typing import Any, TextIO, cast

import pydantic_core
import structlog

REQUEST_ID = "request_id"


def configure(service: str, level: str = "INFO") -> None:
    """Set up logging of this process."""
    number = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", _Unfailing(sys.stderr))),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    root = logging.getLogger()
    root.handlers[:] = [_Places(service)]
    root.setLevel(max(number, logging.WARNING))
    # Python would write them as they are, with the line of code.
    logging.captureWarnings(True)


def _json(event: dict[str, Any], **_: Any) -> str:
    """A line's fields. Of what is neither text nor number only its type: its repr may say anything."""
    return pydantic_core.to_json(event, fallback=lambda value: type(value).__name__).decode()


def logger(service: str) -> structlog.typing.FilteringBoundLogger:
    """The logger of a service."""
    return cast("structlog.typing.FilteringBoundLogger", structlog.get_logger(service=service))


def places(error: BaseException) -> list[str]:
    """Where an exception came from, innermost last, without a word of its text: `module.py:12 function`."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-12:]]


class _Unfailing:
    """A stream that drops what cannot be written: a full disk must not turn answers into errors."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write, if possible."""
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        """Flush, if possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


class _Places(logging.Handler):
    """Writes where a foreign record comes from, not what it says."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._logger = logger(service)

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name, "place": f"{record.module}:{record.lineno}"}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = type(record.exc_info[1]).__name__
            fields["places"] = places(record.exc_info[1])
        write = self._logger.error if record.levelno >= logging.ERROR else self._logger.warning
        write("library", **fields)
