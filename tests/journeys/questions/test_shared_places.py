"""A place that several people share is asked once an attempt: one page, however many are behind it (API.md §2)."""

from __future__ import annotations

from typing import Any

from tests.world import World

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"


async def pages(world: World, asked: dict[str, Any], attempt: int) -> list[str]:
    items = [item for item in await world.timeline(asked) if item["kind"] == "delivery"]
    return [item["status"] for item in items if (item["channel"], item["attempt"]) == ("pagerduty", attempt)]


async def test_two_responders_on_one_service_are_one_page(any_world: World) -> None:
    asked = await any_world.ask(channel_hint="pagerduty", responders=[ALICE, BOB])
    assert await pages(any_world, asked, 1) == ["delivered"]
    assert len(any_world.pager.incidents) == 1
    assert (await any_world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_an_assignee_adds_no_second_page_to_a_later_attempt(any_world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": ALICE}]
    policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": ladder}
    asked = await any_world.ask(retry_policy=policy, responders=[ALICE])
    path = f"/v1/suspensions/{asked['suspension_id']}/assign"
    assert (await any_world.call("POST", path, "operator", json={"to": CAROL})).status_code == 200
    await any_world.advance(hours=1)
    assert await pages(any_world, asked, 2) == ["delivered"]
