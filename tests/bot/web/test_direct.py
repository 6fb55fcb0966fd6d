"""Requests that come to their route without FastAPI are answered as FastAPI would have them answered."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from bot.app import _ROOMS, PREFIXES, _direct, build_app
from bot.web.api.direct import DirectCalls, RouteTable
from tests.world import KEYS, World

AGENT, OPERATOR = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["operator"]}
QUESTION = {"question": "Refund order 12345?", "response_type": "confirm", "timeout_seconds": 3600}
AT_LEAST = 60
"""Routes of the API that take no more than what a direct call works out."""


def routes() -> list[APIRoute]:
    return [one for room in _ROOMS for one in room.routes if isinstance(one, APIRoute)]


def paths() -> list[str]:
    """Each path of the API, filled in, and some that are nearly one."""
    filled = [re.sub(r"\{[^}]*\}", "x", prefix + one.path) for prefix in PREFIXES for one in routes()]
    return [
        more for path in filled for more in (path, path + "/", path + "/x", path + "\n", path + "/preview", path[:-1])
    ]


def test_the_route_of_a_path_is_the_one_that_fastapi_would_take() -> None:
    table = _direct()
    patterns = [(compile_path(prefix + one.path)[0], one) for prefix in PREFIXES for one in routes()]
    direct = 0
    for path in paths():
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
            first = next((one for pattern, one in patterns if pattern.match(path) and method in one.methods), None)
            found = table.find(method, path)
            if found is not None:
                assert found[0].route is first, (method, path)
                direct += found[0].call is not None
    assert direct > AT_LEAST


@pytest.fixture
def apps(world: World) -> tuple[FastAPI, FastAPI]:
    """The application as it is, and FastAPI alone."""
    usual, alone = build_app(world.service), build_app(world.service)
    alone.user_middleware = [one for one in alone.user_middleware if one.cls is not DirectCalls]  # type: ignore[comparison-overlap]
    assert len(alone.user_middleware) == len(usual.user_middleware) - 1
    return usual, alone


def test_behind_a_parameter_that_takes_slashes_only_fastapi_knows_what_is_meant() -> None:
    async def nothing(_request: Request) -> Response | None:
        return None

    below = APIRouter()
    for path, methods in (("/first/x", ["GET"]), ("/{name:path}", ["GET"]), ("/second/x", ["GET", "PUT"])):
        below.add_api_route(path, nothing, methods=methods, response_model=None)
    table = RouteTable()
    table.add("/v1", [(one, nothing) for one in below.routes if isinstance(one, APIRoute)])
    asked = [(method, path) for path in ("/first/x", "/second/x") for method in ("GET", "PUT")]
    taken = [method + path for method, path in asked if table.find(method, "/v1" + path)]
    assert taken == ["GET/first/x", "PUT/second/x"]


async def told(
    app: FastAPI, method: str, path: str, *, raises: bool = False, **options: Any
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=raises)
    async with httpx.AsyncClient(transport=transport, base_url="http://handraise") as http:
        reply = await http.request(method, path, **options)
        return reply.status_code, reply.headers.raw, reply.content


def _body(**fields: Any) -> dict[str, Any]:
    return {"json": {**QUESTION, **fields}, "headers": AGENT}


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/suspensions", {"json": QUESTION}),
    ("POST", "/v1/suspensions", {"json": QUESTION, "headers": {"X-API-Key": "nobody"}}),
    ("POST", "/v1/suspensions", {"json": QUESTION, "headers": OPERATOR}),
    ("POST", "/v1/suspensions", {"headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b"{", "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b"\xef\xbb\xbf{}", "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b"\xff", "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b"[1]", "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b'{"question": NaN}', "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b'{"question": 1e999}', "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b'{"question": "\\u0000"}', "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b'{"context": ' + b"[" * 70 + b"]" * 70 + b"}", "headers": AGENT}),
    ("POST", "/v1/suspensions", {"content": b" " * (1024 * 1024 + 1), "headers": AGENT}),
    ("POST", "/v1/suspensions", _body(question="")),
    ("POST", "/v1/suspensions", _body(question=7, unknown=True, timeout_seconds="soon")),
    ("POST", "/v1/suspensions", _body(response_type="choice")),
    ("POST", "/v1/suspensions", {**_body(), "headers": {**AGENT, "Idempotency-Key": "x" * 256}}),
    ("POST", "/v1/suspensions?q=1", {"json": {}, "headers": AGENT}),
    ("POST", "/v1/suspensions/", _body()),
    ("POST", "/v1/suspensions%0A", _body(question="")),
    ("POST", "/v1/suspensions%00", _body()),
    ("PUT", "/v1/suspensions", _body()),
    ("HEAD", "/v1/suspensions", {"headers": AGENT}),
    ("OPTIONS", "/v1/suspensions", {"headers": AGENT}),
    ("POST", "/api/v1/suspensions", {"json": {}, "headers": AGENT}),
    ("GET", "/v1/suspensions/preview", {"headers": AGENT}),
    ("GET", "/v1/suspensions/nobody", {"headers": AGENT}),
    ("GET", f"/v1/suspensions/{'x' * 256}", {"headers": AGENT}),
    ("GET", "/v1/suspensions?limit=0", {"headers": AGENT}),
    ("POST", "/v1/intents/nobody/suspend", _body()),
    ("POST", "/v1/intents/nobody/suspend", {**_body(), "headers": {**AGENT, "If-Match": "three"}}),
    ("POST", "/v1/intents/nobody/suspend/respond", {"json": {"value": "yes"}, "headers": OPERATOR}),
    ("POST", "/v1/intents/nobody/suspend/respond", {"json": {"no": "yes"}, "headers": OPERATOR}),
    ("POST", f"/v1/intents/{'x' * 256}/suspend/respond", {"json": {"value": "yes"}, "headers": OPERATOR}),
    ("POST", "/v1/intents/nobody/suspend/respond", {"json": {"value": "yes"}, "headers": AGENT}),
    ("PATCH", "/v1/intents/nobody/state", {"json": {}, "headers": AGENT}),
    ("DELETE", "/v1/keys/a/b", {"headers": AGENT}),
    ("GET", "/v1/nothing", {"headers": AGENT}),
]


@pytest.mark.parametrize(("method", "path", "options"), WRONG)
async def test_what_is_wrong_is_said_as_fastapi_says_it(
    apps: tuple[FastAPI, FastAPI], method: str, path: str, options: dict[str, Any]
) -> None:
    usual, alone = apps
    said = await told(usual, method, path, **options)
    assert said == await told(alone, method, path, **options)
    assert said[0] >= 400


async def test_what_nobody_expected_is_one_sentence_and_a_line_in_the_log(
    apps: tuple[FastAPI, FastAPI], capsys: pytest.CaptureFixture[str]
) -> None:
    usual, alone = apps
    del usual.state.services, alone.state.services  # whatever a route does then fails
    said = await told(usual, "POST", "/v1/suspensions", **_body())
    assert said == await told(alone, "POST", "/v1/suspensions", **_body())
    assert (said[0], json.loads(said[2])["detail"]["error"]) == (500, "internal")
    with pytest.raises(AttributeError):  # the server hears of it too
        await told(usual, "POST", "/v1/suspensions", raises=True, **_body())
    lines = [line for line in capsys.readouterr().out.splitlines() if "web.failed" in line]
    assert len(lines) == 3 and all("path=/suspensions" in line for line in lines)


async def test_what_is_asked_directly_is_replied_to_with_the_same_headers(apps: tuple[FastAPI, FastAPI]) -> None:
    asked = [await told(app, "POST", "/v1/suspensions", **_body()) for app in apps]
    assert [status for status, _, _ in asked] == [201, 201]
    usual, alone = ([name for name, _ in headers] for _, headers, _ in asked)
    assert usual == alone
