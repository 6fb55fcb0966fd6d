"""The clock of any number of processes on one PostgreSQL: procrastinate's jobs, written in our own transactions.

A job says "look", and a look does everything that is due; so one job stands for all rows due within the same half
second, and none stands for a suspension. A row beyond the horizon gets its job from an earlier look: procrastinate
reads every waiting job each time it asks for one, so that they must be few.

A row that is due at once does not wait for a job: the commit notifies every worker (``core/work/news.py``). The sweep
catches the rest: each worker looks every few seconds, and finds rows without a job.

Source: DESIGN.md, "When to look again"; docs/decisions/0005.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from core.database.database import Database, Tx
from core.hub import WORK, Hub
from core.ports import Clock
from core.store import jobs
from core.work.every import Every
from core.work.looking import SWEEP, Looking

if TYPE_CHECKING:  # loaded if PostgreSQL is used
    import procrastinate
    import psycopg_pool

log = structlog.get_logger(__name__)

POLL = timedelta(seconds=0.5)
STEP = timedelta(seconds=0.5)
"""Rows that are due within one step share one job."""

HORIZON = timedelta(seconds=30)
"""How far ahead jobs are written; several sweeps, so that no instant comes near unseen."""

STALLED = timedelta(seconds=20)
"""A worker of procrastinate's that has been silent for so long is dead."""

_PATIENCE = timedelta(seconds=2)  # for procrastinate's end, if the database does not answer
_FARTHEST = timedelta(days=1)
_REMEMBERED = 2_000


