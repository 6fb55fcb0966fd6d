"""The service in this process: a thread with an event loop for the whole session, and in it a fresh service for each
test. The application, the engine and the store are the product's; only the clock, the channels and what drives time
are the test's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from handraise import Handraise

from bot.app import build_app
from bot.sandbox.serving import serving
from bot.wiring.composition import wire
from bot.wiring.roles import SystemClock
from handraise_testing.channels import RecordingChannel, recording_channels
from handraise_testing.clock import ManualClock
from handraise_testing.database import lay_down
from handraise_testing.gate import Gate
from handraise_testing.humans import People, PlanFailed
from handraise_testing.logs import THREAD
from handraise_testing.plans import Act, Due, Schedule, Which
from handraise_testing.questions import Journal
from handraise_testing.scheduler import Scheduler
from handraise_testing.settings import AGENT_KEY, settings_for

T = TypeVar("T")


class EventLoop:
    """A thread that runs an event loop, from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=THREAD, daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def begin(self, job: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(job, self._loop)

    def run(self, job: Coroutine[Any, Any, T]) -> T:
        """Wait until ``job`` has run in that thread."""
        return self.begin(job).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Server:
    """One test's service. Its methods run in the server's event loop."""

    def __init__(
        self,
        url: str,
        clock: ManualClock,
        channels: Mapping[str, RecordingChannel],
        journal: Journal,
        schedule: Schedule,
        scheduler: Scheduler,
        gate: Gate,
    ) -> None:
        self.url = url
        self.clock = clock
        self.channels = channels
        self.journal = journal
        self.schedule = schedule
        self.scheduler = scheduler
        self.gate = gate

    async def plan(self, act: Act, which: Which | None) -> None:
        self.schedule.add(act, which, self.journal.open, self.clock.now())
        self.scheduler.wake()

    async def set_running(self, runs: bool) -> None:
        self.scheduler.runs = runs
        self.scheduler.wake()


@asynccontextmanager
async def running(folder: Path, given: Mapping[str, Any]) -> AsyncIterator[Server]:
    """A fresh service with the settings ``given`` over the defaults, its database in ``folder``."""
    settings = settings_for(given, folder / "handraise.db")
    lay_down(settings.database_url)
    clock, schedule = ManualClock(), Schedule()
    channels, scheduler = recording_channels(clock.now), Scheduler(clock)
    service = wire(settings, folder, clock, scheduler, channels=channels, stamps=SystemClock())
    journal = Journal(service.transitions.observer, clock.now, schedule)
    service.transitions.observer = journal
    gate = Gate(build_app(service), journal.is_open, scheduler.wake)
    people = People(
        service.engine, service.services.asking.collaboration, service.transitions.responders, journal, schedule
    )

    async def act(due: Due) -> None:
        try:
            await people.act(due)
        except PlanFailed as failure:
            gate.fail(str(failure))

    scheduler.join(journal, gate, schedule, service.lanes, act)
    async with serving(gate, http=gate.protocol) as url:
        await scheduler.settle()
        try:
            yield Server(url, clock, channels, journal, schedule, scheduler, gate)
        finally:
            gate.fail("The test is over.")  # who waits on would look for a server that never comes back


async def warm_up(folder: Path) -> None:
    """Ask one question of a service that nobody needs: what is made at the first request of a process is made here, and
    not while a test runs."""
    async with running(folder, {}) as server, Handraise(server.url, AGENT_KEY) as people:
        asked = await people.suspend("Is anybody there?", response_type="confirm", timeout_seconds=60)
        await people.wait(asked.suspension_id)
