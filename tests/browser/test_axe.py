"""Every page by axe-core, which knows the WCAG: on the smallest phone, a phone and a laptop, light, dark and in forced
colours, with texts in Japanese and Arabic and emoji."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, ViewportSize

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import ResponseType
from tests.bot.web.pages_world import ALICE, BOB, World, a_site
from tests.browser.test_pages_browser import SCHEMA, sign_in

pytestmark = pytest.mark.browser

OLGA = "olga@example.com"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
}
FOREIGN = "払い戻しますか？ هل نعيد المبلغ؟ 👩‍👩‍👧‍👦"


@pytest.fixture
async def site() -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        async with a_site(Path(folder)) as site:
            yield site


async def _places(site: World) -> list[str]:
    """Every kind of page that a signed-in operator sees."""
    context = {"顧客": "ゾエ", "المبلغ": "499.99", "items": [{"sku": "A-1", "count": 2}], "log": "line\n" * 40}
    action = {"tool": "stripe.refund", "amount": 499.99, "to": "DE89 3704 0044 0532 0130 00"}
    asked = await site.ask(
        f"{FOREIGN}\n\nMore of **it**:\n\n- a\n- b\n\n```diff\n-a\n+b\n```", context=context, action=action
    )
    form = await site.ask("How much?", response_type=ResponseType.FORM, choices=(), form_schema=SCHEMA)
    ended = await site.ask("Ended?", action=action)
    await site.engine.respond(GivenAnswer(ended.id, Actor(BOB), "api", "deny", reason=FOREIGN))
    refs = [one.ask.ref for one in (asked, form, ended)]
    lists = ["/inbox", "/inbox?tab=all", "/inbox?tab=mine", "/inbox?q=nothing+of+it", "/insights", "/me"]
    return [*lists, *(f"/q/{ref}" for ref in refs), "/q/HR-NONE", f"/inbox/together?ref={refs[0]}&ref={refs[1]}"]


async def _violations(page: Page, place: str) -> list[str]:
    await page.goto(place)
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = await Axe().run(page)
    wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return [f"{place}: {one['id']}: {one['nodes'][0]['html'][:200]}" for one in found.response["violations"]] + (
        [f"{place}: wider than the screen"] if wide else []
    )


@pytest.mark.parametrize(
    ("width", "look"), [(320, "light"), (320, "forced colours"), (390, "dark"), (1440, "light"), (1440, "dark")]
)
async def test_no_page_has_a_violation(browser: Browser, site: World, width: int, look: str) -> None:
    places = await _places(site)
    context = await browser.new_context(
        base_url=site.service.settings.public_url,
        viewport=ViewportSize(width=width, height=900),
        bypass_csp=True,
        **LOOKS[look],
    )
    page = await context.new_page()
    found = await _violations(page, "/signin")
    await sign_in(page, site, OLGA)
    for place in places:
        found += await _violations(page, place)
    await page.goto(await site.link_of(ALICE))
    found += await _violations(page, page.url)
    await context.close()
    assert found == []
