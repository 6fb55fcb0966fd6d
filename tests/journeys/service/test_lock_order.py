"""Who waits for whom on PostgreSQL: whoever wants an intent that somebody holds keeps nobody else waiting for that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from tests.patience import PATIENCE
from tests.world import World, running

QUESTION: dict[str, Any] = {"question": "Go?", "response_type": "confirm"}
_WAITS = "SELECT wait_event FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@contextmanager
def held(url: str, intent_id: str) -> Iterator[sa.Connection]:
    """As long as it lasts, a stranger holds that intent."""
    stranger = sa.create_engine(url, poolclass=sa.NullPool)
    with stranger.begin() as conn:
        conn.execute(sa.text("SELECT id FROM intents WHERE id = :id FOR UPDATE"), {"id": intent_id})
        yield conn


async def waiting(url: str, number: int) -> list[str]:
    """What so many transactions wait for, once they do."""
    looker = sa.create_engine(url, poolclass=sa.NullPool)
    async with asyncio.timeout(PATIENCE):
        while True:
            with looker.connect() as conn:
                found = sorted(conn.scalars(sa.text(_WAITS)))
            if len(found) == number:
                return found
            await asyncio.sleep(0.02)


async def an_intent(world: World, **fields: Any) -> str:
    made = await world.call("POST", "/v1/intents", "agent", json={"title": "Step", "status": "active", **fields})
    return str(made.json()["id"])


async def suspend(world: World, intent_id: str, **options: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/intents/{intent_id}/suspend", "agent", json=QUESTION, **options)


async def test_a_question_that_waits_for_its_intent_keeps_none_of_its_key_waiting(
    tmp_path: Path, postgres_url: str
) -> None:
    async with running(tmp_path, postgres_url, quotas={"open": 10, "per_minute": 10}) as world:
        busy, free = await an_intent(world), await an_intent(world)
        with held(postgres_url, busy):
            first = asyncio.create_task(suspend(world, busy))
            await waiting(postgres_url, 1)
            second = await suspend(world, free)
            assert second.status_code == 201, second.text
            assert not first.done()
        assert (await first).status_code == 201


async def test_a_request_that_begins_again_still_goes_before_its_repetition(tmp_path: Path, postgres_url: str) -> None:
    async with running(tmp_path, postgres_url) as world:
        upstream, dependent = sorted([await an_intent(world), await an_intent(world)])  # held in this order
        added = await world.call(
            "POST",
            f"/v1/intents/{dependent}/dependencies",
            "agent",
            json={"dependency_id": upstream},
            headers={"If-Match": "1"},
        )
        assert added.status_code == 200, added.text
        same = {"Idempotency-Key": "once"}
        with held(postgres_url, dependent):
            first = asyncio.create_task(suspend(world, upstream, headers=same))
            await waiting(postgres_url, 1)
            second = asyncio.create_task(suspend(world, upstream, headers=same))
            assert await waiting(postgres_url, 2) == ["advisory", "transactionid"]
        replies = [await first, await second]
        assert [reply.status_code for reply in replies] == [201, 201]
        assert ["Idempotency-Replayed" in reply.headers for reply in replies] == [False, True]
