"""Renewal beside the work: a step that is repeated until it is stopped, as a task or in a thread.

The step returns whether there is more to do. It raises nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable


class Renewal:
    """The step is a coroutine function; it runs in a task of the same loop."""

    def __init__(self, step: Callable[[], Awaitable[bool]], every_seconds: float) -> None:
        self._step, self._seconds = step, every_seconds
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if not await self._step():
                return


class RenewalSync:
    """The step is a plain function; it runs in a thread."""

    def __init__(self, step: Callable[[], bool], every_seconds: float) -> None:
        self._step, self._seconds = step, every_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="handraise lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds) and self._step():
            pass
