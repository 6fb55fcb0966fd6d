"""Blocking work beside the event loop that nobody waits for at the end: a thread that the process may leave behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """What ``work`` returns or raises. Its thread, unlike ``asyncio.to_thread``'s, holds up no process's end."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 (raised where it is awaited)
            tell(partial(outcome.set_exception, error))
        else:
            tell(partial(outcome.set_result, result))

    def tell(settle: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settle())

    threading.Thread(target=run, name="handraise-aside", daemon=True).start()
    return await outcome
