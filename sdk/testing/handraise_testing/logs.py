"""The service's log in a test: what is usual is left out, so that a failing test shows its own lines and warnings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.typing import EventDict, WrappedLogger

THREAD = "handraise-testing"
_OURS = (THREAD, "db-")
_USUAL = frozenset({"debug", "info"})


@contextmanager
def warnings_alone() -> Iterator[None]:
    """The agent's own lines stay as they are. Nothing is changed if the project has configured structlog itself."""
    if structlog.is_configured():
        yield
        return
    structlog.configure(processors=[_without_usual, *structlog.get_config()["processors"]])
    try:
        yield
    finally:
        structlog.reset_defaults()


def _without_usual(_logger: WrappedLogger, level: str, line: EventDict) -> EventDict:
    if level in _USUAL and threading.current_thread().name.startswith(_OURS):
        raise structlog.DropEvent
    return line
