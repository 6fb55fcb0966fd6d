"""One run: a storm over a service, its drain, and the judgement."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from core.work.presence import SILENT
from tests.chaos.evidence import Evidence, gather
from tests.chaos.fleet import Fleet, Member
from tests.chaos.host import Wall
from tests.chaos.hosts import Hosts, Measures
from tests.chaos.people import People
from tests.chaos.plan import Question, plan
from tests.chaos.records import Hardship, Records
from tests.chaos.silence import Silence
from tests.chaos.store import Store, postgres_store, sqlite_store, unfinished
from tests.chaos.weather import Weather
from tests.chaos.world import World, a_world, settings_for
from tests.world import config

_PATIENCE = 150
"""Seconds for what is left when the storm is over: the longest wait between two tries, some times over."""
_PROGRESS = 5


@dataclass(frozen=True, slots=True)
class Mode:
    """Which database, and the roles of each process (all of them where there are none)."""

    name: str
    processes: Sequence[Sequence[str]]

    def store(self, folder: Path) -> AbstractAsyncContextManager[Store]:
        return sqlite_store(folder) if self.name == "sqlite" else postgres_store()


SQLITE = Mode("sqlite", ((),))
POSTGRES = Mode("postgresql", ((),))
REPLICAS = Mode("replicas", (("api", "slack", "mail"), ("api", "slack", "mail"), ("worker",), ("worker",)))
MODES = {mode.name: mode for mode in (SQLITE, POSTGRES, REPLICAS)}

_OF_FILES = {Hardship.FULL_DISK, Hardship.DEAD_DISK}
_OF_SERVERS = {Hardship.DATABASE_AWAY, Hardship.LOST_COMMIT}
EVERYTHING: Mapping[str, Set[Hardship]] = {
    "sqlite": set(Hardship) - _OF_SERVERS,
    "postgresql": set(Hardship) - _OF_FILES,
    "replicas": set(Hardship) - _OF_FILES,
}
SPREAD: Mapping[str, Set[Hardship]] = {
    "sqlite": {Hardship.KILL, Hardship.FULL_DISK, Hardship.DEAD_DISK, Hardship.CLOCK},
    "postgresql": {Hardship.KILL, *_OF_SERVERS, Hardship.SIGTERM, Hardship.SILENT_AGENTS},
    "replicas": {Hardship.KILL, *_OF_SERVERS, Hardship.FREEZE},
}
"""Everything once, each where it has most to show: for a short run of all three modes."""

USUAL = Measures(freeze=(5, 40), bad_disk=10, forward=timedelta(seconds=90), pause=5)


@dataclass(frozen=True, slots=True)
class Size:
    """The questions are asked in the first two thirds of the ``storm_seconds``; the storm lasts longer only if not all
    of the mode's ``hardships`` have come by then.

    ``silent_seconds`` and ``grace_seconds`` are the service's settings, by default as by default.
    """

    suspensions: int
    storm_seconds: float
    rush: float = 1.0
    silent_agents: int = 500
    silent_seconds: int | None = None
    grace_seconds: int | None = None
    measures: Measures = USUAL
    hardships: Mapping[str, Set[Hardship]] = field(default_factory=lambda: EVERYTHING)

    @property
    def silent(self) -> timedelta:
        return SILENT if self.silent_seconds is None else timedelta(seconds=self.silent_seconds)


async def run(mode: Mode, size: Size, seed: int, folder: Path) -> Evidence:
    """The evidence of one run; says now and then how far it is."""
    hardships = frozenset(size.hardships[mode.name])
    records, chance = Records(due=hardships), random.Random(f"{seed}/{mode.name}")
    async with (
        mode.store(folder) as store,
        a_world(records, chance) as world,
        _running(mode, folder, world, store, records, chance, size) as fleet,
    ):
        said = asyncio.create_task(_say(mode, records, store, size, time.monotonic()))
        try:
            hosts = Hosts(world, fleet, store, records, chance, size.measures, size.silent, hardships)
            weather = Weather(world, fleet, store, records, chance, size.rush, hosts)
            await _storm(weather, world, fleet, records, seed, size)
            await fleet.all_ready()
            if Hardship.SILENT_AGENTS in hardships:
                await Silence(world, fleet, records, size.silent_agents).measured()
            left = await _drain(store)
            await fleet.down()
        finally:
            said.cancel()
        secret = str(config(store.url, {})["secret_key"])
        evidence = await store.look(lambda conn: gather(conn, secret, world, records, left))
        assert evidence is not None, "the database can't be read"
        return evidence


@asynccontextmanager
async def _running(
    mode: Mode, folder: Path, world: World, store: Store, records: Records, chance: random.Random, size: Size
) -> AsyncIterator[Fleet]:
    settings = settings_for(world, store.service_url, size.silent_seconds, size.grace_seconds)
    clock = folder / "clock"
    names = [f"{'-'.join(roles) or 'all'}-{number}" for number, roles in enumerate(mode.processes, start=1)]
    members = [Member(folder, name, settings, roles, clock) for name, roles in zip(names, mode.processes, strict=True)]
    fleet = Fleet(members, store, records, chance, Wall(clock))
    try:
        await fleet.up()
        yield fleet
    finally:
        await fleet.close()


async def _storm(weather: Weather, world: World, fleet: Fleet, records: Records, seed: int, size: Size) -> None:
    """Ask and answer everything while things break, for as long as it may last."""
    people = People(world, fleet, records)
    storm = asyncio.create_task(weather.storm())
    questions = plan(seed, size.suspensions, size.storm_seconds * 2 / 3, fleet.pace)
    lives = [asyncio.create_task(_begin(people, question)) for question in questions]
    try:
        await asyncio.wait([storm, *lives], timeout=size.storm_seconds, return_when=asyncio.FIRST_EXCEPTION)
        await _until_all_has_come(storm, records)
        weather.end()
        async with asyncio.timeout(_PATIENCE):
            await storm
    finally:
        storm.cancel()
        weather.calm()
    async with asyncio.timeout(_PATIENCE):
        await asyncio.gather(*lives)
    await people.close()
    await weather.hosts.close()


async def _until_all_has_come(storm: asyncio.Task[None], records: Records) -> None:
    """Or until patience ends: then an invariant says what has not come."""
    during, until = records.due - {Hardship.SILENT_AGENTS}, time.monotonic() + _PATIENCE
    while not (storm.done() or records.have_suffered(during)) and time.monotonic() < until:
        await asyncio.sleep(0.1)


async def _begin(people: People, question: Question) -> None:
    await asyncio.sleep(question.at)
    await people.live(question)


async def _drain(store: Store) -> tuple[int, int]:
    """Wait until nothing is open and nothing waits to be sent; returns what is left when patience is."""
    until = time.monotonic() + _PATIENCE
    left = await store.look(unfinished) or (-1, -1)
    while left != (0, 0) and time.monotonic() < until:
        await asyncio.sleep(0.5)
        left = await store.look(unfinished) or (-1, -1)
    return left


async def _say(mode: Mode, records: Records, store: Store, size: Size, began: float) -> None:
    while True:
        await asyncio.sleep(_PROGRESS)
        left = await store.look(unfinished)
        still = "the database is away" if left is None else f"{left[0]} open, {left[1]} to send"
        print(
            f"[{mode.name} {time.monotonic() - began:4.0f} s] asked {len(records.asked)}/{size.suspensions}, "
            f"given {len(records.given)}, called back {len(records.calls)}, kills {len(records.kills)}, "
            f"outages {len(records.outages)}; {still}",
            flush=True,
        )
