"""The graph of intents over REST (RFC-0002; API.md §7): children, dependencies, what is ready and what waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.family import around, child, complete, depend, lines, make, read, refused, send, status, suspend, undepend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_children_descendants_and_ancestors(any_room: World) -> None:
    root = await make(any_room, "root")
    first, second = await child(any_room, root, "first"), await child(any_room, root, "second", parent_intent_id=root)
    below = await child(any_room, first, "below")
    assert await around(any_room, root, "children") == [first, second]
    assert await around(any_room, root, "descendants") == [first, second, below]
    assert await around(any_room, below, "ancestors") == [first, root]
    assert await around(any_room, below, "children") == await around(any_room, root, "ancestors") == []
    assert (await read(any_room, below))["parent_id"] == first
    found = (await any_room.call("GET", f"/api/v1/intents/{root}/children", params={"limit": 1, "offset": 1})).json()
    assert found == {"children": [await read(any_room, second)], "total": 2}


async def test_a_child_is_no_other_intents_and_has_a_parent(any_room: World) -> None:
    root, other = await make(any_room), await make(any_room)
    body: dict[str, Any] = {"title": "t", "parent_intent_id": other}
    refused(
        await any_room.call("POST", f"/v1/intents/{root}/children", json=body),
        422,
        "invalid_request",
        "parent_intent_id",
    )
    del body["parent_intent_id"]
    refused(await any_room.call("POST", "/v1/intents/nobody/children", json=body), 404, "not_found")
    refused(await any_room.call("POST", f"/v1/intents/{root}/children", "other_agent", json=body), 404, "not_found")
    await complete(any_room, root)
    refused(await any_room.call("POST", f"/v1/intents/{root}/children", json=body), 409, "intent_not_active")
    assert await around(any_room, root, "children") == []


async def test_a_child_is_made_once_under_one_idempotency_key(any_room: World) -> None:
    root = await make(any_room)
    sent: dict[str, Any] = {"json": {"title": "t"}, "headers": {"Idempotency-Key": "once"}}
    made = [await any_room.call("POST", f"/v1/intents/{root}/children", **sent) for _ in range(2)]
    assert [one.status_code for one in made] == [201, 201] and made[0].json() == made[1].json()
    assert await around(any_room, root, "children") == [made[0].json()["id"]]


async def test_a_dependency_is_added_shown_from_both_ends_and_removed(any_room: World) -> None:
    one, other = await make(any_room), await make(any_room)
    added = await depend(any_room, one, other)
    assert added.status_code == 200, added.text
    assert (added.json()["depends_on"], added.json()["version"], added.json()["status"]) == ([other], 2, "active")
    assert added.headers["ETag"] == '"2"'
    assert await read(any_room, one) == added.json()
    assert await around(any_room, one, "dependencies") == [other]
    assert await around(any_room, other, "dependents") == [one]
    removed = await undepend(any_room, one, other)
    assert (removed.json()["depends_on"], removed.json()["version"]) == ([], 3)
    assert await around(any_room, one, "dependencies") == await around(any_room, other, "dependents") == []
    assert await lines(any_room, one, "dependency_added") == [{"dependency_id": other}]
    assert await lines(any_room, one, "dependency_removed") == [{"dependency_id": other}]
    assert (await read(any_room, other))["version"] == 1


async def test_a_dependency_that_is_there_already_changes_nothing(any_room: World) -> None:
    other = await make(any_room)
    one = await make(any_room, on=[other])
    before = await read(any_room, one)
    again = await depend(any_room, one, other)
    assert (again.status_code, again.json()) == (200, before)
    assert await lines(any_room, one, "dependency_added") == []
    refused(await undepend(any_room, other, one), 404, "not_found")


async def test_who_may_change_what_an_intent_depends_on(any_room: World) -> None:
    one, other = await make(any_room), await make(any_room)
    foreign = await make(any_room, role="other_agent")
    body = {"dependency_id": other}
    refused(await any_room.call("POST", f"/v1/intents/{one}/dependencies", json=body), 428, "version_required")
    refused(await any_room.call("DELETE", f"/v1/intents/{one}/dependencies/{other}"), 428, "version_required")
    stale = await depend(any_room, one, other, version=7)
    refused(stale, 409, "version_conflict")
    assert stale.json()["current_version"] == 1
    refused(await depend(any_room, one, foreign), 422, "invalid_request", "dependency_id")
    refused(await depend(any_room, one, "nobody"), 422, "invalid_request", "dependency_id")
    refused(await depend(any_room, foreign, one), 404, "not_found")
    refused(await depend(any_room, one, other, role="operator"), 403, "forbidden")
    await any_room.call("POST", f"/v1/intents/{one}/agents", json={"agent_id": "other-agent"})
    refused(await depend(any_room, one, foreign, role="other_agent"), 403, "forbidden")
    assert (await read(any_room, one))["depends_on"] == []
    assert (await depend(any_room, one, foreign, role="admin")).json()["depends_on"] == [foreign]


async def test_an_intent_that_has_ended_keeps_its_dependencies(any_room: World) -> None:
    one, other = await make(any_room), await make(any_room)
    await complete(any_room, other)
    assert (await depend(any_room, one, other)).status_code == 200
    await complete(any_room, one)
    refused(await depend(any_room, one, await make(any_room)), 409, "intent_not_active")
    refused(await undepend(any_room, one, other), 409, "intent_not_active")


@pytest.mark.parametrize("length", [1, 2, 5])
async def test_no_intent_comes_to_wait_for_itself(any_room: World, length: int) -> None:
    chain = [await make(any_room)]
    for _ in range(length - 1):
        chain.append(await make(any_room, on=[chain[-1]]))
    refused(await depend(any_room, chain[0], chain[-1]), 400, "dependency_cycle", "dependency_id")
    assert (await read(any_room, chain[0]))["depends_on"] == []


async def test_a_child_does_not_come_to_wait_for_what_waits_for_it(any_room: World) -> None:
    root = await make(any_room)
    below = await child(any_room, await child(any_room, root))
    refused(await depend(any_room, below, root), 400, "dependency_cycle", "dependency_id")
    after = await make(any_room, on=[root])
    refused(await depend(any_room, below, after), 400, "dependency_cycle", "dependency_id")
    assert (await depend(any_room, root, below)).status_code == 200


async def test_ready_and_blocked_children(any_room: World) -> None:
    root, done = await make(any_room), await make(any_room)
    free, draft = await child(any_room, root), await child(any_room, root, status="draft")
    after = await child(any_room, root, depends_on=[done])
    waiting = await child(any_room, root, depends_on=[free])
    asked, stuck, over = [await child(any_room, root) for _ in range(3)]
    await complete(any_room, done)
    await complete(any_room, over)
    await suspend(any_room, asked)
    assert (await send(any_room, "POST", stuck, "status", {"status": "blocked"})).status_code == 200
    assert await around(any_room, root, "ready") == [free, draft, after]
    assert await around(any_room, root, "blocked") == [waiting, stuck]
    assert await around(any_room, root, "blocked", limit=1, offset=1) == [stuck]


async def test_the_aggregate_of_the_children_is_in_every_reply_with_their_parent(any_room: World) -> None:
    root = await make(any_room)
    assert "aggregate_status" not in await read(any_room, root)
    done, free = await child(any_room, root), await child(any_room, root)
    waiting = await child(any_room, root, depends_on=[free])
    asked = await child(any_room, root)
    await child(any_room, free)  # a grandchild is no child
    await complete(any_room, done)
    await suspend(any_room, asked)
    expected = {
        "total": 4,
        "by_status": {
            "draft": 0,
            "active": 1,
            "blocked": 1,
            "suspended_awaiting_input": 1,
            "completed": 1,
            "abandoned": 0,
        },
        "completion_percentage": 25,
        "blocking_intents": [free],
        "ready_intents": [free],
        "blocking_count": 1,
        "ready_count": 1,
    }
    assert (await read(any_room, root))["aggregate_status"] == expected
    listed = {one["id"]: one for one in (await any_room.call("GET", "/v1/intents")).json()["intents"]}
    assert listed[root]["aggregate_status"] == expected
    assert listed[free]["aggregate_status"]["total"] == 1
    assert "aggregate_status" not in listed[waiting]
    patched = await send(any_room, "POST", root, "state", {"state": {"page": 1}})
    assert patched.json()["aggregate_status"] == expected
    assert (await read(any_room, root))["status"] == "active"


async def test_the_graph_shows_the_tree_and_what_it_depends_on(any_room: World) -> None:
    outside = await make(any_room, "outside")
    root = await make(any_room, "root")
    first = await child(any_room, root, "first", depends_on=[outside])
    second = await child(any_room, root, "second", depends_on=[first])
    unrelated = await make(any_room, on=[root])
    found = (await any_room.call("GET", f"/v1/intents/{root}/graph")).json()
    assert found["root_id"] == root
    assert found["nodes"][2] == {
        "id": first,
        "title": "first",
        "status": "blocked",
        "parent_id": root,
        "depends_on": [outside],
    }
    assert [node["id"] for node in found["nodes"]] == [outside, root, first, second]
    assert sorted((edge["type"], edge["from"], edge["to"]) for edge in found["edges"]) == sorted(
        [
            ("parent", root, first),
            ("parent", root, second),
            ("dependency", outside, first),
            ("dependency", first, second),
        ]
    )
    assert (found["total"], found["aggregate_status"]["total"]) == (4, 3)
    assert (
        found["aggregate_status"]["by_status"] | {"active": 1, "blocked": 2} == found["aggregate_status"]["by_status"]
    )
    assert unrelated not in str(found)
    part = (await any_room.call("GET", f"/v1/intents/{root}/graph", params={"limit": 1, "offset": 3})).json()
    assert part["edges"] == [edge for edge in found["edges"] if edge["to"] == second]
    assert part["aggregate_status"] == found["aggregate_status"]


async def test_an_agent_sees_of_others_intents_those_alone_that_it_may_read(any_room: World) -> None:
    root = await make(any_room)
    await any_room.call("POST", f"/v1/intents/{root}/agents", json={"agent_id": "other-agent"})
    own = await child(any_room, root)
    body = {"title": "theirs", "status": "active", "depends_on": [root]}
    path = f"/v1/intents/{root}/children"
    refused(await any_room.call("POST", path, "other_agent", json=body), 400, "dependency_cycle")
    theirs = await child(any_room, root, role="other_agent")
    outside = (await any_room.call("POST", "/v1/intents", "other_agent", json=body)).json()["id"]
    for role, seen in (("agent", [own]), ("other_agent", [theirs]), ("operator", [own, theirs])):
        assert await around(any_room, root, "children", role) == seen
        assert await around(any_room, root, "descendants", role) == seen
        shown = (await any_room.call("GET", f"/v1/intents/{root}/graph", role)).json()
        assert [node["id"] for node in shown["nodes"]] == [root, *seen]
        assert {edge["to"] for edge in shown["edges"]} == set(seen)
        assert shown["total"] == len(seen) + 1
        assert await around(any_room, root, "dependents", role) == ([] if role == "agent" else [outside])
    seen_by_owner = (await read(any_room, root, "agent"))["aggregate_status"]
    assert seen_by_owner["total"] == 2  # what the parent waits for
    assert seen_by_owner["by_status"]["active"] == 2 and seen_by_owner["ready_intents"] == [own]
    for what in ("children", "descendants", "ancestors", "dependencies", "dependents", "ready", "blocked", "graph"):
        refused(await any_room.call("GET", f"/v1/intents/{own}/{what}", "other_agent"), 404, "not_found")
        refused(await any_room.call("GET", f"/v1/intents/nobody/{what}"), 404, "not_found")


async def test_what_is_asked_for_beyond_the_end_is_empty(any_room: World) -> None:
    root = await make(any_room)
    below = await child(any_room, root)
    for what in ("children", "descendants", "ready"):
        found = await any_room.call("GET", f"/v1/intents/{root}/{what}", params={"offset": 10_000_000})
        assert found.json() == {what: [], "total": 1}
    beyond = (await any_room.call("GET", f"/v1/intents/{root}/graph", params={"offset": 9_999_999})).json()
    assert (beyond["nodes"], beyond["edges"], beyond["total"]) == ([], [], 2)
    for query in ({"offset": 10_000_001}, {"limit": 0}, {"limit": 1001}, {"offset": -1}):
        found = await any_room.call("GET", f"/v1/intents/{root}/children", params=query)
        refused(found, 422, "invalid_request")
    assert await status(any_room, below) == "active"
