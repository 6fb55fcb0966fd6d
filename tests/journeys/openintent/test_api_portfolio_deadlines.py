"""A portfolio's deadline comes before a suspension's own end (RFC-0026 §2 rule 5)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.journeys.openintent.portfolios import at, ended_with, portfolio_of, put_in, shown, suspend
from tests.journeys.openintent.test_api_client_suspends import first_step, record, write_record
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def waiting(world: World, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An active intent and its question."""
    intent = await world.active_intent()
    return intent, await suspend(world, intent, **fields)


async def is_given_up(world: World, asked: dict[str, Any]) -> bool:
    intent = await world.intent(asked)
    return (intent["status"], intent["abandonment_reason"]) == ("abandoned", "portfolio_deadline_exceeded")


async def due(world: World, **later: float) -> dict[str, Any]:
    return {"governance": {"deadline": at(world, **later)}}


async def test_the_deadline_abandons_what_waits_bypasses_the_fallback_and_calls_the_agent(any_room: World) -> None:
    world = any_room
    intent, asked = await waiting(world, fallback_policy="complete_with_fallback", fallback_value="yes")
    busy = await world.active_intent()
    portfolio = await portfolio_of(world, "agent", intent, busy, **await due(world, hours=2))
    await world.advance(minutes=119)
    assert (await world.show(asked))["resolution"] is None
    await world.advance(minutes=1)
    assert await is_given_up(world, asked)
    assert (await world.intent({"intent_id": busy["id"]}))["status"] == "active"
    told = await world.told(asked)
    assert (told["type"], told["data"]["error"]) == ("intent.suspension_expired", "portfolio_deadline_exceeded")
    [expired] = [one for one in await world.events(asked) if one["event_type"] == "intent.suspension_expired"]
    said = expired["payload"]
    assert (said["reason"], said["error"]) == ("portfolio_deadline", "portfolio_deadline_exceeded")
    now = await shown(world, portfolio)
    assert (now["aggregate_status"]["status"], now["suspended_member_count"]) == ("failed", 0)
    assert now["status"] == "active"
    [message] = [one for one in world.slack.workspace.messages if asked["ref"] in str(one.blocks) + one.text]
    assert not [one for block in message.blocks for one in block.get("elements", []) if one.get("type") == "button"]


async def test_an_answer_after_the_deadline_does_not_beat_it_and_one_before_does(any_room: World) -> None:
    world = any_room
    pairs = [await waiting(world) for _ in range(2)]
    await portfolio_of(world, "agent", *(intent for intent, _ in pairs), **await due(world, minutes=10))
    early, late = (asked for _, asked in pairs)
    assert (await world.answer(early, "yes")).status_code == 200
    await world.service.work.stop()  # nobody looks at what is due
    world.clock.move_to(world.clock.now() + timedelta(minutes=10))
    refused = await world.answer(late, "yes")
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "suspension_ended")
    assert await is_given_up(world, late)
    assert (await world.intent(early))["status"] == "active"


async def test_whoever_is_suspended_or_added_after_the_deadline_is_left_alone(any_room: World) -> None:
    world = any_room
    intent, asked = await waiting(world)
    late = await world.active_intent()
    portfolio = await portfolio_of(world, "agent", intent, late, **await due(world, minutes=10))
    await world.advance(minutes=11)
    assert await is_given_up(world, asked)
    later = await suspend(world, late)
    other, others = await waiting(world)
    await put_in(world, portfolio, other)
    await world.advance(hours=1)
    for one in (later, others):
        assert (await world.answer(one, "yes")).status_code == 200


async def test_a_portfolio_that_has_ended_has_no_deadline(any_room: World) -> None:
    world = any_room
    for status in ("completed", "abandoned"):
        intent, asked = await waiting(world)
        portfolio = await portfolio_of(world, "agent", intent, **await due(world, minutes=10))
        assert await ended_with(world, portfolio, status) == 200
        await world.advance(minutes=11)
        assert (await world.answer(asked, "yes")).status_code == 200


