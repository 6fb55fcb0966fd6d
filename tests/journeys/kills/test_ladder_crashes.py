"""``kill -9`` in the middle of a ladder, and in the middle of its move after an outage: it goes on, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.store.tables import events, suspensions, workers
from tests.journeys.kills.test_crashes import AGENT, settings
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.vendors.smtp import Stage

pytestmark = pytest.mark.kills

ADMIN = {"X-API-Key": "admin-key"}
MOVED = "intent.suspension_rescheduled"


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


@asynccontextmanager
async def service_with(
    folder: Path, database_url: str, mailbox: Mailbox
) -> AsyncIterator[tuple[ServiceProcess, httpx.AsyncClient]]:
    async with (
        service_process(folder, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        yield service, http


async def ask(service: ServiceProcess, http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {"question": "Go on?", "response_type": "confirm", **fields}
    response = await http.post(f"{service.url}/v1/suspensions", json=body, headers=AGENT)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def until_attempt(service: ServiceProcess, http: httpx.AsyncClient, asked: dict[str, Any], number: int) -> None:
    path = f"{service.url}/v1/suspensions/{asked['suspension_id']}"
    async with asyncio.timeout(90):
        while (await http.get(path, headers=ADMIN)).json()["attempt"] < number:
            await asyncio.sleep(0.02)


async def attempts_told(service: ServiceProcess, http: httpx.AsyncClient, asked: dict[str, Any]) -> list[int]:
    found = await http.get(f"{service.url}/v1/intents/{asked['intent_id']}/events", headers=ADMIN)
    return [
        event["payload"]["attempt"]
        for event in found.json()["events"]
        if event["event_type"] == "intent.suspension_renotified"
    ]


async def deliveries_by_attempt(
    service: ServiceProcess, http: httpx.AsyncClient, asked: dict[str, Any]
) -> dict[int, int]:
    """How many messages each attempt comes to."""
    found = await http.get(f"{service.url}/v1/suspensions/{asked['suspension_id']}/timeline", headers=ADMIN)
    return Counter(item["attempt"] for item in found.json()["items"] if item["kind"] == "delivery")


async def test_killed_between_an_attempts_commit_and_its_send_the_ladder_goes_on_in_order(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with service_with(tmp_path, database_url, mailbox) as (service, http):
        asked = await ask(service, http, retry_policy={"max_attempts": 50, "interval_seconds": 2})
        await mailbox.expect(subject="Go on?")
        mailbox.delay_next(Stage.RCPT, timedelta(seconds=60))
        await until_attempt(service, http, asked, 2)
        await service.kill()
        await service.start()
        await until_attempt(service, http, asked, 4)
        async with asyncio.timeout(90):
            while len(mailbox.mails) < 4:
                await asyncio.sleep(0.02)
        told = await attempts_told(service, http, asked)
        assert told == list(range(2, len(told) + 2))
        deliveries = await deliveries_by_attempt(service, http, asked)
        assert set(deliveries.values()) == {1}
    assert len({mail.message_id for mail in mailbox.mails}) == len(mailbox.mails)


async def test_killed_after_a_refusal_was_written_down_the_next_attempt_still_goes_out_once(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    mailbox.refuse("carol@example.com")
    rungs = [{"attempt": 1, "notify_to": "carol@example.com"}, {"attempt": 2, "notify_to": "bob@example.com"}]
    policy = {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": rungs}
    async with service_with(tmp_path, database_url, mailbox) as (service, http):
        mailbox.delay_next(Stage.DATA, timedelta(seconds=60))  # carol's mail never comes so far
        asked = await ask(service, http, retry_policy=policy)
        await until_attempt(service, http, asked, 2)
        await service.kill()
        await service.start()
        assert await mailbox.expect(to="bob@example.com", seconds=90)
        assert await attempts_told(service, http, asked) == [2]
        shown = await http.get(f"{service.url}/v1/suspensions/{asked['suspension_id']}", headers=ADMIN)
        assert (shown.json()["attempt"], shown.json()["expires_at"]) == (2, asked["expires_at"])
    assert [mail.recipient for mail in mailbox.mails] == ["bob@example.com"]


async def test_killed_while_the_times_move_none_moves_twice_and_none_is_forgotten(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    many = 300
    async with service_with(tmp_path, database_url, mailbox) as (service, http):
        for n in range(many):
            await ask(service, http, question=f"Question {n}?", timeout_seconds=86_400)
        await service.kill()
        store = Store(database_url)
        store.was_silent_for(timedelta(hours=1))
        store.holds_back(after=many - 20)  # however late it is killed, it is in the middle
        await service.start()
        await store.until_moved(1)
        await service.kill()
        assert 0 < len(store.moved()) < many
        store.lets_go()
        await service.start()
        await store.until_moved(many)
        assert await service.terminate() == 0
    assert len(store.moved()) == many
    assert dict(store.moved()) == store.shifts()


HOLDING_BACK = {
    "sqlite": [
        f"CREATE TRIGGER held BEFORE INSERT ON {events.name} WHEN NEW.type = '{MOVED}' "
        f"AND (SELECT count(*) FROM {events.name} WHERE type = '{MOVED}') >= %d "
        "BEGIN SELECT RAISE(ABORT, 'held back'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN IF (SELECT count(*) FROM {events.name} WHERE type = '{MOVED}') >= %d "
        "THEN RAISE EXCEPTION 'held back'; END IF; RETURN NEW; END$$",
        f"CREATE TRIGGER held BEFORE INSERT ON {events.name} FOR EACH ROW "
        f"WHEN (NEW.type = '{MOVED}') EXECUTE FUNCTION held()",
    ],
}
LETTING_GO = {
    "sqlite": ["DROP TRIGGER held"],
    "postgresql": [f"DROP TRIGGER held ON {events.name}", "DROP FUNCTION held"],
}


class Store:
    """The service's database, looked into from outside while it is killed."""

    def __init__(self, database_url: str) -> None:
        database = open_database(database_url)
        self._url = database.engine.url
        database.engine.dispose()

    def was_silent_for(self, time: timedelta) -> None:
        """As if the last beat had been so much longer ago."""
        earlier = sa.type_coerce(workers.c.beat_at, sa.BigInteger) - time // timedelta(microseconds=1)
        engine = sa.create_engine(self._url)
        with engine.begin() as conn:
            conn.execute(workers.update().values(beat_at=earlier))
        engine.dispose()

    def holds_back(self, after: int) -> None:
        """No further move can be written down once there are so many, or a few more that were written side by side."""
        self._run(*[one.replace("%d", str(after)) for one in HOLDING_BACK[self._url.get_backend_name()]])

    def lets_go(self) -> None:
        self._run(*LETTING_GO[self._url.get_backend_name()])

    def _run(self, *statements: str) -> None:
        engine = sa.create_engine(self._url)
        with engine.begin() as conn:
            for statement in statements:
                conn.exec_driver_sql(statement)
        engine.dispose()

    async def until_moved(self, count: int) -> None:
        async with asyncio.timeout(90):
            while len(self.moved()) < count:
                await asyncio.sleep(0.005)

    def moved(self) -> list[tuple[str, timedelta]]:
        """Each event that says so: of which intent, and by how much."""
        found = self._rows(sa.select(events.c.intent_id, events.c.payload).where(events.c.type == MOVED))
        return [(intent_id, timedelta(seconds=payload["shift_seconds"])) for intent_id, payload in found]

    def shifts(self) -> dict[str, timedelta]:
        """By how much the times of each intent's question have moved."""
        return dict(self._rows(sa.select(suspensions.c.intent_id, suspensions.c.shift)))

    def _rows(self, wanted: sa.Select[Any]) -> list[Any]:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        with engine.connect() as conn:
            return [tuple(row) for row in conn.execute(wanted)]
