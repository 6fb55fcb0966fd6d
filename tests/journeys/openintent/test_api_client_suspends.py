"""The published client's suspend: the status, then the record in the state, then an event (API.md §7)."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.engine import outages
from core.store import event_log
from tests.clock import ManualClock
from tests.patience import PATIENCE
from tests.world import World, running

in_room = pytest.mark.asyncio(loop_scope="module")


def record(**fields: Any) -> dict[str, Any]:
    """As ``SuspensionRecord.to_dict`` of the client writes it."""
    return {
        "id": str(uuid.uuid4()),
        "question": "Should we refund order #12345?",
        "response_type": "choice",
        "context": {"order_id": "12345", "amount": 499.99},
        "fallback_policy": "fail",
        "choices": [
            {"value": "approve", "label": "Approve refund", "style": "primary"},
            {"value": "deny", "label": "Deny refund", "description": "Close the case", "style": "danger"},
        ],
        "suspended_at": "2020-01-01T06:50:42.234583",
        "expires_at": "2020-01-01T09:50:42.234583",
        "timeout_seconds": 3600,
        "confidence_at_suspension": 0.55,
    } | fields


async def change(
    world: World, intent: dict[str, Any], what: str, body: Any, role: str = "agent", version: int | None = None
) -> httpx.Response:
    headers = {"If-Match": str(intent["version"] if version is None else version)}
    return await world.call("POST", f"/api/v1/intents/{intent['id']}/{what}", role, json=body, headers=headers)


async def first_step(world: World, intent: dict[str, Any], role: str = "agent") -> dict[str, Any]:
    response = await change(world, intent, "status", {"status": "suspended_awaiting_input"}, role)
    assert response.status_code == 200, response.text
    suspended: dict[str, Any] = response.json()
    return suspended


async def write_record(
    world: World, intent: dict[str, Any], value: Any, role: str = "agent", path: str = "_suspension"
) -> httpx.Response:
    return await change(world, intent, "state", {"patches": [{"op": "set", "path": path, "value": value}]}, role)


async def suspended(world: World, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The intent after both steps, and what an answer needs to know."""
    intent = await first_step(world, await world.active_intent())
    response = await write_record(world, intent, written := record(**fields))
    assert response.status_code == 200, response.text
    await world.settle()
    return response.json(), {"intent_id": intent["id"], "suspension_id": written["id"]}


