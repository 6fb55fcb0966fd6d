"""The OpenAPI document: what FastAPI reads off the routes, and what holds for every request beside that.

Source: API.md §1; OpenAPI 3.1; JSON Schema 2020-12.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any, Literal

from fastapi import FastAPI, Response
from fastapi.encoders import jsonable_encoder
from fastapi.openapi.models import Components
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from bot.web.api.overview import INTRODUCTION, PARAMETERS, SDK_TAG, TAGS
from bot.web.api.webhook_bodies import BODIES, described_webhooks

Part = dict[str, Any]

PATH = "/openapi.json"

_NUL: Part = {"pattern": r"\x00"}
_JSON_VALUE = "JsonValue"
_REF = "#/components/schemas/"
_ANY_JSON: Part = {
    "title": _JSON_VALUE,
    "description": "Any JSON, at most 64 levels deep; its texts hold no NUL.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string"},
        {"type": "array", "items": {"$ref": _REF + _JSON_VALUE}},
        {"type": "object", "additionalProperties": {"$ref": _REF + _JSON_VALUE}},
    ],
}
_REPLAYED: Part = {
    "Idempotency-Replayed": {
        "description": "This is the first reply again: the Idempotency-Key was used before.",
        "schema": {"const": "true"},
    }
}


_replies: dict[str, type] = {}
"""What the routes of this process reply with, by its name in the document."""


class DescribedRoute(APIRoute):
    """A route that only names what it replies with; the document describes each of those once.

    FastAPI would make a validator of each ``model`` for each route that has it, under each prefix. That took half of
    the time in which a process starts, and nothing is ever validated by them.
    """

    def __init__(self, path: str, endpoint: Any, *, responses: dict[int | str, Part] | None = None, **options: Any):
        named = {status: _named_reply(response) for status, response in (responses or {}).items()}
        super().__init__(path, endpoint, responses=named, **options)


def _named_reply(response: Part) -> Part:
    model = response.get("model")
    if model is None:
        return response
    known = _replies.setdefault(model.__name__, model)
    assert known is model, f"two replies are called {model.__name__}"  # noqa: S101 (a slip of ours, seen at every start)
    rest = {name: value for name, value in response.items() if name != "model"}
    if "description" not in rest:
        rest["description"] = _first_sentence(inspect.cleandoc(model.__doc__ or ""))
    return {**rest, "content": {"application/json": {"schema": {"$ref": _REF + model.__name__}}}}


def _first_sentence(text: str) -> str:
    """What a reply is, by the docstring of its model; the rest stands with its schema."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("\n", " ")


def describe(app: FastAPI) -> None:
    """Have ``app`` serve the whole document, once all its routes are there. It is written once: all who read it at the
    same time, however slowly, are sent the same bytes."""
    derived = app.openapi

    @cache
    def document() -> Part:
        return _completed(derived())

    @cache
    def written() -> bytes:
        return json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()

    writing = asyncio.Lock()

    @app.get(PATH, include_in_schema=False)
    async def openapi() -> Response:
        async with writing:
            if written.cache_info().currsize == 0:  # it takes a second, in which nobody else is to wait
                await asyncio.to_thread(written)
        return Response(written(), media_type="application/json")

    app.openapi = document  # type: ignore[method-assign]


def _completed(document: Part) -> Part:
    schemas: Part = document["components"]["schemas"]
    schemas |= _of_replies()
    add_field_docs(schemas)
    schemas[_JSON_VALUE] = deepcopy(_ANY_JSON)
    document["components"]["schemas"] = schemas = dict(sorted(schemas.items()))
    document["info"]["description"] = INTRODUCTION
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    document["webhooks"] = described_webhooks(_REF)
    for operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = _given(parameter["schema"])
            if parameter["in"] == "path" and "description" not in parameter:
                parameter["description"] = PARAMETERS[parameter["name"]]
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ())):
            _may_be_repeated(operation)
    for name in _of_requests(document):
        _keep_texts(schemas[name])
    _mark_the_other_prefix(document)
    return document


def _mark_the_other_prefix(document: Part) -> None:
    """Whoever reads the document is told of each operation once, and where else it is."""
    for path, verbs in document["paths"].items():
        if path.startswith("/api/v1/"):
            for verb, operation in verbs.items():
                said = f"The same as `{verb.upper()} {path.removeprefix('/api')}`."
                operation |= {"tags": [SDK_TAG], "description": said}


