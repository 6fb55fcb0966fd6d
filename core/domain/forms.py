"""Forms: the fields of a form's schema, and a field's value parsed from a text. Used by pages and Slack.

There is one field for each property of the schema or, without a schema, a text for each key of the context (API.md §4).
A text that can't be parsed is :class:`NotThat`; nothing is guessed. Whether a value answers the question is decided
only in ``core.domain.answers``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from pydantic import JsonValue

from core.domain.field_words import MISSING, NOT_PICKED, example_in, label_of, missing, problem_in, unreadable
from core.domain.known_fields import ALLOWED, KnownKind, fits, known_kind

LONG_TEXT = 255
"""A text that may be longer than this gets several lines."""


class FieldKind(StrEnum):
    """``other`` is anything else that a schema may describe, such as an object."""

    TEXT = "text"
    LINES = "lines"
    EMAIL = "email"
    PERSON = "person"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    OPTION = "option"
    OPTIONS = "options"
    LIST = "list"
    OTHER = "other"


_NUMBERS = (FieldKind.INTEGER, FieldKind.NUMBER)
_FORMATS = {"date": FieldKind.DATE, "email": FieldKind.EMAIL, "user": FieldKind.PERSON}
_FORMATS |= dict.fromkeys(("multiline", "multi-line", "textarea"), FieldKind.LINES)
_BOUNDS = dict.fromkeys(_NUMBERS, ("minimum", "maximum"))
_BOUNDS |= dict.fromkeys((FieldKind.OPTIONS, FieldKind.LIST), ("minItems", "maxItems"))
_EXAMPLES = {"date-time": "Such as 2026-03-24T11:00:00Z.", "time": "Such as 11:00:00Z.", "uri": "A whole web address."}
_WRITTEN = frozenset({FieldKind.TEXT, FieldKind.LINES, FieldKind.EMAIL, *_NUMBERS})
"""Kinds that are written as an example is."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Shown = Callable[[JsonValue], str]
"""A value as a person reads it there."""


class NotThat(Exception):
    """The input is not a value of that field; the text is for the person."""


class FieldOption(NamedTuple):
    label: str
    value: JsonValue


_YES_NO = (FieldOption("Yes", True), FieldOption("No", False))


@dataclass(frozen=True, slots=True)
class Field:
    """One input. ``name`` is the key in the answer.

    ``hint`` is the agent's own, ``example`` ours. ``bounds`` are values for a number, a count for a list, lengths for
    all else. ``nullable``: an empty input is ``null``. ``item`` is the kind of each part of a list; ``initial`` is the
    agent's suggestion: a text, or the indexes of options.
    """

    name: str
    label: str
    kind: FieldKind
    is_required: bool = False
    hint: str | None = None
    options: tuple[FieldOption, ...] = ()
    bounds: tuple[float | None, float | None] = (None, None)
    nullable: bool = False
    item: FieldKind = FieldKind.TEXT
    example: str | None = None
    initial: tuple[str, ...] = ()
    number: int = 0
    known: KnownKind | None = None
    """What its name says that it holds, where the schema says nothing of it."""

    @property
    def input(self) -> str:
        """Its name in a posted form, which can't collide with our own fields."""
        return f"f{self.number}"


def form_fields(
    schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue], shown: Shown
) -> tuple[Field, ...]:
    """Empty if there is neither a schema nor a context."""
    if schema is None:
        return tuple(
            Field(name, name, FieldKind.TEXT, number=number, known=known_kind(name, {}, suggested))
            for number, (name, suggested) in enumerate(context.items())
        )
    properties, needed = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ()
    required = needed if isinstance(needed, list) else []
    fields = (_field(name, described, name in required, shown) for name, described in properties.items())
    return tuple(replace(one, number=number) for number, one in enumerate(fields))


def read_scalar(kind: FieldKind, text: str) -> JsonValue:
    """``text`` as a value of that kind. Raises :class:`NotThat`."""
    match kind:
        case FieldKind.INTEGER:
            if not _INTEGER.fullmatch(text.strip()):
                raise NotThat("Enter a whole number, such as 12.")
            return int(text)
        case FieldKind.NUMBER:
            if not _NUMBER.fullmatch(text.strip()):
                raise NotThat("Enter a number, such as 12.5.")
            return float(text) if "." in text else int(text)
        case FieldKind.DATE:
            return _day(text.strip())
        case FieldKind.EMAIL:
            return text.strip()
        case _:
            return text


def read_one(field: Field, text: str) -> JsonValue:
    """The value of a field without options, of its kind and of the kind that its name implies. Raises
    :class:`NotThat`."""
    if field.known is not None and not fits(field.known, text):
        raise NotThat(f"Enter {ALLOWED[field.known]}.")
    return " ".join(text.split()) if field.known is not None else read_scalar(field.kind, text)


_BREAKS = {FieldKind.OPTION: "enum", FieldKind.OPTIONS: "enum", FieldKind.DATE: "format", FieldKind.EMAIL: "format"}
"""The keyword that an input of no value of the kind breaks; of all others ``type``."""


def refusal(schema: Mapping[str, JsonValue] | None, field: Field, value: JsonValue) -> str | None:
    """Why the form's schema refuses ``value`` in this field alone, for the person who entered it."""
    problem = None if schema is None else problem_in(schema, field.name, value)
    return None if problem is None else problem.beside


