"""What people are told of a field: in the agent's words, else in words made of its schema, never in a validator's."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.error_messages import LONGEST_MESSAGE
from core.domain.field_words import example_in, missing, problem_in, problems_in, shown_with
from core.domain.json_schema import check_form_schema
from core.domain.pattern_words import pattern_words
from core.errors import InvalidRequest

Schema = dict[str, Any]
ZIP: Schema = {"type": "string", "title": "ZIP code", "pattern": "^[0-9]{5}$", "examples": ["1234", "12345"]}


def form(field: Schema, **rest: Any) -> Schema:
    return {"type": "object", "properties": {"a": field}, **rest}


def beside(field: Schema, value: Any, **rest: Any) -> str:
    schema = form(field, **rest)
    check_form_schema(schema)
    problem = problem_in(schema, "a", value)
    assert problem is not None
    return problem.beside


TEXT: Schema = {"type": "string"}
ARRAY: Schema = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (ZIP, "12", "Enter five digits, such as 12345."),
        (TEXT | {"pattern": "^[0-9]{5}$"}, "12", "Enter five digits."),
        (TEXT | {"pattern": "^[0-9]{5}$", "minLength": 5}, "12", "Enter five digits."),
        (TEXT | {"allOf": [{"pattern": "^[0-9]{5}$"}]}, "12", "Enter five digits."),
        (TEXT | {"pattern": "^(?:xy|z+)$", "examples": ["xy"]}, "12", "Write it like this: xy"),
        (
            TEXT | {"pattern": "^(?:x|yy+)$", "description": "The  code\non the box."},
            "12",
            "This does not fit what is asked for. The code on the box.",
        ),
        (TEXT | {"pattern": "^(?:x|yy+)$"}, "12", "This does not fit what is asked for."),
        ({"type": "number", "minimum": 1, "maximum": 500}, 501, "Enter a number from 1 to 500."),
        ({"type": "integer", "minimum": 1}, 0, "Enter a whole number of at least 1."),
        ({"type": "integer", "maximum": 9}, 10, "Enter a whole number of at most 9."),
        (
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5},
            0,
            "Enter a number above 0 and below 1.5.",
        ),
        ({"type": "integer", "multipleOf": 5}, 7, "Enter a whole number that is a multiple of 5."),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "x", "Enter a whole number from 1 to 9."),
        ({"type": "boolean"}, "x", "Enter yes or no."),
        ({"type": ["integer", "null"]}, "x", "Enter a whole number, such as 12."),
        (TEXT | {"minLength": 3}, "ab", "At least 3 characters; this has 2."),
        (TEXT | {"maxLength": 1}, "ab", "At most 1 character; this has 2."),
        (ARRAY | {"minItems": 2}, ["x"], "At least 2 values; this has 1."),
        (ARRAY | {"uniqueItems": True}, ["x", "x"], "Give each value only once."),
        ({"enum": ["S", "M", 7, None]}, "L", "Enter one of: S, M, 7, null."),
        ({"enum": [f"v{n}" for n in range(40)]}, "L", "Enter one of the options."),
        (
            {"oneOf": [{"const": "de", "title": "Germany"}, {"const": "fr"}]},
            "Germani",
            "Enter one of: Germany, fr.",
        ),
        ({"type": "array", "items": {"enum": ["S", "M"]}}, ["S", "L"], "Enter one of: S, M."),
        (
            {"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}]},
            1,
            "Enter a whole number of at least 2.",
        ),
        (TEXT | {"format": "email"}, "alice", "Enter an e-mail address and nothing else."),
    ],
)
def test_a_field_says_what_it_takes(field: Schema, value: Any, said: str) -> None:
    assert beside(field, value) == said


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("^[0-9]{5}$", "five digits"),
        (r"^\d{1}$", "one digit"),
        (r"^\d{12}$", "12 digits"),
        ("^[A-Z]{2,3}$", "two to three capital letters"),
        ("^[A-Z]{2,}$", "at least two capital letters"),
        ("^[a-z]+$", "small letters only"),
        (r"^HR-[0-9A-Z]{4}$", "“HR-”, then four capital letters or digits"),
        (r"^[A-Z]{3}\-\d{4}$", "three capital letters, then “-”, then four digits"),
        ("^(red|green)$", "one of: red, green"),
        ("[0-9]{5}", None),
        ("^[0-9]{5}", None),
        ("^[0-9]{4}[0-9]?$", None),
        (r"^[0-9]{5}\$", None),
        ("^[^0-9]{5}$", None),
        ("^a{3}$", None),
        ("^" + "[0-9]" * 200 + "$", None),
        ("^$", None),
        ("", None),
    ],
)
def test_a_pattern_has_words_if_they_say_all_of_it(pattern: str, words: str | None) -> None:
    assert pattern_words(pattern) == words


def test_the_agent_s_own_words_come_first_and_by_keyword() -> None:
    assert beside(ZIP | {"errorMessage": "Look at the parcel."}, "12") == "Look at the parcel."
    by_keyword = ZIP | {"errorMessage": {"pattern": "Five figures.", "_": "Not that."}}
    assert beside(by_keyword, "12") == "Five figures."
    assert beside(by_keyword, 5) == "Not that."
    assert beside(ZIP | {"errorMessage": {"minLength": "Longer."}}, "12") == "Enter five digits, such as 12345."


def test_the_form_may_have_words_for_its_fields() -> None:
    assert beside(ZIP, "12", errorMessage={"properties": {"a": "A ZIP code."}}) == "A ZIP code."
    assert beside(ZIP, "12", errorMessage="Please check all of it.") == "Please check all of it."
    assert beside(ZIP, "12", errorMessage={"_": "Please check."}) == "Please check."
    own = ZIP | {"errorMessage": "Mine."}
    assert beside(own, "12", errorMessage={"_": "Please check.", "properties": {"a": "Theirs."}}) == "Mine."


def test_an_empty_field_that_is_needed_has_words_too() -> None:
    assert missing(form(ZIP), "a").beside == "Fill this in."
    assert missing(form(ZIP | {"errorMessage": "About its value."}), "a").beside == "Fill this in."
    assert missing(form(ZIP | {"errorMessage": {"required": "We need it."}}), "a").beside == "We need it."
    assert missing(form(ZIP, errorMessage={"required": {"a": "Needed."}}), "a").beside == "Needed."
    assert missing(form(ZIP, errorMessage={"required": "All needed."}), "a").beside == "All needed."


def test_every_field_is_told_in_the_form_s_order_by_its_label() -> None:
    schema = {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}, "a": ZIP, "c": TEXT}}
    told = [said.of({"a": "ZIP code", "b": "b"}[name]) for name, said in problems_in(schema, {"a": "x", "c": "ok"})]
    assert told == ["“b”: Fill this in.", "“ZIP code” must be five digits, such as 12345."]


def test_only_an_example_that_the_field_takes_is_one() -> None:
    assert example_in(ZIP) == "12345"
    assert example_in(TEXT | {"examples": ["x" * 61, "a\nb", True, None, ["y"], " "]}) is None
    assert example_in(TEXT | {"examples": "y"}) is None
    assert example_in({"type": "integer", "examples": [3]}) == "3"
    assert example_in({"pattern": "(", "examples": ["y"]}) is None, "as redaction may have left it"


def test_an_example_that_is_redacted_is_left_out() -> None:
    said = shown_with("Enter two words, such as 0151 23456789.", lambda text: text.replace("0151 23456789", MARK))
    assert said == "Enter two words."


MARK = "[redacted: telephone]"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (form(TEXT | {"errorMessage": ""}), "form_schema.properties.a.errorMessage must be a text of 1 to 300"),
        (form(TEXT | {"errorMessage": "\u0007 "}), "form_schema.properties.a.errorMessage must be a text of 1 to 300"),
        (form(TEXT | {"errorMessage": "x" * (LONGEST_MESSAGE + 1)}), "properties.a.errorMessage must be a text"),
        (form(TEXT | {"errorMessage": 5}), "properties.a.errorMessage must be a text, or an object of texts"),
        (form(TEXT | {"errorMessage": {}}), "properties.a.errorMessage must be a text, or an object of texts"),
        (form(TEXT | {"errorMessage": {"patern": "x"}}), "a.errorMessage has 'patern', and may have only: _, allOf"),
        (form(TEXT | {"errorMessage": {"pattern": ["x"]}}), "properties.a.errorMessage.pattern must be a text"),
        (form(TEXT | {"errorMessage": "Not ${/a}."}), "properties.a.errorMessage has a place to fill in (${…})"),
        (form(TEXT, errorMessage={"type": "x"}), "form_schema.errorMessage has 'type', and may have only: _, prop"),
        (form(TEXT, errorMessage={"required": {"b": "x"}}), "errorMessage.required names 'b', and the form has no"),
        (form(TEXT, errorMessage={"properties": "x"}), "errorMessage.properties must be an object of texts by field"),
        (form(TEXT, errorMessage={"properties": {"a": {}}}), "errorMessage.properties.a must be a text"),
        (form(ARRAY | {"items": {"errorMessage": "x"}}), "form_schema.properties.a: errorMessage stands in a field or"),
        (form(TEXT | {"allOf": [{"errorMessage": "x"}]}), "form_schema.properties.a: errorMessage stands in a field"),
        (form(TEXT, allOf=[{"properties": {"a": {"errorMessage": "x"}}}]), "form_schema: errorMessage stands in a"),
    ],
)
def test_words_that_would_never_be_said_are_refused_by_the_name_of_their_field(schema: Schema, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_form_schema(schema)
    assert said in refused.value.message
    assert refused.value.details["fields"] == [{"path": "form_schema", "message": refused.value.message}]


def test_a_field_may_be_called_error_message() -> None:
    check_form_schema({"type": "object", "properties": {"errorMessage": TEXT, "b": {"enum": [{"errorMessage": 1}]}}})
    check_form_schema(form(TEXT | {"errorMessage": "x" * LONGEST_MESSAGE}))
