"""RFC-0026 §2 rule 5: a portfolio's deadline takes precedence over the suspension's timeout."""

from __future__ import annotations

import pytest

from tests.journeys.portfolios import at, portfolio_of, suspend
from tests.world import World

FALLBACKS = [
    {"fallback_policy": "fail"},
    {"fallback_policy": "complete_with_fallback", "fallback_value": "yes"},
    {"fallback_policy": "use_default_and_continue", "fallback_value": "no"},
]


@pytest.mark.parametrize("fallback", FALLBACKS, ids=lambda one: one["fallback_policy"])
async def test_the_intent_is_abandoned_bypassing_the_fallback_and_the_log_says_why(
    world: World, fallback: dict[str, str]
) -> None:
    intent = await world.active_intent()
    asked = await suspend(world, intent, timeout_seconds=7200, **fallback)
    await portfolio_of(world, "agent", intent, governance={"deadline": at(world, hours=1)})
    await world.advance(hours=3)
    now = await world.intent(asked)
    assert (now["status"], now["abandonment_reason"]) == ("abandoned", "portfolio_deadline_exceeded")
    record = await world.show(asked)
    assert (record["resolution"], record["response"]) == ("expired", None)
    [expired] = [one for one in await world.events(asked) if one["event_type"] == "intent.suspension_expired"]
    assert expired["payload"]["reason"] == "portfolio_deadline"
    assert "intent.resumed" not in await world.event_types(asked)


async def test_a_member_that_does_not_wait_is_not_abandoned(world: World) -> None:
    intent = await world.active_intent()
    asked = await suspend(world, intent)
    await portfolio_of(world, "agent", intent, governance={"deadline": at(world, hours=1)})
    await world.answer(asked, "yes")
    await world.advance(hours=2)
    assert (await world.intent(asked))["status"] == "active"
