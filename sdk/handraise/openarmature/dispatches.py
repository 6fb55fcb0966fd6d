"""Instances that run side by side, and the one among them that suspends.

A node that suspends inside a fan-out or a branch suspends the whole outer node. It may do so only if it is the only
one: the record holds one question, and after the answer the graph goes on behind the outer node. A second gate in there
would be passed without an answer. So ``suspend()`` waits here until every other instance has ended, and is refused if
one of them suspends too.

Source: OpenArmature suspension §8.2, §8.3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from handraise.suspension import SuspensionInUnsupportedContext


@dataclass(eq=False)
class Dispatch:
    """One run of a fan-out or of parallel branches.

    ``total`` is how many instances it has, ``width`` how many may run at once (``None``: all).
    """

    total: int
    collects: bool
    width: int | None = None
    _ended: int = 0
    _waiting: int = 0
    _is_failing: bool = False
    _is_refused: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @contextmanager
    def instance(self) -> Iterator[None]:
        """Around one instance, including everything that its author has put around it."""
        try:
            yield
        except BaseException:
            self._is_failing = True
            raise
        finally:
            self._ended += 1
            self._wake()

    async def alone(self) -> None:
        """Return when every other instance has ended well. Whoever cancels the instance ends the wait.

        Raises :class:`handraise.SuspensionInUnsupportedContext` if another one suspends, or can't run before this one
        has ended; ``CancelledError`` if another one fails, which ends this one.
        """
        self._waiting += 1
        self._is_refused |= self._waiting > 1
        self._wake()
        try:
            while self._ended < self.total - 1:
                if self._is_refused or self._is_failing:
                    break
                if self.width == 1:
                    raise SuspensionInUnsupportedContext(
                        "An instance suspends before the others have run, since only one may run at a time."
                    )
                await self._changed.wait()
            if self._is_refused:
                raise SuspensionInUnsupportedContext("Two instances of one node suspend; one signal would be lost.")
            if self._is_failing:
                raise asyncio.CancelledError
        finally:
            self._waiting -= 1

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
