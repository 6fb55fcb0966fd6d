"""Signing in through an OpenID provider of others' making (``tests/vendors/real_issuer.py``)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from bot.sandbox.serving import loopback_client
from tests.bot.web.pages_world import ALICE, SITE, Browser, Page, World, a_world
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process import ROOT
from tests.vendors.real_issuer import CLIENT_ID, CLIENT_SECRET

pytestmark = pytest.mark.slow

BACK = f"{SITE}/signin/oidc/callback"


@asynccontextmanager
async def an_issuer() -> AsyncIterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "tests.vendors.real_issuer", str(port), BACK]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(2 * PATIENCE):
            assert await process.stdout.readline() == b"ready\n"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.communicate()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with an_issuer() as issuer:
        oidc = {"issuer": issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        async with a_world(tmp_path, signin={"oidc": oidc}) as world:
            world.clock.move_by(datetime.now(UTC) - world.clock.now())  # it goes by the host's
            yield world


async def begin(browser: Browser) -> str:
    response = await browser.client.get("/signin/oidc/start", follow_redirects=False)
    assert response.status_code == 303, response.text
    return response.headers["location"]


async def agree(url: str, person: str, *, allows: bool = True) -> httpx.Response:
    """Sign in there, and press a button of its page."""
    there = urlsplit(url)
    async with loopback_client(timeout=PATIENCE) as http:
        first = await http.get(url)
        assert (first.status_code, first.headers["location"].startswith("/login")) == (302, True)
        await http.post(f"{there.scheme}://{there.netloc}/login", data={"user": person})
        page = Page(await http.get(url))
        assert page.status == 200, page.html
        fields = {name: value for name, value in page.form.fields if name != "allow" or allows}
        return await http.post(url, data=fields)


async def sign_in(browser: Browser, person: str, *, allows: bool = True) -> Page:
    response = await agree(await begin(browser), person, allows=allows)
    return await browser.get(response.headers["location"].removeprefix(SITE))


async def test_it_says_who_somebody_is_and_no_more(world: World) -> None:
    browser = world.browser()
    page = await sign_in(browser, "alice")
    assert (page.path, f"Signed in as {ALICE}" in page.text) == ("/inbox", True), page.text
    page = await sign_in(world.browser(), "mallory")
    assert (page.status, "this service does not" in page.text) == (403, True)
    page = await sign_in(world.browser(), "alice", allows=False)
    assert (page.status, "You stopped, or" in page.text) == (403, True)


async def test_it_keeps_what_we_rely_on(world: World) -> None:
    """A redirect URI that is not registered, no challenge, another verifier, a code twice."""
    browser, thief = world.browser(), world.browser()
    url = urlsplit(await begin(browser))
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    for change in ({"redirect_uri": "https://evil.example/back"}, {"code_challenge": ""}):
        async with loopback_client(timeout=PATIENCE) as http:
            await http.post(f"{url.scheme}://{url.netloc}/login", data={"user": "alice"})
            wrong = {name: value for name, value in {**query, **change}.items() if value}
            refused = await http.get(url._replace(query=urlencode(wrong)).geturl())
            assert refused.status_code == 400 or "error=invalid_request" in refused.headers["location"]
    back = (await agree(url.geturl(), "alice")).headers["location"]
    code = parse_qs(urlsplit(back).query)["code"][0]
    for _ in range(2):  # of another sign-in; and then used up
        state = parse_qs(urlsplit(await begin(thief)).query)["state"][0]
        page = await thief.get(f"/signin/oidc/callback?{urlencode({'code': code, 'state': state})}")
        assert page.status == 502
