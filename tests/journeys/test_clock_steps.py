"""Somebody sets the host's clock, either way, while the service runs: nothing goes out twice, and nothing stalls."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.clock import START
from tests.world import World, after

HOURLY: dict[str, Any] = {"max_attempts": 4, "interval_seconds": 3600}


async def told(world: World, asked: dict[str, Any]) -> list[int]:
    events = await world.events(asked)
    return [event["payload"]["attempt"] for event in events if event["event_type"].endswith("renotified")]


async def test_set_back_it_repeats_no_attempt_and_goes_on_when_the_time_has_come_again(any_world: World) -> None:
    asked = await any_world.ask(retry_policy=HOURLY)
    await any_world.advance(hours=1, minutes=10)
    any_world.clock.move_to(START - timedelta(hours=2))
    await any_world.advance(hours=3, minutes=10)
    assert await told(any_world, asked) == [2]
    assert len(any_world.slack.workspace.posted()) == 2
    await any_world.advance(minutes=50)
    assert await told(any_world, asked) == [2, 3]
    assert (await any_world.show(asked))["expires_at"] == after(asked, hours=4)


async def test_set_forward_it_sends_what_is_due_in_order_and_moves_no_times(any_world: World) -> None:
    asked = await any_world.ask(retry_policy=HOURLY)
    any_world.clock.move_by(timedelta(hours=2, minutes=30))
    await any_world.settle()
    assert await told(any_world, asked) == [2, 3]
    shown = await any_world.show(asked)
    assert (shown["next_attempt_at"], shown["expires_at"]) == (after(asked, hours=3), after(asked, hours=4))
    assert "intent.suspension_rescheduled" not in await any_world.event_types(asked)
    any_world.clock.move_by(-timedelta(hours=2, minutes=30))
    await any_world.advance(hours=2, minutes=59)
    assert await told(any_world, asked) == [2, 3]
    await any_world.advance(minutes=1)
    assert await told(any_world, asked) == [2, 3, 4]


async def test_set_back_a_question_that_has_ended_stays_ended(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600)
    await world.advance(hours=1)
    world.clock.move_to(START)
    await world.advance(minutes=30)
    assert (await world.show(asked))["status"] == "expired"
    assert (await world.answer(asked, "approve")).status_code == 409
    assert len(world.agent.told_of(asked)) == 1
