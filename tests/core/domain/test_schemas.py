"""Schemas that agents write: usable ones pass, hostile ones are refused before they can do any work (API.md §4)."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

from core.domain.json_schema import LARGEST_SCHEMA, check_form_schema, check_schema, first_problem
from core.errors import InvalidRequest

Schema = dict[str, Any]

STALLED = 2.0
"""Seconds: far more than any of these may take, and far less than the hostile ones would."""


def nested(times: int, around: Callable[[Schema], Schema], innermost: Schema | None = None) -> Schema:
    return reduce(lambda inner, _: around(inner), range(times), innermost or {"type": "object"})


def doubling(times: int) -> Schema:
    """Each definition applies the next one twice: 2 to the power of ``times`` applications."""
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(times)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{times}": {"type": "object"}}}


def properties(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        properties(amount={"type": "integer", "minimum": 1}, note={"type": "string", "maxLength": 200}),
        properties(colour={"enum": ["red", "green"]}, day={"type": "string", "format": "date"}),
        {
            "$defs": {"money": {"type": "integer"}},
            **properties(a={"$ref": "#/$defs/money"}, b={"$ref": "#/$defs/money"}),
        },
        {"$id": "https://agent.example/refund.json", "$schema": "https://json-schema.org/draft/2020-12/schema"},
        {**properties(a={"type": "string"}), "unevaluatedProperties": False},
        properties(**{"$ref": {"type": "string"}, "$id": {"type": "string"}}),
        {
            "$defs": {"a/b": {"type": "string"}, "c~d": {}},
            "anyOf": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c~0d"}],
        },
    ],
)
def test_what_agents_really_write_passes(schema: Schema) -> None:
    check_schema(schema, "resume.payload_schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": 5},
        {"properties": 5},
        {"required": "amount"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#/$defs/0/x", "$defs": []},
        properties(a={"pattern": "("}),
        {"title": "\ud800"},
    ],
)
def test_what_is_no_schema_is_refused_by_the_name_of_its_field(schema: Schema) -> None:
    with pytest.raises(InvalidRequest, match=r"^resume\.payload_schema ") as refused:
        check_schema(schema, "resume.payload_schema")
    assert refused.value.details["fields"] == [{"path": "resume.payload_schema", "message": refused.value.message}]


@pytest.mark.io
@pytest.mark.parametrize("reference", ["{url}", "{url}#/x", "file:///etc/hostname", "other.json", "#anchor", "#"])
def test_a_reference_to_elsewhere_is_refused_and_never_fetched(reference: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(InvalidRequest):
            check_schema({"$ref": reference.format(url=url)}, "form_schema")
        with pytest.raises(BlockingIOError):  # nobody has called
            server.accept()


def test_a_base_address_does_not_make_references_leave_either() -> None:
    with pytest.raises(InvalidRequest, match="other documents are not followed"):
        check_schema({"$id": "http://127.0.0.1:1/", "$ref": "refund.json"}, "form_schema")


HOSTILE = {
    "references that double": doubling(40),
    "references that double a little": doubling(12),
    "a reference to itself": {"$ref": "#"},
    "references in a circle": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "a reference that grows with the value": {"$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}}}},
    "dynamic references": {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
    "a base address inside": {"$defs": {"a": {"$id": "https://agent.example/a"}}},
    "unevaluated properties within each other": nested(20, lambda s: {"allOf": [s], "unevaluatedProperties": False}),
    "unevaluated items within each other": nested(20, lambda s: {"allOf": [s], "unevaluatedItems": False}),
    "ten thousand keywords": {"properties": {f"p{n}": {"type": "string"} for n in range(5_000)}},
    "a very long list of values": {"enum": list(range(100_000))},
    "very deep nesting": nested(5_000, lambda s: {"not": s}),
    "a very deep list": {"enum": [reduce(lambda inner, _: [inner], range(5_000), [])]},
    "a pattern that would be gigabytes": properties(a={"pattern": "(a{1000}){1000}"}),
    "a pattern that needs to look back": properties(a={"pattern": r"^(a+)\1$"}),
    "a pattern that needs to look ahead": properties(a={"pattern": "^(?=a)a$"}),
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_a_schema_that_could_stall_the_server_is_refused_at_once(schema: Schema) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidRequest):
        check_schema(schema, "form_schema")
    assert time.monotonic() - began < STALLED


def test_a_pattern_that_backtracks_elsewhere_is_quick_here() -> None:
    schema = properties(a={"type": "string", "pattern": "^(a+)+$"})
    check_schema(schema, "form_schema")
    began = time.monotonic()
    assert first_problem(schema, {"a": "a" * 40_000 + "!"}) is not None
    assert time.monotonic() - began < STALLED


def test_the_size_limit_is_two_hundred() -> None:
    assert LARGEST_SCHEMA == 200
    check_schema({"properties": {f"p{n}": True for n in range(199)}}, "form_schema")
    with pytest.raises(InvalidRequest, match="at most 200"):
        check_schema({"properties": {f"p{n}": True for n in range(200)}}, "form_schema")


def test_a_problem_names_the_place_and_says_little_else() -> None:
    problem = first_problem(properties(amount={"type": "integer"}), {"amount": "x" * 5_000})
    assert problem is not None
    assert problem.startswith("amount: ")
    assert len(problem) < 300


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string"},
        {"type": ["string", "null"]},
        {"type": "integer", "minimum": 1},
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "array", "items": {"type": "string"}},
        {},
    ],
)
def test_a_form_has_simple_fields(field: Schema) -> None:
    check_form_schema(properties(one=field))


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object"},
        {"type": ["object", "null"]},
        {"properties": {"inner": {}}},
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        {"type": "array", "items": {"type": "object"}},
        {"type": "array", "items": {"type": "array"}},
        {"$ref": "#/$defs/x"},
        True,
    ],
)
def test_a_form_with_anything_nested_is_refused(field: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"form_schema\.properties\.one must be a simple type"):
        check_form_schema({**properties(one=field), "$defs": {"x": {"type": "string"}}})


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, properties(), {"type": "array"}, {"properties": {"a": {}}}])
def test_a_form_describes_an_object_with_fields(schema: Schema) -> None:
    with pytest.raises(InvalidRequest, match="must describe an object with properties"):
        check_form_schema(schema)
