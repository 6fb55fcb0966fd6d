"""What a field of a form takes in words at the command line, and what a typed text is there."""

from __future__ import annotations

from typing import Any

import pytest
from handraise.cli.form_fields import FormField, fields_of

COLOURS = {"oneOf": [{"const": 1, "title": "Red"}, {"const": 2, "title": "Blue"}]}
WORDS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({"type": "integer"}, "a whole number"),
        ({"type": "number", "minimum": 0.5}, "a number at least 0.5"),
        ({"type": "number", "maximum": 9, "examples": [4.5]}, "a number at most 9, such as 4.5"),
        ({"type": "boolean"}, "yes or no"),
        ({"type": "string", "maxLength": 20}, "at most 20 characters"),
        ({"type": "string", "examples": ["x" * 61, "HR"]}, "such as HR"),
        ({"type": "string", "format": "email"}, "an e-mail address"),
        ({"type": "string", "format": "date", "examples": ["2030-01-01"]}, "a date, such as 2026-03-24"),
        ({"enum": ["a", 1, True]}, "one of: a, 1, yes"),
        (COLOURS, "one of: Red, Blue"),
        ({"enum": [str(number) for number in range(22)]}, f"one of: {', '.join(map(str, range(20)))} and 2 more"),
        ({"type": "array", "items": {"type": "integer"}}, "several, with commas between; each a whole number"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "a whole number at least 1"),
        ({}, ""),
    ],
)
def test_a_field_says_what_it_takes(described: dict[str, Any], said: str) -> None:
    assert FormField("a", described).takes == said


@pytest.mark.parametrize(
    ("described", "text", "value"),
    [
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "integer"}, "1.5", "1.5"),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "string"}, "12", "12"),
        ({"type": ["string", "integer"]}, "12", "12"),
        ({"type": ["integer", "null"]}, "12", 12),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "12", 12),
        ({"type": "boolean"}, "Y", True),
        ({"type": "boolean"}, "perhaps", "perhaps"),
        ({}, "yes", "yes"),
        ({"oneOf": [{"const": 1, "title": "Red"}, {"const": 2, "title": "RED"}]}, "RED", 2),
        ({"enum": ["Small", "small"]}, "SMALL", "SMALL"),
        ({"enum": [1, 2]}, "2", 2),
        (COLOURS, "blue", 2),
        (COLOURS, "1", 1),
        (COLOURS, "green", "green"),
        (WORDS, "a, b,", ["a", "b"]),
        (WORDS, '["a, b"]', ["a, b"]),
        (WORDS, "[a]", ["[a]"]),
        ({"type": "array", "items": COLOURS}, "Red, blue", [1, 2]),
    ],
)
def test_a_typed_text_is_a_value_of_the_fields_kind_or_stays_a_text(
    described: dict[str, Any], text: str, value: Any
) -> None:
    read = FormField("a", described).read(text)
    assert (read, type(read)) == (value, type(value))


def test_a_required_list_may_be_left_empty_and_a_required_text_may_not() -> None:
    schema = {"required": ["a", "b"], "properties": {"a": WORDS, "b": {"type": "string"}, "c": {}}}
    fields = fields_of({"form_schema": schema, "context": {"d": 1}})
    assert [(one.name, one.may_be_empty, one.empty) for one in fields] == [
        ("a", True, []),
        ("b", False, None),
        ("c", True, None),
    ]
