"""Unknown fields of a request: the known one that each was probably meant to be.

Source: docs.pydantic.dev/latest/errors/validation_errors (``loc``: the way to a value, by name and position).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from handraise.nearest_name import nearest_name
from pydantic import BaseModel
from starlette.requests import Request

MOST_SUGGESTED = 20
"""Fields of one request. Each costs a comparison with every known field."""

Problem = Mapping[str, Any]


def suggestions(request: Request, problems: list[Any]) -> dict[tuple[Any, ...], str]:
    """The nearest known field of each unknown one in the body, by its ``loc``."""
    body = getattr(request.scope.get("route"), "body_field", None)
    if body is None:
        return {}
    unknown = [one["loc"] for one in problems if one["type"] == "extra_forbidden" and one["loc"][:1] == ("body",)]
    found: dict[tuple[Any, ...], str] = {}
    for loc in unknown[:MOST_SUGGESTED]:
        near = nearest_name(str(loc[-1]), _names_at(body.field_info.annotation, loc[1:-1]))
        if near is not None:
            found[loc] = near
    return found


def _names_at(annotation: Any, way: tuple[Any, ...]) -> list[str]:
    """The names of the fields at the end of ``way``."""
    for step in way:
        inner = {name: of for model in _models(annotation) for name, of in _fields(model).items()}
        if step in inner:
            annotation = inner[step]  # else a position in a list, or a branch of a union
    return [name for model in _models(annotation) for name in _fields(model)]


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every model that a value of this type may be, or hold in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
