"""Many requests at the same instant (API.md §1, §4), on both databases: one of them counts, all are told the truth."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.world import World

in_room = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Deploy once?", "response_type": "confirm"}


async def post(world: World, path: str, key: str, body: Any, role: str = "agent") -> httpx.Response:
    return await world.call("POST", path, role, json=body, headers={"Idempotency-Key": key})


async def count(world: World) -> int:
    items = (await world.call("GET", "/v1/suspensions", "admin", params={"limit": 200})).json()["items"]
    return len(items)


async def test_eight_at_once_under_one_key_ask_once_and_are_all_answered_the_same(any_world: World) -> None:
    key = "the-key"
    replies = await asyncio.gather(*(post(any_world, "/v1/suspensions", key, QUESTION) for _ in range(8)))
    assert {reply.status_code for reply in replies} == {201}
    assert len({reply.text for reply in replies}) == 1
    assert sum("Idempotency-Replayed" in reply.headers for reply in replies) == 7
    assert await count(any_world) == 1
    await any_world.settle()
    assert len(any_world.slack.workspace.posted()) == 1


@in_room
async def test_eight_at_once_with_different_bodies_leave_one(any_room: World) -> None:
    key = "the-key"
    bodies = [{**QUESTION, "question": f"Deploy {number}?"} for number in range(8)]
    replies = await asyncio.gather(*(post(any_room, "/v1/suspensions", key, body) for body in bodies))
    assert sorted(reply.status_code for reply in replies) == [201] + [409] * 7
    assert await count(any_room) == 1


@in_room
async def test_eight_equal_answers_at_once_under_one_key_are_all_accepted(any_room: World) -> None:
    asked, key = await any_room.ask(), "the-key"
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    body = {"suspension_id": asked["suspension_id"], "value": "approve"}
    replies = await asyncio.gather(*(post(any_room, path, key, body, "operator") for _ in range(8)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.text for reply in replies}) == 1
    await any_room.settle()
    assert len(any_room.agent.told_of(asked)) == 1


@in_room
async def test_eight_suspensions_of_one_intent_at_once_leave_one(any_room: World) -> None:
    intent = await any_room.active_intent()
    path = f"/v1/intents/{intent['id']}/suspend"
    replies = await asyncio.gather(*(post(any_room, path, f"key-{number}", QUESTION) for number in range(8)))
    assert sorted(reply.status_code for reply in replies) == [201] + [409] * 7
    assert {r.json()["detail"]["error"] for r in replies if r.status_code == 409} == {"already_suspended"}


@in_room
async def test_sixteen_people_answer_at_the_same_instant_and_one_of_them_counts(any_room: World) -> None:
    asked = await any_room.ask()
    roles = ["operator", "second_operator", "admin"]
    answers = [any_room.answer(asked, "approve" if number % 2 else "deny", roles[number % 3]) for number in range(16)]
    replies = await asyncio.gather(*answers)
    [first] = [reply.json() for reply in replies if reply.status_code == 200]
    late = [reply.json()["detail"] for reply in replies if reply.status_code == 409]
    assert len(late) == 15
    for detail in late:
        assert (detail["error"], detail["responded_by"]) == ("already_answered", first["responded_by"])
    assert (await any_room.show(asked))["response"] == first["value"]
    assert (await any_room.event_types(asked)).count("intent.resumed") == 1
    assert (await any_room.told(asked))["data"]["value"] == first["value"]


@in_room
async def test_answers_and_a_cancellation_at_the_same_instant_end_it_once(any_room: World) -> None:
    asked = await any_room.ask()
    cancel = f"/v1/suspensions/{asked['suspension_id']}/cancel"
    replies = await asyncio.gather(
        *(any_room.answer(asked, "approve") for _ in range(4)),
        *(any_room.call("POST", cancel, json={}) for _ in range(4)),
    )
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 7
    await any_room.settle()
    assert len(any_room.agent.told_of(asked)) == 1


@in_room
async def test_claims_at_the_same_instant_have_one_owner(any_room: World) -> None:
    asked = await any_room.ask()
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    roles = ["operator", "second_operator"] * 4
    replies = await asyncio.gather(*(any_room.call("POST", path, role, json={}) for role in roles))
    owners = {reply.json()["claimed_by"] for reply in replies if reply.status_code == 200}
    assert len(owners) == 1
    assert sorted(reply.status_code for reply in replies) == [200] * 4 + [409] * 4


async def test_eight_questions_that_wait_for_one_signal_at_once_leave_one(any_world: World) -> None:
    body = {**QUESTION, "resume": {"signal_id": "the-only-one"}}
    replies = await asyncio.gather(*(any_world.call("POST", "/v1/suspensions", json=body) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [201] + [409] * 7
    assert {r.json()["detail"]["error"] for r in replies if r.status_code == 409} == {"signal_id_in_use"}
    assert len((await any_world.call("GET", "/v1/intents", "admin")).json()["intents"]) == 1
