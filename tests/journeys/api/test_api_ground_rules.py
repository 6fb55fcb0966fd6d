"""The ground rules of API.md §1: keys, prefixes, instants, durations, and what null means."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Deploy?", "response_type": "confirm"}
UNKNOWN = "3f0c1b1e-0000-4000-8000-000000000000"
READS = ["/suspensions", f"/suspensions/{UNKNOWN}", "/intents", f"/intents/{UNKNOWN}", "/callbacks", "/events/stream"]


# --- keys and roles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}, {"Authorization": "Bearer agent-key-1"}])
async def test_every_request_needs_a_known_key(room: World, prefix: str, headers: dict[str, str]) -> None:
    for path in READS:
        response = await room.call("GET", prefix + path, None, headers=headers)
        assert (response.status_code, response.json()["detail"]["error"]) == (401, "unauthorized"), path
    response = await room.call("POST", prefix + "/suspensions", None, content=b"no json", headers=headers)
    assert response.status_code == 401


async def test_health_and_the_schema_need_no_key(room: World) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert (await room.call("GET", path, None)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/suspensions", QUESTION),
        ("POST", "/v1/suspensions/preview", QUESTION),
        ("POST", f"/v1/intents/{UNKNOWN}/suspend", QUESTION),
        ("POST", "/v1/intents", {"title": "x"}),
    ],
)
async def test_an_operator_does_not_ask(room: World, method: str, path: str, body: Any) -> None:
    response = await room.call(method, path, "operator", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/v1/intents/{UNKNOWN}/suspend/respond", {"suspension_id": UNKNOWN, "value": "yes"}),
        ("/v1/signals/any", {"value": "yes"}),
        (f"/v1/suspensions/{UNKNOWN}/claim", {}),
    ],
)
async def test_an_agent_neither_answers_nor_claims(room: World, path: str, body: Any) -> None:
    response = await room.call("POST", path, "agent", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")


# --- one router under two prefixes ------------------------------------------------------------------------------------


async def test_one_suspension_is_the_same_under_both_prefixes(room: World) -> None:
    response = await room.call("POST", "/api/v1/suspensions", json=QUESTION)
    assert response.status_code == 201
    asked = response.json()
    path = f"/suspensions/{asked['suspension_id']}"
    assert (await room.call("GET", "/v1" + path)).json() == (await room.call("GET", "/api/v1" + path)).json()
    answer = {"suspension_id": asked["suspension_id"], "value": "yes"}
    path = f"/api/v1/intents/{asked['intent_id']}/suspend/respond"
    assert (await room.call("POST", path, "operator", json=answer)).status_code == 200
    assert (await room.show(asked))["response"] == "yes"


async def test_every_path_is_served_under_both_prefixes(room: World) -> None:
    paths = (await room.call("GET", "/openapi.json", None)).json()["paths"]
    ours = {path.removeprefix("/v1") for path in paths if path.startswith("/v1/")}
    theirs = {path.removeprefix("/api/v1") for path in paths if path.startswith("/api/v1/")}
    assert ours == theirs
    assert len(ours) > 20


# --- instants ---------------------------------------------------------------------------------------------------------


def instants(value: Any, name: str = "") -> list[str]:
    """Every value of a field that is called an instant, however deep."""
    if isinstance(value, dict):
        return [one for key, inner in value.items() for one in instants(inner, key)]
    if isinstance(value, list):
        return [one for inner in value for one in instants(inner, name)]
    return [value] if name.endswith("_at") and value is not None else []


async def test_every_instant_is_utc_and_says_so(room: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 60}
    asked = await room.ask(timeout_seconds=60, retry_policy=policy)
    await room.answer(asked, "approve")
    told = await room.told(asked)
    found = instants([asked, await room.show(asked), await room.intent(asked), await room.events(asked), told])
    assert len(found) > 10
    for instant in found:
        assert instant.endswith("Z")
        assert datetime.fromisoformat(instant).tzinfo is not None


async def test_an_instant_without_a_zone_is_read_as_utc(room: World) -> None:
    asked = await room.ask(timeout_seconds=10)
    middle = asked["suspended_at"]
    await room.advance(seconds=10)
    path = f"/v1/intents/{asked['intent_id']}/events"
    naive, aware = middle.removesuffix("Z"), middle
    east = middle.replace("10:", "12:", 1).replace("Z", "+02:00")
    answers = [(await room.call("GET", path, params={"since": at})).json() for at in (naive, aware, east)]
    assert answers[0] == answers[1] == answers[2]
    assert [event["event_type"] for event in answers[0]["events"]][-1] == "intent.suspension_expired"


# --- durations --------------------------------------------------------------------------------------------------------

WRONG_DURATIONS = [0, -1, 31_536_001, 10**30, True, False, 60.0, 59.5, "60", "1h", [60], {"seconds": 60}]


@pytest.mark.parametrize("seconds", WRONG_DURATIONS)
async def test_a_timeout_is_a_whole_number_of_seconds_up_to_a_year(room: World, seconds: Any) -> None:
    response = await room.call("POST", "/v1/suspensions", json={**QUESTION, "timeout_seconds": seconds})
    assert response.status_code == 422
    assert [field["path"] for field in response.json()["detail"]["fields"]] == ["timeout_seconds"]


@pytest.mark.parametrize("seconds", WRONG_DURATIONS)
async def test_an_interval_is_a_whole_number_of_seconds_up_to_a_year(room: World, seconds: Any) -> None:
    policy = {"max_attempts": 2, "interval_seconds": seconds}
    response = await room.call("POST", "/v1/suspensions", json={**QUESTION, "retry_policy": policy})
    assert response.status_code == 422
    assert [field["path"] for field in response.json()["detail"]["fields"]] == ["retry_policy.interval_seconds"]


@pytest.mark.parametrize("seconds", [1, 31_536_000])
async def test_a_second_and_a_year_are_durations(room: World, seconds: int) -> None:
    body = {**QUESTION, "timeout_seconds": seconds}
    assert (await room.call("POST", "/v1/suspensions/preview", json=body)).status_code == 200


async def test_fifty_yearly_attempts_have_an_end_that_can_be_written(room: World) -> None:
    policy = {"max_attempts": 50, "interval_seconds": 31_536_000}
    response = await room.call("POST", "/v1/suspensions/preview", json={**QUESTION, "retry_policy": policy})
    assert (response.status_code, response.json()["expires_at"][:4]) == (200, "2076")


# --- null -------------------------------------------------------------------------------------------------------------


def optional(room_schema: dict[str, Any], name: str) -> list[str]:
    schema = room_schema["components"]["schemas"][name]
    schema = next((one for one in schema.get("anyOf", ()) if "properties" in one), schema)
    return [field for field in schema["properties"] if field not in schema.get("required", [])]


async def test_null_means_absent_for_every_optional_field_of_a_question(room: World) -> None:
    schema = (await room.call("GET", "/openapi.json", None)).json()
    names = optional(schema, "SuspendBody")
    assert {"context", "notify_to", "retry_policy", "resume", "kind", "fallback_value", "timeout_seconds"} <= set(names)
    bare = {**QUESTION, "timeout_seconds": 60}
    plain = (await room.call("POST", "/v1/suspensions/preview", json=bare)).json()
    for name in names:
        if name in bare:
            continue
        response = await room.call("POST", "/v1/suspensions/preview", json={**bare, name: None})
        assert response.status_code == 200, name
        assert response.json()["policy"] == plain["policy"]
    everything = dict.fromkeys(names) | QUESTION
    response = await room.call("POST", "/v1/suspensions", json=everything)
    assert response.status_code == 201
    record = response.json()["suspension"]
    assert (record["context"], record["expires_at"], record["kind"]) == ({}, None, "input")


async def test_null_means_absent_inside_the_objects_of_a_question(room: World) -> None:
    schema = (await room.call("GET", "/openapi.json", None)).json()
    body = {
        "question": "Which?",
        "choices": [{"value": "a", "label": "A"} | dict.fromkeys(optional(schema, "ChoiceBody"))],
        "resume": dict.fromkeys(optional(schema, "ResumeBody")),
        "retry_policy": dict.fromkeys(optional(schema, "RetryPolicyFields")),
    }
    assert (await room.call("POST", "/v1/suspensions", json=body)).status_code == 201


async def test_null_means_absent_in_an_answer(room: World) -> None:
    asked = await room.ask()
    response = await room.answer(asked, "approve", responded_by=None, metadata=None)
    assert (response.status_code, response.json()["responded_by"]) == (200, "alice@example.com")
    assert (await room.told(asked))["data"]["metadata"] == {}


async def test_null_means_absent_in_cancellations_claims_sessions_and_intents(room: World) -> None:
    asked, other = await room.ask(), await room.ask()
    path = f"/v1/suspensions/{asked['suspension_id']}"
    assert (await room.call("POST", path + "/claim", "operator", json={"seconds": None})).status_code == 200
    assert (await room.call("POST", path + "/cancel", json={"reason": None})).status_code == 200
    session = {"callback_url": None, "metadata": None}
    assert (await room.call("PUT", "/v1/sessions/sess-null", json=session)).status_code == 200
    schema = (await room.call("GET", "/openapi.json", None)).json()
    intent = {"title": "t"} | dict.fromkeys(optional(schema, "IntentBody"))
    assert (await room.call("POST", "/v1/intents", json=intent)).status_code == 201
    assert (await room.show(other))["status"] == "open"
