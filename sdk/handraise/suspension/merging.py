"""Merges a signal's payload into a state, field by field, and makes the schema by which the server checks it. Pure.

The payload is data from outside and counts as it is: no reducer is consulted. The merged state must fit the state's
model as a whole.

Source: OpenArmature suspension §6.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from handraise.suspension.errors import SuspensionResumePayloadInvalid

StateModel = TypeVar("StateModel", bound=BaseModel)
Schema = dict[str, JsonValue]

MOST_KEYWORDS = 150
"""Of the schema that the server is given; it takes 200 (API.md §2)."""

_DROPPED = {"title", "description", "default", "examples", "format", "pattern", "discriminator", "deprecated"}
"""What tells a person something, or what the model reads more kindly than a schema does."""


_WRITTEN = {
    "integer": r"^[+-]?[0-9]+$",
    "number": r"^[+-]?[0-9]+(\.[0-9]+)?$",
    "boolean": r"^([Tt]rue|[Ff]alse|[Yy]es|[Nn]o|[Oo]n|[Oo]ff|1|0)$",
}
"""What a model reads as one of these types, if a person can only write text: in a form without fields, by mail."""


def written(state: BaseModel) -> dict[str, JsonValue]:
    """The state as JSON, by field name. Raises ``ValueError`` for what JSON has no form for."""
    dumped: dict[str, JsonValue] = json.loads(state.model_dump_json(round_trip=True))
    return dumped


def read(model: type[StateModel], state: Mapping[str, JsonValue]) -> StateModel:
    """The state that was :func:`written`. Raises pydantic's ``ValidationError``."""
    return model.model_validate_json(json.dumps(state), by_alias=False, by_name=True)


def merged(model: type[StateModel], state: Mapping[str, JsonValue], payload: JsonValue) -> StateModel:
    """``state`` with each field of ``payload`` in place of its own, as ``model``.

    A field that the model does not declare goes by the model's own ``extra``: dropped, kept or refused. Raises
    :class:`SuspensionResumePayloadInvalid`, which names the fields and no value.
    """
    if not isinstance(payload, Mapping):
        raise SuspensionResumePayloadInvalid("The signal's payload is no object, so it can't be laid over the state.")
    try:
        return read(model, {**state, **payload})
    except ValidationError as problem:
        wrong = problems_of(problem)
    # Outside the handler, so that no traceback carries the payload along.
    raise SuspensionResumePayloadInvalid(f"The payload does not fit {model.__name__}: {wrong}.")


def valid(model: type[StateModel], fields: Mapping[str, Any], what: str) -> StateModel:
    """The state with these fields. Raises ``ValueError``, which says ``what`` they are and names no value."""
    try:
        return model.model_validate(fields, by_alias=False, by_name=True)
    except ValidationError as problem:
        wrong = problems_of(problem)
    # Outside the handler, so that no traceback carries the values along.
    raise ValueError(f"{what} is no {model.__name__}: {wrong}.")


def problems_of(problem: ValidationError) -> str:
    """The fields that don't fit, each with what is wrong; no value is among them."""
    wrong = [(".".join(map(str, error["loc"])) or "the whole", error["type"]) for error in problem.errors()]
    return ", ".join(f"{where} ({what})" for where, what in wrong)


def payload_schema(model: type[BaseModel], fields: Iterable[str] | None = None) -> Schema:
    """What the server holds an answer to before it accepts it: the model's JSON Schema (2020-12), nothing required.
    ``fields`` are those that the person is asked for, if that is said: then no other one is accepted.

    It has types, choices and ranges. Formats, patterns, references in a circle and whatever is too large are left to
    the resume: the server reads them otherwise than the model, or not at all. A number, or a yes and no, may be text.
    """
    schema = model.model_json_schema(by_alias=False)
    definitions = schema.pop("$defs", {})
    if isinstance(reference := schema.get("$ref"), str):  # of a model that names itself
        schema = dict(definitions[_name(reference)])
    properties = schema.get("properties", {})
    if fields is not None:
        properties = {name: properties.get(name, {}) for name in fields}
    left = MOST_KEYWORDS - len(properties)
    if left < 0:
        return {"type": "object"}
    kept: Schema = {}
    for name, part in properties.items():
        plain = _plain(part, definitions, ())
        plain = plain if model.model_config.get("strict") else _or_text(plain)
        weight = _size(plain)
        kept[name] = plain if weight <= left else {}
        left -= weight if weight <= left else 0
    is_closed = fields is not None or schema.get("additionalProperties") is False
    closed: Schema = {"additionalProperties": False} if is_closed else {}
    return {"type": "object", "properties": kept, **closed}


def _plain(part: JsonValue, definitions: Mapping[str, JsonValue], within: tuple[str, ...]) -> JsonValue:
    """``part`` without words for people, its references written out; ``{}``, which takes anything, for a circle."""
    if isinstance(part, list):
        return [_plain(item, definitions, within) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(reference := part.get("$ref"), str):
        name = _name(reference)
        return {} if name in within else _plain(definitions[name], definitions, (*within, name))
    return {key: _part(key, value, definitions, within) for key, value in part.items() if key not in _DROPPED}


def _part(key: str, value: JsonValue, definitions: Mapping[str, JsonValue], within: tuple[str, ...]) -> JsonValue:
    if key == "properties" and isinstance(value, dict):  # names, not keywords
        return {name: _plain(one, definitions, within) for name, one in value.items()}
    if key in {"enum", "const", "required"}:  # values, not schemas
        return value
    return _plain(value, definitions, within)


def _or_text(part: JsonValue) -> JsonValue:
    """``part`` that also takes what a person writes for its type."""
    if not isinstance(part, dict) or "enum" in part or "const" in part:
        return part
    types = _types(part)
    known = [one for one in types if one in _WRITTEN]
    if len(known) != 1 or "string" in types:
        return part
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    return {**rest, "type": [*types, "string"], "pattern": _WRITTEN[known[0]]}


def _types(part: Mapping[str, JsonValue]) -> list[str]:
    """Those of a part that says no more than its types; of any other, none."""
    named, alternatives = part.get("type"), part.get("anyOf")
    if isinstance(named, str):
        return [named]
    if isinstance(alternatives, list) and all(isinstance(one, dict) and one.keys() == {"type"} for one in alternatives):
        return [str(one["type"]) for one in alternatives if isinstance(one, dict)]
    return []


def _name(reference: str) -> str:
    return reference.removeprefix("#/$defs/")


def _size(part: JsonValue) -> int:
    """As the server counts: keywords and properties, nested ones included."""
    if isinstance(part, dict):
        return sum(1 + _size(item) for item in part.values())
    return sum(_size(item) for item in part) if isinstance(part, list) else 0
