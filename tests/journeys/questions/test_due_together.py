"""Many questions that are due together: each is asked again once, whatever comes of the others."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from core.store.tables import suspensions
from tests.world import World

TWICE = {"timeout_seconds": 86400, "retry_policy": {"max_attempts": 2, "interval_seconds": 3600}}
CROWD = 28
"""More than are moved at once."""
ASKED_AGAIN = ["intent.suspended", "intent.suspension_renotified"]


async def ask_many(world: World, count: int) -> list[dict[str, Any]]:
    return [await world.ask(f"Number {number}?", **TWICE) for number in range(count)]


async def an_hour_later(world: World) -> None:
    world.clock.move_to(world.clock.now() + timedelta(hours=1))
    await world.settle()


async def test_each_of_many_is_asked_again_once(any_world: World) -> None:
    world = any_world
    asked = await ask_many(world, CROWD)
    await an_hour_later(world)
    for one in asked:
        assert await world.event_types(one) == ASKED_AGAIN
        assert (await world.show(one))["attempt"] == 2
    assert len(world.slack.workspace.messages) == 2 * len(asked)
    assert (await world.call("GET", "/v1/audit/verify", "admin")).json()["first_broken"] is None


async def test_what_ends_or_is_held_beside_them_is_not_asked_again(any_world: World) -> None:
    world = any_world
    ending = await world.ask("Ending?", timeout_seconds=3600)
    held, answered, again = await ask_many(world, 3)
    await world.call("POST", f"/v1/suspensions/{held['suspension_id']}/claim", "operator", json={"seconds": 7200})
    await world.answer(answered, "approve")
    await an_hour_later(world)
    assert (await world.event_types(ending))[-1] == "intent.suspension_expired"
    assert "intent.suspension_renotified" not in await world.event_types(answered)
    assert (await world.event_types(held))[-1] == "intent.suspension_attempt_held"
    assert await world.event_types(again) == ASKED_AGAIN


async def test_a_question_that_can_not_be_read_keeps_no_other_from_being_asked(any_world: World) -> None:
    world = any_world
    broken, *others = await ask_many(world, CROWD)
    spoil = sa.update(suspensions).where(suspensions.c.id == broken["suspension_id"]).values(ask={})
    await world.service.database.write(lambda tx: tx.conn.execute(spoil))
    world.clock.move_to(world.clock.now() + timedelta(hours=1))
    with pytest.raises(ValidationError):
        await world.service.look()
    async with asyncio.timeout(30):
        await world.service.lanes.empty()
    for one in others:
        assert await world.event_types(one) == ASKED_AGAIN
