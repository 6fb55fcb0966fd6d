"""``kill -9`` in the middle of a portfolio's deadline: the restart goes on with the members that are left."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.openintent.store.tables import due_times, portfolios
from core.store.tables import events
from tests.journeys.kills.test_crashes import AGENT
from tests.journeys.kills.test_ladder_crashes import HOLDING_BACK, LETTING_GO, MOVED, service_with
from tests.process import ServiceProcess
from tests.vendors.mail import Mailbox

pytestmark = pytest.mark.kills

MEMBERS = 90
EXPIRED = "intent.suspension_expired"


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


class Rows:
    """The service's database, looked into from outside while it is killed."""

    def __init__(self, database_url: str) -> None:
        database = open_database(database_url)
        self._engine = sa.create_engine(database.engine.url, poolclass=sa.NullPool)
        database.engine.dispose()

    def deadline_is(self, at: datetime) -> None:
        with self._engine.begin() as conn:
            conn.execute(portfolios.update().values(deadline=at))
            conn.execute(due_times.update().where(due_times.c.kind == "portfolio_deadline").values(at=at))

    def stops_after(self, count: int) -> None:
        """No further member can be ended once there are so many."""
        self._run(HOLDING_BACK, str(count))

    def goes_on(self) -> None:
        self._run(LETTING_GO, "")

    def _run(self, statements: dict[str, list[str]], count: str) -> None:
        with self._engine.begin() as conn:
            for one in statements[self._engine.dialect.name]:
                conn.exec_driver_sql(one.replace(MOVED, EXPIRED).replace("%d", count))

    def ended(self) -> Counter[str]:
        """How often each intent's log says that its question has expired."""
        with self._engine.connect() as conn:
            found = conn.scalars(sa.select(events.c.intent_id).where(events.c.type == EXPIRED))
            return Counter(found)

    def is_due(self) -> bool:
        with self._engine.connect() as conn:
            return bool(conn.scalar(sa.select(sa.func.count()).select_from(due_times)))

    async def until_ended(self, count: int) -> None:
        async with asyncio.timeout(90):
            while len(self.ended()) < count:
                await asyncio.sleep(0.02)


async def posted(service: ServiceProcess, http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await http.post(f"{service.url}/v1{path}", json=body, headers=AGENT)
    assert response.is_success, response.text
    made: dict[str, Any] = response.json()
    return made


async def test_killed_while_a_deadline_ends_members_the_rest_are_ended_after_the_restart_and_none_twice(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    rows = Rows(database_url)
    async with service_with(tmp_path, database_url, mailbox) as (service, http):
        portfolio = await posted(
            service, http, "/portfolios", {"name": "P", "governance": {"deadline": "2099-01-01T00:00:00Z"}}
        )

        async def waits_in_it() -> None:
            asked = await posted(
                service,
                http,
                "/suspensions",
                {"question": "Go on?", "response_type": "confirm", "timeout_seconds": 86_400},
            )
            member = {"intent_id": asked["intent_id"]}
            await posted(service, http, f"/portfolios/{portfolio['id']}/intents", member)

        for _ in range(MEMBERS // 10):
            await asyncio.gather(*(waits_in_it() for _ in range(10)))
        await service.kill()
        rows.deadline_is(datetime.now(UTC))
        rows.stops_after(50)
        await service.start()
        await rows.until_ended(50)
        await service.kill()
        assert len(rows.ended()) < MEMBERS
        assert rows.is_due()
        rows.goes_on()
        await service.start()
        await rows.until_ended(MEMBERS)
        async with asyncio.timeout(90):
            while rows.is_due():
                await asyncio.sleep(0.02)
        path = f"{service.url}/v1/portfolios/{portfolio['id']}"
        shown = (await http.get(path, headers=AGENT)).json()
    assert set(rows.ended().values()) == {1}
    assert shown["aggregate_status"]["by_status"]["abandoned"] == MEMBERS
