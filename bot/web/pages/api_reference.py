"""``/docs``: the OpenAPI document as one page, for people. It needs no script, and nothing from another site.

The page is computed from the document alone (pure), and all its text is escaped.

Source: OpenAPI 3.1; JSON Schema 2020-12; docs/decisions/0073.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from bot.web.pages.rendering import Handler, PageRenderer

PLACE = "/docs"
Part = Mapping[str, Any]

_REF = "#/components/schemas/"
_VERBS = ("get", "put", "post", "patch", "delete")
_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} names",
    "default": "{} by default",
}
_MARKS = ((r"``(.+?)``", "code"), (r"`(.+?)`", "code"), (r"\*\*(.+?)\*\*", "b"), (r"\*(.+?)\*", "i"))


@dataclass(frozen=True, slots=True)
class DescribedField:
    """One property or parameter. ``place`` is a parameter's location; ``limits`` are short phrases."""

    name: str
    type: Markup
    is_needed: bool
    limits: Sequence[str]
    text: Markup
    place: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible reply of an operation."""

    status: str
    text: Markup
    type: Markup


@dataclass(frozen=True, slots=True)
class Operation:
    """``path`` is the name if it is a webhook."""

    id: str
    verb: str
    path: str
    summary: str
    text: Markup
    fields: Sequence[DescribedField]
    body: Markup
    example: str
    answers: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class TagSection:
    """The operations of one tag."""

    id: str
    name: str
    text: Markup
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of a body or a part of one. ``type`` is its type if it has no fields."""

    name: str
    text: Markup
    type: Markup
    fields: Sequence[DescribedField]


def reference_page(document: Callable[[], Part], renderer: PageRenderer) -> Handler:
    """The route. The page is written once: it takes a second, in which nobody else waits."""

    @cache
    def written() -> HTMLResponse:
        told = document()
        return renderer.page(
            "api_reference.html",
            title=told["info"]["title"],
            version=told["info"]["version"],
            introduction=prose(told["info"]["description"]),
            sections=sections(told),
            schemas=schemas(told),
        )

    writing = asyncio.Lock()

    async def show(_request: Request) -> HTMLResponse:
        async with writing:
            if written.cache_info().currsize == 0:
                await asyncio.to_thread(written)
        return written()

    return show


def sections(document: Part) -> list[TagSection]:
    """The tags in their order, each with its operations. A duplicate operation is left out."""
    named: dict[str, list[Operation]] = {name: [] for name, _ in _tags(document)}
    for path, verb, operation in _operations(document):
        if not path.startswith("/api/v1/"):
            named[operation["tags"][0]].append(_operation(path, verb, operation, document))
    return [TagSection(_anchor(name), name, prose(text), named[name]) for name, text in _tags(document)]


def _tags(document: Part) -> Iterator[tuple[str, str]]:
    yield from ((tag["name"], tag["description"]) for tag in document["tags"])


def schemas(document: Part) -> list[Schema]:
    return [_schema(name, schema) for name, schema in document["components"]["schemas"].items()]


def prose(text: str) -> Markup:
    """CommonMark as far as the document uses it: paragraphs, code, bold and italics."""
    return Markup("").join(Markup("<p>{}</p>").format(_marked(one)) for one in text.strip().split("\n\n"))


def _marked(text: str) -> Markup:
    said = str(escape(text))
    kept: list[str] = []

    def keep(found: re.Match[str], tag: str) -> str:
        kept.append(f"<{tag}>{found[1]}</{tag}>")
        return f"\x00{len(kept) - 1}\x00"

    for pattern, tag in _MARKS:
        said = re.sub(pattern, lambda found, tag=tag: keep(found, tag), said, flags=re.DOTALL)  # type: ignore[misc]
    for number in reversed(range(len(kept))):
        said = said.replace(f"\x00{number}\x00", kept[number])
    return Markup(said)  # noqa: S704 (escaped above; the tags are ours)


def _operations(document: Part) -> Iterator[tuple[str, str, Part]]:
    for group in ("paths", "webhooks"):
        for path, verbs in document[group].items():
            yield from ((path, verb, verbs[verb]) for verb in _VERBS if verb in verbs)


def _operation(path: str, verb: str, operation: Part, document: Part) -> Operation:
    schema = _body_of(operation.get("requestBody", {}))
    return Operation(
        id=operation["operationId"],
        verb=verb.upper(),
        path=path,
        summary=operation["summary"],
        text=prose(operation["description"]),
        fields=[
            _field(one["name"], one["schema"], one["required"], one["description"], one["in"])
            for one in operation.get("parameters", ())
        ],
        body=_type(schema) if schema is not None else Markup(""),
        example=_example(schema, document),
        answers=[
            Answer(status, prose(response["description"]), _answer_type(response))
            for status, response in operation["responses"].items()
        ],
    )


def _answer_type(response: Part) -> Markup:
    schema = _body_of(response)
    return Markup("") if schema is None else _type(schema)


def _body_of(part: Part) -> Part | None:
    """The schema of a JSON body; ``None`` for any other, or no body."""
    schema: Part | None = part.get("content", {}).get("application/json", {}).get("schema")
    return schema or None


def _example(schema: Part | None, document: Part) -> str:
    name = "" if schema is None else schema.get("$ref", "").removeprefix(_REF)
    examples = document["components"]["schemas"].get(name, {}).get("examples", ())
    return json.dumps(examples[0], ensure_ascii=False, indent=2) if examples else ""


def _schema(name: str, schema: Part) -> Schema:
    fields: Part = next((one for one in (schema, *schema.get("anyOf", ())) if "properties" in one), {})
    needed = fields.get("required", ())
    rows = [
        _field(field, part, field in needed, part.get("description", ""))
        for field, part in fields.get("properties", {}).items()
    ]
    return Schema(name, prose(schema.get("description", "")), Markup("") if rows else _type(schema), rows)


def _field(name: str, schema: Part, is_needed: bool, text: str, place: str = "") -> DescribedField:
    return DescribedField(name, _type(schema), is_needed, _limits(schema), prose(text), place)


def _limits(schema: Part) -> list[str]:
    """The constraints on the value; if it may be ``null``, those on any other value."""
    inner = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    of = {**(inner[0] if len(inner) == 1 else {}), **schema}
    said = [words.format(json.dumps(of[name])) for name, words in _LIMITS.items() if of.get(name) is not None]
    return ["not empty" if one == _LIMITS["minLength"].format(1) else one for one in said]


def _type(schema: Part) -> Markup:
    """The type in a few words; another schema is a link to it."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        return Markup('<a href="#{}">{}</a>').format(_anchor(name), name)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(Markup("<code>{}</code>").format(json.dumps(value)) for value in values)
    if "anyOf" in schema:
        return Markup(" or ").join(map(_type, schema["anyOf"]))
    kinds = schema.get("type", "anything")
    return Markup(" or ").join(_kind(kind, schema) for kind in (kinds if isinstance(kinds, list) else [kinds]))


def _kind(kind: str, schema: Part) -> Markup:
    if kind == "array":
        return Markup("list of {}").format(_type(schema.get("items", {})))
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict) and values.get("$ref") != _REF + "JsonValue":
        return Markup("object of {} by name").format(_type(values))
    return Markup("instant") if schema.get("format") == "date-time" else escape(kind)


def _anchor(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)