async def test_an_intent_that_was_taken_out_is_ended_by_no_deadline(any_room: World) -> None:
    world = any_room
    intent, asked = await waiting(world)
    portfolio = await portfolio_of(world, "agent", intent, **await due(world, minutes=10))
    await world.call("DELETE", f"/v1/portfolios/{portfolio['id']}/intents/{intent['id']}")
    await world.advance(minutes=11)
    assert (await world.answer(asked, "yes")).status_code == 200


async def test_of_several_deadlines_the_first_counts(any_room: World) -> None:
    world = any_room
    intent, asked = await waiting(world)
    for minutes in (30, 10, 20):
        await portfolio_of(world, "agent", intent, **await due(world, minutes=minutes))
    await world.advance(minutes=9)
    assert not await is_given_up(world, asked)
    await world.advance(minutes=1)
    assert await is_given_up(world, asked)
    types = await world.event_types(asked)
    assert types.count("intent.suspension_expired") == 1


async def test_a_question_that_has_expired_before_the_deadline_has_its_fallback(any_room: World) -> None:
    world = any_room
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "yes"}
    intent, asked = await waiting(world, timeout_seconds=300, **fallback)
    await portfolio_of(world, "agent", intent, **await due(world, minutes=10))
    await world.advance(minutes=11)
    assert (await world.intent(asked))["status"] == "active"
    assert (await world.show(asked))["resolution"] == "expired"


async def test_both_over_when_the_clock_comes_to_them_what_was_due_first_counts(any_room: World) -> None:
    world = any_room
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "yes"}
    pairs = [await waiting(world, timeout_seconds=seconds, **fallback) for seconds in (300, 1200)]
    await portfolio_of(world, "agent", *(intent for intent, _ in pairs), **await due(world, minutes=10))
    world.clock.move_to(world.clock.now() + timedelta(minutes=30))
    await world.settle()
    expired, given_up = (asked for _, asked in pairs)
    assert (await world.intent(expired))["status"] == "active"
    assert await is_given_up(world, given_up)


@pytest.mark.slow
async def test_a_deadline_ends_more_members_than_one_portion_and_answers_race_with_it(any_room: World) -> None:
    world = any_room
    pairs = [await waiting(world) for _ in range(60)]
    portfolio = await portfolio_of(world, "agent", *(intent for intent, _ in pairs), **await due(world, minutes=10))
    world.clock.move_to(world.clock.now() + timedelta(minutes=10))
    replies = await asyncio.gather(world.settle(), *(world.answer(asked, "yes") for _, asked in pairs[::3]))
    assert {reply.status_code for reply in replies[1:]} == {409}
    await world.settle()
    assert all([await is_given_up(world, asked) for _, asked in pairs])
    now = await shown(world, portfolio)
    assert (now["aggregate_status"]["by_status"]["abandoned"], now["suspended_member_count"]) == (60, 0)
    assert all(len(world.agent.told_of(asked)) == 1 for _, asked in pairs)


async def test_the_deadline_finds_an_intent_between_the_published_clients_steps(any_room: World) -> None:
    world = any_room
    early, late = await world.active_intent(), await world.active_intent()
    await portfolio_of(world, "agent", early, late, **await due(world, minutes=10))
    await world.advance(minutes=9, seconds=30)
    await first_step(world, early)
    await world.advance(seconds=30)
    given_up = {"intent_id": early["id"]}
    assert await is_given_up(world, given_up)
    [expired] = [one for one in await world.events(given_up) if one["event_type"] == "intent.suspension_expired"]
    error = "portfolio_deadline_exceeded"
    assert expired["payload"] == {"suspension_id": None, "reason": "portfolio_deadline", "error": error}
    assert (await write_record(world, await world.intent(given_up), record())).status_code == 403
    await first_step(world, late)  # after it
    await world.advance(seconds=59)
    assert (await world.intent({"intent_id": late["id"]}))["status"] == "suspended_awaiting_input"
