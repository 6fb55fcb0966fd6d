"""Is this value an answer to that question? RFC-0025 §8's matrix, row by row (API.md §4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from core.domain.answers import LONGEST_TEXT, check_answer, check_resume_payload, chosen, signal_payload
from core.domain.suspension import Choice, Kind, ResponseType, Resume
from core.errors import InvalidAnswer, InvalidChoice, ResumePayloadInvalid
from tests.core.examples import HOUR, a_question

NO_STRINGS: list[Any] = [None, 0, 1, True, False, 1.5, [], {}, ["approve"], {"value": "approve"}]
ORDER = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "required": ["amount"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("value", ["approve", "deny"])
def test_a_choice_is_answered_by_one_of_its_values(value: str) -> None:
    assert check_answer(a_question(), value) == value


@pytest.mark.parametrize("value", ["Approve refund", "APPROVE", " approve", "", "refund", *NO_STRINGS])
def test_a_choice_is_answered_by_nothing_else(value: JsonValue) -> None:
    with pytest.raises(InvalidChoice) as refused:
        check_answer(a_question(), value)
    assert [choice["value"] for choice in refused.value.valid_choices] == ["approve", "deny"]
    assert refused.value.details["valid_choices"] == list(refused.value.valid_choices)


def test_a_refused_choice_is_told_every_choice_as_the_rfc_writes_it() -> None:
    with pytest.raises(InvalidChoice, match=r"'maybe' is not one of the choices; expected one of: 'approve', 'deny'\."):
        check_answer(a_question(), "maybe")
    try:
        check_answer(a_question(choices=(Choice("a", "A", "about A", metadata={"n": 1}),)), "b")
    except InvalidChoice as refused:
        assert refused.valid_choices == ({"value": "a", "label": "A", "description": "about A", "metadata": {"n": 1}},)


def test_a_refusal_does_not_repeat_a_long_answer() -> None:
    with pytest.raises(InvalidChoice) as refused:
        check_answer(a_question(), "x" * 40_000)
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("value", ["yes", "no"])
def test_a_confirm_is_answered_by_yes_or_no(value: str) -> None:
    assert check_answer(a_question(response_type=ResponseType.CONFIRM), value) == value


@pytest.mark.parametrize("value", ["Yes", "y", "true", "approve", "", *NO_STRINGS])
def test_a_confirm_is_answered_by_nothing_else(value: JsonValue) -> None:
    with pytest.raises(InvalidChoice):
        check_answer(a_question(response_type=ResponseType.CONFIRM), value)


def test_a_confirm_with_labels_of_its_own_still_takes_yes_and_no() -> None:
    ask = a_question(response_type=ResponseType.CONFIRM, choices=(Choice("yes", "Ship"), Choice("no", "Hold")))
    assert check_answer(ask, "yes") == "yes"
    with pytest.raises(InvalidChoice):
        check_answer(ask, "Ship")


def test_a_veto_window_is_answered_by_one_of_its_choices() -> None:
    ask = a_question(kind=Kind.VETO, timeout=HOUR)
    assert check_answer(ask, "veto") == "veto"
    with pytest.raises(InvalidChoice):
        check_answer(ask, "approve")


@pytest.mark.parametrize("value", ["x", " spaced ", "ünïcode 🙂", "x" * LONGEST_TEXT, "two\nlines"])
def test_any_text_that_is_not_empty_is_an_answer_and_stays_as_it_was_written(value: str) -> None:
    assert check_answer(a_question(response_type=ResponseType.TEXT), value) == value


@pytest.mark.parametrize("value", ["", " ", "\n\t ", "\u00a0", "x" * (LONGEST_TEXT + 1), *NO_STRINGS])
def test_an_empty_an_endless_and_a_wordless_text_are_none(value: JsonValue) -> None:
    with pytest.raises(InvalidAnswer):
        check_answer(a_question(response_type=ResponseType.TEXT), value)


def test_a_text_may_have_forty_thousand_characters() -> None:
    assert LONGEST_TEXT == 40_000


@pytest.mark.parametrize("value", [{"amount": 5}, {}, "anything", 7, ["a"], {"deep": {"er": [1, None]}}])
def test_a_form_without_a_schema_is_passed_through(value: JsonValue) -> None:
    assert check_answer(a_question(response_type=ResponseType.FORM), value) == value


@pytest.mark.parametrize("value", [{"amount": 5}, {"amount": 1, "note": "ok"}])
def test_a_form_that_fits_its_schema_is_an_answer(value: JsonValue) -> None:
    ask = a_question(response_type=ResponseType.FORM, form_schema=ORDER)
    assert check_answer(ask, value) == value


@pytest.mark.parametrize(
    ("value", "about"),
    [
        ({}, "amount"),
        ({"amount": "5"}, "amount"),
        ({"amount": 0}, "amount"),
        ({"amount": 5, "other": 1}, "other"),
        ("text", "object"),
        (None, "object"),
    ],
)
def test_a_form_that_does_not_fit_is_refused_with_what_is_wrong(value: JsonValue, about: str) -> None:
    with pytest.raises(InvalidAnswer, match=about) as refused:
        check_answer(a_question(response_type=ResponseType.FORM, form_schema=ORDER), value)
    assert refused.value.code == "invalid_answer"


@pytest.mark.parametrize("value", ["2026-13-01", "tomorrow"])
def test_formats_in_a_form_are_checked(value: str) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    with pytest.raises(InvalidAnswer, match="day"):
        check_answer(a_question(response_type=ResponseType.FORM, form_schema=schema), {"day": value})


@pytest.mark.parametrize(("index", "value"), [(0, "approve"), (1, "deny")])
def test_a_button_stands_for_the_stored_value(index: int, value: str) -> None:
    assert chosen(a_question(), index) == value


@pytest.mark.parametrize("index", [-1, 2, 999])
def test_a_button_that_was_never_shown_is_no_answer(index: int) -> None:
    with pytest.raises(InvalidChoice, match="There is no choice number"):
        chosen(a_question(), index)


def test_a_form_resumes_a_signal_driven_agent_with_the_object_itself() -> None:
    ask = a_question(response_type=ResponseType.FORM)
    assert signal_payload(ask, {"amount": 5}, "because") == {"amount": 5}


def test_any_other_answer_resumes_it_with_response_and_reason() -> None:
    assert signal_payload(a_question(), "approve", "known") == {"response": "approve", "reason": "known"}
    assert signal_payload(a_question(response_type=ResponseType.TEXT), "go", None) == {"response": "go", "reason": None}


def with_payload_schema(schema: dict[str, Any], **fields: Any) -> Any:
    return a_question(resume=Resume(payload_schema=schema), **fields)


def test_an_answer_that_fits_the_payload_schema_passes() -> None:
    schema = {"type": "object", "properties": {"response": {"enum": ["approve"]}}, "required": ["response"]}
    check_resume_payload(with_payload_schema(schema), "approve", None)
    check_resume_payload(a_question(), "anything", None)


def test_an_answer_that_breaks_the_payload_schema_is_refused() -> None:
    ask = with_payload_schema({"type": "object", "properties": {"reason": {"type": "string"}}})
    check_resume_payload(ask, "approve", "because")
    with pytest.raises(ResumePayloadInvalid, match="reason") as refused:
        check_resume_payload(ask, "approve", None)
    assert refused.value.code == "suspension_resume_payload_invalid"


def test_a_form_is_measured_against_the_payload_schema_as_the_object_itself() -> None:
    ask = with_payload_schema({"type": "object", "required": ["amount"]}, response_type=ResponseType.FORM)
    check_resume_payload(ask, {"amount": 5}, None)
    with pytest.raises(ResumePayloadInvalid):
        check_resume_payload(ask, {"response": 5}, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.sampled_from(ResponseType), json_values)
def test_every_value_is_an_answer_or_refused_as_one(response_type: ResponseType, value: JsonValue) -> None:
    form = {"form_schema": ORDER} if response_type is ResponseType.FORM else {}
    ask = a_question(response_type=response_type, **form)
    try:
        assert check_answer(ask, value) == value
    except InvalidAnswer as refused:
        assert refused.code in {"invalid_answer", "invalid_choice"}


@pytest.mark.parametrize("value", [10**400, -(10**4000), [[[[[1]]]]], 1e308, None])
def test_monstrous_values_in_a_form_are_measured_like_any_other(value: JsonValue) -> None:
    ask = a_question(response_type=ResponseType.FORM, form_schema=ORDER)
    with pytest.raises(InvalidAnswer):
        check_answer(ask, {"note": value})
