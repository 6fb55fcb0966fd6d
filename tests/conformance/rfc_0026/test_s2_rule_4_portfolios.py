"""RFC-0026 §2 rule 4: what a portfolio's GET response says of its members."""

from __future__ import annotations

import pytest

from tests.journeys.openintent.portfolios import move, portfolio_of, shown, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("statuses", "aggregate"),
    [
        (("completed", "completed"), "completed"),
        (("completed", "abandoned"), "failed"),
        (("suspended", "abandoned"), "failed"),
        (("completed", "suspended"), "in_progress"),
        (("completed", "active"), "in_progress"),
        (("completed", "blocked"), "in_progress"),
        (("suspended", "suspended"), "in_progress"),
    ],
)
async def test_the_aggregate_is_completed_failed_or_in_progress(
    room: World, statuses: tuple[str, ...], aggregate: str
) -> None:
    intents = [await room.active_intent() for _ in statuses]
    portfolio = await portfolio_of(room, "agent", *intents)
    for intent, status in zip(intents, statuses, strict=True):
        if status == "suspended":
            await suspend(room, intent)
        elif status != "active":
            await move(room, intent, status)
    now = await shown(room, portfolio)
    suspended = statuses.count("suspended")
    assert now["aggregate_status"]["status"] == aggregate
    assert now["aggregate_status"]["total"] == len(statuses)
    assert now["aggregate_status"]["by_status"]["suspended_awaiting_input"] == suspended
    assert (now["has_suspended_members"], now["suspended_member_count"]) == (suspended > 0, suspended)


async def test_a_portfolio_is_not_suspended_because_a_member_is(room: World) -> None:
    intent = await room.active_intent()
    portfolio = await portfolio_of(room, "agent", intent)
    await suspend(room, intent)
    now = await shown(room, portfolio)
    assert (now["status"], now["updated_at"]) == ("active", portfolio["updated_at"])
