"""``Idempotency-Key`` (API.md §1): a request that is repeated does its work once and is answered the same."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Deploy once?", "response_type": "confirm"}
_numbers = itertools.count(1)


def new_key() -> str:
    return f"key-{next(_numbers)}"


async def post(world: World, path: str, key: str, body: Any, role: str = "agent") -> httpx.Response:
    return await world.call("POST", path, role, json=body, headers={"Idempotency-Key": key})


def is_replay(again: httpx.Response, first: httpx.Response) -> None:
    assert again.status_code == first.status_code
    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers


async def is_conflict(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "idempotency_conflict")


async def count(world: World) -> int:
    items = (await world.call("GET", "/v1/suspensions", "admin", params={"limit": 200})).json()["items"]
    return len(items)


async def test_asking_twice_under_one_key_asks_once(room: World) -> None:
    key, before = new_key(), await count(room)
    first = await post(room, "/v1/suspensions", key, QUESTION)
    assert first.status_code == 201
    is_replay(await post(room, "/v1/suspensions", key, QUESTION), first)
    assert await count(room) == before + 1
    await is_conflict(await post(room, "/v1/suspensions", key, {**QUESTION, "question": "Deploy twice?"}))
    assert await count(room) == before + 1


async def test_suspending_an_intent_twice_under_one_key_is_no_conflict(room: World) -> None:
    intent, key = await room.active_intent(), new_key()
    path = f"/v1/intents/{intent['id']}/suspend"
    first = await post(room, path, key, QUESTION)
    is_replay(await post(room, path, key, QUESTION), first)
    without = await room.call("POST", path, json=QUESTION)
    assert (without.status_code, without.json()["detail"]["error"]) == (409, "already_suspended")


async def test_answering_twice_under_one_key_answers_once(room: World) -> None:
    asked, key = await room.ask(), new_key()
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    body = {"suspension_id": asked["suspension_id"], "value": "approve"}
    first = await post(room, path, key, body, "operator")
    assert first.status_code == 200
    is_replay(await post(room, path, key, body, "operator"), first)
    await is_conflict(await post(room, path, key, {**body, "value": "deny"}, "operator"))
    await room.settle()
    assert len(room.agent.told_of(asked)) == 1


async def test_cancelling_twice_under_one_key_cancels_once(room: World) -> None:
    asked, key = await room.ask(), new_key()
    path = f"/v1/suspensions/{asked['suspension_id']}/cancel"
    first = await post(room, path, key, {"reason": "enough"})
    assert first.status_code == 200
    is_replay(await post(room, path, key, {"reason": "enough"}), first)
    await is_conflict(await post(room, path, key, {"reason": "more"}))
    assert (await room.event_types(asked)).count("intent.suspension_cancelled") == 1


async def test_signalling_twice_under_one_key_answers_once(room: World) -> None:
    asked, key = await room.ask(resume={"signal_id": "once-only"}), new_key()
    first = await post(room, "/v1/signals/once-only", key, {"value": "approve"}, "operator")
    assert first.status_code == 200
    is_replay(await post(room, "/v1/signals/once-only", key, {"value": "approve"}, "operator"), first)
    assert (await room.event_types(asked)).count("intent.resumed") == 1


async def test_creating_an_intent_twice_under_one_key_creates_one(room: World) -> None:
    key = new_key()
    first = await post(room, "/v1/intents", key, {"title": "once only"})
    assert first.status_code == 201
    is_replay(await post(room, "/v1/intents", key, {"title": "once only"}), first)
    await is_conflict(await post(room, "/v1/intents", key, {"title": "another"}))
    titles = [one["title"] for one in (await room.call("GET", "/v1/intents")).json()["intents"]]
    assert titles.count("once only") == 1


async def test_a_key_belongs_to_the_api_key_that_used_it(room: World) -> None:
    key = new_key()
    mine = await post(room, "/v1/suspensions", key, QUESTION)
    theirs = await post(room, "/v1/suspensions", key, QUESTION, "other_agent")
    assert theirs.status_code == 201
    assert theirs.json()["suspension_id"] != mine.json()["suspension_id"]
    assert "Idempotency-Replayed" not in theirs.headers


async def test_a_key_used_for_one_thing_is_a_conflict_for_another(room: World) -> None:
    key, asked = new_key(), await room.ask()
    await post(room, "/v1/intents", key, {"title": "once"})
    await is_conflict(await post(room, "/v1/suspensions", key, QUESTION))
    await is_conflict(await post(room, f"/v1/suspensions/{asked['suspension_id']}/cancel", key, {}))


async def test_both_prefixes_are_the_same_door(room: World) -> None:
    key = new_key()
    first = await post(room, "/v1/suspensions", key, QUESTION)
    is_replay(await post(room, "/api/v1/suspensions", key, QUESTION), first)


async def test_a_refused_request_keeps_no_key(room: World) -> None:
    key = new_key()
    refused = await post(room, "/v1/suspensions", key, {**QUESTION, "timeout_seconds": 0})
    assert refused.status_code == 422
    assert (await post(room, "/v1/suspensions", key, QUESTION)).status_code == 201


async def test_a_key_is_kept_for_seven_days_after_the_end(room: World) -> None:
    key = new_key()
    first = await post(room, "/v1/suspensions", key, {**QUESTION, "timeout_seconds": 30 * 86_400})
    await room.advance(days=20)
    is_replay(await post(room, "/v1/suspensions", key, {**QUESTION, "timeout_seconds": 30 * 86_400}), first)
    await room.answer(first.json(), "yes")
    await room.advance(days=6, hours=23)
    is_replay(await post(room, "/v1/suspensions", key, {**QUESTION, "timeout_seconds": 30 * 86_400}), first)