def _of_replies() -> Part:
    written: Literal["serialization"] = "serialization"
    models = {**_replies, **{body.__name__: body for body in BODIES}}
    replies = [(name, written, TypeAdapter[Any](model)) for name, model in models.items()]
    _, made = TypeAdapter.json_schemas(replies, ref_template=_REF + "{model}")
    encoded: Part = jsonable_encoder(Components(schemas=made["$defs"]), by_alias=True, exclude_none=True)
    schemas: Part = encoded["schemas"]
    return schemas


def _operations(document: Part) -> Iterator[Part]:
    for path in document["paths"].values():
        yield from path.values()


def _given(schema: Part) -> Part:
    """A parameter is there or not: it has no way to be ``null``, which FastAPI makes of one that may be left out."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **kinds[0]}


def _may_be_repeated(operation: Part) -> None:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["headers"] = {**response.get("headers", {}), **deepcopy(_REPLAYED)}


def _of_requests(document: Part) -> set[str]:
    """The names of the schemas that request bodies are made of."""
    schemas = document["components"]["schemas"]
    found: set[str] = set()
    left = [name for operation in _operations(document) for name in _named(operation.get("requestBody"))]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _named(schemas[name])
    return found


def _named(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REF)
        for inner in part.values():
            yield from _named(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _named(inner)


def _types(part: Part) -> list[Any]:
    named = part.get("type", [])
    return named if isinstance(named, list) else [named]


def _keep_texts(part: object) -> None:
    """Texts and keys hold no NUL (``limits.py`` refuses it): no database could keep it."""
    if isinstance(part, list):
        for inner in part:
            _keep_texts(inner)
    if not isinstance(part, dict):
        return
    if "string" in _types(part) and not {"enum", "const"} & part.keys():
        part["not"] = dict(_NUL)
    if part.get("type") == "object" and isinstance(part.get("additionalProperties"), dict):
        part["propertyNames"] = {"not": dict(_NUL)}
    if "patternProperties" in part:  # keys that do not fit are refused, which pydantic does not say
        part["additionalProperties"] = False
        part["propertyNames"] = {**part.get("propertyNames", {}), "not": dict(_NUL)}
    for name, inner in part.items():
        if name != "examples":
            _keep_texts(inner)


# --- Descriptions of fields -----------------------------------------------------------------------------------------

FieldDocs = dict[str, str]

_MODULES = (
    "bot.web.api",
    "bot.web.openintent",
    "core.domain.insights_record",
    "core.domain.policy",
    "core.domain.record",
    "core.openintent.domain.retry",
    "core.domain.wire",
)
"""Where the classes stand whose fields are on the wire. A class's name is its schema's."""


def add_field_docs(schemas: dict[str, Part]) -> None:
    """Give each property of ``schemas`` that has no description the docstring of the field that it is.

    Pydantic has the same by ``use_attribute_docstrings``. It reads a file once for each class, and while the process
    starts: a second of it, for bodies that nobody may ever ask about. Here each module is read once, when the document
    is first asked for.
    """
    known = _ClassDocs()
    for name, schema in schemas.items():
        for part in (schema, *schema.get("anyOf", ())):
            for field, prop in part.get("properties", {}).items():
                text = known.of(name).get(field)
                if text is not None and "description" not in prop:
                    prop["description"] = text


class _ClassDocs:
    """The docstrings of the fields of all classes that have been loaded, those that they inherit included."""

    def __init__(self) -> None:
        self._classes = {one.name: one for module in _modules() for one in _classes(module)}
        self._found: dict[str, FieldDocs] = {}

    def of(self, name: str) -> FieldDocs:
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def _read(self, name: str) -> FieldDocs:
        made = self._classes.get(name)
        if made is None:
            return {}
        inherited = [base.id for base in made.bases if isinstance(base, ast.Name)]
        docs = {field: text for base in inherited for field, text in self.of(base).items()}
        for field, after in zip(made.body, made.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                text = after.value.value if isinstance(after.value, ast.Constant) else None
                docs[field.target.id] = inspect.cleandoc(str(text))
        return docs


def _modules() -> Iterator[ModuleType]:
    yield from [module for name, module in sorted(sys.modules.items()) if name.startswith(_MODULES)]


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    try:
        text = inspect.getsource(module)
    except (OSError, TypeError):  # an installation without sources: the document has no descriptions then
        return
    yield from (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
