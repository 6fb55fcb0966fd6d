"""The inputs that a form asks for: one for each property of its schema or, without one, a text for each key of the
context (API.md §4). Pure.

What an input gives back is read in ``bot/web/forms.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import JsonValue

LONG_TEXT = 255
"""A text that may be longer than this gets several lines."""

_MULTI_LINE = frozenset({"multiline", "multi-line", "textarea"})
_YES_NO = ((True, "Yes"), (False, "No"))


class Kind(StrEnum):
    TEXT = "text"
    LINES = "lines"
    EMAIL = "email"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    OPTION = "option"
    OPTIONS = "options"
    LIST = "list"


_NUMBERS = {"integer": Kind.INTEGER, "number": Kind.NUMBER}
_FORMATS = {"date": Kind.DATE, "email": Kind.EMAIL} | dict.fromkeys(_MULTI_LINE, Kind.LINES)
_HINTS = {"date-time": "Such as 2026-03-24T11:00:00Z.", "time": "Such as 11:00:00Z.", "uri": "A whole web address."}


@dataclass(frozen=True, slots=True)
class Option:
    value: JsonValue
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """One input. ``name`` is the key in the answer, ``input`` the name in the posted form.

    ``item`` is what each line of a list is read as; ``initial`` is what stands in the input at first; ``nullable``
    says that an empty input is ``null``.
    """

    name: str
    input: str
    label: str
    kind: Kind
    is_required: bool = False
    nullable: bool = False
    hint: str | None = None
    options: tuple[Option, ...] = ()
    item: Kind = Kind.TEXT
    longest: int | None = None
    initial: tuple[str, ...] = ()


def form_fields(schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]) -> tuple[Field, ...]:
    """Empty where there is neither a schema nor a context; the answer is then written as ``name: value`` lines."""
    if schema is None:
        return tuple(Field(name, f"f{number}", name, Kind.TEXT) for number, name in enumerate(context))
    properties, needed = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ()
    required = frozenset(one for one in needed if isinstance(one, str)) if isinstance(needed, list) else frozenset()
    return tuple(
        _field(name, f"f{number}", described if isinstance(described, dict) else {}, name in required)
        for number, (name, described) in enumerate(properties.items())
    )


def shown(value: JsonValue) -> str:
    """A value as text; numbers and lists as JSON writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if value is None:
        return "—"
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)


def _field(name: str, input_name: str, described: Mapping[str, JsonValue], is_required: bool) -> Field:
    types = _types(described)
    kind, options = _kind(described, types)
    title, hint, longest = described.get("title"), described.get("description"), described.get("maxLength")
    field = Field(
        name,
        input_name,
        title if isinstance(title, str) and title.strip() else name,
        kind,
        is_required,
        nullable="null" in types,
        hint=hint if isinstance(hint, str) and hint.strip() else _hint(described, kind),
        options=options,
        item=_item_kind(described.get("items")),
        longest=longest if isinstance(longest, int) else None,
    )
    return replace(field, initial=_initial(field, described.get("default")))


def _types(described: Mapping[str, JsonValue]) -> frozenset[str]:
    given = described.get("type", "string")
    return frozenset(one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str))


def _kind(described: Mapping[str, JsonValue], types: frozenset[str]) -> tuple[Kind, tuple[Option, ...]]:
    options = _options(described)
    if options:
        return Kind.OPTION, options
    match sorted(types - {"null"}):
        case ["boolean"]:
            return Kind.OPTION, tuple(Option(value, label) for value, label in _YES_NO)
        case ["array"]:
            items = described.get("items")
            options = _options(items) if isinstance(items, dict) else ()
            return (Kind.OPTIONS, options) if options else (Kind.LIST, ())
        case ["integer" | "number" as name]:
            return _NUMBERS[name], ()
        case ["integer", "number"]:
            return Kind.NUMBER, ()
    return _text_kind(described), ()


def _options(described: Mapping[str, JsonValue]) -> tuple[Option, ...]:
    """From ``enum``, ``const``, or a ``oneOf``/``anyOf`` of constants with titles."""
    listed = described.get("enum")
    if isinstance(listed, list):
        return tuple(Option(value, shown(value)) for value in listed)
    if "const" in described:
        return (Option(described["const"], shown(described["const"])),)
    for keyword in ("oneOf", "anyOf"):
        variants = described.get(keyword)
        if isinstance(variants, list) and all(isinstance(one, dict) and "const" in one for one in variants):
            return tuple(_titled(one) for one in variants if isinstance(one, dict))
    return ()


def _titled(variant: Mapping[str, JsonValue]) -> Option:
    title = variant.get("title")
    return Option(variant["const"], title if isinstance(title, str) else shown(variant["const"]))


def _text_kind(described: Mapping[str, JsonValue]) -> Kind:
    longest, given = described.get("maxLength"), described.get("format")
    if isinstance(longest, int) and longest > LONG_TEXT:
        return Kind.LINES
    return _FORMATS.get(given, Kind.TEXT) if isinstance(given, str) else Kind.TEXT


def _item_kind(items: JsonValue) -> Kind:
    kind, _ = _kind(items, _types(items)) if isinstance(items, dict) else (Kind.TEXT, ())
    return kind if kind in _NUMBERS.values() else Kind.TEXT


def _hint(described: Mapping[str, JsonValue], kind: Kind) -> str | None:
    if kind is Kind.LIST:
        return "One to a line."
    if kind in _NUMBERS.values():
        least, most = described.get("minimum"), described.get("maximum")
        if least is not None and most is not None:
            return f"From {shown(least)} to {shown(most)}."
    given = described.get("format")
    return _HINTS.get(given) if isinstance(given, str) else None


def _initial(field: Field, default: JsonValue) -> tuple[str, ...]:
    """What the agent suggests, as the input would give it back."""
    if default is None:
        return ()
    wanted: Sequence[JsonValue]
    match field.kind:
        case Kind.OPTION:
            wanted = [default]
        case Kind.OPTIONS:
            wanted = default if isinstance(default, list) else []
        case Kind.LIST:
            return ("\n".join(shown(one) for one in default),) if isinstance(default, list) else ()
        case _:
            return (shown(default),)
    return tuple(str(index) for index, option in enumerate(field.options) if _among(option.value, wanted))


def _among(value: JsonValue, wanted: Sequence[JsonValue]) -> bool:
    """``True`` and ``1`` are different values in JSON."""
    return any(value == one and isinstance(value, bool) is isinstance(one, bool) for one in wanted)
