"""JSON Schemas that agents write: whether one is usable, and what is wrong with a value under it (2020-12).

A schema is applied while a transaction waits for it. So it fetches nothing, its patterns don't backtrack, and its cost
is weighed before it is used: references and ``unevaluated…`` multiply, and a dozen lines of them would keep a server
busy for days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
from pydantic import JsonValue

from core.domain.error_messages import check_error_messages
from core.domain.known_fields import is_iban
from core.domain.wire import JsonObject
from core.errors import InvalidRequest

LARGEST_SCHEMA = 200
"""The most keywords and properties that a schema may hold, nested ones included."""

LARGEST_WORK = 2_000
"""The most keywords, properties and list items, with every reference written out."""

_DEEPEST = 64
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_EACH_LEVEL = 4
"""How much more work each nested ``unevaluated…`` makes; observed with jsonschema-rs 0.30 and later."""

_OWN_FORMATS = {"iban": is_iban}
"""Beside those of the specification, which are all asserted."""
_SIMPLE = {"string", "number", "integer", "boolean", "null"}


def check_schema(schema: Mapping[str, JsonValue], path: str) -> None:
    """Raises :class:`InvalidRequest` if ``schema`` is not a usable JSON Schema (2020-12)."""
    try:
        if _size(schema) > LARGEST_SCHEMA:
            raise InvalidRequest(f"{path} is too large: at most {LARGEST_SCHEMA} keywords and properties.", path=path)
        if _Scale(schema).weigh(schema) > LARGEST_WORK:
            raise InvalidRequest(f"{path} is too large once its references are followed.", path=path)
        _validator(schema)
    except (ValueError, jsonschema_rs.ValidationError) as refusal:
        raise InvalidRequest(f"{path} is not a usable JSON Schema (2020-12): {_brief(refusal)}.", path=path) from None


def check_form_schema(schema: Mapping[str, JsonValue], path: str = "form_schema") -> None:
    """A form is a flat object: properties of simple types, or lists of simple types."""
    check_schema(schema, path)
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict) or not properties:
        raise InvalidRequest(f"{path} must describe an object with properties.", path=path)
    for name, part in properties.items():
        if not _is_flat(part):
            raise InvalidRequest(f"{path}.properties.{name} must be a simple type: a form is flat.", path=path)
    check_error_messages(schema, path)


def first_problem(schema: Mapping[str, JsonValue], value: JsonValue) -> str | None:
    """The first problem of ``value`` under ``schema``, as the middle of a sentence."""
    error = next(iter(_validator(schema).iter_errors(value)), None)
    if error is None:
        return None
    where = ".".join(str(part) for part in error.instance_path)
    return f"{where}: {_brief(error)}" if where else _brief(error)


@dataclass(frozen=True, slots=True)
class Violation:
    """One keyword of a field's schema that a value breaks. ``way`` leads to the part of the field's schema that has it,
    ``value`` is what broke it: the field's own value, or an item of it."""

    keyword: str
    way: tuple[str | int, ...]
    value: JsonValue


_MOST_VIOLATIONS = 10


def violations_in(schema: Mapping[str, JsonValue], name: str, value: JsonValue) -> list[Violation]:
    """What the field ``name`` of a form's ``schema``, looked at alone, has against ``value``."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or name not in properties:
        return []
    shared = {one: schema[one] for one in ("$schema", "$defs", "definitions") if one in schema}
    alone: JsonObject = {**shared, "type": "object", "properties": {name: properties[name]}}
    errors = islice(_validator(alone).iter_errors({name: value}), _MOST_VIOLATIONS)
    found = [(list(error.schema_path), error.instance) for error in errors]
    return [Violation(str(path[-1]), tuple(path[2:-1]), instance) for path, instance in found]


def fits_alone(described: Mapping[str, JsonValue], value: JsonValue) -> bool:
    """Whether a field that is described so takes ``value``. What redaction has made unusable takes none."""
    try:
        return bool(_validator(described).is_valid(value))
    except (ValueError, jsonschema_rs.ValidationError):
        return False


def _is_flat(part: JsonValue) -> bool:
    """Whether a field's values are simple, or lists of simple ones."""
    if not _is_simple(part, _SIMPLE | {"array"}) or not isinstance(part, dict):
        return False
    return "items" not in part or _is_simple(part["items"], _SIMPLE)


def _is_simple(part: JsonValue, types: set[str]) -> bool:
    if not isinstance(part, dict) or {"$ref", "properties", "additionalProperties"} & part.keys():
        return False
    named = part.get("type", [])
    alternatives = [option for word in ("anyOf", "oneOf", "allOf") for option in _list(part.get(word))]
    return set(named if isinstance(named, list) else [named]) <= types and all(
        _is_simple(option, types) for option in alternatives
    )


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _validator(schema: Mapping[str, JsonValue]) -> Any:
    linear = jsonschema_rs.RegexOptions()  # no backtracking: a pattern that an agent wrote can't stall the server
    return jsonschema_rs.Draft202012Validator(
        dict(schema), retriever=_no_fetching, pattern_options=linear, validate_formats=True, formats=_OWN_FORMATS
    )


def _no_fetching(uri: str) -> JsonObject:
    """An agent's schema must not make this server fetch anything."""
    raise ValueError(f"references to other documents are not followed ({uri[:80]})")


def _brief(error: Exception) -> str:
    return (getattr(error, "message", None) or str(error)).splitlines()[0][:200].rstrip(".")


def _size(part: JsonValue | Mapping[str, JsonValue], depth: int = 0) -> int:
    if depth > _DEEPEST:
        raise ValueError("it nests too deep")
    if isinstance(part, Mapping):
        return sum(1 + _size(item, depth + 1) for item in part.values())
    if isinstance(part, list):
        return sum(_size(item, depth + 1) for item in part)
    return 0


@dataclass(slots=True)
class _Scale:
    """Weighs a schema as if every reference in it were written out. Raises ``ValueError`` for references in a
    circle, to elsewhere, or that depend on the path of validation."""

    root: Mapping[str, JsonValue]
    known: dict[str, int] = field(default_factory=dict)

    def weigh(self, part: JsonValue | Mapping[str, JsonValue], within: frozenset[str] = frozenset()) -> int:
        if isinstance(part, list):
            return sum(1 + self.weigh(item, within) for item in part)
        if not isinstance(part, Mapping):
            return 0
        weight = sum(1 + self.weigh(item, within) for item in part.values())
        if isinstance(part.get("$dynamicRef"), str) or (part is not self.root and isinstance(part.get("$id"), str)):
            raise ValueError("$dynamicRef and nested $id are not supported")
        if isinstance(reference := part.get("$ref"), str):
            weight += self._target(reference, within)
        return weight * _EACH_LEVEL if any(word in part for word in _UNEVALUATED) else weight

    def _target(self, reference: str, within: frozenset[str]) -> int:
        if reference in within:
            raise ValueError("its references go in a circle")
        if reference not in self.known:
            self.known[reference] = self.weigh(self._find(reference), within | {reference})
        return self.known[reference]

    def _find(self, reference: str) -> JsonValue | Mapping[str, JsonValue]:
        """The target of ``#/$defs/name`` (RFC 6901)."""
        if not reference.startswith("#"):
            _no_fetching(reference)
        if not reference.startswith("#/"):
            raise ValueError("references are written as #/$defs/name")
        found: Any = self.root
        for step in unquote(reference[2:]).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name[:6]) < len(found):
                found = found[int(name[:6])]
            else:
                raise ValueError(f"{reference[:80]} leads nowhere in it")
        return found  # type: ignore[no-any-return]
