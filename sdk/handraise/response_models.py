"""Forms from pydantic models: the JSON Schema for a person's form, and the model from their answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError

Model = TypeVar("Model", bound=BaseModel)
Schema = dict[str, JsonValue]

_NESTED = {"$ref", "properties", "additionalProperties", "prefixItems"}


def form_schema(model: type[BaseModel]) -> Schema:
    """The flat JSON Schema (2020-12) of ``model``: references are written out, and ``None`` means that a field may stay
    empty.

    Raises ``TypeError`` for what is no model, has no fields, or has one that is no simple value or list of them: a form
    is flat (API.md §4).
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError("response_model is a pydantic model, the class itself")
    return flat_schema(model.model_json_schema(), model.__name__)


def flat_schema(given: Mapping[str, JsonValue], name: str) -> Schema:
    """The JSON Schema ``given``, of the model called ``name``, as :func:`form_schema` says, with its errors."""
    schema = dict(given)
    definitions = cast("Mapping[str, Schema]", schema.pop("$defs", {}))
    if isinstance(reference := schema.get("$ref"), str):  # of a model that names itself
        schema = dict(definitions[reference.removeprefix("#/$defs/")])
    fields = cast("Mapping[str, Schema]", schema.get("properties"))
    if not fields:
        raise TypeError(f"response_model: {name} has no fields to ask for")
    schema["properties"] = {field: _flat(part, definitions, field) for field, part in fields.items()}
    return schema


def _flat(part: Schema, definitions: Mapping[str, Schema], name: str) -> Schema:
    if isinstance(reference := part.get("$ref"), str):
        rest = {key: value for key, value in part.items() if key != "$ref"}
        return _flat({**definitions[reference.removeprefix("#/$defs/")], **rest}, definitions, name)
    alternatives = part.get("anyOf")
    if isinstance(alternatives, list):
        some = [one for one in alternatives if isinstance(one, dict) and one.get("type") != "null"]
        if len(some) == 1 and len(alternatives) == 2:
            rest = {key: value for key, value in part.items() if key not in {"anyOf", "default"} or value is not None}
            rest.pop("anyOf", None)
            return _flat({**some[0], **rest}, definitions, name)
    if isinstance(items := part.get("items"), dict):
        part = {**part, "items": _flat(items, definitions, name)}
    if part.get("type") == "object" or _NESTED & part.keys():
        raise TypeError(f"response_model: the field {name} is no simple value, and a form is flat")
    return part


def model_of(model: type[Model], value: JsonValue) -> Model | str:
    """``value`` as ``model``, or the names of the fields that don't fit, with what is wrong; no value is among them."""
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError as problem:
        wrong = [(".".join(map(str, error["loc"])) or "the answer", error["type"]) for error in problem.errors()]
    return ", ".join(f"{where} ({what})" for where, what in wrong)
