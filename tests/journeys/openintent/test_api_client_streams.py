"""The streams that the published OpenIntent client opens by itself (API.md §7), in its dialect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.world import KEYS, World, running

AGENTS = "/api/v1/agents/refund-agent/subscribe"


@asynccontextmanager
async def reading(
    world: World, path: str, role: str = "agent", after: str | None = None
) -> AsyncIterator[AsyncIterator[tuple[str, str, dict[str, Any]]]]:
    """The id, name and data of each frame."""
    headers = {"X-API-Key": KEYS[role]} | ({} if after is None else {"Last-Event-ID": after})
    async with world.http.stream("GET", world.url + path, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.aiter_lines()
        assert await anext(lines) == ": connected"
        yield frames(lines)


async def frames(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str, dict[str, Any]]]:
    fields: dict[str, str] = {}
    async for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            if "data" in fields:
                yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


async def take(of: AsyncIterator[tuple[str, str, dict[str, Any]]], count: int) -> list[tuple[str, str, dict[str, Any]]]:
    async with asyncio.timeout(30):
        return [await anext(of) for _ in range(count)]


@pytest.mark.parametrize("path", [AGENTS, "/v1/agents/refund-agent/subscribe", "/v1/agents/me/subscribe"])
async def test_an_agent_hears_of_its_intents_in_the_clients_words(world: World, path: str) -> None:
    async with reading(world, path) as stream:
        intent = await world.active_intent()
        route = f"/v1/intents/{intent['id']}"
        headers = {"If-Match": str(intent["version"])}
        patches = [{"op": "set", "path": "order/id", "value": 7}, {"op": "set", "path": "note", "value": "n"}]
        patched = await world.call("POST", f"{route}/state", headers=headers, json={"patches": patches})
        assert patched.status_code == 200, patched.text
        question = {"question": "Refund?", "response_type": "confirm", "timeout_seconds": 60}
        asked = (await world.call("POST", f"{route}/suspend", json=question)).json()
        await world.settle()
        told = await take(stream, 2)
        await world.answer(asked, "yes")
        told += await take(stream, 1)
    assert [(name, data["intent_id"]) for _, name, data in told] == [
        ("STATE_CHANGED", intent["id"]),
        ("STATUS_CHANGED", intent["id"]),
        ("STATUS_CHANGED", intent["id"]),
    ]
    assert told[0][2]["new_state"] == {"order": {"id": 7}, "note": "n"}
    assert [data["new_status"] for _, _, data in told[1:]] == ["suspended_awaiting_input", "active"]


async def test_a_status_that_somebody_sets_is_told_with_the_one_before(world: World) -> None:
    intent = await world.active_intent()
    async with reading(world, AGENTS) as stream:
        headers = {"If-Match": str(intent["version"])}
        await world.call("POST", f"/v1/intents/{intent['id']}/status", headers=headers, json={"status": "completed"})
        [(_, name, data)] = await take(stream, 1)
    assert (name, data["old_status"], data["new_status"]) == ("STATUS_CHANGED", "active", "completed")


async def test_a_stream_goes_on_from_the_last_event_that_was_read_and_tells_nothing_of_others(world: World) -> None:
    async with reading(world, AGENTS) as stream:
        asked = await world.ask("First?")
        [(last, _, _)] = await take(stream, 1)
    await world.active_intent(role="other_agent")
    theirs = {"question": "Theirs?", "response_type": "confirm", "timeout_seconds": 60}
    assert (await world.call("POST", "/v1/suspensions", "other_agent", json=theirs)).status_code == 201
    await world.answer(asked, "approve")
    async with reading(world, AGENTS, after=last) as stream:
        [(_, _, data)] = await take(stream, 1)
    assert (data["intent_id"], data["event_type"]) == (asked["intent_id"], "intent.resumed")


async def test_an_agent_hears_that_an_intent_has_gained_it_and_from_then_on_what_happens_there(world: World) -> None:
    intent = await world.active_intent()
    agents, state = f"/v1/intents/{intent['id']}/agents", f"/v1/intents/{intent['id']}/state"
    patch = {"patches": [{"op": "set", "path": "page", "value": 1}]}
    async with reading(world, "/api/v1/agents/other-agent/subscribe", "other_agent") as stream:
        await world.call("POST", agents, json={"agent_id": "other-agent", "role": "reviewer"})
        await world.call("POST", agents, json={"agent_id": "somebody-else"})
        await world.call("POST", state, json=patch, headers={"If-Match": "1"})
        told = await take(stream, 2)
    assert [name for _, name, _ in told] == ["AGENT_ASSIGNED", "STATE_CHANGED"]
    assigned = told[0][2]
    assert (assigned["intent_id"], assigned["agent_id"], assigned["role"]) == (intent["id"], "other-agent", "reviewer")


@pytest.mark.slow
async def test_an_admin_reads_the_stream_of_any_one_agent_and_another_agent_or_operator_does_not(world: World) -> None:
    async with reading(world, AGENTS, "admin") as stream:
        theirs = {"question": "Theirs?", "response_type": "confirm", "timeout_seconds": 60}
        assert (await world.call("POST", "/v1/suspensions", "other_agent", json=theirs)).status_code == 201
        asked = await world.ask()
        [(_, _, data)] = await take(stream, 1)
        assert data["intent_id"] == asked["intent_id"]
    for role in ("other_agent", "operator"):
        assert_not_found(await world.call("GET", AGENTS, role))
    assert (await world.call("GET", AGENTS, None)).status_code == 401


def assert_not_found(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
    assert response.headers["retry-after"] == "30"


@pytest.mark.slow
@pytest.mark.parametrize("role", ["agent", "admin"])
async def test_what_nobody_knows_has_no_stream(world: World, role: str) -> None:
    for path in ("/api/v1/agents/nobody-at-all/subscribe", "/v1/portfolios/p/subscribe", "/v1/intents/none/subscribe"):
        assert_not_found(await world.call("GET", path, role))
        without = await world.call("GET", path, None)
        assert (without.status_code, without.headers["retry-after"]) == (401, "30")


async def test_a_revoked_agent_has_no_stream(world: World) -> None:
    async with reading(world, AGENTS, "admin"):
        pass
    assert (await world.call("DELETE", "/v1/keys/refund-agent", "admin")).status_code == 200
    assert_not_found(await world.call("GET", AGENTS, "admin"))


async def test_a_stream_ends_with_its_key_and_with_the_service(tmp_path: Path, sqlite_url: str) -> None:
    path = "/v1/agents/other-agent/subscribe"
    async with running(tmp_path, sqlite_url) as world:
        async with reading(world, path, "other_agent") as stream:
            assert (await world.call("DELETE", "/v1/keys/other-agent", "admin")).status_code == 200
            async with asyncio.timeout(30):
                assert [one async for one in stream] == []
        async with reading(world, AGENTS, "admin") as stream:
            world.service.services.running.closing.set()
            async with asyncio.timeout(30):
                assert [one async for one in stream] == []
