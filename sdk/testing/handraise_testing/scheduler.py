"""The scheduler: it does what is due, and moves the clock on once everybody waits.

It stands behind the port ``Work`` in place of an alarm. At every instant the service comes first (attempts, ends,
messages), then people. See :mod:`handraise_testing.gate` for who waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol

from core.database.database import Tx
from handraise_testing.clock import ManualClock
from handraise_testing.gate import Gate
from handraise_testing.plans import Due, Schedule
from handraise_testing.questions import Journal

Look = Callable[[], Awaitable[datetime | None]]

FOR_EVER = (
    "The question waits for ever: nobody answers and it has no timeout. ({question!r})\n"
    "Say what people do before the agent asks, for example humans.answer(…), or give the question timeout_seconds."
)


class Sending(Protocol):
    """The relay's queues."""

    async def empty(self) -> None: ...


class Scheduler:
    """Implements :class:`core.ports.Work`. Lives in the server's event loop."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.runs = True
        """Whether the clock moves by itself."""
        self._changed = asyncio.Event()
        self._one = asyncio.Lock()
        self._stale = True
        """Whether something has changed since the service looked last."""
        self._due: datetime | None = None
        self._look: Look | None = None
        self._task: asyncio.Task[None] | None = None

    def join(
        self, journal: Journal, gate: Gate, schedule: Schedule, sending: Sending, act: Callable[[Due], Awaitable[None]]
    ) -> None:
        """What is there only once the service is wired. ``act`` does what a person does."""
        self._journal, self._gate, self._schedule = journal, gate, schedule
        self._sending, self._act = sending, act

    # --- The port -----------------------------------------------------------------------------------------------------

    async def start(self, look: Look) -> None:
        self._look = look
        self._task = asyncio.create_task(self._run(), name="scheduler")
        self.wake()

    def nudge(self, at: datetime) -> None:
        if at <= self.clock.now():
            self._stale = True
        self._due = _first(self._due, at)
        self.wake()

    def within(self, tx: Tx, at: datetime) -> None:
        tx.after_commit(lambda: self.nudge(at))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def wake(self) -> None:
        """Something has changed: look whether everybody waits now. From the event loop only."""
        self._changed.set()

    # --- By itself ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        pause: float | None = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            self._changed.clear()
            async with self._one:
                try:
                    pause = await self._go_on()
                except Exception as failure:
                    self._gate.fail(f"The test's server failed: {type(failure).__name__}: {failure}")
                    raise

    async def _go_on(self) -> float | None:
        """Do what is due, and take one step if everybody waits. Returns in how many seconds to look again without being
        woken, ``None`` for never."""
        due = await self._settle()
        if not self.runs or self._gate.failed is not None or not self._gate.somebody_waits or self._gate.is_busy:
            return None
        if pause := self._gate.pause(self._somebody_may_still_ask()):
            return pause
        open_ids = {one.id for one in self._journal.open}
        act_at = self._schedule.next_at(open_ids)
        if act_at is None and all(one.look_at is None for one in self._journal.open):
            self._give_up()
            return None
        await self._move_to(_first(due, act_at))
        self.wake()
        return None

    def _somebody_may_still_ask(self) -> bool:
        """Whether an open question has an agent that neither waits nor is called back."""
        waited = self._gate.waited_for
        return any(one.id not in waited and one.ask.resume.callback_url is None for one in self._journal.open)

    def _give_up(self) -> None:
        waited = self._gate.waited_for
        questions = [one.ask.question for one in self._journal.open if one.id in waited or not waited]
        if questions:
            self._gate.fail(FOR_EVER.format(question=questions[0]))

    # --- By the test's hand -------------------------------------------------------------------------------------------

    async def advance(self, step: timedelta) -> None:
        """Move the clock on, stopping at every instant at which something is due. Returns once all of it is done."""
        async with self._one:
            target = self.clock.now() + step
            while True:
                at = _first(await self._settle(), self._schedule.next_at())
                if at is None or at > target:
                    break
                await self._move_to(at)
            await self._move_to(target)
            await self._settle()

    async def finish(self) -> str | None:
        """Move the clock on until no question is open. Returns why that can't be, if a question waits for ever."""
        async with self._one:
            due = await self._settle()
            while still_open := self._journal.open:
                act_at = self._schedule.next_at({one.id for one in still_open})
                if act_at is None and all(one.look_at is None for one in still_open):
                    return FOR_EVER.format(question=still_open[0].ask.question)
                await self._move_to(_first(due, act_at))
                due = await self._settle()
            return None

    async def settle(self) -> None:
        """Do what is due now."""
        async with self._one:
            await self._settle()

    # --- Steps --------------------------------------------------------------------------------------------------------

    async def _settle(self) -> datetime | None:
        """Do what the service has to do now; returns when it has something to do next."""
        if self._look is None:
            return None
        while True:
            if self._stale:
                self._stale, self._due = False, None
                self._due = _first(await self._look(), self._due)
            await self._sending.empty()
            if not self._stale and (self._due is None or self._due > self.clock.now()):
                return self._due
            self._stale = True

    async def _move_to(self, at: datetime | None) -> None:
        """Let it be ``at``: what is due then is done, and then people do what they do then."""
        if at is not None and at > self.clock.now():
            self.clock.move_to(at)
            self._stale = True
            await self._settle()
        while (due := self._schedule.take(self.clock.now())) is not None:
            await self._act(due)
            await self._settle()


def _first(*moments: datetime | None) -> datetime | None:
    return min((at for at in moments if at is not None), default=None)
