"""Deep and wide graphs: every read works however many intents there are, and none asks the database for each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.database.database import Tx
from core.domain.intent import EdgeKind, IntentLink, IntentStatus
from core.openintent.store import intent_edges
from core.store import intents
from tests.family import around, child, depend, make, move, read, refused, status, suspend
from tests.statements import executed
from tests.world import World

pytestmark = pytest.mark.slow

DEEP = 1000


async def laid(world: World, count: int, *, chained: bool, kind: str) -> list[str]:
    """So many intents straight into the database: a chain, or children of the first."""
    now = world.clock.now()
    ids = [f"{kind}-{number:05}" for number in range(count)]
    blank = intents.new("", "t", "refund-agent", now, IntentStatus.ACTIVE)
    links = (
        IntentLink.DEPENDENCIES | IntentLink.DEPENDENTS
        if kind == EdgeKind.DEPENDENCY
        else IntentLink.PARENT | IntentLink.CHILDREN
    )

    def lay(tx: Tx) -> None:
        for number, intent_id in enumerate(ids):
            before = None if number == 0 else ids[number - 1 if chained else 0]
            made = replace(blank, id=intent_id, links=links, created_at=now + timedelta(milliseconds=number))
            if before is not None and kind == EdgeKind.CHILD:
                made = replace(made, parent_id=before)
                intent_edges.put(tx, before, [intent_id], kind)
            elif before is not None:
                made = replace(made, depends_on=(before,))
                intent_edges.put(tx, intent_id, [before])
            intents.insert(tx, made)

    await world.service.database.write(lay)
    return ids


async def test_a_thousand_generations(any_world: World) -> None:
    ids = await laid(any_world, DEEP, chained=True, kind=EdgeKind.CHILD)
    assert await around(any_world, ids[-1], "ancestors") == ids[-2::-1]
    assert await around(any_world, ids[0], "descendants") == ids[1:]
    shown = (await any_world.call("GET", f"/v1/intents/{ids[0]}/graph")).json()
    assert (shown["total"], len(shown["edges"])) == (DEEP, DEEP - 1)
    refused(await depend(any_world, ids[-1], ids[0]), 400, "dependency_cycle")
    assert (await read(any_world, ids[0]))["aggregate_status"]["total"] == 1


async def test_a_thousand_intents_that_wait_for_each_other_in_a_row(any_world: World) -> None:
    ids = await laid(any_world, DEEP, chained=True, kind=EdgeKind.DEPENDENCY)
    refused(await depend(any_world, ids[0], ids[-1]), 400, "dependency_cycle", "dependency_id")
    assert (await depend(any_world, ids[-1], ids[0])).status_code == 200
    shown = (await any_world.call("GET", f"/v1/intents/{ids[-1]}/graph")).json()
    assert (shown["total"], len(shown["edges"])) == (DEEP, DEEP)
    await suspend(any_world, ids[0])
    assert [await status(any_world, one) for one in ids[1:3]] == ["blocked", "active"]
    below = await make(any_world)
    for parent in (ids[-1], below):
        body: dict[str, Any] = {"title": "t", "depends_on": [ids[-1]], "parent_intent_id": parent}
        made = await any_world.call("POST", "/v1/intents", json=body)
        assert made.status_code == (400 if parent == ids[-1] else 201)


async def test_ten_thousand_children(any_world: World) -> None:
    ids = await laid(any_world, 10_001, chained=False, kind=EdgeKind.CHILD)
    shown = await read(any_world, ids[0], "agent")
    aggregate = shown["aggregate_status"]
    assert (aggregate["total"], aggregate["ready_count"], aggregate["ready_intents"]) == (10_000, 10_000, ids[1:101])
    first = (await any_world.call("GET", f"/v1/intents/{ids[0]}/children")).json()
    assert (len(first["children"]), first["total"]) == (1000, 10_000)
    assert await around(any_world, ids[0], "children", offset=9_998) == ids[-2:]
    graph = (await any_world.call("GET", f"/v1/intents/{ids[0]}/graph")).json()
    assert (len(graph["nodes"]), graph["total"], graph["aggregate_status"]["total"]) == (10_000, 10_001, 10_000)
    rest = (await any_world.call("GET", f"/v1/intents/{ids[0]}/graph", params={"offset": 10_000})).json()
    assert [node["id"] for node in rest["nodes"]] == ids[-1:]
    assert rest["edges"] == [{"from": ids[0], "to": ids[-1], "type": "parent"}]
    refused(await move(any_world, ids[0], "completed"), 409, "dependencies_incomplete")


async def test_a_thousand_dependents_are_blocked_by_one_suspension(any_world: World) -> None:
    ids = await laid(any_world, DEEP, chained=False, kind=EdgeKind.DEPENDENCY)
    await suspend(any_world, ids[0])
    found = (await any_world.call("GET", "/v1/intents", params={"status": "blocked", "limit": 200})).json()["intents"]
    assert len(found) == 200
    assert {await status(any_world, one) for one in (ids[1], ids[500], ids[-1])} == {"blocked"}


@pytest.mark.parametrize("what", ["children", "descendants"])
async def test_a_page_asks_the_database_as_often_as_one_intent(any_world: World, what: str) -> None:
    counts = []
    for number in (2, 12):
        root = await make(any_world)
        for _ in range(number):
            parent = await child(any_world, root)
            await suspend(any_world, await child(any_world, parent))
        async with executed(any_world.service.database) as found:
            assert len(await around(any_world, root, what)) == (number if what == "children" else 2 * number)
        counts.append(len(found))
    assert counts[1] < counts[0] + 5  # the service may look for work meanwhile


async def test_a_lone_intent_is_read_without_a_look_at_what_is_around_it(any_world: World) -> None:
    lone = await make(any_world)
    await any_world.settle()
    async with executed(any_world.service.database) as found:
        await read(any_world, lone, "agent")
    assert not [one for one in found if "intent_edges" in one or "parent_id =" in one or "parent_id IN" in one]
