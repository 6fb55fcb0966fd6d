"""Intents around others, for tests of what happens between them: made, moved and read over REST."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx

from tests.world import World


async def make(world: World, title: str = "t", *, on: list[str] | None = None, **fields: Any) -> str:
    """An active intent that depends on those of ``on``; its id. ``role`` is whose. A second passes, so that it is the
    youngest."""
    world.clock.move_by(timedelta(seconds=1))
    role = fields.pop("role", "agent")
    body = {"title": title, "status": "active", "depends_on": on or [], **fields}
    made = await world.call("POST", "/v1/intents", role, json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def child(world: World, parent: str, title: str = "t", **fields: Any) -> str:
    """As :func:`make`, as a part of another."""
    world.clock.move_by(timedelta(seconds=1))
    role = fields.pop("role", "agent")
    body = {"title": title, "status": "active", **fields}
    made = await world.call("POST", f"/v1/intents/{parent}/children", role, json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def read(world: World, intent_id: str, role: str = "admin") -> dict[str, Any]:
    shown = await world.call("GET", f"/v1/intents/{intent_id}", role)
    assert shown.status_code == 200, shown.text
    found: dict[str, Any] = shown.json()
    return found


async def status(world: World, intent_id: str) -> str:
    return str((await read(world, intent_id))["status"])


async def send(
    world: World,
    method: str,
    intent_id: str,
    what: str,
    body: Any = None,
    role: str = "agent",
    version: int | None = None,
) -> httpx.Response:
    """A change made for the intent's version, as it is unless ``version`` says otherwise."""
    current = (await read(world, intent_id))["version"] if version is None else version
    sent = {} if body is None else {"json": body}
    return await world.call(method, f"/v1/intents/{intent_id}/{what}", role, headers={"If-Match": str(current)}, **sent)


async def depend(world: World, intent_id: str, upstream: str, **more: Any) -> httpx.Response:
    return await send(world, "POST", intent_id, "dependencies", {"dependency_id": upstream}, **more)


async def undepend(world: World, intent_id: str, upstream: str, **more: Any) -> httpx.Response:
    return await send(world, "DELETE", intent_id, f"dependencies/{upstream}", **more)


async def move(world: World, intent_id: str, wanted: str, role: str = "agent") -> httpx.Response:
    return await send(world, "POST", intent_id, "status", {"status": wanted}, role)


async def complete(world: World, intent_id: str) -> None:
    moved = await move(world, intent_id, "completed")
    assert moved.status_code == 200, moved.text


async def suspend(world: World, intent_id: str, **fields: Any) -> dict[str, Any]:
    """The suspended outcome of a question about it."""
    choices = [{"value": "approve", "label": "Yes"}, {"value": "deny", "label": "No"}]
    body = {"question": "Go?", "choices": choices, **fields}
    asked = await world.call("POST", f"/v1/intents/{intent_id}/suspend", json=body)
    assert asked.status_code == 201, asked.text
    outcome: dict[str, Any] = asked.json()
    return outcome


async def around(world: World, intent_id: str, what: str, role: str = "agent", **query: Any) -> list[str]:
    """The ids of a list around the intent."""
    found = await world.call("GET", f"/v1/intents/{intent_id}/{what}", role, params=query)
    assert found.status_code == 200, found.text
    return [one["id"] for one in found.json()[what]]


async def lines(world: World, intent_id: str, kind: str) -> list[dict[str, Any]]:
    """What its log says, by the type of event: their payloads."""
    return [one["payload"] for one in await world.events({"intent_id": intent_id}) if one["event_type"] == kind]


def refused(reply: httpx.Response, status: int, code: str, path: str | None = None) -> None:
    assert (reply.status_code, reply.json()["detail"]["error"]) == (status, code), reply.text
    if path is not None:
        assert [one["path"] for one in reply.json()["detail"]["fields"]] == [path]
