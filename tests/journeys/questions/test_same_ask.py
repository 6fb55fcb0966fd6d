"""The same ask again (API.md §2): a repeat joins the open question, and ``suspension.same_ask`` says what else does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.journeys.service.test_reload import Office
from tests.world import World, running

in_room = pytest.mark.asyncio(loop_scope="module")

ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999}
QUESTION: dict[str, Any] = {"question": "Refund order 12345?", "choices": ["approve", "deny"]}
_numbers = itertools.count(1)


def invoked(**resume: Any) -> dict[str, Any]:
    """The body of an ask by an invocation that asks nothing else."""
    names = {"session_id": "sess-1", "invocation_id": f"inv-{next(_numbers)}", "correlation_id": "corr-1"}
    return {**QUESTION, "resume": names | resume}


def again(body: dict[str, Any], **resume: Any) -> dict[str, Any]:
    """``body`` with something else in ``resume``."""
    return {**body, "resume": {**body["resume"], **resume}}


async def post(
    world: World, body: dict[str, Any], role: str = "agent", path: str = "/v1/suspensions"
) -> httpx.Response:
    response = await world.call("POST", path, role, json=body)
    await world.settle()
    return response


async def asked(world: World, body: dict[str, Any], role: str = "agent", path: str = "/v1/suspensions") -> Any:
    response = await post(world, body, role, path)
    assert response.status_code == 201, response.text
    assert "joined" not in response.json()
    return response.json()


def is_joined(response: httpx.Response, first: dict[str, Any]) -> None:
    assert response.status_code == 200, response.text
    assert response.json() == {**first, "joined": True}


async def suspend_path(world: World) -> str:
    return f"/v1/intents/{(await world.active_intent())['id']}/suspend"


# --- Word for word --------------------------------------------------------------------------------------------------


@in_room
async def test_an_ask_that_repeats_an_open_one_joins_it_and_nobody_is_asked_twice(any_room: World) -> None:
    body = invoked()
    first, posted = await asked(any_room, body), len(any_room.slack.workspace.posted())
    is_joined(await post(any_room, body), first)
    is_joined(await post(any_room, again(body, correlation_id="corr-2")), first)
    assert len(any_room.slack.workspace.posted()) == posted
    assert (await any_room.answer(first, "approve")).status_code == 200
    await any_room.settle()
    assert (await any_room.show(first))["response"] == "approve"


@in_room
async def test_a_repeat_within_the_same_intent_joins_whatever_version_it_was_made_for(any_room: World) -> None:
    body, path = invoked(), await suspend_path(any_room)
    match = {"If-Match": "1"}
    first = await any_room.call("POST", path, json=body, headers=match)
    assert first.status_code == 201, first.text
    is_joined(await any_room.call("POST", path, json=body, headers=match), first.json())
    another = await any_room.call("POST", path, json={**body, "question": "Something else?"})
    assert (another.status_code, another.json()["detail"]["error"]) == (409, "already_suspended")


@in_room
async def test_a_repeat_is_not_refused_for_its_own_signal(any_room: World) -> None:
    body = invoked(signal_id="refund-12345")
    first = await asked(any_room, body)
    is_joined(await post(any_room, body), first)
    taken = await post(any_room, invoked(signal_id="refund-12345"))
    assert (taken.status_code, taken.json()["detail"]["error"]) == (409, "signal_id_in_use")


async def test_a_repeat_takes_nothing_of_the_quota(tmp_path: Path, database_url: str) -> None:
    async with running(tmp_path, database_url, quotas={"open": 1, "per_minute": 1}) as world:
        body = invoked()
        first = await asked(world, body)
        is_joined(await post(world, body), first)
        assert (await post(world, invoked())).status_code == 429


_OTHERS: dict[str, dict[str, Any]] = {
    "another session": {"resume": {"session_id": "sess-2"}},
    "another invocation": {"resume": {"invocation_id": "inv-other"}},
    "no session": {"resume": {"session_id": None}},
    "another state": {"resume": {"state": {"cart": 8}}},
    "another question": {"question": "Refund order 12346?"},
    "another action": {"action": {"tool": "stripe.refund", "amount": 1}},
    "another answer": {"choices": ["approve", "deny", "ask again"]},
    "another deadline": {"timeout_seconds": 3600},
    "other people": {"responders": ["bob@example.com"]},
}


@in_room
@pytest.mark.parametrize("other", _OTHERS.values(), ids=_OTHERS)
async def test_what_differs_in_anything_else_is_a_question_of_its_own(other: dict[str, Any], any_room: World) -> None:
    body = invoked()
    first = await asked(any_room, body)
    second = await asked(any_room, again({**body, **other, "resume": body["resume"]}, **other.get("resume", {})))
    assert second["suspension_id"] != first["suspension_id"]


@in_room
async def test_what_another_key_asks_is_another_question(any_room: World) -> None:
    body = invoked()
    first = await asked(any_room, body)
    second = await asked(any_room, body, "other_agent")
    assert second["suspension_id"] != first["suspension_id"]


@in_room
async def test_what_is_asked_in_another_intent_is_another_question(any_room: World) -> None:
    body = invoked()
    first = await asked(any_room, body, path=await suspend_path(any_room))
    second = await asked(any_room, body, path=await suspend_path(any_room))
    assert second["intent_id"] != first["intent_id"]


@in_room
@pytest.mark.parametrize("missing", ["invocation_id", "session_id"])
async def test_without_an_invocation_nothing_joins_by_itself(missing: str, any_room: World) -> None:
    body = again({**invoked(), "action": ACTION}, **{missing: None})
    first = await asked(any_room, body)
    second = await asked(any_room, body)
    assert second["suspension_id"] != first["suspension_id"]


@in_room
async def test_an_idempotency_key_repeats_the_first_reply_and_that_may_be_a_joined_one(any_room: World) -> None:
    body = invoked()
    first = await asked(any_room, body)
    key = {"Idempotency-Key": f"key-{first['ref']}"}
    joined = await any_room.call("POST", "/v1/suspensions", json=body, headers=key)
    is_joined(joined, first)
    assert (await any_room.answer(first, "deny")).status_code == 200
    repeated = await any_room.call("POST", "/v1/suspensions", json=body, headers=key)
    assert (repeated.status_code, repeated.text) == (200, joined.text)
    assert repeated.headers["Idempotency-Replayed"] == "true"


@in_room
async def test_what_has_ended_meanwhile_is_asked_afresh(any_room: World) -> None:
    body = {**invoked(), "timeout_seconds": 60}
    first = await asked(any_room, body)
    assert (await any_room.answer(first, "deny")).status_code == 200
    second = await asked(any_room, body)
    cancel = await any_room.call("POST", f"/v1/suspensions/{second['suspension_id']}/cancel", json={})
    assert cancel.status_code == 200
    third = await asked(any_room, body)
    assert len({one["suspension_id"] for one in (first, second, third)}) == 3


async def test_what_time_has_ended_is_asked_afresh_though_the_clock_has_not_looked_yet(any_world: World) -> None:
    body = {**invoked(), "timeout_seconds": 60}
    first = await asked(any_world, body)
    any_world.clock.move_to(any_world.clock.now() + timedelta(minutes=2))
    response = await any_world.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 201, response.text
    assert (await any_world.show(first))["status"] == "expired"


async def test_eight_at_once_are_one_question(any_world: World) -> None:
    body = {**invoked(), "action": ACTION}
    replies = await asyncio.gather(*(any_world.call("POST", "/v1/suspensions", json=body) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] * 7 + [201]
    assert len({reply.json()["suspension_id"] for reply in replies}) == 1
    await any_world.settle()
    assert len(any_world.slack.workspace.posted()) == 1


@in_room
async def test_eight_at_once_in_one_intent_are_one_question(any_room: World) -> None:
    body, path = invoked(), await suspend_path(any_room)
    replies = await asyncio.gather(*(any_room.call("POST", path, json=body) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] * 7 + [201]
    await any_room.settle()


# --- join -------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def joining(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, database_url, suspension__same_ask="join") as world:
        yield world


async def test_the_same_action_joins_without_an_invocation_however_it_is_worded(joining: World) -> None:
    body = {**QUESTION, "action": ACTION}
    first = await asked(joining, body)
    is_joined(await post(joining, body), first)
    worded = {**body, "question": "May I refund 12345?", "context": {"why": "asked twice"}, "confidence": 0.5}
    is_joined(await post(joining, worded), first)
    assert len(joining.slack.workspace.posted()) == 1
    assert (await joining.answer(first, "deny")).status_code == 200
    assert (await asked(joining, body))["suspension_id"] != first["suspension_id"]


_OTHER_TERMS: dict[str, dict[str, Any]] = {
    "another action": {"action": {"tool": "stripe.refund", "amount": 1}},
    "other answers": {"choices": ["yes", "no"]},
    "more answers": {"answers_required": 2, "responders": ["group:finance"]},
    "other people": {"responders": ["bob@example.com"]},
    "a higher risk": {"context": {"risk": "high"}},
    "another session": {"resume": {"session_id": "sess-2"}},
    "an invocation": {"resume": {"invocation_id": "inv-2"}},
    "another state": {"resume": {"state": {"cart": 8}}},
}


@pytest.mark.parametrize("other", _OTHER_TERMS.values(), ids=_OTHER_TERMS)
async def test_the_same_action_on_other_terms_is_a_question_of_its_own(
    other: dict[str, Any], tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, suspension__same_ask="join") as world:
        body = {**QUESTION, "action": ACTION}
        first = await asked(world, body)
        assert (await asked(world, {**body, **other}))["suspension_id"] != first["suspension_id"]


async def test_the_same_action_of_another_key_or_intent_does_not_join(joining: World) -> None:
    body = {**QUESTION, "action": ACTION}
    asks = [
        await asked(joining, body),
        await asked(joining, body, "other_agent"),
        await asked(joining, body, path=await suspend_path(joining)),
    ]
    assert len({one["suspension_id"] for one in asks}) == 3


async def test_without_an_action_there_is_nothing_to_join_by(joining: World) -> None:
    assert (await asked(joining, QUESTION))["ref"] != (await asked(joining, QUESTION))["ref"]


async def test_eight_asks_for_one_action_at_once_are_one_question(joining: World) -> None:
    body = {**QUESTION, "action": ACTION}
    replies = await asyncio.gather(*(joining.call("POST", "/v1/suspensions", json=body) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] * 7 + [201]
    await joining.settle()


# --- refuse -----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def refusing(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, database_url, suspension__same_ask="refuse") as world:
        yield world


def is_refused(response: httpx.Response, first: dict[str, Any], reason: str | None) -> None:
    assert response.status_code == 409, response.text
    detail = response.json()["detail"]
    assert (detail["error"], detail["ref"], detail["reason"]) == ("already_denied", first["ref"], reason)


async def test_for_an_hour_after_a_no_the_same_action_is_refused_with_its_reason(refusing: World) -> None:
    body = {**QUESTION, "action": ACTION}
    first = await asked(refusing, body)
    denied = await refusing.answer(first, "deny", metadata={"reason": "Too much for one order."})
    assert denied.status_code == 200
    is_refused(await post(refusing, {**body, "question": "Please?"}), first, "Too much for one order.")
    is_refused(await post(refusing, body, path=await suspend_path(refusing)), first, "Too much for one order.")
    await refusing.advance(minutes=59)
    is_refused(await post(refusing, body), first, "Too much for one order.")
    await refusing.advance(minutes=2)
    await asked(refusing, body)


async def test_another_action_another_key_and_an_ask_without_an_action_are_not_refused(refusing: World) -> None:
    first = await asked(refusing, {**QUESTION, "action": ACTION})
    assert (await refusing.answer(first, "deny")).status_code == 200
    await asked(refusing, {**QUESTION, "action": {**ACTION, "amount": 1}})
    await asked(refusing, {**QUESTION, "action": ACTION}, "other_agent")
    await asked(refusing, QUESTION)


async def test_a_yes_and_silence_refuse_nothing(refusing: World) -> None:
    body = {**QUESTION, "action": ACTION, "timeout_seconds": 60, "fallback_policy": "complete_with_fallback"}
    body["fallback_value"] = "deny"
    assert (await refusing.answer(await asked(refusing, body), "approve")).status_code == 200
    await asked(refusing, body)
    await refusing.advance(minutes=2)
    await asked(refusing, body)


async def test_one_no_of_several_is_a_denial_once_it_has_ended_the_question(refusing: World) -> None:
    choices = [{"value": "approve"}, {"value": "deny", "answers_required": 2}]
    labelled = [{**choice, "label": choice["value"]} for choice in choices]
    body = {**QUESTION, "choices": labelled, "action": ACTION, "answers_required": 2, "responders": ["group:finance"]}
    first = await asked(refusing, body)
    assert (await refusing.answer(first, "deny", metadata={"reason": "No."})).status_code == 202
    second = await asked(refusing, body)
    assert (await refusing.answer(first, "deny", "second_operator", metadata={"reason": "Never."})).status_code == 200
    is_refused(await post(refusing, body), first, "Never.")
    assert (await refusing.show(second))["status"] == "open"


async def test_a_denial_of_a_repeat_that_joins_is_no_matter(refusing: World) -> None:
    body = {**invoked(), "action": ACTION}
    other = await asked(refusing, {**QUESTION, "action": ACTION})
    first = await asked(refusing, body)
    assert (await refusing.answer(other, "deny")).status_code == 200
    is_joined(await post(refusing, body), first)


async def test_a_reload_takes_the_setting_in(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url) as world:
        body = {**QUESTION, "action": ACTION}
        first = await asked(world, body)
        assert (await world.answer(first, "deny")).status_code == 200
        await asked(world, body)
        done = await Office(world, tmp_path).reload(suspension__same_ask="refuse")
        assert (done["changed"], done["needs_restart"]) == (["suspension.same_ask"], [])
        is_refused(await post(world, body), first, None)
