"""``kill -9`` at each step of a takeover (RFC-0010): all of it or nothing, one holder, and the fallback told once."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from core.database.database import open_database
from core.openintent.store.tables import intent_failures, intent_leases
from core.store.tables import events, intent_agents, outbox
from tests.journeys.kills.test_crashes import settings
from tests.ports import free_port
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import KEYS

pytestmark = pytest.mark.kills

AGENT, BACKUP = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["other_agent"]}
NAME = "other-agent"
SECRET = "whsec_QmFja3VwQmFja3VwQmFja3VwQmFja3Vw"


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


@dataclass
class Told:
    """What the fallback agent was sent. While ``hanging`` it takes calls and does not answer."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    """The webhook-id of each, and which intent it was about."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: bool = False

    async def take(self, request: Request) -> Response:
        said = json.loads(await request.body())
        self.calls.append((request.headers["webhook-id"], said["data"]["intent_id"]))
        self.arrived.set()
        if self.hanging:
            await asyncio.sleep(60)
        return Response(status_code=200)

    def ids(self, intent_id: str) -> set[str]:
        return {webhook_id for webhook_id, about in self.calls if about == intent_id}

    async def about(self, intent_ids: Sequence[str]) -> None:
        """Return once it was told of each."""
        async with asyncio.timeout(90):
            while not all(self.ids(one) for one in intent_ids):
                await asyncio.sleep(0.02)


@asynccontextmanager
async def listening(told: Told, port: int) -> AsyncIterator[None]:
    async with serving(Starlette(routes=[Route("/told", told.take, methods=["POST"])]), port=port):
        yield


class Store:
    """The database, looked into and written to while the service is down."""

    def __init__(self, database_url: str) -> None:
        database = open_database(database_url)
        self._url = database.engine.url
        database.engine.dispose()

    def leases(self, intent_ids: Sequence[str]) -> None:
        """The agent holds one scope of each."""
        now = datetime.now(UTC)
        times = {"acquired_at": now, "expires_at": now + timedelta(hours=1)}
        rows = [
            {"id": f"lease of {one}", "intent_id": one, "agent_id": "refund-agent", "scope": "all", "status": "active"}
            for one in intent_ids
        ]
        self._do(lambda conn: conn.execute(intent_leases.insert(), [{**row, **times} for row in rows]))

    def breaks_at(self, table: sa.Table) -> None:
        """No row can be written there: the transaction gets so far and no further."""
        when = {"events": "NEW.type = 'fallback_triggered'", "outbox": "NEW.kind = 'resume'"}.get(table.name, "true")
        if self._url.get_backend_name() == "sqlite":
            self._run(
                f"CREATE TRIGGER broken BEFORE INSERT ON {table.name} WHEN {when} "
                "BEGIN SELECT RAISE(ABORT, 'broken'); END"
            )
        else:
            raising = "$$BEGIN RAISE EXCEPTION 'broken'; END$$"
            self._run(f"CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS {raising}")
            self._run(
                f"CREATE TRIGGER broken BEFORE INSERT ON {table.name} FOR EACH ROW WHEN ({when}) "
                "EXECUTE FUNCTION broken()"
            )

    def is_mended(self, table: sa.Table) -> None:
        if self._url.get_backend_name() == "sqlite":
            self._run("DROP TRIGGER broken")
        else:
            self._run(f"DROP TRIGGER broken ON {table.name}")
            self._run("DROP FUNCTION broken")

    def holders(self, intent_id: str) -> list[str]:
        active = (intent_leases.c.intent_id == intent_id) & (intent_leases.c.status == "active")
        return [str(row[0]) for row in self._rows(sa.select(intent_leases.c.agent_id).where(active))]

    def count(self, table: sa.Table, intent_id: str, *more: sa.ColumnElement[bool]) -> int:
        counted = sa.select(sa.func.count()).select_from(table).where(table.c.intent_id == intent_id, *more)
        return int(self._rows(counted)[0][0])

    def takeovers(self, intent_id: str) -> int:
        return self.count(events, intent_id, events.c.type == "fallback_triggered")

    def tellings(self) -> int:
        told = sa.select(sa.func.count()).select_from(outbox).where(outbox.c.kind == "resume")
        return int(self._rows(told)[0][0])

    def _run(self, statement: str) -> None:
        self._do(lambda conn: conn.exec_driver_sql(statement))

    def _do(self, job: Any) -> None:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        with engine.begin() as conn:
            job(conn)

    def _rows(self, wanted: sa.Select[Any]) -> list[Any]:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        with engine.connect() as conn:
            return [tuple(row) for row in conn.execute(wanted)]


