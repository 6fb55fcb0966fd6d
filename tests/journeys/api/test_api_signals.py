"""Signals and payload schemas (API.md §5): an answer by the id that the agent registered, in the shape it wants."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

AMOUNT = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "required": ["amount"],
    "additionalProperties": False,
}


async def signal(
    world: World, signal_id: str, value: Any, role: str | None = "operator", **more: Any
) -> httpx.Response:
    return await world.call("POST", f"/v1/signals/{signal_id}", role, json={"value": value, **more})


def is_refused(response: httpx.Response, status: int, code: str) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (status, code), response.text


async def test_a_signal_answers_the_suspension_that_registered_it(room: World) -> None:
    asked = await room.ask(resume={"signal_id": "refund-1", "signal_metadata": {"kind": "refund"}})
    assert asked["descriptor"] == {"signal_id": "refund-1", "metadata": {"kind": "refund"}}
    response = await signal(room, "refund-1", "approve", metadata={"reason": "fine"})
    assert response.status_code == 200
    assert (response.json()["suspension_id"], response.json()["value"]) == (asked["suspension_id"], "approve")
    told = (await room.told(asked))["data"]
    assert (told["signal_id"], told["value"], told["reason"]) == ("refund-1", "approve", "fine")
    assert told["responded_by"] == "alice@example.com"


async def test_a_signal_that_nobody_waits_for_is_404(room: World) -> None:
    is_refused(await signal(room, "never-registered", "approve"), 404, "harness_signal_correlation_failed")


async def test_a_signal_to_what_has_ended_is_409(room: World) -> None:
    answered = await room.ask(resume={"signal_id": "ended-1"})
    await room.answer(answered, "approve")
    is_refused(await signal(room, "ended-1", "approve"), 409, "already_answered")
    await room.ask(resume={"signal_id": "ended-2"}, timeout_seconds=60)
    await room.advance(seconds=60)
    is_refused(await signal(room, "ended-2", "approve"), 409, "suspension_ended")


async def test_a_signal_reaches_the_open_one_of_those_that_had_the_id(room: World) -> None:
    first = await room.ask(resume={"signal_id": "again"})
    await room.answer(first, "deny")
    second = await room.ask(resume={"signal_id": "again"})
    response = await signal(room, "again", "approve")
    assert (response.status_code, response.json()["suspension_id"]) == (200, second["suspension_id"])


@pytest.mark.parametrize(("role", "status"), [(None, 401), ("agent", 403), ("other_agent", 403)])
async def test_a_signal_is_an_operators(room: World, role: str | None, status: int) -> None:
    assert (await signal(room, "never-registered", "approve", role)).status_code == status


async def test_a_signal_is_checked_like_any_answer(room: World) -> None:
    asked = await room.ask(resume={"signal_id": "checked"}, responders=["alice@example.com"])
    is_refused(await signal(room, "checked", "approve", "second_operator"), 403, "not_a_responder")
    is_refused(await signal(room, "checked", "maybe"), 422, "invalid_choice")
    assert (await room.show(asked))["status"] == "open"


# --- Several keys with one id -----------------------------------------------------------------------------------------


async def asked_by(world: World, role: str, signal_id: str) -> dict[str, Any]:
    body = {"question": "Refund?", "response_type": "confirm", "resume": {"signal_id": signal_id}}
    response = await world.call("POST", "/v1/suspensions", role, json=body)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def test_another_key_neither_occupies_an_id_nor_learns_of_it(room: World) -> None:
    """The same as for an id that nobody has: no 409, and nothing to tell one from the other."""
    await asked_by(room, "other_agent", "theirs")
    await asked_by(room, "agent", "theirs")
    body = {"question": "Refund?", "response_type": "confirm", "resume": {"signal_id": "theirs"}}
    is_refused(await room.call("POST", "/v1/suspensions", json=body), 409, "signal_id_in_use")


async def test_a_signal_with_a_creator_never_reaches_another_keys_question(room: World) -> None:
    caught = await asked_by(room, "other_agent", "mine")
    is_refused(await signal(room, "mine", "yes", creator="refund-agent"), 404, "harness_signal_correlation_failed")
    mine = await asked_by(room, "agent", "mine")
    response = await signal(room, "mine", "yes", creator="refund-agent")
    assert (response.status_code, response.json()["suspension_id"]) == (200, mine["suspension_id"])
    is_refused(await signal(room, "mine", "yes", creator="refund-agent"), 409, "already_answered")
    assert (await room.show(caught))["status"] == "open"


async def test_a_signal_that_could_mean_two_says_whose_they_are(room: World) -> None:
    for role in ("agent", "other_agent"):
        await asked_by(room, role, "both")
    refused = await signal(room, "both", "yes")
    is_refused(refused, 409, "signal_id_ambiguous")
    assert refused.json()["detail"]["creators"] == ["other-agent", "refund-agent"]
    is_refused(await signal(room, "both", "yes", creator="nobody"), 404, "harness_signal_correlation_failed")
    assert (await signal(room, "both", "yes", creator="other-agent")).status_code == 200
    assert (await signal(room, "both", "yes")).status_code == 200, "one is open, and it is that one"


# --- payload_schema and form_schema -----------------------------------------------------------------------------------


async def test_a_form_must_fit_the_payload_schema(room: World) -> None:
    asked = await room.ask(response_type="form", resume={"payload_schema": AMOUNT})
    for wrong in ({"amount": 0}, {"amount": "5"}, {"note": "x"}, {"amount": 5, "more": 1}):
        is_refused(await room.answer(asked, wrong), 422, "suspension_resume_payload_invalid")
    assert (await room.show(asked))["status"] == "open"
    assert (await room.answer(asked, {"amount": 5})).status_code == 200
    assert (await room.told(asked))["data"]["signal_payload"] == {"amount": 5}


async def test_any_other_answer_must_fit_it_as_response_and_reason(room: World) -> None:
    schema = {
        "type": "object",
        "properties": {"response": {"const": "approve"}, "reason": {"type": "string", "minLength": 3}},
        "required": ["response", "reason"],
    }
    asked = await room.ask(resume={"payload_schema": schema, "signal_id": "with-schema"})
    is_refused(await room.answer(asked, "approve"), 422, "suspension_resume_payload_invalid")
    is_refused(await room.answer(asked, "deny", metadata={"reason": "fine"}), 422, "suspension_resume_payload_invalid")
    is_refused(await signal(room, "with-schema", "approve"), 422, "suspension_resume_payload_invalid")
    assert (await room.show(asked))["status"] == "open"
    assert (await room.answer(asked, "approve", metadata={"reason": "fine"})).status_code == 200


async def test_a_value_that_is_no_choice_is_told_before_the_payload_is_looked_at(room: World) -> None:
    asked = await room.ask(resume={"payload_schema": AMOUNT})
    is_refused(await room.answer(asked, "maybe"), 422, "invalid_choice")


async def test_a_form_is_validated_where_the_agent_gave_a_schema(room: World) -> None:
    asked = await room.ask(response_type="form", form_schema=AMOUNT)
    for wrong in ({"amount": 0}, {"amount": 1.5}, {"note": "x"}, {"amount": 5, "more": 1}, "amount", None, [5]):
        response = await room.answer(asked, wrong)
        assert response.status_code == 422, wrong
    assert (await room.answer(asked, {"amount": 5, "note": "x"})).status_code == 200


async def test_a_form_without_a_schema_is_not_validated(room: World) -> None:
    asked = await room.ask(response_type="form", context={"amount": 0})
    assert (await room.answer(asked, {"unasked": [1, {"a": None}]})).status_code == 200


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/schema.json"}}},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    ],
)
async def test_a_form_schema_that_can_not_be_used_is_refused(room: World, schema: dict[str, Any]) -> None:
    body = {"question": "Never asked?", "response_type": "form", "form_schema": schema}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422, response.text
