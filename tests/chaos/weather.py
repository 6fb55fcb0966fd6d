"""What goes wrong while the storm lasts: vendors that fail, processes that die, a database that goes away.

Everything is drawn from the seed; when it strikes depends on the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import Awaitable, Callable
from datetime import timedelta

from bot.sandbox.slack.faults import DropAfterStoring, RateLimited, WebApiFault
from tests.chaos.fleet import Fleet
from tests.chaos.hosts import Hosts
from tests.chaos.records import WEATHER, Hardship, Outage, Records, now
from tests.chaos.store import Store
from tests.chaos.world import World
from tests.vendors.pagerduty import EventFault as PagerFault
from tests.vendors.slack_faults import DropBeforeStoring, SaysNo, SaysNoAfterStoring, ServerErrorAfterStoring, Slow
from tests.vendors.smtp import Stage

SLACK_FAULTS: tuple[WebApiFault, ...] = (
    DropBeforeStoring(),
    DropAfterStoring(),
    DropAfterStoring(),
    RateLimited(1),
    ServerErrorAfterStoring(500),
    ServerErrorAfterStoring(503),
    SaysNo("internal_error"),
    SaysNoAfterStoring("internal_error"),
)
SLACK_METHODS = ("chat.postMessage", "chat.postMessage", "chat.update", "conversations.history", "conversations.open")
PAGER_FAULTS = (
    PagerFault.RATE_LIMITED,
    PagerFault.SERVER_ERROR,
    PagerFault.DROP_BEFORE_STORING,
    PagerFault.DROP_AFTER_STORING,
)
LOST_PATIENCE = Slow(11)
"""Longer than the service waits for Slack."""

_AT_A_TIME = 3
"""Failures of one vendor that may be waiting for a request to meet: more would shut it for good."""
_IN_HAND = 1.5
"""Seconds for which a send is held open, so that a kill meets it half done."""


class Weather:
    """``rush`` makes kills and outages come so many times as often: a short run sees all of it too. Single requests
    fail as often as ever: a message that fails each time waits ever longer for its next try."""

    def __init__(
        self,
        world: World,
        fleet: Fleet,
        store: Store,
        records: Records,
        chance: random.Random,
        rush: float,
        hosts: Hosts,
    ) -> None:
        self._world = world
        self._fleet = fleet
        self._store = store
        self._records = records
        self._chance = chance
        self._rush = rush
        self.hosts = hosts
        self._over = asyncio.Event()

    async def storm(self) -> None:
        """Until :meth:`end`. What has begun by then comes to its end, so that nothing stays switched off."""
        self._world.agent.fails = 0.25
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(0.25, self._slack_fails))
            group.create_task(self._every(0.35, self._mail_fails))
            group.create_task(self._every(0.5, self._pager_fails))
            group.create_task(self._every(15 / self._rush, self._mail_refuses))
            group.create_task(self._every(4 / self._rush, self._kill))
            group.create_task(self.hosts.one_after_another(self._over))
            if self._store.server is not None:
                group.create_task(self._every(12 / self._rush, self._database_away))
                group.create_task(self._every(4 / self._rush, self._lose_a_commit))

    def end(self) -> None:
        self._over.set()

    def calm(self) -> None:
        """No more failures."""
        world = self._world
        world.agent.fails = 0.0
        world.slack.faults.clear()
        world.mailbox.behave()
        world.pager.behave()
        if self._store.wire is not None:
            self._store.wire.behave()

    async def _every(self, seconds: float, strike: Callable[[], Awaitable[None]]) -> None:
        while not await self._is_over_within(self._chance.uniform(0.4, 1.6) * seconds):
            await strike()

    async def _is_over_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return self._over.is_set()

    async def _may_strike(self) -> bool:
        """Once of each kind some member has been at work for a while: whether it is still time for it."""
        await self._fleet.settled_in()
        return not (self._fleet.is_spared or self._over.is_set())

    async def _slack_fails(self) -> None:
        if len(self._world.slack.faults) >= _AT_A_TIME:
            return
        rare = self._chance.random() < 0.01
        fault = LOST_PATIENCE if rare else self._chance.choice(SLACK_FAULTS)
        self._world.slack.fail_next(fault, self._chance.choice(SLACK_METHODS))
        self._records.happened["slack failed"] += 1

    async def _mail_fails(self) -> None:
        mailbox = self._world.mailbox
        if mailbox.faults_to_come >= _AT_A_TIME:
            return
        match self._chance.choice(("451", "421", "4yz", "cut", "dot", "dot", "slow")):
            case "451":
                mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later")
            case "421":
                mailbox.say_next(Stage.MAIL, "421 4.3.2 Service closing")
            case "4yz":
                mailbox.say_next(Stage.DOT, "452 4.3.1 Insufficient system storage")
            case "cut":
                mailbox.drop_next(Stage.DATA)
            case "dot":
                mailbox.drop_next(Stage.DOT)
            case _:
                mailbox.delay_next(Stage.DOT, timedelta(seconds=1))
        self._records.happened["smtp failed"] += 1

    async def _mail_refuses(self) -> None:
        port = self._world.mailbox.refuse_connections()
        self._records.happened["smtp refused connections"] += 1
        try:
            await asyncio.sleep(self._chance.uniform(0.5, 2))
        finally:
            await self._world.mailbox.start(port)

    async def _pager_fails(self) -> None:
        self._world.pager.behave()
        self._world.pager.fail_next(self._chance.choice(PAGER_FAULTS))
        self._records.happened["pagerduty failed"] += 1

    async def _kill(self) -> None:
        """At any moment, or while a message hangs behind a vendor's door: arrived, and nobody here knows."""
        if not await self._may_strike() or self._others_come_first():
            return
        ambush = self._chance.choice((None, self._hold_slack, self._hold_mail))
        if ambush is not None and not await ambush():
            return
        if not self._fleet.is_spared and self._fleet.kill_one(worker=ambush is not None):
            self._records.happened["killed at random" if ambush is None else "killed in the middle of a send"] += 1
            self._records.suffered[Hardship.KILL] += 1

    def _others_come_first(self) -> bool:
        """What needs processes that have been up for a while is not to be kept away by kills for ever."""
        others = (self._records.due & WEATHER) - {Hardship.KILL}
        return self._records.suffered[Hardship.KILL] > 0 and not self._records.have_suffered(others)

    async def _hold_slack(self) -> bool:
        """Whether a message has come, whose answer is held back."""
        slack = self._world.slack
        slack.faults.clear()
        slack.fail_next(Slow(_IN_HAND), "chat.postMessage")
        return await self._grows(lambda: len(slack.unsaid))

    async def _hold_mail(self) -> bool:
        mailbox = self._world.mailbox
        mailbox.behave()
        mailbox.delay_next(Stage.DOT, timedelta(seconds=_IN_HAND))
        return await self._grows(lambda: sum(not mail.acknowledged for mail in mailbox.mails))

    async def _grows(self, count: Callable[[], int]) -> bool:
        before = count()
        for _ in range(40):
            await asyncio.sleep(0.05)
            if count() > before:
                return True
        return False

    async def _database_away(self) -> None:
        """Stopped with every connection cut off, or crashed, for a moment."""
        if not await self._may_strike():
            return
        how = self._chance.choice((signal.SIGINT, signal.SIGQUIT))
        outage = Outage(now())
        self._records.outages.append(outage)
        await self._store.stop(how)
        self._records.happened["postgresql stopped" if how is signal.SIGINT else "postgresql crashed"] += 1
        self._records.suffered[Hardship.DATABASE_AWAY] += 1
        try:
            await asyncio.sleep(self._chance.uniform(0.1, 2))
        finally:
            await self._store.start()
            outage.end = now()

    async def _lose_a_commit(self) -> None:
        """It stands, and who made it hears only that the connection broke."""
        if not await self._may_strike():
            return
        wire = self._store.wire
        assert wire is not None
        before, outage = wire.lost, Outage(now())
        wire.lose_an_acknowledgement()
        self._records.outages.append(outage)
        while wire.lost == before:
            await asyncio.sleep(0.01)
        outage.end = now()
        self._records.happened["commits whose acknowledgement was lost"] += 1
        self._records.suffered[Hardship.LOST_COMMIT] += 1
