"""RFC-0025 §4: what kinds of input there are, and which choices belong to them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

YES_NO = [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]


async def refused(world: World, **fields: Any) -> dict[str, Any]:
    """The details of the 422 about these fields."""
    body = {"question": "May this be asked?", **fields}
    response = await world.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422, response.text
    detail: dict[str, Any] = response.json()["detail"]
    found = await world.call("GET", "/v1/suspensions", "admin", params={"q": "May this be asked?"})
    assert found.json()["items"] == []
    return detail


async def test_a_question_without_a_response_type_is_a_choice(room: World) -> None:
    response = await room.call("POST", "/v1/suspensions", json={"question": "Which?", "choices": YES_NO})
    assert response.status_code == 201
    assert response.json()["suspension"]["response_type"] == "choice"


@pytest.mark.parametrize("choices", [[], None])
@pytest.mark.parametrize("response_type", ["choice", None])
async def test_a_choice_needs_at_least_one_choice(room: World, response_type: str | None, choices: Any) -> None:
    await refused(room, response_type=response_type, choices=choices)


async def test_one_choice_is_enough(room: World) -> None:
    asked = await room.ask(choices=[{"value": "seen", "label": "I have seen it"}])
    assert (await room.answer(asked, "seen")).status_code == 200


async def test_a_plain_string_is_value_and_label_at_once(room: World) -> None:
    """API.md §2; beside a choice that says more."""
    asked = await room.ask(choices=["approve", {"value": "deny", "label": "Deny refund"}])
    shown = [{"value": "approve", "label": "approve"}, {"value": "deny", "label": "Deny refund"}]
    assert asked["suspension"]["choices"] == shown
    assert (await room.answer(asked, "approve")).status_code == 200


async def test_two_plain_strings_that_are_the_same_are_refused(room: World) -> None:
    await refused(room, choices=["approve", "approve"])


@pytest.mark.parametrize("choices", [[], None])
async def test_a_confirmation_without_choices_offers_yes_and_no(room: World, choices: Any) -> None:
    asked = await room.ask("Deploy?", response_type="confirm", choices=choices)
    assert asked["suspension"]["choices"] == YES_NO


async def test_a_confirmation_may_word_its_yes_and_no(room: World) -> None:
    choices = [{"value": "no", "label": "Hold", "style": "danger"}, {"value": "yes", "label": "Ship it"}]
    asked = await room.ask("Deploy?", response_type="confirm", choices=choices)
    assert [choice["label"] for choice in asked["suspension"]["choices"]] == ["Hold", "Ship it"]


@pytest.mark.parametrize("values", [["yes", "no", "maybe"], ["ja", "nein"], ["Yes", "No"]])
async def test_a_confirmation_offers_nothing_but_yes_and_no(room: World, values: list[str]) -> None:
    await refused(room, response_type="confirm", choices=[{"value": one, "label": one} for one in values])


async def test_two_choices_of_the_same_value_are_refused(room: World) -> None:
    await refused(room, choices=[{"value": "a", "label": "One"}, {"value": "a", "label": "Other"}])


@pytest.mark.parametrize(
    "choice",
    [
        {"label": "No value"},
        {"value": "no-label"},
        {"value": "", "label": "Empty value"},
        {"value": "a", "label": ""},
        {"value": 1, "label": "A number"},
        {"value": "a", "label": "A", "style": "loud"},
        {"value": "a", "label": "A", "metadata": "none"},
        {"value": "a", "label": "A", "description": 5},
        {"value": "a", "label": "A", "colour": "red"},
        "",
        " ",
        "x" * 1001,
        None,
    ],
)
async def test_a_choice_has_a_value_and_a_label_and_nothing_unknown(room: World, choice: Any) -> None:
    detail = await refused(room, choices=[choice])
    assert detail["fields"][0]["path"].startswith("choices.0")


@pytest.mark.parametrize("style", ["primary", "danger", "default", None])
async def test_every_style_of_the_rfc_is_kept(room: World, style: str | None) -> None:
    asked = await room.ask(choices=[{"value": "a", "label": "A", "style": style}])
    assert asked["suspension"]["choices"][0].get("style") == style


async def test_what_an_agent_attaches_to_a_choice_is_kept(room: World) -> None:
    metadata = {"sku": "X-1", "nested": {"a": [1, 2.5, None, True]}}
    choice = {"value": "a", "label": "A", "description": "Longer", "style": "default", "metadata": metadata}
    asked = await room.ask(choices=[choice])
    assert (await room.show(asked))["choices"] == [choice]


@pytest.mark.parametrize("response_type", ["number", "CHOICE", "", 1, ["choice"], True])
async def test_there_are_no_other_response_types(room: World, response_type: Any) -> None:
    detail = await refused(room, response_type=response_type, choices=YES_NO)
    assert detail["fields"][0]["path"] == "response_type"


@pytest.mark.parametrize("response_type", ["text", "form"])
async def test_free_input_needs_no_choices(room: World, response_type: str) -> None:
    asked = await room.ask("What shall we do?", response_type=response_type)
    assert asked["suspension"]["choices"] == []


@pytest.mark.parametrize("question", ["", "   ", None, 5, ["Refund?"]])
async def test_a_question_is_a_text_that_is_not_empty(room: World, question: Any) -> None:
    body = {"question": question, "response_type": "confirm"}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "question"