def kept(intent: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = intent["state"]["_suspension"]
    return found


async def types(world: World, intent: dict[str, Any]) -> list[str]:
    return [event["event_type"] for event in await world.events({"intent_id": intent["id"]})]


@in_room
async def test_the_record_opens_the_question_and_the_answer_is_where_the_client_looks(any_room: World) -> None:
    world = any_room
    posted = len(world.slack.workspace.messages)
    intent = await world.active_intent()
    waiting = await first_step(world, intent)
    assert (waiting["status"], waiting["version"]) == ("suspended_awaiting_input", intent["version"] + 1)
    await world.settle()
    assert len(world.slack.workspace.messages) == posted
    opened = (await write_record(world, waiting, written := record())).json()
    assert (opened["status"], opened["version"]) == ("suspended_awaiting_input", waiting["version"] + 1)
    assert (kept(opened)["id"], kept(opened)["resolution"]) == (written["id"], None)
    said = {"event_type": "intent.suspended", "payload": {"suspension_id": written["id"]}}
    events = f"/api/v1/intents/{intent['id']}/events"
    assert (await world.call("POST", events, json=said)).status_code == 200
    await world.settle()
    assert len(world.slack.workspace.messages) == posted + 1
    asked = {"intent_id": intent["id"], "suspension_id": written["id"]}
    assert (await world.answer(asked, "approve")).status_code == 200
    answered = await world.intent(asked)
    assert (answered["status"], answered["version"]) == ("active", opened["version"] + 1)
    assert kept(answered)["resolution"] == "responded"
    assert (kept(answered)["response"], kept(answered)["responded_by"]) == ("approve", "alice@example.com")
    assert kept(answered)["responded_at"] is not None
    assert await types(world, intent) == [
        "intent_created",
        "status_changed",
        "intent.suspended",
        "intent.resumed",
    ]


@in_room
async def test_the_times_are_the_servers(room: World) -> None:
    intent, _ = await suspended(room)
    now = room.clock.now()
    assert kept(intent)["suspended_at"] == now.isoformat().replace("+00:00", "Z")
    assert kept(intent)["expires_at"] == (now + timedelta(hours=1)).isoformat().replace("+00:00", "Z")


@in_room
async def test_a_draft_becomes_active_and_suspended_in_the_first_step_and_both_are_recorded(room: World) -> None:
    draft = (await room.call("POST", "/v1/intents", json={"title": "t"})).json()
    assert (await room.call("POST", f"/v1/intents/{draft['id']}/suspend", json=record())).status_code in (409, 422)
    waiting = await first_step(room, draft)
    assert waiting["version"] == draft["version"] + 1
    events = await room.events({"intent_id": draft["id"]})
    assert [(one["payload"].get("from"), one["payload"].get("to")) for one in events[1:]] == [
        ("draft", "active"),
        ("active", "suspended_awaiting_input"),
    ]
    assert (await write_record(room, waiting, record())).status_code == 200


@in_room
async def test_without_a_record_the_intent_is_active_again_after_a_minute(any_room: World) -> None:
    world = any_room
    waiting = await first_step(world, await world.active_intent())
    await world.advance(seconds=59)
    assert (await world.intent({"intent_id": waiting["id"]}))["status"] == "suspended_awaiting_input"
    await world.advance(seconds=2)
    after = await world.intent({"intent_id": waiting["id"]})
    assert (after["status"], after["version"]) == ("active", waiting["version"] + 1)
    last = (await world.events({"intent_id": waiting["id"]}))[-1]
    assert (last["event_type"], last["payload"]["to"], last["payload"]["reason"]) == (
        "status_changed",
        "active",
        "record_missing",
    )
    late = await write_record(world, after, record())
    assert (late.status_code, late.json()["detail"]["error"]) == (403, "reserved_path")


@in_room
async def test_with_a_record_nothing_happens_after_a_minute(room: World) -> None:
    intent, asked = await suspended(room)
    await room.advance(minutes=2)
    after = await room.intent(asked)
    assert (after["status"], after["version"]) == ("suspended_awaiting_input", intent["version"])


@in_room
async def test_silence_ends_it_as_the_client_expects_it(room: World) -> None:
    _, asked = await suspended(room, fallback_policy="complete_with_fallback", fallback_value="deny")
    await room.advance(hours=1)
    after = await room.intent(asked)
    assert (after["status"], kept(after)["resolution"], kept(after)["response"]) == ("active", "expired", None)
    assert (await room.answer(asked, "approve")).json()["detail"]["error"] == "suspension_ended"


@in_room
async def test_a_cancelled_one_says_so(room: World) -> None:
    _, asked = await suspended(room)
    cancelled = await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    assert cancelled.status_code == 200
    after = await room.intent(asked)
    assert (after["status"], kept(after)["resolution"]) == ("active", "cancelled")


LADDER = [
    {"attempt": 2, "channel_hint": "email", "notify_to": ""},
    {"attempt": 3, "channel_hint": "email", "notify_to": "bob@example.com"},
]


@in_room
async def test_our_clock_runs_the_ladder_of_the_record(room: World) -> None:
    policy = {"max_attempts": 3, "interval_seconds": 3600, "strategy": "fixed", "final_fallback_policy": "fail"}
    intent, asked = await suspended(room, retry_policy={**policy, "escalation_ladder": LADDER})
    assert kept(intent)["retry_policy"]["escalation_ladder"][0]["notify_to"] is None
    posted = {"event_type": "intent.suspension_renotified", "payload": {"attempt": 2}}
    assert (await room.call("POST", f"/api/v1/intents/{intent['id']}/events", json=posted)).status_code == 200
    await room.advance(hours=1)
    await room.advance(hours=1)
    renotified = [one for one in await room.events(asked) if one["event_type"] == "intent.suspension_renotified"]
    assert [(one["payload"]["attempt"], one["payload"]["channel_hint"]) for one in renotified] == [
        (2, "email"),
        (3, "email"),
    ]
    assert renotified[1]["payload"]["notify_to"] == "bob@example.com"
    await room.advance(hours=1)
    after = await room.intent(asked)
    assert (after["status"], kept(after)["resolution"]) == ("abandoned", "expired")


@in_room
async def test_what_the_client_has_merged_into_its_policy_is_bent_to_fit_its_timeout(room: World) -> None:
    """Nobody can tell what the call itself gave. The policy's fallback counts for the client, and so it does here."""
    policy = {"max_attempts": 2, "interval_seconds": 3600, "final_fallback_policy": "complete_with_fallback"}
    intent, _ = await suspended(
        room,
        timeout_seconds=60,
        fallback_policy="fail",
        fallback_value="deny",
        retry_policy={**policy, "escalation_ladder": LADDER},
    )
    shown = kept(intent)
    assert (shown["retry_policy"]["interval_seconds"], shown["retry_policy"]["max_attempts"]) == (60, 2)
    assert [rung["attempt"] for rung in shown["retry_policy"]["escalation_ladder"]] == [2]
    assert shown["fallback_policy"] == "complete_with_fallback"


async def test_nothing_is_inherited_that_the_record_does_not_say(tmp_path: Path, sqlite_url: str) -> None:
    """The client would not know of it: it goes on by its own clock."""
    default = {"max_attempts": 5, "interval_seconds": 60}
    async with running(tmp_path, sqlite_url, suspension__default_retry_policy=default) as world:
        intent, _ = await suspended(world)
        assert (kept(intent)["retry_policy"], kept(intent)["max_attempts"]) == (None, 1)
        path = "/v1/agents/refund-agent/default-retry-policy"
        assert (await world.call("PUT", path, json=default)).status_code == 200
        intent, _ = await suspended(world)
        assert (kept(intent)["retry_policy"], kept(intent)["max_attempts"]) == (None, 1)


@in_room
async def test_unknown_and_empty_fields_say_nothing(room: World) -> None:
    intent, _ = await suspended(
        room,
        channel_hint="",
        resolution="responded",
        response="approve",
        nobody_knows={"this": 1},
        choices=[{"value": "approve", "label": "Approve", "description": "", "colour": "red"}],
        retry_policy={"max_attempts": 1, "interval_seconds": 0, "strategy": "fixed", "jitter": 3},
    )
    assert (kept(intent)["resolution"], kept(intent)["channel_hint"]) == (None, None)
    assert kept(intent)["retry_policy"]["interval_seconds"] == 3600


@in_room
@pytest.mark.parametrize("path", ["_suspension", "/_suspension"])
async def test_the_path_may_begin_with_a_slash_and_what_is_patched_beside_it_is_too(room: World, path: str) -> None:
    waiting = await first_step(room, await room.active_intent())
    patches = [
        {"op": "set", "path": "order", "value": 12345},
        {"op": "set", "path": path, "value": record()},
        {"op": "set", "path": "/note", "value": "n"},
    ]
    opened = (await change(room, waiting, "state", {"patches": patches})).json()
    assert opened["version"] == waiting["version"] + 1
    assert {name: opened["state"][name] for name in ("order", "note")} == {"order": 12345, "note": "n"}
    assert kept(opened)["resolution"] is None


BAD: list[tuple[Any, int, str, str]] = [
    ({"question": None}, 422, "invalid_request", "question"),
    ({"question": ""}, 422, "invalid_request", "question"),
    ({"response_type": "essay"}, 422, "invalid_request", "response_type"),
    ({"id": None}, 422, "invalid_request", "id"),
    ({"id": ""}, 422, "invalid_request", "id"),
    ({"id": "a/b"}, 422, "invalid_request", "id"),
    ({"choices": []}, 422, "invalid_request", "choices"),
    ({"choices": [{"value": "a"}]}, 422, "invalid_request", "choices.0.label"),
    ({"choices": {"a": 1}}, 422, "invalid_request", "choices"),
    ({"timeout_seconds": 0}, 422, "invalid_request", "timeout_seconds"),
    ({"timeout_seconds": "soon"}, 422, "invalid_request", "timeout_seconds"),
    ({"context": [1]}, 422, "invalid_request", "context"),
    ({"confidence_at_suspension": 7}, 422, "invalid_request", "confidence_at_suspension"),
    ({"channel_hint": "pigeon"}, 422, "unknown_channel", "channel_hint"),
    ({"fallback_policy": "complete_with_fallback"}, 422, "invalid_request", "fallback_value"),
    ({"fallback_value": "perhaps"}, 422, "invalid_request", "fallback_value"),
    ({"retry_policy": {"strategy": "linear"}}, 422, "invalid_request", "retry_policy.strategy"),
    ({"retry_policy": {"max_attempts": 0}}, 422, "invalid_request", "retry_policy.max_attempts"),
    ({"retry_policy": 5}, 422, "invalid_request", "retry_policy"),
]


@in_room
@pytest.mark.parametrize(("fields", "status", "error", "path"), BAD)
async def test_a_record_that_can_not_be_is_refused_and_changes_nothing(
    room: World, fields: dict[str, Any], status: int, error: str, path: str
) -> None:
    await room.settle()
    posted = len(room.slack.workspace.messages)
    waiting = await first_step(room, await room.active_intent())
    refused = await write_record(room, waiting, record(**fields))
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (status, error), refused.text
    assert [one["path"] for one in detail["fields"]] == [path]
    assert await room.intent({"intent_id": waiting["id"]}) == waiting
    await room.settle()
    assert len(room.slack.workspace.messages) == posted
    assert (await write_record(room, waiting, record())).status_code == 200


@in_room
@pytest.mark.parametrize("value", [None, 5, "text", [record()]])
async def test_a_record_is_an_object(room: World, value: Any) -> None:
    waiting = await first_step(room, await room.active_intent())
    refused = await write_record(room, waiting, value)
    assert refused.status_code == 422
    assert refused.json()["detail"]["fields"][0]["path"] == "patches.0.value"


@in_room
async def test_patches_that_lead_nowhere_take_the_record_with_them(room: World) -> None:
    waiting = await first_step(room, await room.active_intent())
    patches = [
        {"op": "set", "path": "_suspension", "value": record()},
        {"op": "append", "path": "nowhere/at/all", "value": 1},
        {"op": "remove", "path": "nowhere"},
    ]
    assert (await change(room, waiting, "state", {"patches": patches[:1] + patches[2:]})).status_code == 422
    assert await room.intent({"intent_id": waiting["id"]}) == waiting


@in_room
async def test_an_id_that_a_suspension_has_or_had_is_refused(any_room: World) -> None:
    world = any_room
    _, asked = await suspended(world)
    waiting = await first_step(world, await world.active_intent())
    taken = await write_record(world, waiting, record(id=asked["suspension_id"]))
    assert (taken.status_code, taken.json()["detail"]["error"]) == (409, "suspension_id_in_use")
    assert taken.json()["message"] == taken.json()["detail"]["message"]
    assert (await world.answer(asked, "approve")).status_code == 200
    again = await first_step(world, await world.intent(asked))
    assert (await write_record(world, again, record(id=asked["suspension_id"]))).status_code == 409
    assert kept(await world.intent(asked))["resolution"] == "responded"
    assert (await write_record(world, again, record())).status_code == 200
    assert kept(await world.intent(asked))["resolution"] is None


@in_room
async def test_without_the_first_step_and_once_open_the_record_is_the_servers(room: World) -> None:
    intent = await room.active_intent()
    assert (await write_record(room, intent, record())).status_code == 403
    opened, asked = await suspended(room)
    for patch in (
        {"op": "set", "path": "_suspension", "value": record()},
        {"op": "set", "path": "/_suspension/resolution", "value": "responded"},
        {"op": "remove", "path": "_suspension"},
    ):
        refused = await change(room, opened, "state", {"patches": [patch]})
        assert (refused.status_code, refused.json()["detail"]["error"]) == (403, "reserved_path")
    written = await change(room, opened, "state", {"state": {"order": 1, "_suspension": {"resolution": "responded"}}})
    assert (kept(written.json())["id"], kept(written.json())["resolution"]) == (asked["suspension_id"], None)
    assert written.json()["state"]["order"] == 1
    assert (await room.answer(asked, "approve")).status_code == 200
    ended = await room.intent(asked)
    patched = await change(room, ended, "state", {"patches": [{"op": "set", "path": "decision", "value": "approve"}]})
    assert patched.status_code == 200
    assert (patched.json()["state"]["decision"], kept(patched.json())["response"]) == ("approve", "approve")


@in_room
@pytest.mark.parametrize("wanted", ["active", "blocked", "completed", "abandoned", "suspended_awaiting_input"])
async def test_between_the_steps_no_status_can_be_set(room: World, wanted: str) -> None:
    waiting = await first_step(room, await room.active_intent())
    assert (await change(room, waiting, "status", {"status": wanted})).status_code == 409
    body = {"question": "Go on?", "response_type": "confirm"}
    asked = await room.call("POST", f"/v1/intents/{waiting['id']}/suspend", json=body)
    assert (asked.status_code, asked.json()["detail"]["error"]) == (409, "already_suspended")
    answered = await room.answer({"intent_id": waiting["id"], "suspension_id": "any"}, "approve")
    assert (answered.status_code, answered.json()["detail"]["error"]) == (409, "not_suspended")
    assert await room.intent({"intent_id": waiting["id"]}) == waiting


@in_room
async def test_an_admin_may_abandon_an_intent_between_the_steps(room: World) -> None:
    waiting = await first_step(room, await room.active_intent())
    given_up = await change(room, waiting, "status", {"status": "abandoned", "reason": "stuck"}, "admin")
    assert (given_up.status_code, given_up.json()["abandonment_reason"]) == (200, "stuck")
    await room.advance(minutes=2)
    assert (await room.intent({"intent_id": waiting["id"]}))["status"] == "abandoned"


@in_room
@pytest.mark.parametrize("status", ["blocked", "completed", "abandoned"])
async def test_only_an_active_intent_or_a_draft_is_suspended(room: World, status: str) -> None:
    intent = (await change(room, await room.active_intent(), "status", {"status": status})).json()
    refused = await change(room, intent, "status", {"status": "suspended_awaiting_input"})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "intent_not_active")


