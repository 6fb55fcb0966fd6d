"""Something small, again and again, as long as the process lives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from core.errors import DatabaseUnavailable

log = structlog.get_logger(__name__)


class Every:
    """Calls ``do`` at an interval; a call that fails is not the last. ``name`` is what the log calls it."""

    def __init__(self, name: str, interval: timedelta, do: Callable[[], Awaitable[object]]) -> None:
        self._name = name
        self._interval = interval
        self._do = do
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The first call comes after one interval."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """No call begins after this, and one that is under way is given up."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval.total_seconds())
            try:
                await self._do()
            except DatabaseUnavailable:
                log.warning("periodic.failed", what=self._name, reason="database_unavailable")
            except Exception as failure:  # it is tried again: what it does keeps other things alive
                log.exception("periodic.failed", what=self._name, reason=type(failure).__name__)
