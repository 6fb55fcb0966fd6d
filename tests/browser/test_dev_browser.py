"""``handraise dev`` in a real Chromium: a question that comes while somebody looks, and another site's page."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.journeys.service.test_dev import dev

pytestmark = pytest.mark.browser

OTHER = Starlette(routes=[Route("/", lambda _: HTMLResponse("<form method=post><button>Win</button></form>"))])
BODY = {"question": "Refund order 12345?", "choices": ["approve", "deny"]}


async def test_a_question_shows_in_an_open_inbox_and_is_answered_there(browser: Browser, tmp_path: Path) -> None:
    async with dev(tmp_path, "--as", "alice@example.com") as service, httpx.AsyncClient(trust_env=False) as http:
        headers = {"X-API-Key": service.key}
        page = await browser.new_page()
        await page.goto(service.link)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
        asked = (await http.post(f"{service.url}/v1/suspensions", json=BODY, headers=headers)).json()
        await page.locator("summary", has_text=str(BODY["question"])).click()
        await page.get_by_role("button", name="approve").click()
        await expect(page.get_by_text("Recorded: approve")).to_be_visible()
        ended = (await http.get(f"{service.url}/v1/suspensions/{asked['suspension_id']}", headers=headers)).json()
        assert (ended["response"], ended["responded_by"]) == ("approve", "alice@example.com")


async def test_another_sites_page_reaches_nothing(browser: Browser, tmp_path: Path) -> None:
    async with dev(tmp_path, "--as", "alice@example.com") as service, serving(OTHER) as url:
        page = await browser.new_page()
        await page.goto(url)
        for where in (service.link, f"{service.url}/v1/suspensions"):
            await page.evaluate("where => { document.forms[0].action = where }", where)
            async with page.expect_navigation() as there:
                await page.get_by_role("button", name="Win").click()
            assert (await (await there.value).all_headers())["content-type"] == "application/json"  # type: ignore[union-attr]
            assert (await there.value).status == 403  # type: ignore[union-attr]
            await page.goto(url)
        read = "where => fetch(where, {mode: 'no-cors'}).then(one => one.type, () => 'refused')"
        assert await page.evaluate(read, f"{service.url}/metrics") in {"opaque", "refused"}