def misread(schema: Mapping[str, JsonValue] | None, field: Field, why: NotThat) -> str:
    """What is said beside a field whose input could not be read."""
    return unreadable(schema, field.name, _BREAKS.get(field.kind, "type"), str(why))


def unfilled(schema: Mapping[str, JsonValue] | None, field: Field) -> str:
    """What is said beside a required field that is empty."""
    return missing(schema, field.name, NOT_PICKED if field.kind is FieldKind.OPTION else MISSING).beside


def pick(field: Field, index: int | None) -> JsonValue:
    """The value of the option that was picked. Raises :class:`NotThat` if there is none."""
    if index is None or index >= len(field.options):
        raise NotThat(NOT_PICKED)
    return field.options[index].value


def _day(text: str) -> str:
    if _DATE.fullmatch(text):
        with contextlib.suppress(ValueError):  # 2026-02-30: no date either
            return date.fromisoformat(text).isoformat()
    raise NotThat("Enter a date, such as 2026-03-24.")


def _field(name: str, property_: JsonValue, is_required: bool, shown: Shown) -> Field:
    described = property_ if isinstance(property_, dict) else {}
    types = _types(described)
    kind, options = _kind(described, types, shown)
    hint = described.get("description")
    low, high = _BOUNDS.get(kind, ("minLength", "maxLength"))
    field = Field(
        name,
        label_of(name, described),
        kind,
        is_required,
        hint if isinstance(hint, str) and hint.strip() else None,
        options,
        (_number(described.get(low)), _number(described.get(high))),
        nullable="null" in types,
        known=known_kind(name, described) if kind is FieldKind.TEXT else None,
        item=_item_kind(described.get("items"), shown),
    )
    given = example_in(described) if kind in _WRITTEN else None
    example = _example(field, described.get("format"), shown) if given is None else f"Such as {given}."
    return replace(field, example=example, initial=_initial(field, described.get("default"), shown))


def _types(described: Mapping[str, JsonValue]) -> frozenset[str]:
    given = described.get("type", "string")
    return frozenset(one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str))


def _kind(
    described: Mapping[str, JsonValue], types: frozenset[str], shown: Shown
) -> tuple[FieldKind, tuple[FieldOption, ...]]:
    if options := _options(described, shown):
        return FieldKind.OPTION, options
    match sorted(types - {"null"}):
        case ["boolean"]:
            return FieldKind.OPTION, _YES_NO
        case ["array"]:
            items = described.get("items")
            options = _options(items, shown) if isinstance(items, dict) else ()
            return (FieldKind.OPTIONS if options else FieldKind.LIST), options
        case ["integer"]:
            return FieldKind.INTEGER, ()
        case ["number"] | ["integer", "number"]:
            return FieldKind.NUMBER, ()
    return (_text_kind(described) if types - {"null"} == {"string"} else FieldKind.OTHER), ()


def _options(described: Mapping[str, JsonValue], shown: Shown) -> tuple[FieldOption, ...]:
    """From ``enum``, ``const``, or a ``oneOf``/``anyOf`` of constants with titles."""
    listed = described.get("enum")
    if isinstance(listed, list):
        return tuple(FieldOption(shown(value), value) for value in listed)
    if "const" in described:
        return (FieldOption(shown(described["const"]), described["const"]),)
    for keyword in ("oneOf", "anyOf"):
        variants = described.get(keyword)
        if isinstance(variants, list) and all(isinstance(one, dict) and "const" in one for one in variants):
            return tuple(_titled(one, shown) for one in variants if isinstance(one, dict))
    return ()


def _titled(variant: Mapping[str, JsonValue], shown: Shown) -> FieldOption:
    title = variant.get("title")
    return FieldOption(title if isinstance(title, str) else shown(variant["const"]), variant["const"])


def _text_kind(described: Mapping[str, JsonValue]) -> FieldKind:
    longest, given = _number(described.get("maxLength")), described.get("format")
    if isinstance(given, str) and given in _FORMATS:
        return _FORMATS[given]
    return FieldKind.LINES if longest is not None and longest > LONG_TEXT else FieldKind.TEXT


def _item_kind(items: JsonValue, shown: Shown) -> FieldKind:
    kind, _ = _kind(items, _types(items), shown) if isinstance(items, dict) else (FieldKind.TEXT, ())
    return kind if kind in _NUMBERS else FieldKind.TEXT


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _example(field: Field, given: JsonValue, shown: Shown) -> str | None:
    if field.kind is FieldKind.LIST:
        return "One to a line."
    least, most = field.bounds
    if field.kind in _NUMBERS and least is not None and most is not None:
        return f"From {shown(least)} to {shown(most)}."
    return _EXAMPLES.get(given) if isinstance(given, str) else None


def _initial(field: Field, default: JsonValue, shown: Shown) -> tuple[str, ...]:
    """The agent's suggestion, as the input would submit it."""
    if default is None:
        return ()
    several = default if isinstance(default, list) else []
    match field.kind:
        case FieldKind.OPTION | FieldKind.OPTIONS:
            wanted = [default] if field.kind is FieldKind.OPTION else several
            return tuple(str(index) for index, option in enumerate(field.options) if _among(option.value, wanted))
        case FieldKind.LIST:
            return ("\n".join(shown(one) for one in several),) if isinstance(default, list) else ()
    return (shown(default),)


def _among(value: JsonValue, wanted: Sequence[JsonValue]) -> bool:
    """``True`` and ``1`` are different values in JSON."""
    return any(value == one and isinstance(value, bool) is isinstance(one, bool) for one in wanted)
