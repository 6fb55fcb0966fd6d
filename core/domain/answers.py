"""Is this value an answer to that question? Source: RFC-0025 §8; API.md §4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
from pydantic import JsonValue

from core.domain.suspension import Ask, ResponseType
from core.domain.wire import JsonObject, choice_json
from core.errors import InvalidAnswer, InvalidChoice, InvalidRequest, ResumePayloadInvalid

LONGEST_TEXT = 40_000
LARGEST_SCHEMA = 200
"""The most keywords and properties that a schema may hold, nested ones included."""


def check_answer(ask: Ask, value: JsonValue) -> JsonValue:
    """``value`` as it is kept; raises :class:`InvalidAnswer` where it is none to this question."""
    match ask.response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return _check_choice(ask, value)
        case ResponseType.TEXT:
            return _check_text(value)
        case ResponseType.FORM:
            return _check_form(ask, value)


def chosen(ask: Ask, index: int) -> JsonValue:
    """The stored value of the choice that was shown at ``index``; an index out of range is no answer."""
    if not 0 <= index < len(ask.choices):
        raise _invalid_choice(ask, f"There is no choice number {index + 1}")
    return ask.choices[index].value


def check_resume_payload(ask: Ask, value: JsonValue, reason: str | None) -> None:
    """Raises :class:`ResumePayloadInvalid` where the agent's ``payload_schema`` refuses what it would receive."""
    schema = ask.resume.payload_schema
    if schema is None:
        return
    problem = _first_problem(schema, signal_payload(ask, value, reason))
    if problem is not None:
        raise ResumePayloadInvalid(f"The answer does not fit the agent's payload_schema: {problem}.", path="value")


def signal_payload(ask: Ask, value: JsonValue, reason: str | None) -> JsonValue:
    """What a signal-driven agent resumes with: the object itself for a form, else the response and its reason."""
    if ask.response_type is ResponseType.FORM and isinstance(value, dict):
        return value
    return {"response": value, "reason": reason}


def check_schema(schema: Mapping[str, JsonValue], path: str) -> None:
    """Raises :class:`InvalidRequest` where ``schema`` is no usable JSON Schema (2020-12) for a flat object."""
    if _size(schema) > LARGEST_SCHEMA:
        raise InvalidRequest(f"{path} is too large: at most {LARGEST_SCHEMA} keywords and properties.", path=path)
    try:
        _validator(schema)
    except (ValueError, jsonschema_rs.ValidationError) as refusal:
        raise InvalidRequest(f"{path} is not a JSON Schema (2020-12): {_brief(refusal)}.", path=path) from None


def check_form_schema(schema: Mapping[str, JsonValue], path: str = "form_schema") -> None:
    """A form is a flat object: properties of simple types, or lists of simple types."""
    check_schema(schema, path)
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict) or not properties:
        raise InvalidRequest(f"{path} must describe an object with properties.", path=path)
    for name, field in properties.items():
        if not isinstance(field, dict) or field.get("type") == "object" or "$ref" in field:
            raise InvalidRequest(f"{path}.properties.{name} must be a simple type: a form is flat.", path=path)


def _check_choice(ask: Ask, value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or ask.choice(value) is None:
        shown = f"{value!r}"[:80]
        raise _invalid_choice(ask, f"{shown} is not one of the choices")
    return value


def _invalid_choice(ask: Ask, what: str) -> InvalidChoice:
    expected = ", ".join(repr(choice.value) for choice in ask.choices[:20])
    return InvalidChoice(f"{what}; expected one of: {expected}.", valid_choices=[choice_json(c) for c in ask.choices])


def _check_text(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or not value.strip():
        raise InvalidAnswer("The answer must be a text that is not empty.")
    if len(value) > LONGEST_TEXT:
        raise InvalidAnswer(f"The answer is too long: at most {LONGEST_TEXT} characters.")
    return value


def _check_form(ask: Ask, value: JsonValue) -> JsonValue:
    if ask.form_schema is None:
        return value
    problem = _first_problem(ask.form_schema, value)
    if problem is not None:
        raise InvalidAnswer(f"The form is not filled in as asked: {problem}.")
    return value


def _first_problem(schema: Mapping[str, JsonValue], value: JsonValue) -> str | None:
    error = next(iter(_validator(schema).iter_errors(value)), None)
    if error is None:
        return None
    where = ".".join(str(part) for part in error.instance_path)
    return f"{where}: {_brief(error)}" if where else _brief(error)


def _validator(schema: Mapping[str, JsonValue]) -> Any:
    linear = jsonschema_rs.RegexOptions()  # no backtracking: a pattern that an agent wrote can't stall the server
    return jsonschema_rs.Draft202012Validator(
        dict(schema), retriever=_no_fetching, pattern_options=linear, validate_formats=True
    )


def _no_fetching(uri: str) -> JsonObject:
    """A schema that an agent wrote must not make this server fetch anything."""
    raise ValueError(f"references to other documents are not followed ({uri[:80]})")


def _brief(error: Exception) -> str:
    return (getattr(error, "message", None) or str(error)).splitlines()[0][:200].rstrip(".")


def _size(schema: JsonValue | Mapping[str, JsonValue]) -> int:
    if isinstance(schema, Mapping):
        return sum(1 + _size(item) for item in schema.values())
    if isinstance(schema, list):
        return sum(_size(item) for item in schema)
    return 0
