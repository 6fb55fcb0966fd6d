"""Calls of the database: a job, its caller, and the deadline by which it is over.

The time is counted on this side of the wire. A half-open connection, a stuck pooler and a dead disk never report that
they are gone; and what a middle box acknowledges is not delivered, so that TCP's keepalives do not help.

Source: docs/decisions/0033-deadlines-on-every-database-call.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from core.database.failures import no_answer

T = TypeVar("T")

_LAST_WORD = 0.5
"""So many seconds after its thread should have given up, whoever waits does so too: the thread itself is stuck. Half of
them begin when the time is over: a process that has been frozen finds its timers and its answers at once, and the
answers count."""


@dataclass(slots=True)
class Tx:
    """One open transaction."""

    conn: sa.Connection
    hooks: list[Callable[[], None]] = field(default_factory=list)
    taken: frozenset[str] = frozenset()
    """Intents that were locked before the job began (:class:`BeginAgain`)."""
    turns: tuple[str, ...] = ()
    """What it has waited for, in order, before it locked anything (:func:`core.store.idempotency.wait_turn`)."""

    def after_commit(self, hook: Callable[[], None]) -> None:
        """Run ``hook`` in the event loop once this transaction is committed; never if it is not."""
        self.hooks.append(hook)


class BeginAgain(Exception):
    """A job needs what another transaction holds, and holds something itself. It lets go and begins again, after
    ``first``, which may wait: nothing is held then. So two jobs never wait for each other."""

    def __init__(self, first: Callable[[Tx], None]) -> None:
        super().__init__()
        self.first = first


class Watchdog:
    """The one timer that tells calls that their time is over. All have the same ``span``, in seconds: whichever began
    first is overdue first, so that one timer does for all of them, where one each would cost as much as a small read.
    Of the event loop.
    """

    def __init__(self, span: float) -> None:
        self.span = span
        self._waiting: dict[Call[Any], float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: Call[Any]) -> None:
        if self._loop is not call.loop:  # whoever waited in another one has gone with it
            self._loop, self._timer = call.loop, None
            self._waiting.clear()
        end = call.loop.time() + self.span + _LAST_WORD / 2
        self._waiting[call] = end
        if self._timer is None:
            self._timer = call.loop.call_at(end, self._look, call.loop)

    def settled(self, call: Call[Any]) -> None:
        self._waiting.pop(call, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        while self._waiting:
            call, end = next(iter(self._waiting.items()))
            if end > loop.time():
                self._timer = loop.call_at(end, self._look, loop)
                return
            del self._waiting[call]
            call.overdue()


class Call(Generic[T]):
    """A submitted job and the caller that waits for it. Made in the event loop, settled from the database's thread.

    ``until`` is an instant of :func:`time.monotonic`; ``statement`` is in seconds, ``None`` for the usual.
    """

    __slots__ = ("_last_word", "_watch", "future", "given_up", "job", "loop", "statement", "until")

    def __init__(self, job: Callable[[Any], T], watch: Watchdog, statement: timedelta | None = None) -> None:
        self.job = job
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.until = time.monotonic() + watch.span
        self.statement = None if statement is None else statement.total_seconds()
        self.given_up = False
        """Nobody waits for it any more: a job that has not begun by then never does."""
        self._last_word: asyncio.TimerHandle | None = None
        self._watch = watch
        watch.add(self)

    def settle(self, hooks: list[Callable[[], None]], value: Any, error: BaseException | None) -> None:
        """Called from the database's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self.loop.call_soon_threadsafe(self._settle_in_loop, hooks, value, error)

    def overdue(self) -> None:
        """Its time is over, and half of :data:`_LAST_WORD` with it."""
        self._last_word = self.loop.call_later(_LAST_WORD / 2, self._give_up)

    def _give_up(self) -> None:
        if not self.future.done():
            self.given_up = True
            self.future.set_exception(no_answer())

    def _settle_in_loop(self, hooks: list[Callable[[], None]], value: Any, error: BaseException | None) -> None:
        """Whatever a hook does, the commit stands: the other hooks run, and the caller is told, if it still waits."""
        self._watch.settled(self)
        if self._last_word is not None:
            self._last_word.cancel()
        failures: list[Exception] = []
        for hook in hooks:
            try:
                hook()
            except Exception as failure:  # noqa: BLE001 (raised below, for the event loop to report)
                failures.append(failure)
        if self.future.done():
            pass
        elif error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)
        if failures:
            raise failures[0]


LONG = timedelta(seconds=30)
"""For a call of the background that moves much at a time, and that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """``statement``: until the database answers one statement. ``call``: one whole transaction, from when it is asked
    for; the wait for a thread and for a connection is part of it."""

    statement: timedelta = timedelta(seconds=5)
    call: timedelta = timedelta(seconds=8)


class _Budget(threading.local):
    """What this thread's call has left. Without a call only the statement counts."""

    until: float = float("inf")
    statement: float | None = None


_budget = _Budget()


@contextmanager
def spending(until: float, statement: float | None = None) -> Iterator[None]:
    """Inside, no statement of this thread may take longer than to the instant ``until`` of :func:`time.monotonic`, nor
    than ``statement`` seconds if that is given."""
    before = _budget.until, _budget.statement
    _budget.until, _budget.statement = min(until, before[0]), statement
    try:
        yield
    finally:
        _budget.until, _budget.statement = before


def left(usual: float) -> float:
    """The seconds that the next statement of this thread may take, ``usual`` unless its call has less left or was
    given more. Never quite zero: what has arrived by now is still read."""
    most = usual if _budget.statement is None else _budget.statement
    return max(0.01, min(most, _budget.until - time.monotonic()))
