"""``kill -9`` while leases are taken and renewed: never two holders of a scope, and no acknowledged lease is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.openintent.store.tables import intent_leases
from tests.journeys.kills.test_crashes import settings
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import KEYS

pytestmark = pytest.mark.kills

OWNER, MEMBER = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["other_agent"]}
SCOPES = [f"part {number}" for number in range(6)]
ROUNDS = 4
_IN_HAND = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE"}
"""From then on no transaction of the service's commits: SQLite's begin not, PostgreSQL's wait with their lease in."""


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


class Team:
    """An intent that two agents work on, and what the service has told them of its leases."""

    def __init__(self, service: ServiceProcess, http: httpx.AsyncClient) -> None:
        self._service, self._http = service, http
        self._path = ""
        self.told: dict[str, dict[str, Any]] = {}
        """By scope: the last lease that was acknowledged."""

    async def create(self) -> None:
        body = {"title": "t", "status": "active"}
        made = await self._http.post(f"{self._service.url}/v1/intents", json=body, headers=OWNER)
        self._path = f"/v1/intents/{made.json()['id']}"
        joined = await self._http.post(
            f"{self._service.url}{self._path}/agents", json={"agent_id": "other-agent"}, headers=OWNER
        )
        assert joined.status_code == 200, joined.text

    async def acquire(self, scope: str, agent: dict[str, str]) -> int:
        body = {"scope": scope, "duration_seconds": 3600}
        response = await self._http.post(f"{self._service.url}{self._path}/leases", json=body, headers=agent)
        if response.status_code == 200:
            self.told[scope] = response.json()
        return response.status_code

    async def renew(self, scope: str, agent: dict[str, str]) -> int:
        url = f"{self._service.url}{self._path}/leases/{self.told[scope]['id']}"
        response = await self._http.patch(url, json={"duration_seconds": 7200}, headers=agent)
        if response.status_code == 200:
            self.told[scope] = response.json()
        return response.status_code

    async def wants_all(self, agent: dict[str, str]) -> None:
        """Each scope, again and again, until the service is gone."""
        while True:
            for scope in random.sample(SCOPES, len(SCOPES)):
                if await self.acquire(scope, agent) == 409 and scope in self.told:
                    assert await self.renew(scope, agent) in {200, 403}

    async def held(self) -> dict[str, dict[str, Any]]:
        found = await self._http.get(f"{self._service.url}{self._path}/leases", headers=OWNER)
        leases = [one for one in found.json()["leases"] if one["status"] == "active"]
        assert max(Counter(one["scope"] for one in leases).values(), default=0) <= 1
        return {one["scope"]: one for one in leases}

    async def assert_nothing_is_lost(self) -> None:
        """What was acknowledged stands; a renewal that nobody heard of may have made it longer."""
        held = await self.held()
        for scope, lease in self.told.items():
            kept = held[scope]
            assert (kept["id"], kept["agent_id"]) == (lease["id"], lease["agent_id"])
            assert kept["expires_at"] >= lease["expires_at"]


@asynccontextmanager
async def a_team(folder: Path, database_url: str, mailbox: Mailbox) -> AsyncIterator[tuple[ServiceProcess, Team]]:
    async with (
        service_process(folder, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        team = Team(service, http)
        await team.create()
        yield service, team


@contextmanager
def engine_of(database_url: str) -> Iterator[sa.Engine]:
    database = open_database(database_url)
    url = database.engine.url
    database.engine.dispose()
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    yield engine
    engine.dispose()


@contextmanager
def in_hand(database_url: str) -> Iterator[None]:
    """Inside, whatever the service begins to write stays in its hands."""
    with engine_of(database_url) as engine, engine.connect() as conn:
        conn.exec_driver_sql(_IN_HAND[engine.dialect.name])
        yield
        conn.rollback()


async def killed(service: ServiceProcess, request: Any) -> None:
    """In the middle of ``request``."""
    under_way = asyncio.create_task(request)
    await asyncio.sleep(0.5)  # it is in the database's hands by then; if not, it is killed before
    assert not under_way.done()
    await service.kill()
    with pytest.raises(httpx.TransportError):
        await under_way


async def test_killed_in_the_middle_of_an_acquisition_the_scope_is_free(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with a_team(tmp_path, database_url, mailbox) as (service, team):
        with in_hand(database_url):
            await killed(service, team.acquire("refunds", OWNER))
        await service.start()
        assert await team.held() == {}
        assert await team.acquire("refunds", MEMBER) == 200
        assert await team.acquire("refunds", OWNER) == 409


async def test_killed_in_the_middle_of_a_renewal_the_lease_is_its_holders_as_it_was(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with a_team(tmp_path, database_url, mailbox) as (service, team):
        assert await team.acquire("refunds", OWNER) == 200
        before = team.told["refunds"]
        with in_hand(database_url):
            await killed(service, team.renew("refunds", OWNER))
        await service.start()
        assert await team.held() == {"refunds": before}
        assert await team.acquire("refunds", MEMBER) == 409
        assert await team.renew("refunds", OWNER) == 200
        await team.assert_nothing_is_lost()


async def test_killed_at_any_instant_nobody_shares_a_scope_and_what_was_told_is_true(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with a_team(tmp_path, database_url, mailbox) as (service, team):
        for _ in range(ROUNDS):
            wanting = [asyncio.create_task(team.wants_all(agent)) for agent in (OWNER, MEMBER) * 4]
            await asyncio.sleep(random.uniform(0.02, 0.4))
            await service.kill()
            for ended in await asyncio.gather(*wanting, return_exceptions=True):
                assert isinstance(ended, httpx.TransportError), ended
            await service.start()
            await team.assert_nothing_is_lost()
    with engine_of(database_url) as engine, engine.connect() as conn:
        rows = conn.execute(sa.select(intent_leases.c.scope).where(intent_leases.c.status == "active"))
        assert max(Counter(rows.scalars()).values()) == 1
