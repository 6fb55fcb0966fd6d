"""What happens to hosts while the storm lasts: a process freezes, or is asked to end, a clock is set, a disk is full.

One after another, so that what is seen can be told apart; while one lasts, nothing is killed and no database goes away.
So they begin when the rest of the weather has had its turn. What has begun comes to its end, even if the storm is over
by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx

from bot.sandbox.serving import loopback_client
from tests.chaos.bringing import Bringing
from tests.chaos.fleet import Fleet, Member
from tests.chaos.hardships import WAKING
from tests.chaos.plan import ALICE, CHOICES, Act, Question, Way
from tests.chaos.records import WEATHER, Asked, BadDisk, ClockSet, Hardship, Probe, Records, now
from tests.chaos.store import Store, being_sent, empty_log, in_hand
from tests.chaos.world import World
from tests.vendors.slack_faults import Slow
from tests.vendors.smtp import Stage
from tests.world import KEYS

_CLEAR_OF_OUTAGES = 4.0
"""Seconds without an outage of the database before a freeze: what comes twice is not put down to that then."""
_CROWD = 60
"""Questions that are asked by mail at once, so that a worker has more in hand than it can send."""
_MANY = 20
_KEPT, _SOME = 12, 4
"""Questions that are asked by mail before a process is asked to end, and how many of them it then has in hand."""
_IN_HAND_WITHIN = 4.0
_NOTICED_WITHIN = timedelta(seconds=3)
"""Seconds after its silence has lasted long enough, until another takes over what a frozen worker had in hand."""
_LASTS = 60
_WAITING, _OF_IT = 5, 2 / 3
"""Questions that wait while the clock is set, for so much of the time that it is set by."""
_SEEN_WITHIN = 4.0
"""Seconds within which every process has seen that a clock was set, and looked at what is due by it."""
_HELD = timedelta(seconds=5)
_HANGS = timedelta(seconds=15)
"""Longer than a process may take to end."""
_FARTHEST = timedelta(seconds=200)
"""By so much a clock is off at most: Slack's signatures hold for five minutes."""
_BACK = timedelta(seconds=20)
_PROBE_EVERY = 0.25
_WELL_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Measures:
    """``freeze`` are the shortest and the longest in seconds, ``bad_disk`` how long a disk is bad; ``forward`` is by
    how much a clock is set forward, more than the outage's grace; ``pause`` is between two of these."""

    freeze: tuple[float, float]
    bad_disk: float
    forward: timedelta
    pause: float


