"""Portions: on PostgreSQL, what comes while a transaction is under way shares the next one.

A try that got through is written down by itself if nothing else is to be. Under load up to :data:`MOST` of them are one
transaction, which takes little more of the processor than one of them would. On SQLite the one writer commits together
what comes together (:mod:`core.database.group_commit`), and nobody has to wait for a turn before it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from core.database.database import Database, Tx

MOST = 25
"""Whoever waits for one of their rows waits for all of them."""

Part = Callable[[Tx], None]
"""Its part of a transaction."""


class _Word(Enum):
    """What somebody who waits is told."""

    WRITTEN = auto()
    WRITE = auto()  # the next portion
    ALONE = auto()  # the portion has failed: only who is at fault for that shall suffer from it


@dataclass(slots=True, eq=False)
class _Waiting:
    part: Part
    word: asyncio.Future[_Word] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Portions:
    """Writes parts of transactions. Whoever comes while nobody writes does it for all who come with them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Waiting] = []
        self._is_writing = False

    async def write(self, part: Part, *, can_wait: bool = False) -> None:
        """Returns when ``part`` is committed; ``can_wait`` and what it raises are those of :meth:`Database.write`. It
        may be run more than once, as any job may."""
        if not self._database.is_shared:
            await self._database.write(part, can_wait=can_wait)
            return
        own = _Waiting(part)
        self._waiting.append(own)
        word = await self._word(own) if self._is_writing else _Word.WRITE
        if word is _Word.WRITE:
            word = await self._write_next(own)
        if word is _Word.ALONE:
            await self._database.write(part)

    async def _word(self, own: _Waiting) -> _Word:
        try:
            return await own.word
        except asyncio.CancelledError:
            if own in self._waiting:
                self._waiting.remove(own)
            if not own.word.cancelled() and own.word.done() and own.word.result() is _Word.WRITE:
                self._pass_on()
            raise

    async def _write_next(self, own: _Waiting) -> _Word:
        self._is_writing = True
        portion, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        word = _Word.ALONE
        try:
            await self._database.write(lambda tx: _written(tx, portion))
            word = _Word.WRITTEN
        except Exception:
            if len(portion) == 1:
                raise
        finally:
            for other in portion:
                if other is not own and not other.word.done():
                    other.word.set_result(word)
            self._pass_on()
        return word

    def _pass_on(self) -> None:
        """The next portion is for the first who still waits."""
        self._waiting = [one for one in self._waiting if not one.word.done()]
        self._is_writing = bool(self._waiting)
        if self._waiting:
            self._waiting[0].word.set_result(_Word.WRITE)


def _written(tx: Tx, portion: list[_Waiting]) -> None:
    for one in portion:
        one.part(tx)
