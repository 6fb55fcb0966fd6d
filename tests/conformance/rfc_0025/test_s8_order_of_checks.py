"""The order in which an answer is checked (API.md §4): with several things wrong at once, the earliest is told."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN = "3f0c1b1e-0000-4000-8000-000000000000"

ORDER = {
    "no key": (401, "unauthorized"),
    "no json": (400, "malformed_json"),
    "an agent's key": (403, "forbidden"),
    "unknown intent": (404, "not_found"),
    "a wrong field": (422, "invalid_request"),
    "no suspension id": (422, "suspension_id_required"),
    "not open": (409, "not_suspended"),
    "another id": (409, "suspension_mismatch"),
    "another's name": (403, "identity_mismatch"),
    "not a responder": (403, "not_a_responder"),
    "no choice": (422, "invalid_choice"),
}
"""Everything that can be wrong with an answer, in the order of the contract, and what is said then."""

NOT_TOGETHER = [
    {"no key", "an agent's key"},
    {"no key", "not a responder"},
    {"an agent's key", "not a responder"},
    {"no json", "a wrong field"},
    {"no json", "no suspension id"},
    {"no json", "another id"},
    {"no json", "another's name"},
    {"no json", "no choice"},
    {"no suspension id", "another id"},
    {"not open", "another id"},
    {"unknown intent", "not open"},
    {"another's name", "not a responder"},
]


def pairs() -> list[tuple[str, str]]:
    return [pair for pair in itertools.combinations(ORDER, 2) if set(pair) not in NOT_TOGETHER]


async def give(world: World, wrong: set[str]) -> tuple[int, str, dict[str, Any]]:
    """Answer a question of Alice's with all of ``wrong`` the matter; the status, the code, and the question."""
    asked = await world.ask(responders=["alice@example.com"])
    role: str | None = "operator"
    body: dict[str, Any] = {"suspension_id": asked["suspension_id"], "value": "approve"}
    intent_id = UNKNOWN if "unknown intent" in wrong else asked["intent_id"]
    if "no key" in wrong:
        role = None
    if "an agent's key" in wrong:
        role = "agent"
    if "no suspension id" in wrong:
        del body["suspension_id"]
    if "not open" in wrong:
        await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
        body["suspension_id"] = UNKNOWN if "no suspension id" not in wrong else ""
    if "another id" in wrong:
        body["suspension_id"] = UNKNOWN
    if "another's name" in wrong:
        body["responded_by"] = "bob@example.com"
    if "not a responder" in wrong:
        role = "second_operator"
    if "a wrong field" in wrong:
        body["metadata"] = "none"
    if "no choice" in wrong:
        body["value"] = "maybe"
    content = "{not json" if "no json" in wrong else json.dumps(body)
    path = f"/v1/intents/{intent_id}/suspend/respond"
    headers = {"Content-Type": "application/json"}
    response = await world.call("POST", path, role, content=content, headers=headers)
    return response.status_code, response.json()["detail"]["error"], asked


@pytest.mark.parametrize("only", ORDER)
async def test_each_thing_that_can_be_wrong_has_its_own_answer(room: World, only: str) -> None:
    status, code, asked = await give(room, {only})
    assert (status, code) == ORDER[only]
    assert (await room.show(asked))["response"] is None


@pytest.mark.parametrize(("earlier", "later"), pairs())
async def test_of_two_things_wrong_the_earlier_one_is_told(room: World, earlier: str, later: str) -> None:
    status, code, asked = await give(room, {earlier, later})
    assert (status, code) == ORDER[earlier]
    assert (await room.show(asked))["response"] is None


async def test_the_key_that_asked_is_told_so_before_its_value_is_looked_at(room: World) -> None:
    asked = await room.ask(responders=["alice@example.com"])
    response = await room.call(
        "POST",
        f"/v1/intents/{asked['intent_id']}/suspend/respond",
        "agent",
        json={"suspension_id": asked["suspension_id"], "value": "maybe"},
    )
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")


@pytest.mark.parametrize(("wrong", "expected"), [("role", 403), ("intent", 404), ("key", 401)])
async def test_fields_of_the_wrong_type_are_told_after_key_role_and_intent(
    room: World, wrong: str, expected: int
) -> None:
    asked = await room.ask()
    role = {"role": "agent", "key": None}.get(wrong, "operator")
    intent_id = UNKNOWN if wrong == "intent" else asked["intent_id"]
    body = {"suspension_id": asked["suspension_id"], "value": "approve", "metadata": "no object"}
    response = await room.call("POST", f"/v1/intents/{intent_id}/suspend/respond", role, json=body)
    assert response.status_code == expected


@pytest.mark.parametrize("role", [None, "agent", "operator"])
async def test_a_body_above_one_mebibyte_is_told_before_anything_else(room: World, role: str | None) -> None:
    path = f"/v1/intents/{UNKNOWN}/suspend/respond"
    response = await room.call("POST", path, role, content=b"{" + b" " * 1024 * 1024)
    assert (response.status_code, response.json()["detail"]["error"]) == (413, "too_large")
