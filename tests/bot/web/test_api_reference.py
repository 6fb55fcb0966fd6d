"""``/docs``: the whole document as a page that needs no script and nothing from anywhere else."""

from __future__ import annotations

import re
from typing import Any

import lxml.html
import pytest

from bot.web.pages.api_reference import prose, schemas, sections
from bot.web.pages.rendering import HEADERS
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOCUMENT: dict[str, Any] = {
    "tags": [{"name": "things", "description": "<b>Things</b>"}],
    "paths": {
        "/things": {
            "get": {
                "tags": ["things"],
                "operationId": "things",
                "summary": "<script>alert(1)</script>",
                "description": "Say `<img src=x>` or **more** of *it*.",
                "responses": {"200": {"description": "`a` and `b`"}},
            }
        }
    },
    "webhooks": {},
    "components": {
        "schemas": {
            "Thing": {
                "description": "One.",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How large."},
                    "names": {
                        "anyOf": [{"type": "array", "maxItems": 3, "items": {"type": "string"}}, {"type": "null"}]
                    },
                    "like": {"$ref": "#/components/schemas/Thing", "description": "What it is like."},
                },
            }
        }
    },
}


async def test_every_operation_and_schema_is_on_the_page_and_every_link_leads_somewhere(room: World) -> None:
    told = (await room.call("GET", "/openapi.json", None)).json()
    reply = await room.call("GET", "/docs", None)
    page = lxml.html.fromstring(reply.text)
    ids = [element.get("id") for element in page.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))
    paths = [verbs for path, verbs in told["paths"].items() if not path.startswith("/api/v1/")]
    wanted = {said["operationId"] for verbs in (*paths, *told["webhooks"].values()) for said in verbs.values()}
    assert wanted | told["components"]["schemas"].keys() <= set(ids)
    links = {link for link in page.xpath("//a/@href") if link.startswith("#")}
    assert {link.removeprefix("#") for link in links} <= set(ids)


async def test_it_is_our_own_under_our_own_rules(room: World) -> None:
    reply = await room.call("GET", "/docs", None)
    assert reply.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
    page = lxml.html.fromstring(reply.text)
    assert page.xpath("//script[not(@src)] | //style | //@style | //@onclick | //iframe") == []
    loaded = page.xpath("//script/@src | //link/@href | //img/@src")
    assert loaded and all(re.fullmatch(r"/static/[a-z]+\.(css|js|svg)\?v=\w+", place) for place in loaded)
    for place in loaded:
        assert (await room.call("GET", place, None)).status_code == 200


async def test_whatever_stands_in_the_document_is_escaped() -> None:
    [section] = sections(DOCUMENT)
    [operation] = section.operations
    assert "&lt;b&gt;" in section.text
    assert operation.text == ("<p>Say <code>&lt;img src=x&gt;</code> or <b>more</b> of <i>it</i>.</p>")
    assert operation.answers[0].text == "<p><code>a</code> and <code>b</code></p>"
    assert prose("one\n\n``two``") == "<p>one</p><p><code>two</code></p>"


async def test_a_field_says_its_type_its_limits_and_whether_it_is_needed() -> None:
    [thing] = schemas(DOCUMENT)
    size, names, like = thing.fields
    assert (size.type, size.is_needed, list(size.limits)) == ("integer", True, ["at least 1", "at most 50"])
    assert (names.type, names.is_needed, list(names.limits)) == ("list of string or null", False, ["at most 3 items"])
    assert like.type == '<a href="#Thing">Thing</a>'
