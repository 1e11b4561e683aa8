"""Structured logs without content: what happened and where, never what was said.

No bodies, no header values, no query values, and of exceptions only their kind and place: their messages may quote
what an agent or a person wrote.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

QUOTING = ("django.request", "django.channels", "django.security")


def name_exception(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by the kind of exception and where it was raised."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        frames = traceback.extract_tb(error.__traceback__)
        event["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    return event


def drop_paths(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Django puts paths and header values into its messages; the request log names the route instead."""
    record = event.get("_record")
    if record is not None and record.name.startswith(QUOTING):
        event["event"] = record.name
        event["status"] = getattr(record, "status_code", None)
    return event


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, debug: bool) -> dict[str, Any]:
    """The `LOGGING` setting: JSON lines on stderr; readable lines with whole tracebacks under DEBUG."""
    rendering: list[Any] = [drop_paths, name_exception, structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    rendering.append(structlog.processors.JSONRenderer())
    if debug:
        rendering = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.dev.ConsoleRenderer()]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": rendering,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            # Django's own handlers would print each line a second time.
            "django": {"handlers": [], "level": "INFO"},
            # Their lines per request and per connection would repeat ours, with paths.
            "daphne": {"level": "WARNING"},
            "django.server": {"handlers": [], "level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "httpcore2": {"level": "WARNING"},
            "asyncio": {"level": "WARNING"},
        },
    }


def configure_structlog() -> None:
    """Let structlog hand its events to the standard logging that `LOGGING` sets up."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
