"""The fields of a form at the command line: what each takes in words, and a typed text as a value. Pure.

There is one field for each property of the schema or, without a schema, an optional text for each key of the context.
A text that is no value of its kind stays a text: the service refuses it, in the words that it has everywhere.

Source: API.md §4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handraise.cli.terminal import one_line

Schema = Mapping[str, Any]

_FORMATS = {
    "iban": "an IBAN",
    "date": "a date, such as 2026-03-24",
    "date-time": "an instant, such as 2026-03-24T11:00:00Z",
    "time": "a time, such as 11:00:00Z",
    "duration": "a duration, such as P3D",
    "email": "an e-mail address",
    "idn-email": "an e-mail address",
    "uri": "a whole web address, such as https://example.com/",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address, such as 192.0.2.1",
    "ipv6": "an IPv6 address, such as 2001:db8::1",
    "hostname": "a host name, such as www.example.com",
}
_YES, _NO = frozenset({"yes", "y", "true"}), frozenset({"no", "n", "false"})
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_LONGEST_NAME, _LONGEST_EXAMPLE, _LONGEST_TAKES = 80, 60, 400
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. ``name`` is its key in the answer, ``described`` its own schema."""

    name: str
    described: Schema = field(default_factory=dict)
    is_required: bool = False

    @property
    def label(self) -> str:
        title = self.described.get("title")
        return one_line(title if isinstance(title, str) and title.strip() else self.name, _LONGEST_NAME)

    @property
    def hint(self) -> str:
        """The agent's own words about it; empty if there are none."""
        said = self.described.get("description")
        return said if isinstance(said, str) else ""

    @property
    def default(self) -> Any:
        """What the agent suggests; ``None`` for nothing."""
        return self.described.get("default")

    @property
    def empty(self) -> list[Any] | None:
        """The value of a required field that is left empty: the service says whether it may be."""
        return [] if "array" in _types(self.described) else None

    @property
    def may_be_empty(self) -> bool:
        """Whether leaving it empty is an answer: it is optional, takes ``null``, or is a list."""
        return not self.is_required or bool({"null", "array"} & _types(self.described))

    @property
    def takes(self) -> str:
        """What it takes, with an example; empty if its schema says nothing of that."""
        return one_line(_takes(self.described), _LONGEST_TAKES)

    def read(self, text: str) -> Any:
        """``text`` as a value of its kind; unchanged if it is none."""
        return _read(self.described, text.strip())


def fields_of(record: Mapping[str, Any]) -> list[FormField]:
    """The fields of the form that this question asks for, in its order."""
    schema = record.get("form_schema")
    if schema is None:
        return [FormField(name) for name in record.get("context") or {}]
    needed, properties = schema.get("required") or [], schema.get("properties") or {}
    return [
        FormField(name, described if isinstance(described, dict) else {}, name in needed)
        for name, described in properties.items()
    ]


def shown(value: Any) -> str:
    """A value as it would be typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and value and all(isinstance(one, str) and "," not in one for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _takes(described: Schema) -> str:
    part = _part(described)
    if "array" in _types(part):
        items = part.get("items")
        each = _takes(items) if isinstance(items, dict) else ""
        return f"several, with commas between{f'; each {each}' if each else ''}"
    if options := _options(part):
        labels = [label for label, _ in options]
        more = f" and {len(labels) - _MOST_LISTED} more" if len(labels) > _MOST_LISTED else ""
        return f"one of: {', '.join(labels[:_MOST_LISTED])}{more}"
    said = _FORMATS.get(str(part.get("format")), "") or _of_type(part)
    example = _example(described)
    if not example or "such as" in said:
        return said
    return f"{said}, such as {example}" if said else f"such as {example}"


def _of_type(part: Schema) -> str:
    types = _types(part) - {"null"}
    if types == {"boolean"}:
        return "yes or no"
    if types and types <= {"integer", "number"}:
        noun = "a whole number" if types == {"integer"} else "a number"
        return noun + _between(part, "minimum", "maximum", "")
    return _between(part, "minLength", "maxLength", " characters").removeprefix(" ")


def _between(part: Schema, least: str, most: str, unit: str) -> str:
    """`` from 1 to 500``, `` at least 1``, `` at most 500``; empty without bounds."""
    low, high = (part.get(bound) for bound in (least, most))
    if low is not None and high is not None:
        return f" from {low} to {high}{unit}"
    if low is None and high is None:
        return ""
    return f" at least {low}{unit}" if high is None else f" at most {high}{unit}"


def _example(described: Schema) -> str:
    """The first example that is short; empty if there is none."""
    given = described.get("examples")
    texts = [shown(one) for one in (given if isinstance(given, list) else []) if not isinstance(one, dict | list)]
    return next((one for one in texts if one.strip() and one.isprintable() and len(one) <= _LONGEST_EXAMPLE), "")


def _options(part: Schema) -> list[tuple[str, Any]]:
    """What each option of the field is called, and its value."""
    if isinstance(part.get("enum"), list):
        return [(shown(one), one) for one in part["enum"]]
    if "const" in part:
        return [(shown(part["const"]), part["const"])]
    for word in ("oneOf", "anyOf"):
        variants = [one for one in part.get(word) or [] if isinstance(one, dict)]
        if variants and all("const" in one for one in variants):
            return [(str(one.get("title") or shown(one["const"])), one["const"]) for one in variants]
    return []


def _part(described: Schema) -> Schema:
    """What the field's values are described by: of "this or null", as pydantic writes it, this."""
    for variants in (described.get("anyOf"), described.get("oneOf")):
        if isinstance(variants, list):
            others = [one for one in variants if isinstance(one, dict) and one.get("type") != "null"]
            if len(others) == 1 and len(others) < len(variants):
                return others[0]
    return described


def _types(described: Schema) -> set[str]:
    variants = [one for word in ("anyOf", "oneOf") for one in described.get(word) or [] if isinstance(one, dict)]
    given = described.get("type", [])
    own = {given} if isinstance(given, str) else set(given)
    return own.union(*(_types(one) for one in variants))


def _read(described: Schema, text: str) -> Any:
    part = _part(described)
    types = _types(part)
    if "array" in types:
        return _list(part, text)
    if options := _options(part):
        return _picked(options, text)
    return text if "string" in types else _simple(types, text)


def _simple(types: set[str], text: str) -> Any:
    if "boolean" in types and text.casefold() in _YES | _NO:
        return text.casefold() in _YES
    if types & {"integer", "number"} and _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if "number" in types and _NUMBER.fullmatch(text) else text


def _picked(options: list[tuple[str, Any]], text: str) -> Any:
    """The value of the one option that is called so, whatever the case."""
    exact = [value for label, value in options if text in {label, shown(value)}]
    alike = [value for label, value in options if text.casefold() in {label.casefold(), shown(value).casefold()}]
    found = exact or alike
    return found[0] if len(found) == 1 else text


def _list(part: Schema, text: str) -> Any:
    """``a, b``, or a JSON list, whose texts may hold commas."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list):
            return listed
    items = part.get("items")
    described = items if isinstance(items, dict) else {}
    return [_read(described, one.strip()) for one in text.split(",") if one.strip()]
