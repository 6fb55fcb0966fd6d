"""What a browser meets that knows only the address, and what every reply tells browsers and caches."""

from __future__ import annotations

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_the_address_alone_leads_a_browser_to_the_inbox(room: World) -> None:
    there = await room.call("GET", "/", None, headers=BROWSER)
    assert (there.status_code, there.headers["location"]) == (303, "/inbox")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0", "text/htmlish"])
async def test_to_a_program_there_is_nothing_at_the_address_alone(room: World, accept: str) -> None:
    said = await room.call("GET", "/", None, headers={"Accept": accept})
    assert (said.status_code, said.json()["detail"]["error"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/nowhere", "/static/nowhere", "/v1x", "/inbox/", "/a"])
async def test_a_browser_is_shown_a_page_where_there_is_nothing(room: World, path: str) -> None:
    shown = await room.call("GET", path, None, headers=BROWSER)
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing here" in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    told = await room.call("GET", path, None)
    assert (told.status_code, told.json()["detail"]["error"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/v1", "/v1/nowhere", "/api/v1", "/api/v1/nowhere/else"])
async def test_the_api_says_so_in_its_envelope_to_browsers_too(room: World, path: str) -> None:
    said = await room.call("GET", path, headers=BROWSER)
    assert (said.status_code, said.json()["detail"]["error"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/suspensions", 200),
        ("GET", "/v1/server/config", 200),
        ("GET", "/v1/suspensions?limit=x", 422),
        ("GET", "/v1/suspensions/unknown", 404),
        ("GET", "/v1/nowhere", 404),
        ("DELETE", "/v1/suspensions", 405),
        ("POST", "/v1/intents", 400),
        ("GET", "/openapi.json", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("POST", "/email/inbound", 401),
        ("GET", "/inbox", 303),
    ],
)
async def test_no_reply_is_kept_or_taken_for_something_else(room: World, method: str, path: str, status: int) -> None:
    said = await room.call(method, path)
    assert said.status_code == status, said.text
    assert said.headers.get_list("x-content-type-options") == ["nosniff"]
    assert said.headers.get_list("cache-control") == ["no-store"]


async def test_a_refusal_before_any_application_says_the_same(room: World) -> None:
    large = await room.call("GET", "/v1/suspensions", headers={"Long": "x" * 70_000})
    assert large.status_code == 431
    assert (large.headers["x-content-type-options"], large.headers["cache-control"]) == ("nosniff", "no-store")


async def test_browsers_may_keep_what_is_the_same_for_everybody(room: World) -> None:
    style = await room.call("GET", "/static/pages.css", None)
    assert (style.status_code, style.headers["x-content-type-options"]) == (200, "nosniff")
    assert "cache-control" not in style.headers and style.headers["etag"]
