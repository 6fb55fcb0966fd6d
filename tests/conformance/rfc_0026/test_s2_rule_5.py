"""RFC-0026 §2 rule 5: a portfolio's deadline takes precedence over the suspension's timeout."""

from __future__ import annotations

import pytest

from tests.journeys.openintent.portfolios import at, portfolio_of, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

FALLBACKS = [
    {"fallback_policy": "fail"},
    {"fallback_policy": "complete_with_fallback", "fallback_value": "yes"},
    {"fallback_policy": "use_default_and_continue", "fallback_value": "no"},
]


@pytest.mark.parametrize("fallback", FALLBACKS, ids=lambda one: one["fallback_policy"])
async def test_the_intent_is_abandoned_bypassing_the_fallback_and_the_log_says_why(
    room: World, fallback: dict[str, str]
) -> None:
    intent = await room.active_intent()
    asked = await suspend(room, intent, timeout_seconds=7200, **fallback)
    await portfolio_of(room, "agent", intent, governance={"deadline": at(room, hours=1)})
    await room.advance(hours=3)
    now = await room.intent(asked)
    assert (now["status"], now["abandonment_reason"]) == ("abandoned", "portfolio_deadline_exceeded")
    record = await room.show(asked)
    assert (record["resolution"], record["response"]) == ("expired", None)
    [expired] = [one for one in await room.events(asked) if one["event_type"] == "intent.suspension_expired"]
    assert expired["payload"]["reason"] == "portfolio_deadline"
    assert "intent.resumed" not in await room.event_types(asked)


async def test_a_member_that_does_not_wait_is_not_abandoned(room: World) -> None:
    intent = await room.active_intent()
    asked = await suspend(room, intent)
    await portfolio_of(room, "agent", intent, governance={"deadline": at(room, hours=1)})
    await room.answer(asked, "yes")
    await room.advance(hours=2)
    assert (await room.intent(asked))["status"] == "active"
