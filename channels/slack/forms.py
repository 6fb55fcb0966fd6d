"""A form as Slack's inputs, and what was filled in as the form's values.

A field for each property of the form's schema or, without one, a text for each key of the context (API.md §4).
What a modal can't hold is answered on the page instead.

Source: https://docs.slack.dev/reference/block-kit/blocks/input-block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from pydantic import JsonValue

from channels.slack import limits
from channels.slack.mrkdwn import shown
from channels.slack.values import read_option

LONG_TEXT = 255
"""A text that may be longer than this gets several lines."""
MULTI_LINE = frozenset({"multiline", "multi-line", "textarea"})
PERSON_FORMAT = "user"
YES_NO: tuple[tuple[str, JsonValue], ...] = (("Yes", True), ("No", False))


class Kind(StrEnum):
    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    INTEGER = "integer"
    OPTION = "option"
    OPTIONS = "options"
    PERSON = "person"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Field:
    """One input. ``options`` are labels and values; ``bounds`` are values for a number, lengths for all else."""

    name: str
    label: str
    kind: Kind
    required: bool = False
    hint: str | None = None
    options: tuple[tuple[str, JsonValue], ...] = ()
    bounds: tuple[int | float | None, int | float | None] = (None, None)


Named = Callable[[str], str | None]
"""The identity of a Slack user, ``None`` where the directory knows none."""

NUMBERS = {"integer": Kind.INTEGER, "number": Kind.NUMBER}


BOUNDS = {
    Kind.TEXT: ("minLength", "maxLength"),
    Kind.LINES: ("minLength", "maxLength"),
    Kind.OPTIONS: ("minItems", "maxItems"),
}


class NotThat(Exception):
    """What was entered is no value of that field; the text is for the person."""


def fields(schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]) -> tuple[Field, ...] | None:
    """``None`` where the form is empty or more than a modal can hold."""
    if schema is None:
        found: list[Field | None] = [Field(name, name, Kind.TEXT) for name in context]
    else:
        properties = schema.get("properties")
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        found = [
            _field(name, described, name in needed)
            for name, described in (properties.items() if isinstance(properties, dict) else ())
        ]
    usable = tuple(one for one in found if one is not None)
    return usable if len(usable) == len(found) and 0 < len(usable) <= limits.FORM_FIELDS else None


def block_id(number: int) -> str:
    return f"f:{number}"


def _unnamed(_user_id: str) -> str | None:
    return None


def read(
    form: tuple[Field, ...], entered: Mapping[str, str], named: Named = _unnamed
) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """The form's values, and what is wrong by block id. What was left empty is left out.

    A person is their identity where ``named`` knows one, else ``slack:U…``.
    """
    values: dict[str, JsonValue] = {}
    problems: dict[str, str] = {}
    for number, field in enumerate(form):
        given = entered.get(block_id(number), "")
        if not given:
            continue
        try:
            values[field.name] = _value(field, given, named)
        except NotThat as refusal:
            problems[block_id(number)] = str(refusal)
    return values, problems


def _field(name: str, described: JsonValue, required: bool) -> Field | None:
    """``None`` where Slack has no input for it."""
    if not isinstance(described, dict):
        return Field(name, name, Kind.TEXT, required)
    title, hint = described.get("title"), described.get("description")
    label = title if isinstance(title, str) else name
    kind, options = _kind(described)
    if kind is None or len(options) > limits.OPTIONS:
        return None
    low, high = BOUNDS.get(kind, ("minimum", "maximum"))
    bounds = _number(described.get(low)), _number(described.get(high))
    return Field(name, label, kind, required, hint if isinstance(hint, str) else None, options, bounds)


def _kind(described: Mapping[str, JsonValue]) -> tuple[Kind | None, tuple[tuple[str, JsonValue], ...]]:
    options = described.get("enum")
    if isinstance(options, list) and options:
        return Kind.OPTION, tuple((shown(value), value) for value in options)
    given = described.get("type", "string")
    match [one for one in given if one != "null"] if isinstance(given, list) else [given]:
        case ["boolean"]:
            return Kind.OPTION, YES_NO
        case ["array"]:
            return _list_kind(described.get("items"))
        case ["string"]:
            return _text_kind(described), ()
        case [str(name)] if name in NUMBERS:
            return NUMBERS[name], ()
    return None, ()


def _list_kind(items: JsonValue) -> tuple[Kind | None, tuple[tuple[str, JsonValue], ...]]:
    """Several of a given list; a list of anything has no input in Slack."""
    options = items.get("enum") if isinstance(items, dict) else None
    if not isinstance(options, list) or not options:
        return None, ()
    return Kind.OPTIONS, tuple((shown(value), value) for value in options)


def _text_kind(described: Mapping[str, JsonValue]) -> Kind:
    if described.get("format") == PERSON_FORMAT:
        return Kind.PERSON
    if described.get("format") == "date":
        return Kind.DATE
    longest = _number(described.get("maxLength"))
    long = described.get("format") in MULTI_LINE or (longest is not None and longest > LONG_TEXT)
    return Kind.LINES if long else Kind.TEXT


def _value(field: Field, given: str, named: Named) -> JsonValue:  # noqa: PLR0911 (one for each kind)
    match field.kind:
        case Kind.OPTION:
            return _picked(field, given)
        case Kind.OPTIONS:
            return [_picked(field, one) for one in dict.fromkeys(given.split(","))]
        case Kind.PERSON:
            return named(given) or f"slack:{given}"
        case Kind.INTEGER:
            return _whole(given)
        case Kind.NUMBER:
            return _decimal(given)
        case Kind.DATE:
            return _day(given)
        case Kind.TEXT | Kind.LINES:
            return given


def _picked(field: Field, given: str) -> JsonValue:
    index = read_option(given)
    if index is None or index >= len(field.options):
        raise NotThat("Pick one of the options.")
    return field.options[index][1]


def _whole(given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise NotThat("Enter a whole number.") from None


def _decimal(given: str) -> float | int:
    try:
        number = float(given)
    except ValueError:
        raise NotThat("Enter a number.") from None
    if not math.isfinite(number):
        raise NotThat("Enter a number that is not that large.")
    return int(given) if given.lstrip("-").isdecimal() else number


def _day(given: str) -> str:
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise NotThat("Enter a date.") from None


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
