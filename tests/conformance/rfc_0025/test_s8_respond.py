"""RFC-0025 §8: ``POST /intents/{id}/suspend/respond``, a test for each row of its tables."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN = "3f0c1b1e-0000-4000-8000-000000000000"
CHOICES = [
    {
        "value": "approve",
        "label": "Approve refund",
        "description": "Issue full refund to original payment method",
        "style": "primary",
        "metadata": {"limit": 500},
    },
    {"value": "deny", "label": "Deny refund", "style": "danger"},
]


async def refuse(world: World, asked: dict[str, Any], value: Any, status: int, code: str) -> dict[str, Any]:
    """The refused answer's body; the question is as open as before."""
    response = await world.answer(asked, value)
    body: dict[str, Any] = response.json()
    assert (response.status_code, body["detail"]["error"]) == (status, code)
    assert body["detail"]["message"]
    shown = await world.show(asked)
    assert (shown["status"], shown["response"], shown["responded_by"]) == ("open", None, None)
    return body


# --- Success ----------------------------------------------------------------------------------------------------------


async def test_choosing_returns_the_answer_with_the_label_and_description_of_the_choice(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    response = await room.answer(asked, "approve", responded_by="alice@example.com", metadata={})
    assert response.status_code == 200
    body = response.json()
    assert (
        body
        | {
            "intent_id": asked["intent_id"],
            "suspension_id": asked["suspension_id"],
            "resolution": "responded",
            "value": "approve",
            "choice_label": "Approve refund",
            "choice_description": "Issue full refund to original payment method",
            "responded_by": "alice@example.com",
            "responded_at": "2026-03-24T10:00:00Z",
        }
        == body
    )


async def test_a_choice_without_a_description_has_none_in_the_answer(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    body = (await room.answer(asked, "deny")).json()
    assert (body["choice_label"], body.get("choice_description")) == ("Deny refund", None)


@pytest.mark.parametrize(("value", "label"), [("yes", "Yes"), ("no", "No")])
async def test_confirming_returns_the_label_of_the_assumed_choice(room: World, value: str, label: str) -> None:
    asked = await room.ask("Deploy to production?", response_type="confirm")
    response = await room.answer(asked, value)
    assert response.status_code == 200
    assert (response.json()["value"], response.json()["choice_label"]) == (value, label)


async def test_confirming_returns_the_label_that_the_agent_gave(room: World) -> None:
    choices = [{"value": "yes", "label": "Ship it"}, {"value": "no", "label": "Hold"}]
    asked = await room.ask("Deploy?", response_type="confirm", choices=choices)
    assert (await room.answer(asked, "yes")).json()["choice_label"] == "Ship it"


async def test_any_text_that_is_not_empty_is_an_answer(room: World) -> None:
    asked = await room.ask("What shall we write?", response_type="text")
    response = await room.answer(asked, "Dear Sir,\n„ça va“ 👍")
    assert response.status_code == 200
    assert response.json()["value"] == "Dear Sir,\n„ça va“ 👍"
    assert response.json().get("choice_label") is None


@pytest.mark.parametrize("value", [{"reason": "goodwill", "amount": 12.5, "tags": ["a"]}, {"unasked": None}])
async def test_a_form_is_passed_through_as_it_is(room: World, value: dict[str, Any]) -> None:
    asked = await room.ask("Fill in, please", response_type="form", context={"reason": "", "amount": 0})
    response = await room.answer(asked, value)
    assert response.status_code == 200
    assert response.json()["value"] == value
    assert (await room.show(asked))["response"] == value


async def test_the_answer_is_on_the_record(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    body = (await room.answer(asked, "approve")).json()
    shown = await room.show(asked)
    assert (shown["status"], shown["resolution"], shown["response"]) == ("responded", "responded", "approve")
    assert (shown["responded_by"], shown["responded_at"]) == ("alice@example.com", body["responded_at"])


# --- 401 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": ""}, {"X-API-Key": "wrong"}, {"Authorization": "alice-key"}])
async def test_without_a_known_api_key_nobody_answers(room: World, headers: dict[str, str]) -> None:
    asked = await room.ask(choices=CHOICES)
    body = {"suspension_id": asked["suspension_id"], "value": "approve"}
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    response = await room.call("POST", path, None, json=body, headers=headers)
    assert (response.status_code, response.json()["detail"]["error"]) == (401, "unauthorized")
    assert (await room.show(asked))["status"] == "open"


# --- 404 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent_id", [UNKNOWN, "no-uuid", "0"])
async def test_an_unknown_intent_is_404(room: World, intent_id: str) -> None:
    body = {"suspension_id": UNKNOWN, "value": "approve"}
    response = await room.call("POST", f"/v1/intents/{intent_id}/suspend/respond", "operator", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")


# --- 409 --------------------------------------------------------------------------------------------------------------


async def test_an_intent_that_does_not_wait_is_409(room: World) -> None:
    intent = await room.active_intent()
    body = {"suspension_id": UNKNOWN, "value": "approve"}
    response = await room.call("POST", f"/v1/intents/{intent['id']}/suspend/respond", "operator", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "not_suspended")


async def test_an_intent_that_no_longer_waits_is_409_to_an_id_that_was_never_its_own(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    await room.answer(asked, "approve")
    response = await room.answer({**asked, "suspension_id": UNKNOWN}, "deny")
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "not_suspended")
    assert asked["suspension_id"] not in response.text


@pytest.mark.parametrize("given", [UNKNOWN, "almost", "another question's"])
async def test_another_suspension_id_is_409_and_the_right_one_is_not_disclosed(room: World, given: str) -> None:
    asked, other = await room.ask(choices=CHOICES), await room.ask(choices=CHOICES)
    wrong = {
        "almost": asked["suspension_id"].upper() + " ",
        "another question's": other["suspension_id"],
    }.get(given, given)
    response = await room.answer({**asked, "suspension_id": wrong}, "approve")
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "suspension_mismatch")
    assert asked["suspension_id"] not in response.text + str(response.headers)
    assert (await room.show(asked))["status"] == "open"
    assert (await room.show(other))["status"] == "open"


# --- 422 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"suspension_id": ""}, {"suspension_id": None}])
async def test_a_missing_or_empty_suspension_id_is_422(room: World, body: dict[str, Any]) -> None:
    asked = await room.ask(choices=CHOICES)
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    response = await room.call("POST", path, "operator", json={"value": "approve", **body})
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "suspension_id_required")
    assert asked["suspension_id"] not in response.text
    assert (await room.show(asked))["status"] == "open"


@pytest.mark.parametrize("value", ["maybe", "Approve", "approve ", "", None, 1, True, ["approve"], {"value": "deny"}])
async def test_a_value_that_is_no_choice_is_422_with_the_valid_choices_in_both_places(room: World, value: Any) -> None:
    asked = await room.ask(choices=CHOICES)
    body = await refuse(room, asked, value, 422, "invalid_choice")
    assert body["valid_choices"] == ["approve", "deny"]
    assert [choice["value"] for choice in body["detail"]["valid_choices"]] == ["approve", "deny"]
    assert body["detail"]["valid_choices"][0] == CHOICES[0]


@pytest.mark.parametrize("value", ["maybe", "YES", "y", "true", True, False, None, 1])
async def test_a_confirmation_is_yes_or_no_even_where_no_choices_were_given(room: World, value: Any) -> None:
    asked = await room.ask("Deploy?", response_type="confirm")
    body = await refuse(room, asked, value, 422, "invalid_choice")
    assert body["valid_choices"] == ["yes", "no"]
    assert [choice["label"] for choice in body["detail"]["valid_choices"]] == ["Yes", "No"]


@pytest.mark.parametrize("value", ["", "  \n\t", None, 5, True, ["text"], {"text": "x"}, "x" * 40_001])
async def test_a_text_that_is_empty_or_no_text_is_422(room: World, value: Any) -> None:
    asked = await room.ask("What shall we write?", response_type="text")
    response = await room.answer(asked, value)
    assert response.status_code == 422
    assert response.json()["detail"]["message"]
    assert (await room.show(asked))["status"] == "open"


async def test_a_text_of_forty_thousand_characters_is_an_answer(room: World) -> None:
    asked = await room.ask("What shall we write?", response_type="text")
    assert (await room.answer(asked, "x" * 40_000)).status_code == 200


async def test_after_a_refused_value_a_right_one_is_accepted(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    await refuse(room, asked, "maybe", 422, "invalid_choice")
    assert (await room.answer(asked, "deny")).status_code == 200