class Hosts:
    """``silent`` is how long a worker has to be silent to be taken for dead. Nothing but ``hardships`` happens here."""

    def __init__(
        self,
        world: World,
        fleet: Fleet,
        store: Store,
        records: Records,
        chance: random.Random,
        measures: Measures,
        silent: timedelta,
        hardships: Set[Hardship],
    ) -> None:
        self._world = world
        self._fleet = fleet
        self._store = store
        self._records = records
        self._chance = chance
        self._measures = measures
        self._silent = silent
        self._bring = Bringing(fleet, records)
        self._crowds = 0
        self._crowded: list[Asked] = []
        ways: dict[Hardship, Callable[[], Awaitable[None]]] = {
            Hardship.FREEZE: self._freeze,
            Hardship.SIGTERM: self._ask_to_end,
            Hardship.CLOCK: self._set_the_clock,
            Hardship.FULL_DISK: self._full_disk,
            Hardship.DEAD_DISK: self._dead_disk,
        }
        self._ways = {hardship: way for hardship, way in ways.items() if hardship in hardships}

    async def one_after_another(self, over: asyncio.Event) -> None:
        """Again and again until it is ``over``."""
        others = self._records.due & WEATHER
        while not (self._records.have_suffered(others) or over.is_set()):
            await asyncio.sleep(0.1)
        while self._ways and not over.is_set():
            for hardship in self._chance.sample(list(self._ways), len(self._ways)):
                await asyncio.sleep(self._chance.uniform(0.4, 1.6) * self._measures.pause)
                if over.is_set():
                    return
                with self._undisturbed():
                    await self._fleet.all_ready()
                    await self._fleet.settled_in()
                    await self._ways[hardship]()
                self._records.suffered[hardship] += 1

    async def close(self) -> None:
        await self._bring.http.aclose()

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        self._fleet.is_spared = True
        try:
            yield
        finally:
            self._fleet.is_spared = False

    # --- Processes ----------------------------------------------------------------------------------------------------

    async def _freeze(self) -> None:
        """With others beside it: in the middle of more than it can send at once."""
        while self._records.was_away(now(), timedelta(), timedelta(seconds=_CLEAR_OF_OUTAGES)):
            await asyncio.sleep(0.1)
        workers = [one for one in self._fleet.members if one.works]
        if len(workers) == 1:
            with self._fleet.frozen(workers[0]):
                self._records.happened["froze, alone"] += 1
                await asyncio.sleep(self._chance.uniform(*self._measures.freeze))
            return
        crowd = asyncio.create_task(self._crowd())
        member, _ = await self._with_much_in_hand(workers, _MANY)
        with self._fleet.frozen(member) as freeze:
            if member.owner is not None:
                freeze.in_hand = frozenset(await self._store.look(being_sent(member.owner)) or ())
                freeze.taken_over_at = freeze.begin + self._silent + _NOTICED_WITHIN
            self._records.happened["froze, with others beside it"] += 1
            self._records.happened["rows in hand when it froze"] += len(freeze.in_hand)
            self._world.mailbox.behave()  # what was held open was on the wire; everything else goes well
            await asyncio.sleep(self._chance.uniform(*self._measures.freeze))
        await asyncio.sleep(WAKING.total_seconds())
        await crowd
        await self._disperse()

    async def _disperse(self) -> None:
        """Nobody waits any more for an answer to the questions that were asked here."""
        crowded, self._crowded = self._crowded, []
        await asyncio.gather(*(self._cancel(asked) for asked in crowded))

    async def _crowd(self) -> None:
        """Many questions at once, each by mail, and each of these held open for a while."""
        self._crowds += 1
        self._world.mailbox.behave()
        self._world.mailbox.delay_next(Stage.DOT, _HELD, times=_CROWD)
        await asyncio.gather(*(self._ask(number, _LASTS) for number in range(_CROWD)))

    async def _ask(self, number: int, lasts: float) -> None:
        body = {
            "question": f"Refund crowded order {self._crowds}-{number}?",
            "choices": list(CHOICES),
            "channel_hint": "email",
            "notify_to": ALICE,
            "timeout_seconds": lasts,
            "fallback_policy": "fail",
        }
        sent = {**body, "resume": {"callback_url": self._world.callback_url}}
        headers = {"X-API-Key": KEYS["agent"], "Idempotency-Key": f"crowd-{self._crowds}-{number}"}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(f"{door.url}/v1/suspensions", json=sent, headers=headers)
        )
        if told is not None and told[0].status_code == 201:
            self._crowded.append(Asked(Question(number, 0, lasts, body, (), then_kill=False), told[0].json()))
            self._records.asked.append(self._crowded[-1])

    async def _cancel(self, asked: Asked) -> None:
        path, headers = f"/v1/suspensions/{asked.suspension_id}/cancel", {"X-API-Key": KEYS["agent"]}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(door.url + path, json={"reason": "seen enough"}, headers=headers)
        )
        self._bring.note(asked, Act(Way.CANCEL, "", "refund-agent", 0), told)

    async def _with_much_in_hand(self, workers: list[Member], many: int) -> tuple[Member, int]:
        """The one that has most, once that is ``many`` rows, and how many it has. Of nobody whose name is not known is
        it known what they have."""
        alone = len(workers) == 1
        workers = [one for one in workers if one.owner is not None] or workers
        until = time.monotonic() + _IN_HAND_WITHIN
        while True:
            held = await self._store.look(in_hand) or Counter()
            most = max(workers, key=lambda one: held[one.owner or ""])
            rows = held.total() if alone else held[most.owner or ""]
            if rows >= many or time.monotonic() > until:
                return most, rows
            await asyncio.sleep(0.05)

    async def _ask_to_end(self) -> None:
        """In the middle of it all, while vendors keep it waiting."""
        mailbox, slack = self._world.mailbox, self._world.slack
        mailbox.behave()
        mailbox.delay_next(Stage.DOT, _HANGS, times=_KEPT)
        slack.fail_next(Slow(_HANGS.total_seconds()), "chat.postMessage")
        self._crowds += 1
        await asyncio.gather(*(self._ask(number, _LASTS) for number in range(_KEPT)))
        member, in_hand = await self._with_much_in_hand([one for one in self._fleet.members if one.works], _SOME)
        await self._fleet.ask_to_end(member, in_hand)
        self._records.happened["rows in hand when it was asked to end"] += in_hand
        mailbox.behave()
        slack.faults.clear()
        await self._disperse()

    # --- The clock ----------------------------------------------------------------------------------------------------

    async def _set_the_clock(self) -> None:
        """Forward by more than counts as an outage, while some questions wait that would be over by then; back if it is
        far off, or sometimes.

        On PostgreSQL the service goes by the database's clock, so that this one may be wrong and changes nothing.
        """
        wall, forward = self._fleet.wall, self._measures.forward
        before = wall.beside
        back = before > timedelta() and (before + forward > _FARTHEST or self._chance.random() < 0.3)
        self._crowds += 1
        await asyncio.gather(
            *(self._ask(number, round(_OF_IT * forward.total_seconds())) for number in range(_WAITING))
        )
        one = ClockSet(now(), -min(_BACK, before) if back else forward, before)
        wall.set_by(one.by)
        if self._store.server is None:
            self._records.clock_sets.append(one)
        self._records.happened["clock set back" if back else "clock set forward"] += 1
        await asyncio.sleep(_SEEN_WITHIN)
        await self._disperse()

    # --- The disk -----------------------------------------------------------------------------------------------------

    async def _full_disk(self) -> None:
        await self._bad_disk(dead=False)

    async def _dead_disk(self) -> None:
        await self._bad_disk(dead=True)

    async def _bad_disk(self, *, dead: bool) -> None:
        [member] = self._fleet.members
        disk, process = self._store.disk, member.process
        assert disk is not None
        assert process is not None
        await self._store.look(empty_log)  # else a full disk takes as much as the log once held
        bad = BadDisk(dead, now())
        self._records.bad_disks.append(bad)
        what = f"disk dead ({disk.dead_how})" if dead else f"disk full ({disk.full_how})"
        self._records.happened[what] += 1
        async with loopback_client(timeout=10) as http:
            with disk.dead(process.pid) if dead else disk.full(process.pid):
                until = time.monotonic() + self._measures.bad_disk
                while time.monotonic() < until:
                    bad.probes.append(await self._probe(http, member))
            bad.end = now()
            self._records.happened[f"503 while the {what}"] += sum(one.made == 503 for one in bad.probes)
            until = time.monotonic() + _WELL_WITHIN
            while time.monotonic() < until:
                bad.probes.append(await self._probe(http, member))
                if (bad.probes[-1].ready, bad.probes[-1].made) == (200, 201):
                    return

    async def _probe(self, http: httpx.AsyncClient, member: Member) -> Probe:
        await asyncio.sleep(_PROBE_EVERY)
        at = now()
        ready, made = await asyncio.gather(
            self._status(http.get(f"{member.url}/readyz")),
            self._status(
                http.post(
                    f"{member.url}/v1/intents",
                    json={"title": "a probe", "status": "active"},
                    headers={"X-API-Key": KEYS["agent"]},
                )
            ),
        )
        return Probe(at, ready, made)

    async def _status(self, asking: Awaitable[httpx.Response]) -> int:
        with contextlib.suppress(httpx.HTTPError):
            return (await asking).status_code
        return 0