@in_room
async def test_a_stale_version_is_refused_in_both_steps(room: World) -> None:
    intent = await room.active_intent()
    body = {"status": "suspended_awaiting_input"}
    stale = await change(room, intent, "status", body, version=intent["version"] + 1)
    assert (stale.status_code, stale.json()["current_version"]) == (409, intent["version"])
    waiting = await first_step(room, intent)
    patches = [{"op": "set", "path": "_suspension", "value": record()}]
    stale = await change(room, waiting, "state", {"patches": patches}, version=intent["version"])
    assert (stale.status_code, stale.json()["current_version"]) == (409, waiting["version"])


@in_room
async def test_who_may_take_the_steps(room: World) -> None:
    """Owner and members; a member's question is the member's. A draft is activated by its owner alone."""
    intent, draft = await room.active_intent(), (await room.call("POST", "/v1/intents", json={"title": "d"})).json()
    body = {"status": "suspended_awaiting_input"}
    assert (await change(room, intent, "status", body, "other_agent")).status_code == 404
    assert (await change(room, intent, "status", body, "admin")).status_code == 403
    waiting = await first_step(room, intent)
    assert (await write_record(room, waiting, record(), "other_agent")).status_code == 404
    assert (await write_record(room, waiting, record(), "admin")).status_code == 403
    for one, name in ((intent, "other-agent"), (intent, "bob@example.com"), (draft, "other-agent")):
        member = {"agent_id": name}
        assert (await room.call("POST", f"/v1/intents/{one['id']}/agents", json=member)).status_code == 200
    opened = await write_record(room, waiting, written := record(), "other_agent")
    assert (opened.status_code, kept(opened.json())["created_by"]) == (200, "other-agent")
    asked = {"intent_id": intent["id"], "suspension_id": written["id"]}
    answered = await room.answer(asked, "approve", "second_operator")
    assert (answered.status_code, answered.json()["detail"]["error"]) == (403, "self_response_forbidden")
    assert (await change(room, draft, "status", body, "other_agent")).status_code == 403
    assert (await room.intent({"intent_id": draft["id"]}))["status"] == "draft"


