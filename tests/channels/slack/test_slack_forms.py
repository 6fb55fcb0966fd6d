"""A form in a Slack modal: an input for each field, and back as the values the agent asked for."""

from __future__ import annotations

from typing import Any

import pytest

from channels.slack import forms
from channels.slack import forms as inputs
from channels.slack.modals import answer_modal, error_block
from core.domain.suspension import ResponseType
from tests.channels.slack.slack_examples import a_notice
from tests.vendors.slack_blocks import check_view

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "amount"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on the badge", "maxLength": 40},
        "story": {"type": "string", "maxLength": 2000},
        "notes": {"type": "string", "format": "textarea"},
        "amount": {"type": "number", "minimum": 0.5, "maximum": 100},
        "count": {"type": ["integer", "null"]},
        "urgent": {"type": "boolean"},
        "colour": {"enum": ["red", 7, None]},
        "day": {"type": "string", "format": "date"},
    },
}


def sign(data: bytes) -> str:
    return "00"


def form() -> tuple[forms.Field, ...]:
    found = forms.fields(SCHEMA, {})
    assert found is not None
    return found


def test_each_kind_of_field_gets_the_input_that_fits_it() -> None:
    blocks = [inputs.input_block(number, field) for number, field in enumerate(form())]
    kinds = [block["element"]["type"] for block in blocks]
    assert kinds == [
        "plain_text_input",
        "plain_text_input",
        "plain_text_input",
        "number_input",
        "number_input",
        "static_select",
        "static_select",
        "datepicker",
    ]
    assert [block["element"].get("multiline") for block in blocks[:3]] == [False, True, True]
    assert blocks[0]["label"]["text"] == "Your name"
    assert blocks[0]["hint"]["text"] == "As on the badge"
    assert blocks[0]["element"]["max_length"] == 40
    assert [block["optional"] for block in blocks] == [False, True, True, False, True, True, True, True]
    assert (blocks[3]["element"]["min_value"], blocks[3]["element"]["max_value"]) == ("0.5", "100")
    assert (blocks[3]["element"]["is_decimal_allowed"], blocks[4]["element"]["is_decimal_allowed"]) == (True, False)
    assert [option["text"]["text"] for option in blocks[5]["element"]["options"]] == ["Yes", "No"]
    assert [option["text"]["text"] for option in blocks[6]["element"]["options"]] == ["red", "7", "—"]


@pytest.mark.parametrize(("most", "picked"), [(10**30, 2), (1, 1), (0, 1)])
def test_no_more_can_be_picked_than_there_are(most: int, picked: int) -> None:
    two = (("red", 1), ("blue", 2))
    several = forms.Field("colours", "Colours", forms.FieldKind.OPTIONS, options=two, bounds=(0, most))
    assert inputs.input_block(0, several)["element"]["max_selected_items"] == picked


def test_what_was_filled_in_comes_back_in_the_agents_own_types() -> None:
    entered = {
        "f:0": "Alice",
        "f:1": "once\nupon",
        "f:3": "49.5",
        "f:4": "-3",
        "f:5": "c=1",
        "f:6": "c=1",
        "f:7": "2026-03-24",
    }
    values, problems = forms.read(form(), entered)
    assert problems == {}
    assert values == {
        "name": "Alice",
        "story": "once\nupon",
        "amount": 49.5,
        "count": -3,
        "urgent": False,
        "colour": 7,
        "day": "2026-03-24",
    }


def test_a_whole_number_stays_one() -> None:
    values, _ = forms.read(form(), {"f:3": "49"})
    assert values == {"amount": 49}
    assert isinstance(values["amount"], int)


@pytest.mark.parametrize(
    ("block", "entered"),
    [
        ("f:3", "lots"),
        ("f:3", "1e999"),
        ("f:3", "nan"),
        ("f:4", "1.5"),
        ("f:4", "9" * 5000),
        ("f:5", "c=2"),
        ("f:6", "red"),
        ("f:7", "2026-02-30"),
    ],
)
def test_what_fits_no_field_is_said_under_that_field(block: str, entered: str) -> None:
    values, problems = forms.read(form(), {block: entered})
    assert values == {}
    assert problems.keys() == {block}


def test_without_a_schema_every_key_of_the_context_is_a_text_that_may_be_left_out() -> None:
    notice = a_notice(response_type=ResponseType.FORM, choices=(), context={"city": "Basel", "street": None})
    modal = answer_modal(notice, "d", sign)
    assert modal is not None
    check_view(modal)
    inputs = [block for block in modal["blocks"] if block["type"] == "input"]
    assert [(block["label"]["text"], block["optional"]) for block in inputs] == [("city", True), ("street", True)]
    found = forms.fields(None, notice.context)
    assert found is not None
    assert forms.read(found, {"f:1": "Main street"}) == ({"street": "Main street"}, {})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"one": {"enum": [str(number) for number in range(101)]}}},
        {"type": "object", "properties": {f"f{number}": {"type": "string"} for number in range(96)}},
        {"type": "object", "properties": {}},
    ],
    ids=["a list", "101 options", "96 fields", "no field"],
)
def test_what_a_modal_cannot_hold_is_left_to_the_page(schema: dict[str, Any]) -> None:
    notice = a_notice(response_type=ResponseType.FORM, choices=(), context={}, form_schema=schema)
    assert forms.fields(schema, {}) is None
    assert answer_modal(notice, "d", sign) is None


def test_constants_with_titles_are_a_list_to_pick_from() -> None:
    country = {"oneOf": [{"const": "de", "title": "Germany"}, {"const": "fr", "title": "France"}]}
    found = forms.fields({"type": "object", "properties": {"country": country}}, {})
    assert found is not None
    element = inputs.input_block(0, found[0])["element"]
    assert [one["text"]["text"] for one in element["options"]] == ["Germany", "France"]
    assert forms.read(found, {"f:0": element["options"][1]["value"]}) == ({"country": "fr"}, {})


def test_an_error_without_a_field_is_shown_under_the_first_input() -> None:
    assert error_block(a_notice(response_type=ResponseType.FORM, choices=(), form_schema=SCHEMA)) == "f:0"
    assert error_block(a_notice(response_type=ResponseType.TEXT, choices=())) == "answer"
