"""RFC-0026 §10, RFC-0007 patches: ``portfolio.member_suspended`` and ``portfolio.member_resumed``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.portfolios import at, portfolio_of, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS = ("portfolio.member_suspended", "portfolio.member_resumed")


async def said(world: World, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    events = await world.events(asked)
    return [(one["event_type"], one["payload"]) for one in events if one["event_type"] in OURS]


@pytest.mark.parametrize("answered", [True, False], ids=["answered", "fallback"])
async def test_each_portfolio_of_a_member_hears_that_it_waits_and_goes_on(any_room: World, answered: bool) -> None:
    world = any_room
    intent = await world.active_intent()
    portfolios = sorted([(await portfolio_of(world, "agent", intent))["id"] for _ in range(2)])
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "yes"}
    asked = await suspend(world, intent, timeout_seconds=60, **fallback)
    if answered:
        await world.answer(asked, "yes")
    await world.advance(minutes=2)
    payload = {"intent_id": intent["id"], "suspension_id": asked["suspension_id"]}
    assert await said(world, asked) == [
        (type_, {**payload, "portfolio_id": one}) for type_ in OURS for one in portfolios
    ]


async def test_a_member_that_its_deadline_abandons_is_not_resumed(room: World) -> None:
    intent = await room.active_intent()
    await portfolio_of(room, "agent", intent, governance={"deadline": at(room, hours=1)})
    asked = await suspend(room, intent)
    await room.advance(hours=2)
    assert [type_ for type_, _ in await said(room, asked)] == ["portfolio.member_suspended"]