async def test_no_outage_of_ours_moves_its_times(tmp_path: Path, database_url: str) -> None:
    """The client goes on by its own clock."""
    clock = ManualClock()
    async with running(tmp_path, database_url, clock) as world:
        opened, asked = await suspended(world, timeout_seconds=7 * 3600)
        waiting = await first_step(world, await world.active_intent())
    clock.move_by(timedelta(hours=5))
    async with running(tmp_path, database_url, clock) as world:
        await world.settle()
        assert kept(await world.intent(asked))["expires_at"] == kept(opened)["expires_at"]
        assert "intent.suspension_rescheduled" not in await types(world, opened)
        assert (await world.intent({"intent_id": waiting["id"]}))["status"] == "active"
        await world.advance(hours=2)
        assert kept(await world.intent(asked))["resolution"] == "expired"


async def test_an_end_that_came_in_an_outage_is_told_before_the_others_times_have_moved(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "AT_ONCE", 1)
    clock = ManualClock()
    async with running(tmp_path, database_url, clock) as world:
        _, ending = await suspended(world)
        policy = {"max_attempts": 3, "interval_seconds": 7200}
        others = [await world.ask(retry_policy=policy) for _ in range(3)]
    clock.move_by(timedelta(hours=5))
    async with running(tmp_path, database_url, clock) as world, asyncio.timeout(PATIENCE):
        while not all(["intent.suspension_rescheduled" in await world.event_types(one) for one in others]):
            await asyncio.sleep(0.01)
        everything: dict[str, Any] = {"intent_id": None, "agent": None, "limit": 100}
        lines = await world.service.database.read(lambda conn: event_log.after(conn, (0, 0), **everything).lines)
    ended, moved = "intent.suspension_expired", "intent.suspension_rescheduled"
    came = [(line.intent_id, line.type) for line in lines if line.type in {ended, moved}]
    assert came == [(ending["intent_id"], ended), *((one["intent_id"], moved) for one in others)]


