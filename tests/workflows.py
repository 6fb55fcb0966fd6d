"""Workflows in stories: made, moved, looked at."""

from __future__ import annotations

from typing import Any

from tests.world import World


def report() -> list[dict[str, Any]]:
    """Two phases, the second of which takes what the first gives."""
    return [
        {"name": "fetch", "outputs": {"rows": "array"}},
        {
            "name": "review",
            "title": "Compliance review",
            "depends_on": ["fetch"],
            "inputs": {"rows": "fetch.rows"},
            "outputs": {"verdict": "string"},
        },
    ]


async def make_workflow(
    world: World, phases: list[dict[str, Any]], name: str = "Compliance", **fields: Any
) -> dict[str, Any]:
    response = await world.call("POST", "/v1/workflows", json={"name": name, "phases": phases, **fields})
    assert response.status_code == 200, response.text
    made: dict[str, Any] = response.json()
    return made


async def shown_workflow(world: World, made: dict[str, Any]) -> dict[str, Any]:
    response = await world.call("GET", f"/v1/workflows/{made['id']}")
    assert response.status_code == 200, response.text
    shown: dict[str, Any] = response.json()
    return shown


def phase_of(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [phase for phase in workflow["phases"] if phase["name"] == name]
    phase: dict[str, Any] = found
    return phase


async def complete(
    world: World, phase: dict[str, Any], state: dict[str, Any] | None = None, expect: int = 200
) -> dict[str, Any]:
    """Complete the intent of a phase, with what it has to give in its state."""
    path = f"/v1/intents/{phase['intent_id']}"
    if state is not None:
        patches = [{"op": "set", "path": key, "value": value} for key, value in state.items()]
        headers = {"If-Match": str((await world.intent(phase))["version"])}
        await world.call("POST", f"{path}/state", json={"patches": patches}, headers=headers)
    headers = {"If-Match": str((await world.intent(phase))["version"])}
    response = await world.call("POST", f"{path}/status", json={"status": "completed"}, headers=headers)
    assert response.status_code == expect, response.text
    body: dict[str, Any] = response.json()
    return body
