"""Several workers look at the same rows: each row is moved once, and none waits for one that somebody holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import sqlalchemy as sa

from tests.world import World, running

POLICY = {"timeout_seconds": 86400, "retry_policy": {"max_attempts": 3, "interval_seconds": 3600}}


async def looks(world: World) -> None:
    async with asyncio.timeout(30):
        await world.service.look()
        await world.service.lanes.empty()


async def test_looks_at_once_ask_each_person_again_once(tmp_path: Path, postgres_url: str) -> None:
    async with running(tmp_path, postgres_url) as world:
        asked = [await world.ask(f"Number {number}?", **POLICY) for number in range(12)]
        world.clock.move_to(world.clock.now().replace(hour=world.clock.now().hour + 1))
        await asyncio.gather(*(looks(world) for _ in range(4)))
        await world.settle()
        for one in asked:
            assert await world.event_types(one) == ["intent.suspended", "intent.suspension_renotified"]
        assert len(world.slack.workspace.messages) == 2 * len(asked)


async def test_a_row_that_somebody_holds_keeps_no_other_from_being_looked_at(tmp_path: Path, postgres_url: str) -> None:
    stranger = sa.create_engine(postgres_url, poolclass=sa.NullPool)
    async with running(tmp_path, postgres_url) as world:
        held, free = await world.ask("Held?", **POLICY), await world.ask("Free?", **POLICY)
        with stranger.begin() as conn:
            conn.execute(sa.text("SELECT id FROM intents WHERE id = :id FOR UPDATE"), {"id": held["intent_id"]})
            world.clock.move_to(world.clock.now().replace(hour=world.clock.now().hour + 1))
            await looks(world)
            assert [(await world.show(one))["attempt"] for one in (held, free)] == [1, 2]
        await world.settle()
        assert (await world.show(held))["attempt"] == 2
