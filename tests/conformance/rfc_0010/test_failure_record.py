"""RFC-0010, "Failure Record Model": every field, in both dialects, and what a report may leave out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import OWNER, fail, failures, intent_with, logged, post_failure
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRINTED: dict[str, Any] = {
    "agent_id": OWNER,
    "attempt_number": 2,
    "error_code": "RATE_LIMIT",
    "error_message": "Rate limit exceeded, retry after 60s",
    "retry_scheduled_at": "2100-02-15T10:05:00Z",
    "metadata": {"http_status": 429},
}
CAMEL = {
    "agentId": OWNER,
    "attemptNumber": 2,
    "errorCode": "RATE_LIMIT",
    "errorMessage": PRINTED["error_message"],
    "retryScheduledAt": "2100-02-15T10:05:00Z",
    "metadata": {"http_status": 429},
}


@pytest.mark.parametrize("body", [PRINTED, CAMEL])
async def test_every_field_is_kept_in_either_spelling(room: World, body: dict[str, Any]) -> None:
    intent = await room.active_intent()
    shown = (await post_failure(room, intent, **body)).json()
    assert shown.items() >= {**PRINTED, "intent_id": intent["id"], "resolved_at": None, "task_id": None}.items()
    assert shown.items() >= {**CAMEL, "intentId": intent["id"], "taskId": None}.items()
    assert shown["error_type"] == shown["error_code"] == shown["errorType"]
    assert shown["retryScheduledAt"] == shown["retry_scheduled_at"] and shown["resolvedAt"] is None
    assert shown["createdAt"] == shown["created_at"] == shown["occurred_at"]
    assert await failures(room, intent) == [shown]


async def test_the_published_clients_synchronous_half_is_understood(room: World) -> None:
    """It writes every field, with null for what it was not given, and naive times."""
    intent = await room.active_intent()
    body = {
        "agent_id": OWNER,
        "attempt_number": 1,
        "error_code": None,
        "error_message": None,
        "retry_scheduled_at": "2100-02-15T10:05:00.123456",
        "metadata": {},
    }
    shown = (await room.call("POST", f"/api/v1/intents/{intent['id']}/failures", json=body)).json()
    assert (shown["error_code"], shown["error_type"], shown["error_message"]) == (None, None, None)
    assert shown["retryScheduledAt"] == "2100-02-15T10:05:00.123456Z"


async def test_the_published_clients_asynchronous_half_is_understood(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    body = {"error_type": "TIMEOUT", "error_message": "m", "recoverable": True, "metadata": {}}
    shown = (await room.call("POST", f"/api/v1/intents/{intent['id']}/failures", json=body)).json()
    assert (shown["agent_id"], shown["attempt_number"], shown["error_code"]) == (OWNER, 1, "TIMEOUT")
    assert shown["retry_scheduled_at"] is not None
    lost = {**body, "recoverable": False}
    shown = (await room.call("POST", f"/api/v1/intents/{intent['id']}/failures", json=lost)).json()
    assert (shown["attempt_number"], shown["retry_scheduled_at"]) == (2, None)


async def test_a_retry_that_the_agent_has_planned_is_kept_as_it_says(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=1)
    at = "2026-03-24T12:34:56+02:00"
    assert (await fail(room, intent, retry_scheduled_at=at))["retry_scheduled_at"] == "2026-03-24T10:34:56Z"
    assert (await fail(room, intent, retry_scheduled_at=at))["retry_scheduled_at"] is None  # exhausted


async def test_without_a_policy_there_is_no_retry_but_the_agents_own(room: World) -> None:
    intent = await room.active_intent()
    assert (await fail(room, intent))["retry_scheduled_at"] is None
    [said] = await logged(room, intent, "failure_recorded")
    assert said["exhausted"] is False


async def test_an_attempt_that_is_not_numbered_is_the_agents_next_in_a_row(room: World) -> None:
    intent = await room.active_intent()
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    numbers = [(await fail(room, intent, role))["attempt_number"] for role in ("agent", "agent", "other_agent")]
    assert numbers == [1, 2, 1]


async def test_a_failure_is_one_line_of_the_log_without_the_agents_words(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    shown = await fail(room, intent, error_message="secret words", metadata={"also": "secret words"})
    [said] = await logged(room, intent, "failure_recorded")
    assert said == {
        "failure_id": shown["id"],
        "task_id": None,
        "agent_id": OWNER,
        "attempt_number": 1,
        "error_code": "TIMEOUT",
        "retry_scheduled_at": shown["retry_scheduled_at"],
        "exhausted": False,
    }
    path = f"/api/v1/intents/{intent['id']}/events"
    seen = [one["event_type"] for one in (await room.call("GET", path)).json()["events"]]
    assert "failure_recorded" in seen and "retry_policy_set" not in seen  # the client knows one of them alone


WRONG: list[tuple[str, Any]] = [
    ("agent_id", ""),
    ("agent_id", 5),
    ("attempt_number", 0),
    ("attempt_number", -1),
    ("attempt_number", 10**12),
    ("attempt_number", "1"),
    ("attempt_number", 1.5),
    ("error_code", ""),
    ("error_code", "x" * 201),
    ("error_code", {"a": 1}),
    ("error_message", "x" * 10_001),
    ("error_message", ["x"]),
    ("retry_scheduled_at", "tomorrow"),
    ("retry_scheduled_at", 5),
    ("retry_scheduled_at", []),
    ("metadata", []),
    ("recoverable", "no"),
    ("task_id", "unknown"),
    ("resolved_at", "2026-03-24T10:00:00Z"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
async def test_a_value_that_can_not_be_is_refused_by_name(room: World, name: str, value: Any) -> None:
    intent = await room.active_intent()
    response = await post_failure(room, intent, **{name: value})
    assert response.status_code == 422, response.text
    assert [one["path"] for one in response.json()["detail"]["fields"]] == [name]
    assert await failures(room, intent) == []


async def test_two_codes_are_one_too_many(room: World) -> None:
    intent = await room.active_intent()
    refused = await post_failure(room, intent, error_code="TIMEOUT", error_type="RATE_LIMIT")
    assert refused.status_code == 422 and refused.json()["detail"]["fields"][0]["path"] == "error_type"
    assert (await post_failure(room, intent, error_code="TIMEOUT", error_type="TIMEOUT")).status_code == 200


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
async def test_the_ends_of_the_calendar_are_times_too(room: World, at: str) -> None:
    intent = await room.active_intent()
    assert (await post_failure(room, intent, retry_scheduled_at=at)).status_code == 200


# --- resolved_at ----------------------------------------------------------------------------------------------------


async def resolve(world: World, intent: dict[str, Any], failure: dict[str, Any], role: str = "agent") -> Any:
    return await world.call("POST", f"/v1/intents/{intent['id']}/failures/{failure['id']}/resolve", role)


async def test_whoever_works_on_the_intent_says_that_a_failure_is_resolved(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=9, failure_threshold=100)
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    theirs = await fail(room, intent, "other_agent")
    first = await fail(room, intent)
    await room.advance(seconds=5)
    second = await fail(room, intent)
    await room.advance(seconds=5)
    third = await fail(room, intent)
    resolved = (await resolve(room, intent, second)).json()
    assert resolved["resolved_at"] == third["occurred_at"] == resolved["resolvedAt"]
    by_id = {one["id"]: one["resolved_at"] for one in await failures(room, intent)}
    assert by_id[first["id"]] == by_id[second["id"]] == resolved["resolved_at"]
    assert by_id[third["id"]] is None and by_id[theirs["id"]] is None
    assert (await fail(room, intent))["attempt_number"] == 2
    await room.advance(seconds=5)
    again = (await resolve(room, intent, second)).json()
    assert again["resolved_at"] == resolved["resolved_at"]
    assert len(await logged(room, intent, "failure_resolved")) == 1


async def test_a_failure_of_another_intent_is_not_found(room: World) -> None:
    intent, other = await room.active_intent(), await room.active_intent()
    failure = await fail(room, other)
    assert (await resolve(room, intent, failure)).status_code == 404
    assert (await resolve(room, other, {"id": "unknown"})).status_code == 404
    assert (await resolve(room, other, failure, "other_agent")).status_code == 404
    assert (await resolve(room, other, failure, "operator")).status_code == 403
    assert (await failures(room, other))[0]["resolved_at"] is None


@pytest.mark.parametrize(("status", "resolved"), [("completed", True), ("abandoned", False), ("blocked", False)])
async def test_an_intent_that_completes_resolves_its_failures(room: World, status: str, resolved: bool) -> None:
    intent = await intent_with(room, strategy="fixed")
    await fail(room, intent)
    await room.advance(seconds=0.5)
    path = f"/v1/intents/{intent['id']}/status"
    assert (await room.call("POST", path, json={"status": status}, headers={"If-Match": "1"})).status_code == 200
    [failure] = await failures(room, intent)
    assert (failure["resolved_at"] is not None) is resolved
    if resolved:
        assert failure["resolved_at"] == room.clock.now().isoformat().replace("+00:00", "Z")


# --- at retry_scheduled_at ------------------------------------------------------------------------------------------

DUE = "intent.retry_due"


async def test_at_its_time_the_log_says_that_a_retry_is_due_and_nothing_more(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", base_delay_ms=30_000)
    failure = await fail(room, intent)
    await room.advance(seconds=29)
    assert await logged(room, intent, DUE) == []
    before = await room.intent({"intent_id": intent["id"]})
    await room.advance(seconds=1)
    assert await logged(room, intent, DUE) == [
        {
            "failure_id": failure["id"],
            "task_id": None,
            "agent_id": OWNER,
            "attempt_number": 2,
            "error_code": "TIMEOUT",
            "retry_scheduled_at": failure["retry_scheduled_at"],
        }
    ]
    await room.advance(minutes=10)
    assert len(await logged(room, intent, DUE)) == 1
    assert await room.intent({"intent_id": intent["id"]}) == before


async def test_a_further_failure_takes_the_place_of_the_retry_that_was_due(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", base_delay_ms=30_000)
    await fail(room, intent)
    await room.advance(seconds=10)
    second = await fail(room, intent)
    await room.advance(minutes=10)
    assert [one["failure_id"] for one in await logged(room, intent, DUE)] == [second["id"]]


async def test_a_takeover_takes_the_place_of_the_retry_that_was_due(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", failure_threshold=2, fallback_agent_id="other-agent")
    await fail(room, intent)
    taken = await fail(room, intent)
    assert (taken["fallback_agent_id"], taken["retry_scheduled_at"]) == ("other-agent", None)
    await room.advance(minutes=10)
    assert await logged(room, intent, DUE) == []


async def test_what_is_resolved_is_not_tried_again(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    await resolve(room, intent, await fail(room, intent))
    await room.advance(minutes=10)
    assert await logged(room, intent, DUE) == []


@pytest.mark.parametrize("status", ["completed", "abandoned"])
async def test_with_the_end_of_the_intent_its_retry_is_gone(room: World, status: str) -> None:
    intent = await intent_with(room, strategy="fixed")
    await fail(room, intent)
    path = f"/v1/intents/{intent['id']}/status"
    await room.call("POST", path, json={"status": status}, headers={"If-Match": "1"})
    await room.advance(minutes=10)
    assert await logged(room, intent, DUE) == []


async def test_while_the_intent_waits_for_an_answer_so_does_its_retry(room: World) -> None:
    asked = await room.ask()
    intent = {"id": asked["intent_id"]}
    await room.call("PUT", f"/v1/intents/{intent['id']}/retry-policy", json={"strategy": "fixed"})
    await fail(room, intent)
    await room.advance(minutes=10)
    assert await logged(room, intent, DUE) == []
    await room.answer(asked, "approve")
    await room.advance(seconds=30)
    assert len(await logged(room, intent, DUE)) == 1
