"""Looks, one at a time: when woken, and at every sweep. A look that hangs is cancelled, and the next one begins."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from core.errors import DatabaseUnavailable

log = structlog.get_logger(__name__)

SWEEP = timedelta(seconds=5)
"""How long nobody may have looked. Counted in the event loop's own seconds, which go on when somebody sets the
host's clock back."""

LIMIT = timedelta(seconds=30)
"""A look that takes longer is given up and begun anew; what it has committed stands."""

AGAIN = timedelta(seconds=1)
"""After a look that failed the next one comes so soon."""


class Looking:
    """Calls ``look`` from one task. :meth:`wake` may be called from the event loop only."""

    def __init__(self, sweep: timedelta) -> None:
        self._sweep = sweep
        self._wake = asyncio.Event()
        self._changed = asyncio.Condition()
        self._begun = 0
        self._ended = 0
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._failed = False

    @property
    def is_on(self) -> bool:
        return self._task is not None and not self._stopping

    def start(self, look: Callable[[], Awaitable[None]]) -> None:
        """Look at once, then whenever woken and at every sweep."""
        self._stopping = False
        self._wake.set()
        self._task = asyncio.create_task(self._run(look), name="work")

    def wake(self) -> None:
        self._wake.set()

    async def once_more(self) -> None:
        """Look, and return when a look that began after this call has ended, or when no more looks will begin."""
        wanted = self._begun + 1
        self.wake()
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended >= wanted or not self.is_on)

    async def stop(self) -> None:
        """No look begins after this; one in progress is finished."""
        self._stopping = True
        if self._task is not None:
            self._wake.set()
            await self._task
            self._task = None
        async with self._changed:
            self._changed.notify_all()

    async def _run(self, look: Callable[[], Awaitable[None]]) -> None:
        while await self._woken():
            self._begun += 1
            self._failed = not await self._look(look)
            async with self._changed:
                self._ended = self._begun
                self._changed.notify_all()

    async def _look(self, look: Callable[[], Awaitable[None]]) -> bool:
        """Whether it came to its end."""
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                await look()
        except DatabaseUnavailable as unavailable:
            self._tell(unavailable.reason)
        except TimeoutError:
            self._tell("given_up")
        except Exception as failure:  # whatever it was, the questions that wait must not wait for ever
            log.exception("work.look_failed", reason=type(failure).__name__)
        else:
            if self._failed:
                log.info("work.looks_again")
            return True
        return False

    def _tell(self, reason: str) -> None:
        """Logs one line for a series of failures."""
        if not self._failed:
            log.warning("work.look_failed", reason=reason)

    async def _woken(self) -> bool:
        with contextlib.suppress(TimeoutError):
            pause = min(self._sweep, AGAIN) if self._failed else self._sweep
            await asyncio.wait_for(self._wake.wait(), pause.total_seconds())
        self._wake.clear()
        return not self._stopping