@dataclass
class Office:
    """The service, which is killed, its database, and the fallback agent."""

    service: ServiceProcess
    http: httpx.AsyncClient
    store: Store
    told: Told

    async def call(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> httpx.Response:
        return await self.http.request(method, f"{self.service.url}/v1{path}", json=body, headers=headers)

    async def intent(self) -> str:
        """Active, with a fallback agent that takes over at the first failure."""
        made = await self.call("POST", "/intents", AGENT, {"title": "t", "status": "active"})
        assert made.status_code == 201, made.text
        policy = {"strategy": "none", "fallback_agent_id": NAME}
        intent_id = str(made.json()["id"])
        assert (await self.call("PUT", f"/intents/{intent_id}/retry-policy", AGENT, policy)).status_code == 200
        return intent_id

    async def fail(self, intent_id: str) -> httpx.Response:
        """The same report, however often it is sent."""
        url, headers = f"{self.service.url}/v1/intents/{intent_id}/failures", AGENT | {"Idempotency-Key": intent_id}
        return await self.http.post(url, json={"error_code": "TIMEOUT"}, headers=headers)

    def assert_taken_over_once(self, intent_id: str) -> None:
        assert self.store.takeovers(intent_id) == 1
        assert self.store.count(intent_failures, intent_id) == 1
        assert self.store.count(intent_agents, intent_id) == 1
        assert self.store.holders(intent_id) == [NAME]
        assert len(self.told.ids(intent_id)) == 1

    def assert_nothing_has_happened(self, intent_id: str) -> None:
        assert self.store.takeovers(intent_id) == 0
        assert self.store.count(intent_failures, intent_id) == self.store.count(intent_agents, intent_id) == 0
        assert self.store.holders(intent_id) == ["refund-agent"]
        assert self.store.tellings() == 0


@asynccontextmanager
async def office(folder: Path, database_url: str, mailbox: Mailbox, port: int) -> AsyncIterator[Office]:
    """The fallback agent is to be told at ``port``."""
    said = settings(database_url, mailbox)
    keys = [one | ({"webhook_secrets": [SECRET]} if one["name"] == NAME else {}) for one in said["api_keys"]]
    async with (
        service_process(folder, {**said, "api_keys": keys}) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        place = Office(service, http, Store(database_url), Told())
        url = f"http://127.0.0.1:{port}/told"
        assert (await place.call("PUT", "/agents/me/callback", BACKUP, {"url": url})).status_code == 200
        yield place


STEPS = [intent_failures, intent_agents, intent_leases, events, outbox]
"""What a takeover writes, in order."""


@pytest.mark.parametrize("table", STEPS, ids=lambda table: str(table.name))
async def test_killed_at_a_step_nothing_of_it_has_happened_and_the_next_report_does_all_of_it(
    tmp_path: Path, database_url: str, mailbox: Mailbox, table: sa.Table
) -> None:
    port = free_port()
    async with office(tmp_path, database_url, mailbox, port) as place, listening(place.told, port):
        intent_id = await place.intent()
        await place.service.kill()
        place.store.leases([intent_id])
        place.store.breaks_at(table)
        await place.service.start()
        assert (await place.fail(intent_id)).status_code >= 500
        await place.service.kill()
        place.assert_nothing_has_happened(intent_id)
        place.store.is_mended(table)
        await place.service.start()
        assert (await place.fail(intent_id)).json()["fallback_agent_id"] == NAME
        await place.told.about([intent_id])
        await place.service.kill()
        place.assert_taken_over_once(intent_id)


async def test_killed_between_the_takeover_and_its_callback_the_fallback_agent_is_told_after_the_restart(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    port = free_port()
    async with office(tmp_path, database_url, mailbox, port) as place:  # nobody listens there yet
        intent_id = await place.intent()
        await place.service.kill()
        place.store.leases([intent_id])
        await place.service.start()
        assert (await place.fail(intent_id)).status_code == 200
        await place.service.kill()
        async with listening(place.told, port):
            await place.service.start()
            await place.told.about([intent_id])
            repeated = await place.fail(intent_id)
            assert repeated.headers["Idempotency-Replayed"] == "true"
            await place.service.terminate()
        place.assert_taken_over_once(intent_id)
        assert len(place.told.calls) == 1


async def test_killed_while_the_fallback_agent_is_told_it_is_told_again_under_the_same_id(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    port = free_port()
    async with office(tmp_path, database_url, mailbox, port) as place, listening(place.told, port):
        intent_id = await place.intent()
        await place.service.kill()
        place.store.leases([intent_id])
        await place.service.start()
        place.told.hanging = True
        assert (await place.fail(intent_id)).status_code == 200
        await asyncio.wait_for(place.told.arrived.wait(), 90)
        await place.service.kill()
        place.told.hanging = False
        await place.service.start()
        async with asyncio.timeout(90):
            while len(place.told.calls) < 2:
                await asyncio.sleep(0.02)
        await place.service.terminate()
        place.assert_taken_over_once(intent_id)


async def test_killed_at_any_instant_of_many_each_is_taken_over_once(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    port, many = free_port(), 12
    async with office(tmp_path, database_url, mailbox, port) as place, listening(place.told, port):
        intent_ids = [await place.intent() for _ in range(many)]
        await place.service.kill()
        place.store.leases(intent_ids)
        for _ in range(3):
            await place.service.start()
            going = [asyncio.create_task(place.fail(one)) for one in intent_ids for _ in range(2)]
            await asyncio.sleep(random.uniform(0, 0.2))
            await place.service.kill()
            for ended in await asyncio.gather(*going, return_exceptions=True):
                assert isinstance(ended, httpx.TransportError) or ended.status_code == 200, ended
            assert all(len(place.store.holders(one)) == 1 for one in intent_ids)
        await place.service.start()
        done = await asyncio.gather(*(place.fail(one) for one in intent_ids))
        assert [one.json()["fallback_agent_id"] for one in done] == [NAME] * many
        await place.told.about(intent_ids)
        await place.service.terminate()
        for one in intent_ids:
            place.assert_taken_over_once(one)
