"""Repeated tasks: a small task at an interval, as long as the process lives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from core.errors import DatabaseUnavailable
from core.work.health import Health

log = structlog.get_logger(__name__)

AGAIN = timedelta(seconds=1)
"""After a call that failed the next one comes so soon."""

LIMIT = timedelta(seconds=30)
"""A call that takes longer is given up."""


class Every:
    """Calls ``do`` at an interval; calls go on after one that fails or hangs. ``name`` is for the log and
    ``health``."""

    def __init__(
        self, name: str, interval: timedelta, do: Callable[[], Awaitable[object]], health: Health | None = None
    ) -> None:
        self._name = name
        self._interval = interval
        self._do = do
        self._health = health
        self._failed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The first call comes after one interval."""
        self._begins()
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """No call begins after this, and one in progress is cancelled."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._health is not None:
            self._health.ends(self._name)

    async def _run(self) -> None:
        while True:
            pause = min(self._interval, AGAIN) if self._failed else self._interval
            await asyncio.sleep(pause.total_seconds())
            self._begins()
            try:
                async with asyncio.timeout(LIMIT.total_seconds()):
                    await self._do()
            except DatabaseUnavailable as unavailable:
                self._fails(unavailable.reason)
            except TimeoutError:
                self._fails("given_up")
            except Exception as failure:  # it is tried again: what it does keeps other things alive
                self._failed = True
                log.exception("periodic.failed", what=self._name, reason=type(failure).__name__)
            else:
                self._succeeds()

    def _begins(self) -> None:
        if self._health is not None:
            self._health.begins(self._name, self._interval)

    def _fails(self, reason: str) -> None:
        """Logs one line for a series of failures."""
        if not self._failed:
            log.warning("periodic.failed", what=self._name, reason=reason)
        self._failed = True

    def _succeeds(self) -> None:
        if self._failed:
            log.info("periodic.works_again", what=self._name)
        self._failed = False