class DistributedWork:
    """Implements :class:`core.ports.Work`. Even if it is not started, :meth:`within` still calls the workers."""

    def __init__(
        self, database: Database, clock: Clock, hub: Hub, sweep: timedelta = SWEEP, stalled: timedelta = STALLED
    ) -> None:
        self._database = database
        self._clock = clock
        self._hub = hub
        self._looking = Looking(sweep)
        self._stalled = stalled
        self._written: set[int] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: datetime | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._rescue = Every("work-rescue", stalled / 2, self._take_over)
        self._app: procrastinate.App | None = None

    # --- Saying that something will be due ------------------------------------------------------------------------

    def within(self, tx: Tx, at: datetime) -> None:
        wait = at - self._clock.now()
        if wait <= timedelta(0):
            self._hub.announce(tx, WORK)
        self._write_job(tx, at)
        if self._looking.is_on:
            tx.after_commit(lambda: self.nudge(at))

    def _write_job(self, tx: Tx, at: datetime) -> None:
        """A job for ``at``. If that is due now, it is a second look soon, in case no worker heard the notification."""
        now = self._clock.now()
        if at - now > HORIZON:
            return
        step = math.ceil(max(at, now + STEP / 2).timestamp() / STEP.total_seconds())
        if step in self._written:
            return
        jobs.defer(tx, f"{jobs.TASK}:{step}", timedelta(seconds=step * STEP.total_seconds() - now.timestamp()))
        tx.after_commit(lambda: self._remember(step))

    def _remember(self, step: int) -> None:
        """This step has its job: later transactions need not ask the database."""
        if len(self._written) >= _REMEMBERED:
            self._written.clear()
        self._written.add(step)

    def nudge(self, at: datetime) -> None:
        """This process looks at ``at`` at the latest. From the event loop only."""
        if not self._looking.is_on:
            return
        wait = at - self._clock.now()
        if wait <= timedelta(0):
            self._looking.wake()
        elif self._alarm_at is None or at < self._alarm_at:
            self._silence()
            self._alarm_at = at
            self._alarm = asyncio.get_running_loop().call_later(min(wait, _FARTHEST).total_seconds(), self._ring)

    def _ring(self) -> None:
        self._silence()
        self._looking.wake()

    def _silence(self) -> None:
        self._alarm_at = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # --- Looking --------------------------------------------------------------------------------------------------

    async def start(self, look: Callable[[], Awaitable[datetime | None]]) -> None:
        """Look at once, then at every job, on every notification, and at every sweep."""

        async def look_and_go_on() -> None:
            following = await look()
            if following is not None:
                await self._arrange(following)

        self._looking.start(look_and_go_on)
        self._tasks = [
            asyncio.create_task(self._hear(), name="work-news"),
            asyncio.create_task(self._work(), name="work-jobs"),
        ]
        self._rescue.start()

    async def stop(self) -> None:
        """No look begins after this; one in progress is finished."""
        self._silence()
        await self._looking.stop()
        await self._rescue.stop()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_PATIENCE.total_seconds())
        self._tasks.clear()

    async def _arrange(self, at: datetime) -> None:
        """Make sure that the next due row has a job, whoever wrote it and however long ago."""
        wait = at - self._clock.now()
        if wait <= timedelta(0):
            self._looking.wake()
        elif wait <= HORIZON:
            await self._database.write(lambda tx: self._write_job(tx, at))

    async def _hear(self) -> None:
        with self._hub.subscribe(WORK) as news:
            while True:
                await news.wait()
                news.clear()
                self._looking.wake()

    # --- Procrastinate --------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Take jobs until cancelled; restart if the database was away."""
        import psycopg
        from procrastinate.exceptions import ConnectorException

        while True:
            try:
                async with _pool(self._database) as pool:
                    app = self._app = _app(self._looking.once_more)
                    await app.open_async(pool)
                    await app.run_worker_async(
                        queues=[jobs.QUEUE],
                        concurrency=1,
                        fetch_job_polling_interval=POLL.total_seconds(),
                        abort_job_polling_interval=_FARTHEST.total_seconds(),
                        listen_notify=False,  # jobs are written ahead of their time; what is due now is news
                        delete_jobs="always",
                        install_signal_handlers=False,
                        update_heartbeat_interval=self._stalled.total_seconds() / 4,
                        stalled_worker_timeout=self._stalled.total_seconds(),
                    )
            except (psycopg.Error, ConnectorException) as failure:
                log.warning("work.jobs_failed", reason=type(failure.__cause__ or failure).__name__)
            except Exception as failure:  # whatever it was: the sweep goes on meanwhile, and jobs are taken again soon
                log.exception("work.jobs_failed", reason=type(failure).__name__)
            await asyncio.sleep(1)

    async def _take_over(self) -> None:
        """Look in place of a dead worker, and remove its job: it would stay "doing" for ever."""
        from procrastinate.exceptions import ConnectorException
        from procrastinate.jobs import Status

        if self._app is None:
            return
        manager, found = self._app.job_manager, False
        try:
            silent = self._stalled.total_seconds()
            for job in await manager.get_stalled_jobs(queue=jobs.QUEUE, seconds_since_heartbeat=silent):
                found = True
                with contextlib.suppress(ConnectorException):  # another worker was first
                    await manager.finish_job(job, status=Status.ABORTED, delete_job=True)
        except ConnectorException as failure:
            log.warning("work.rescue_failed", reason=type(failure.__cause__ or failure).__name__)
        if found:
            log.info("work.taken_over")
            await self._looking.once_more()


def _pool(database: Database) -> psycopg_pool.AsyncConnectionPool:
    """Procrastinate's connections. Its own pool would be left open if it is cancelled while it opens."""
    from psycopg_pool import AsyncConnectionPool

    from core.database.postgres import async_connections, check_takes_writes

    patience = database.deadlines.call.total_seconds()
    return AsyncConnectionPool(
        database.conninfo,
        connection_class=async_connections(database.deadlines),
        kwargs={"prepare_threshold": None},  # a pooler would give a prepared statement to the next client
        min_size=1,
        max_size=2,
        open=False,
        check=check_takes_writes,
        timeout=patience,
        reconnect_timeout=patience,  # else its pauses would grow to a minute while the database is away
    )


def _app(look: Callable[[], Awaitable[None]]) -> procrastinate.App:
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector())
    app.task(name=jobs.TASK, queue=jobs.QUEUE)(look)
    return app
