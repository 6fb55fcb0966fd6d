"""Somebody sets the host's clock, either way, while the service runs: nothing goes out twice, and nothing stalls.

Set forward by more than the grace it counts as an outage of ours (API.md §3; docs/decisions/0034).
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.clock import START
from tests.world import World, after, running

HOURLY: dict[str, Any] = {"max_attempts": 4, "interval_seconds": 3600}


async def told(world: World, asked: dict[str, Any]) -> list[int]:
    events = await world.events(asked)
    return [event["payload"]["attempt"] for event in events if event["event_type"].endswith("renotified")]


async def set_clock(world: World, **by: float) -> None:
    """The host's clock is set; the next beat comes, and all that follows from it."""
    world.clock.is_set(timedelta(**by))
    await world.service.beating.beat()
    await world.settle()


async def test_set_back_it_repeats_no_attempt_and_goes_on_when_the_time_has_come_again(any_world: World) -> None:
    asked = await any_world.ask(retry_policy=HOURLY)
    await any_world.advance(hours=1, minutes=10)
    await set_clock(any_world, hours=-3, minutes=-10)
    assert any_world.clock.now() == START - timedelta(hours=2)
    await any_world.advance(hours=3, minutes=10)
    assert await told(any_world, asked) == [2]
    assert len(any_world.slack.workspace.posted()) == 2
    await any_world.advance(minutes=50)
    assert await told(any_world, asked) == [2, 3]
    assert (await any_world.show(asked))["expires_at"] == after(asked, hours=4)


async def test_set_forward_by_a_day_a_ladder_of_hours_goes_on_from_where_it_was(any_world: World) -> None:
    asked = await any_world.ask(retry_policy=HOURLY)
    await any_world.advance(minutes=10)
    await set_clock(any_world, days=1)
    assert await told(any_world, asked) == []
    shown = await any_world.show(asked)
    assert (shown["next_attempt_at"], shown["expires_at"]) == (after(asked, hours=25), after(asked, hours=28))
    await any_world.advance(minutes=50)
    assert await told(any_world, asked) == [2]
    await any_world.advance(hours=3)
    assert (await told(any_world, asked), (await any_world.show(asked))["status"]) == ([2, 3, 4], "expired")
    assert (await any_world.event_types(asked)).count("intent.suspension_rescheduled") == 1


async def test_an_answer_that_comes_before_the_next_beat_is_not_too_late(any_world: World) -> None:
    asked = await any_world.ask(timeout_seconds=600)
    any_world.clock.is_set(timedelta(days=1))
    await any_world.settle()
    assert (await any_world.answer(asked, "approve")).status_code == 200


async def test_a_clock_that_was_wrong_for_a_while_leaves_the_ladder_where_it_was(any_world: World) -> None:
    asked = await any_world.ask(retry_policy=HOURLY)
    await any_world.advance(minutes=10)
    await set_clock(any_world, days=1)
    meanwhile = await any_world.ask("Asked by the wrong clock?", retry_policy=HOURLY)
    await any_world.advance(minutes=10)
    await set_clock(any_world, days=-1)
    assert (await any_world.show(asked))["next_attempt_at"] == after(asked, hours=1)
    assert (await any_world.show(meanwhile))["next_attempt_at"] == after(asked, hours=1, minutes=10)
    await any_world.advance(minutes=40)
    assert (await told(any_world, asked), await told(any_world, meanwhile)) == ([2], [])
    await any_world.advance(minutes=10)
    assert await told(any_world, meanwhile) == [2]


async def test_under_burst_times_stay_literal(tmp_path: Path, database_url: str) -> None:
    literal = {"default_channel": "slack", "catch_up": "burst"}
    async with running(tmp_path, database_url, suspension=literal) as world:
        asked = await world.ask(retry_policy=HOURLY)
        await set_clock(world, hours=2, minutes=30)
        assert await told(world, asked) == [2, 3]
        shown = await world.show(asked)
        assert (shown["next_attempt_at"], shown["expires_at"]) == (after(asked, hours=3), after(asked, hours=4))
        assert "intent.suspension_rescheduled" not in await world.event_types(asked)
        await set_clock(world, hours=-2, minutes=-30)
        await world.advance(hours=2, minutes=59)
        assert await told(world, asked) == [2, 3]
        await world.advance(minutes=1)
        assert await told(world, asked) == [2, 3, 4]
        over = await world.ask(retry_policy=HOURLY)
        await set_clock(world, days=1)
        assert ((await world.show(over))["status"], await told(world, over)) == ("expired", [])


async def test_set_back_a_question_that_has_ended_stays_ended(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600)
    await world.advance(hours=1)
    await set_clock(world, hours=-1)
    assert world.clock.now() == START
    await world.advance(minutes=30)
    assert (await world.show(asked))["status"] == "expired"
    assert (await world.answer(asked, "approve")).status_code == 409
    assert len(world.agent.told_of(asked)) == 1