@in_room
async def test_asking_back_does_not_move_its_end(room: World) -> None:
    opened, asked = await suspended(room)
    await room.advance(minutes=59)
    clarify = f"/v1/suspensions/{asked['suspension_id']}/clarify"
    assert (await room.call("POST", clarify, "operator", json={"question": "Which one?"})).status_code == 200
    assert kept(await room.intent(asked))["expires_at"] == kept(opened)["expires_at"]
    await room.advance(minutes=1)
    assert kept(await room.intent(asked))["resolution"] == "expired"


@in_room
async def test_records_at_once_with_one_id_open_one_question(any_room: World) -> None:
    world = any_room
    waiting = [await first_step(world, await world.active_intent()) for _ in range(4)]
    written = record()
    replies = await asyncio.gather(*(write_record(world, one, written) for one in waiting))
    assert sorted(one.status_code for one in replies) == [200, 409, 409, 409]
    await world.advance(seconds=61)
    statuses = [(await world.intent({"intent_id": one["id"]}))["status"] for one in waiting]
    assert sorted(statuses) == ["active", "active", "active", "suspended_awaiting_input"]


async def test_records_at_once_for_one_intent_open_one_question(any_world: World) -> None:
    world = any_world
    waiting = await first_step(world, await world.active_intent())
    replies = await asyncio.gather(*(write_record(world, waiting, record()) for _ in range(4)))
    assert sorted(one.status_code for one in replies) == [200, 409, 409, 409]
    [asked] = (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]
    assert kept(await world.intent({"intent_id": waiting["id"]}))["id"] == asked["id"]


async def test_a_record_counts_towards_the_quota_of_its_key(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, quotas={"open": 1}) as world:
        await suspended(world)
        waiting = await first_step(world, await world.active_intent())
        refused = await write_record(world, waiting, record())
        assert (refused.status_code, refused.json()["detail"]["error"]) == (429, "quota_exceeded")
        await world.advance(seconds=61)
        assert (await world.intent({"intent_id": waiting["id"]}))["status"] == "active"
