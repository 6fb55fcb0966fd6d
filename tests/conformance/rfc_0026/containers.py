"""What the tests of RFC-0026's container rules need: intents, tasks and portfolios, over HTTP alone."""

from __future__ import annotations

from typing import Any

from tests.world import World

CONFIRM: dict[str, Any] = {"question": "Is it compliant?", "response_type": "confirm"}


async def post(world: World, path: str, **body: Any) -> dict[str, Any]:
    """What was made."""
    response = await world.call("POST", path, json=body)
    assert response.status_code in {200, 201}, response.text
    found: dict[str, Any] = response.json()
    return found


async def get(world: World, path: str) -> dict[str, Any]:
    response = await world.call("GET", path, "admin")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def intent(world: World, title: str = "Review", **fields: Any) -> str:
    """The id of an active one."""
    made: str = (await post(world, "/v1/intents", title=title, status="active", **fields))["id"]
    return made


async def shown(world: World, intent_id: str) -> dict[str, Any]:
    return await get(world, f"/v1/intents/{intent_id}")


async def status(world: World, intent_id: str) -> str:
    found: str = (await shown(world, intent_id))["status"]
    return found


async def depends(world: World, dependent: str, upstream: str) -> None:
    headers = {"If-Match": str((await shown(world, dependent))["version"])}
    body = {"dependency_id": upstream}
    response = await world.call("POST", f"/v1/intents/{dependent}/dependencies", json=body, headers=headers)
    assert response.status_code in {200, 201}, response.text


async def move(world: World, intent_id: str, wanted: str) -> tuple[int, Any]:
    """The status code and the body of a change of the intent's status."""
    headers = {"If-Match": str((await shown(world, intent_id))["version"])}
    path = f"/v1/intents/{intent_id}/status"
    response = await world.call("POST", path, json={"status": wanted}, headers=headers)
    return response.status_code, response.json()


async def complete(world: World, intent_id: str) -> None:
    code, body = await move(world, intent_id, "completed")
    assert code == 200, body


async def suspend(world: World, intent_id: str, **fields: Any) -> dict[str, Any]:
    """The suspended outcome."""
    return await post(world, f"/v1/intents/{intent_id}/suspend", **{**CONFIRM, **fields})


async def running_task(world: World, intent_id: str) -> str:
    """The id of a task of the intent's that runs."""
    task = await post(world, "/v1/tasks", intent_id=intent_id, name="Review")
    headers = {"If-Match": str(task["version"])}
    response = await world.call("PATCH", f"/v1/tasks/{task['id']}", json={"status": "running"}, headers=headers)
    assert response.status_code == 200, response.text
    found: str = task["id"]
    return found


async def events(world: World, intent_id: str, *types: str) -> list[dict[str, Any]]:
    """The payloads of the intent's events of these types, oldest first."""
    found = await world.events({"intent_id": intent_id})
    return [event["payload"] for event in found if event["event_type"] in types]
