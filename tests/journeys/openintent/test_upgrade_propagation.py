"""A rolling upgrade: an older process moves intents while a newer one runs, which follows up what that left undone.

An older process knows no links and follows nothing up; it leaves ``intents.settled`` as it was. What it writes is
written here as it wrote it, and the newer service runs on the same database.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.domain.intent import EdgeKind, IntentLink
from core.openintent.store.tables import intent_edges, tasks
from core.store.tables import intents
from tests.journeys.service.test_lock_order import held, waiting
from tests.world import World, running

in_room = pytest.mark.asyncio(loop_scope="module")


async def older(world: World, intent_id: str, **values: Any) -> None:
    """An older process's UPDATE of an intent: the columns that it knows."""
    changed = intents.update().where(intents.c.id == intent_id).values(version=intents.c.version + 1, **values)
    await world.service.database.write(lambda tx: tx.conn.execute(changed) and None)


async def intent(world: World, **fields: Any) -> dict[str, Any]:
    response = await world.call("POST", "/v1/intents", json={"title": "t", "status": "active", **fields})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


async def shown(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await world.call("GET", f"/v1/intents/{made['id']}", "admin")).json()
    return found


async def within_a_minute(world: World) -> None:
    await world.advance(seconds=60)


async def asked(world: World, made: dict[str, Any]) -> dict[str, Any]:
    body = {"question": "Go on?", "choices": [{"value": "yes", "label": "Yes"}], "channel_hint": "email"}
    response = await world.call("POST", f"/v1/intents/{made['id']}/suspend", json=body)
    assert response.status_code == 201, response.text
    outcome: dict[str, Any] = response.json()
    return outcome


@in_room
async def test_a_suspension_by_an_older_process_holds_its_dependents_within_a_minute(any_room: World) -> None:
    upstream = await intent(any_room)
    dependent = await intent(any_room, depends_on=[upstream["id"]], status="draft")
    await older(any_room, dependent["id"], status="active")  # it has no gate
    await within_a_minute(any_room)
    assert (await shown(any_room, dependent))["status"] == "blocked"


@in_room
async def test_an_end_by_an_older_process_frees_them_within_a_minute(any_room: World) -> None:
    first, second = await intent(any_room), await intent(any_room)
    dependent = await intent(any_room, depends_on=[first["id"], second["id"]])
    assert dependent["status"] == "blocked"
    await older(any_room, first["id"], status="completed")
    await within_a_minute(any_room)
    assert (await shown(any_room, dependent))["status"] == "blocked"
    await older(any_room, second["id"], status="completed")
    await within_a_minute(any_room)
    freed = await shown(any_room, dependent)
    assert (freed["status"], freed["version"]) == ("active", dependent["version"] + 1)


@in_room
async def test_tasks_follow_an_older_process_both_ways(any_room: World) -> None:
    made = await intent(any_room)
    task = (await any_room.call("POST", "/v1/tasks", json={"intent_id": made["id"], "name": "n"})).json()
    headers = {"If-Match": str(task["version"])}
    await any_room.call("PATCH", f"/v1/tasks/{task['id']}", json={"status": "running"}, headers=headers)
    await older(any_room, made["id"], status="suspended_awaiting_input")
    await within_a_minute(any_room)
    waiting = (await any_room.call("GET", f"/v1/tasks/{task['id']}")).json()
    assert (waiting["status"], waiting["suspended_intent_id"]) == ("blocked", made["id"])
    await older(any_room, made["id"], status="active")
    await within_a_minute(any_room)
    assert (await any_room.call("GET", f"/v1/tasks/{task['id']}")).json()["status"] == "running"


@in_room
async def test_what_an_older_process_has_made_is_linked_within_a_minute(any_room: World) -> None:
    upstream, parent = await intent(any_room), await intent(any_room)
    made = await intent(any_room)
    await older(any_room, made["id"], depends_on=[upstream["id"]], parent_id=parent["id"])
    await within_a_minute(any_room)
    await asked(any_room, upstream)
    assert (await shown(any_room, made))["status"] == "blocked"
    headers = {"If-Match": str((await shown(any_room, parent))["version"])}
    path = f"/v1/intents/{parent['id']}/status"
    refused = await any_room.call("POST", path, json={"status": "completed"}, headers=headers)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "dependencies_incomplete")


@in_room
async def test_an_active_intent_that_it_has_made_is_held_by_an_upstream_that_waits(any_room: World) -> None:
    upstream, made = await intent(any_room), await intent(any_room)
    await asked(any_room, upstream)
    await any_room.call("POST", "/v1/tasks", json={"intent_id": made["id"], "name": "n"})  # it has links, and not these
    await older(any_room, made["id"], depends_on=[upstream["id"]])
    await within_a_minute(any_room)
    assert (await shown(any_room, made))["status"] == "blocked"


@in_room
async def test_a_dependency_that_is_added_first_brings_along_those_it_has_made(any_room: World) -> None:
    upstream, other, made = [await intent(any_room) for _ in range(3)]
    await older(any_room, made["id"], depends_on=[upstream["id"]])
    version = (await shown(any_room, made))["version"]
    path, headers = f"/v1/intents/{made['id']}/dependencies", {"If-Match": str(version)}
    added = await any_room.call("POST", path, json={"dependency_id": other["id"]}, headers=headers)
    assert added.status_code == 200, added.text
    await asked(any_room, upstream)
    assert (await shown(any_room, made))["status"] == "blocked"


@in_room
@pytest.mark.parametrize("moves", [1, 3])
async def test_nothing_is_followed_up_twice(any_room: World, moves: int) -> None:
    upstream = await intent(any_room)
    dependent = await intent(any_room, depends_on=[upstream["id"]])
    await older(any_room, upstream["id"], status="completed")
    for _ in range(moves):
        await within_a_minute(any_room)
    assert (await any_room.event_types({"intent_id": dependent["id"]})).count("status_changed") == 2


async def test_a_lone_intent_is_not_looked_at(any_world: World) -> None:
    made = await intent(any_world)
    await older(any_world, made["id"], status="completed")
    await within_a_minute(any_world)
    assert await any_world.event_types({"intent_id": made["id"]}) == ["intent_created"]
    assert await any_world.service.database.read(lambda conn: conn.scalar(sa.select(sa.func.count(tasks.c.id)))) == 0


async def test_a_dependency_that_is_added_while_the_sweep_brings_along_the_others(
    tmp_path: Path, postgres_url: str
) -> None:
    async with running(tmp_path, postgres_url) as world:
        upstream, other, made = [await intent(world) for _ in range(3)]
        await within_a_minute(world)  # the service's own sweep is not in the way
        await older(world, made["id"], depends_on=[upstream["id"]])
        version = str((await shown(world, made))["version"])
        with held(postgres_url, made["id"]) as sweep:
            path, body = f"/v1/intents/{made['id']}/dependencies", {"dependency_id": other["id"]}
            adding = asyncio.create_task(world.call("POST", path, json=body, headers={"If-Match": version}))
            await waiting(postgres_url, 1)
            edge = {"intent_id": made["id"], "upstream_id": upstream["id"], "kind": EdgeKind.DEPENDENCY}
            sweep.execute(intent_edges.insert().values(edge))
            sweep.execute(intents.update().where(intents.c.id == made["id"]).values(links=int(IntentLink.DEPENDENCIES)))
        added = await adding
        assert added.status_code == 200, added.text
        assert added.json()["depends_on"] == [upstream["id"], other["id"]]
