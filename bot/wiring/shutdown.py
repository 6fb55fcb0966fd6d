"""The end of the process: at most ten seconds after it was asked for, whatever hangs.

Work with a deadline ends by it. Work without one (a thread that waits for a disk, a name server, a blocked loop) would
keep the process alive for ever, so a thread of its own ends the process. Nothing acknowledged is lost by that: it would
survive ``kill -9`` as well.

Source: API.md §9.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from core.errors import DatabaseUnavailable

log = structlog.get_logger(__name__)

WITHIN = timedelta(seconds=9.5)
"""From the signal on; whoever sent it waits for ten seconds before it kills."""

_LAST_LINE = 0.2
"""Seconds for what is printed at the very end: whoever should read it may hang too."""


class Shutdown:
    """``end`` ends the process at once, with an exit status."""

    def __init__(self, within: timedelta = WITHIN, end: Callable[[int], object] = os._exit) -> None:
        self._within = within.total_seconds()
        self._end = end
        self._status = 0
        self._line: str | None = None
        self._until: float | None = None

    def begin(self, status: int = 0, line: str | None = None) -> None:
        """The end was asked for; only the first time counts. ``line`` is printed if it has to be forced."""
        if self._until is not None:
            return
        self._status, self._line = status, line
        self._until = time.monotonic() + self._within
        timer = threading.Timer(self._within, self._force)
        timer.daemon = True
        timer.start()

    @property
    def left(self) -> timedelta:
        """How long everything may still take."""
        until = self._until
        return timedelta(seconds=self._within if until is None else max(0.0, until - time.monotonic()))

    def _force(self) -> None:
        printing = threading.Thread(target=self._say, daemon=True)
        printing.start()
        printing.join(_LAST_LINE)
        self._end(self._status)

    def _say(self) -> None:
        with contextlib.suppress(Exception):  # the end comes all the same
            log.warning("service.end_forced")
            if self._line is not None:
                print(self._line, file=sys.stderr, flush=True)
            sys.stdout.flush()


class Steps:
    """Ends one part after the other, each within a share of the time left, even if one fails."""

    def __init__(self, within: timedelta) -> None:
        self._until = time.monotonic() + within.total_seconds()

    @property
    def left(self) -> timedelta:
        return timedelta(seconds=max(0.0, self._until - time.monotonic()))

    async def take(self, what: str, ends: Awaitable[object], share: float = 0.5) -> None:
        """A part that has not ended within its ``share`` of the time left is given up."""
        try:
            async with asyncio.timeout(self.left.total_seconds() * share):
                await ends
        except TimeoutError:
            log.warning("service.not_ended", what=what, reason="hangs")
        except DatabaseUnavailable as unavailable:
            log.warning("service.not_ended", what=what, reason=unavailable.reason.value)
        except Exception as failure:  # the rest has to end all the same
            log.exception("service.not_ended", what=what, reason=type(failure).__name__)
