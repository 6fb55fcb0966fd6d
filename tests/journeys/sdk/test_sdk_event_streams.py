"""The SDK's event streams, against the service itself: every event once, whatever becomes of the connection."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from handraise import Handraise, HandraiseSync, LoggedEvent, RequestRefused
from handraise.streams import EventStream

from tests.middle_box import middle_box
from tests.world import KEYS, World


@asynccontextmanager
async def following(url: str, intent_id: str | None = None, after: str | None = None) -> AsyncIterator[EventStream]:
    async with Handraise(url, KEYS["agent"]) as agent, agent.follow(intent_id, after=after) as stream:
        yield stream


async def read(stream: EventStream, count: int) -> list[LoggedEvent]:
    async with asyncio.timeout(30):
        return [await anext(stream) for _ in range(count)]


async def test_events_come_as_they_are_written(world: World) -> None:
    async with following(world.url) as stream:
        asked = await world.ask(timeout_seconds=60, retry_policy={"max_attempts": 2})
        await world.advance(seconds=60)
        await world.answer(asked, "approve")
        seen = await read(stream, 3)
    log = [event for event in await world.events(asked) if event["event_type"] != "intent_created"]
    assert [event.id for event in seen] == [event["id"] for event in log]
    assert [event.payload["suspension_id"] for event in seen] == [asked["suspension_id"]] * 3
    assert seen[1].payload["attempt"] == 2


async def test_a_question_with_separators_of_unicode_in_it_is_one_event(world: World) -> None:
    question = "Refund\u2028order\u2029 12345\u0085?"
    async with following(world.url) as stream:
        await world.ask(question)
        [suspended] = await read(stream, 1)
    assert suspended.payload["question"] == question


@pytest.mark.slow
async def test_none_is_lost_or_told_twice_however_often_the_connection_is_cut(any_world: World) -> None:
    world = any_world
    async with middle_box(world.url) as (box, url):
        # Into the headers, into the first block, into one event after the other; the last connection holds.
        box.budgets.extend([100, 260, 700, 1500, 2000])
        async with following(url) as stream:
            asked = [await world.ask(f"Number {number}?") for number in range(8)]
            for one in asked:
                await world.answer(one, "approve")
            seen = await read(stream, 16)
        assert not box.budgets
    expected = [event["id"] for one in asked for event in await world.events(one)]
    assert len({event.id for event in seen}) == 16
    assert {event.id for event in seen} <= set(expected)
    told = [(event.event_type, event.intent_id) for event in seen]
    intents = [one["intent_id"] for one in asked]
    assert told == [(kind, one) for kind in ("intent.suspended", "intent.resumed") for one in intents]


async def test_what_happens_before_the_first_event_while_there_is_no_connection_is_told_too(world: World) -> None:
    async with middle_box(world.url) as (box, url), following(url) as stream:
        reading = asyncio.create_task(read(stream, 1))
        box.closed = True
        box.cut()
        await box.connections(2)
        asked = await world.ask()
        box.closed = False
        [suspended] = await reading
    assert suspended.intent_id == asked["intent_id"]


@pytest.mark.slow
async def test_a_server_that_is_away_is_waited_for_and_that_is_said_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "handraise")
    async with middle_box(world.url) as (box, url), following(url) as stream:
        for times in (1, 2):
            reading = asyncio.create_task(read(stream, 1))
            before = box.made
            box.closed = True
            box.cut()
            await box.connections(before + 2)
            box.closed = False
            await world.ask("Are you back?")
            await reading
            assert [record.levelname for record in caplog.records] == ["WARNING"] * times
    assert KEYS["agent"] not in caplog.text
    assert "Are you back?" not in caplog.text


async def test_a_reader_that_was_interrupted_misses_nothing(world: World) -> None:
    async with following(world.url) as stream:
        for number in range(3):
            reading = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
            asked = await world.ask(f"Number {number}?")
            assert (await read(stream, 1))[0].intent_id == asked["intent_id"]


async def test_another_stream_goes_on_where_one_stood(world: World) -> None:
    async with following(world.url) as stream:
        begun = stream.last_event_id
        first, second = await world.ask("First?"), await world.ask("Second?")
        await read(stream, 1)
        stood = stream.last_event_id
    async with following(world.url, after=stood) as stream:
        assert [event.intent_id for event in await read(stream, 1)] == [second["intent_id"]]
    async with following(world.url, after=begun) as stream:
        assert [event.intent_id for event in await read(stream, 2)] == [first["intent_id"], second["intent_id"]]


async def test_one_intents_stream_has_its_events_alone(world: World) -> None:
    asked, other = await world.ask("Mine?"), await world.ask("Another?")
    async with following(world.url, asked["intent_id"]) as stream:
        await world.answer(other, "approve")
        await world.answer(asked, "deny")
        [event] = await read(stream, 1)
    assert (event.event_type, event.intent_id) == ("intent.resumed", asked["intent_id"])


async def test_a_stream_that_is_refused_says_why(world: World) -> None:
    with pytest.raises(RequestRefused) as refused:
        async with following(world.url, "unknown"):
            pass
    assert (refused.value.status, refused.value.code) == (404, "not_found")


async def test_a_key_that_is_revoked_ends_its_stream(world: World) -> None:
    async with following(world.url) as stream:
        reading = asyncio.create_task(read(stream, 1))
        assert (await world.call("DELETE", "/v1/keys/refund-agent", "admin")).status_code == 200
        with pytest.raises(RequestRefused) as refused:
            await reading
    assert (refused.value.status, refused.value.code) == (401, "unauthorized")


async def test_without_asyncio_it_is_the_same(world: World) -> None:
    def read_all() -> list[LoggedEvent]:
        with HandraiseSync(url, KEYS["agent"]) as agent, agent.follow() as stream:
            connected()
            return list(itertools.islice(stream, 8))

    loop, ready = asyncio.get_running_loop(), asyncio.Event()

    def connected() -> None:
        loop.call_soon_threadsafe(ready.set)

    async with middle_box(world.url) as (box, url):
        box.budgets.extend([700, 1500, 2000])
        reading = asyncio.create_task(asyncio.to_thread(read_all))
        await ready.wait()
        asked = [await world.ask(f"Number {number}?") for number in range(8)]
        seen = await reading
    assert [event.intent_id for event in seen] == [one["intent_id"] for one in asked]
