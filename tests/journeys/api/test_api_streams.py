"""Event streams (API.md §5): every event once, in order, and on from where one left off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from tests.world import KEYS, World, running

EVERYTHING = "/v1/events/stream"


@dataclass
class Reader:
    """Frames as they come, each as its id and its event."""

    lines: AsyncIterator[str]
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def read(self, count: int, within: float = 30) -> list[tuple[str, dict[str, Any]]]:
        """The next ``count`` frames."""
        found: list[tuple[str, dict[str, Any]]] = []
        async with asyncio.timeout(within):
            while len(found) < count:
                found.append(await self._frame())
        self.seen += found
        return found

    async def types(self, count: int) -> list[str]:
        return [event["event_type"] for _, event in await self.read(count)]

    async def _frame(self) -> tuple[str, dict[str, Any]]:
        fields: dict[str, str] = {}
        while True:
            line = await anext(self.lines)
            if line == "" and "data" in fields:
                return fields["id"], json.loads(fields["data"])
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value


@asynccontextmanager
async def reading(
    world: World, path: str = EVERYTHING, role: str = "agent", after: str | None = None
) -> AsyncIterator[Reader]:
    """Connected: whatever happens from now on is read."""
    headers = {"X-API-Key": KEYS[role]} | ({"Last-Event-ID": after} if after is not None else {})
    async with world.http.stream("GET", world.url + path, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.aiter_lines()
        assert (await anext(lines)).startswith(":")
        yield Reader(lines)


async def test_events_arrive_as_they_happen_and_are_those_of_the_log(world: World) -> None:
    async with reading(world) as stream:
        asked = await world.ask(timeout_seconds=60, retry_policy={"max_attempts": 2})
        await world.advance(seconds=60)
        await world.answer(asked, "approve")
        frames = await stream.read(3)
    log = [event for event in await world.events(asked) if event["event_type"] != "intent_created"]
    assert [event for _, event in frames if event["event_type"] != "intent_created"] == log
    assert len({one for one, _ in frames}) == len(frames)


async def test_one_goes_on_from_any_event_without_gap_or_repeat(any_world: World) -> None:
    world = any_world
    async with reading(world) as stream:
        asked = await world.ask(timeout_seconds=60, retry_policy={"max_attempts": 4})
        await world.advance(seconds=180)
        await world.answer(asked, "approve")
        frames = await stream.read(5)
    for position, (last, _) in enumerate(frames[:-1]):
        async with reading(world, after=last) as again:
            assert await again.read(len(frames) - position - 1) == frames[position + 1 :]


async def test_what_happened_while_one_was_away_is_not_lost(world: World) -> None:
    async with reading(world) as stream:
        first = await world.ask("First?")
        [(last, _)] = (await stream.read(1))[-1:]
    await world.answer(first, "approve")
    second = await world.ask("Second?")
    async with reading(world, after=last) as stream:
        assert await stream.types(2) == ["intent.resumed", "intent.suspended"]
        await world.answer(second, "deny")
        assert await stream.types(1) == ["intent.resumed"]


async def test_one_intents_stream_has_its_events_alone(world: World) -> None:
    asked, other = await world.ask("Mine?"), await world.ask("Another?")
    async with reading(world, f"/v1/intents/{asked['intent_id']}/subscribe") as stream:
        await world.answer(other, "approve")
        await world.answer(asked, "deny")
        [(_, event)] = await stream.read(1)
    assert (event["intent_id"], event["payload"]["value"]) == (asked["intent_id"], "deny")


async def test_an_agent_sees_its_own_events_and_an_operator_all(world: World) -> None:
    body = {"question": "Theirs?", "response_type": "confirm"}
    async with (
        reading(world) as mine,
        reading(world, role="other_agent") as theirs,
        reading(world, role="operator") as all_of_them,
    ):
        one = await world.ask("Mine?")
        two = (await world.call("POST", "/v1/suspensions", "other_agent", json=body)).json()
        await world.answer(two, "yes")
        await world.answer(one, "deny")
        seen = [{event["intent_id"] for _, event in await stream.read(2)} for stream in (mine, theirs)]
        everything = await all_of_them.types(4)
    assert seen == [{one["intent_id"]}, {two["intent_id"]}]
    assert sorted(everything) == ["intent.resumed"] * 2 + ["intent.suspended"] * 2


@pytest.mark.slow
async def test_another_agents_intent_can_not_be_followed(world: World) -> None:
    asked = await world.ask()
    path = f"/v1/intents/{asked['intent_id']}/subscribe"
    assert (await world.call("GET", path, "other_agent")).status_code == 404
    assert (await world.call("GET", path, None)).status_code == 401
    assert (await world.call("GET", EVERYTHING, None)).status_code == 401


async def test_an_id_that_was_never_sent_is_refused(world: World) -> None:
    for wrong in ("nonsense", "-1", "1-", "9" * 100, "1-2-3", "1.5-2"):
        response = await world.call("GET", EVERYTHING, headers={"Last-Event-ID": wrong})
        assert (response.status_code, response.json()["detail"]["error"]) == (422, "invalid_request"), wrong


async def test_nothing_is_skipped_or_repeated_while_many_write_and_one_reconnects(any_world: World) -> None:
    world = any_world
    body = {"question": "Many?", "response_type": "confirm"}
    count = 24

    async def suspend() -> httpx.Response:
        return await world.call("POST", "/v1/suspensions", json=body)

    seen: list[tuple[str, dict[str, Any]]] = []
    async with reading(world) as stream:
        first = (await suspend()).json()
        seen += await stream.read(1)
    writers = asyncio.gather(*(suspend() for _ in range(count)))
    while len(seen) < count + 1:
        async with reading(world, after=seen[-1][0]) as stream:
            seen += await stream.read(min(5, count + 1 - len(seen)))
    asked = [first] + [reply.json() for reply in await writers]
    assert sorted(event["intent_id"] for _, event in seen) == sorted(one["intent_id"] for one in asked)


async def test_what_an_unrelated_transaction_holds_back_comes_when_it_ends_though_nobody_says_so(
    tmp_path: Path, postgres_url: str
) -> None:
    stranger = sa.create_engine(postgres_url, poolclass=sa.NullPool)
    async with running(tmp_path, postgres_url) as world:
        async with reading(world) as stream:
            first = await world.ask("Before?")
            await stream.read(1)
            with stranger.begin() as conn:  # writes something, and takes its time
                conn.execute(sa.text("CREATE TEMPORARY TABLE strange (x int)"))
                conn.execute(sa.text("SELECT pg_current_xact_id()"))
                await world.answer(first, "approve")
                second = await world.ask("Meanwhile?")
                meanwhile = asyncio.create_task(stream.read(2))
                await asyncio.sleep(0.7)  # the stream looks again by the real clock; it has by now
                assert not meanwhile.done()
            frames = await meanwhile
            third = await world.ask("After?")
            frames += await stream.read(1)
        async with reading(world, after=frames[0][0]) as again:
            assert await again.read(2) == frames[1:]
    assert [(event["event_type"], event["intent_id"]) for _, event in frames] == [
        ("intent.resumed", first["intent_id"]),
        ("intent.suspended", second["intent_id"]),
        ("intent.suspended", third["intent_id"]),
    ]
