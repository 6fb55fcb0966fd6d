"""Lines that a person may call their signature, in a real Chromium: on the smallest phone, without JavaScript, by day
and by night.

Needs Chromium (``apt-get install chromium``); without one every test here fails and says so.
"""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, ViewportSize, expect

from core.domain.signature_lines import SignatureOffer
from core.domain.suspension import Suspension
from core.store import signature_lines
from tests.bot.web.pages_world import ALICE, START, World
from tests.browser.test_pages_browser import FINGER, READABLE, WORD, a_page, ended, sign_in, site

__all__ = ["site"]

pytestmark = pytest.mark.browser

SMALL = ViewportSize(width=320, height=640)
DISCLAIMER = "If you are not the intended recipient, notify us & delete this mail: <b>never</b> forward it. " * 12
LINES = ("Never stop innovating.", DISCLAIMER, WORD)


async def offer(site: World, asked: Suspension, choice: int | None) -> None:
    made = SignatureOffer(("[EXTERNAL] Can you trust it?",), LINES, choice)
    await site.engine.database.write(lambda tx: signature_lines.offer(tx, asked.id, ALICE, made, START))


async def test_one_press_on_a_small_phone_without_javascript(browser: Browser, site: World) -> None:
    asked = await site.ask()
    await offer(site, asked, 1)
    async with a_page(browser, site, java_script_enabled=False, has_touch=True, viewport=SMALL) as page:
        await page.goto(await site.link_of(ALICE))
        await expect(page.get_by_role("heading", name="Are these lines your signature?")).to_be_visible()
        await page.get_by_role("button", name="They are my signature").tap()
        await expect(page.get_by_role("alert")).to_contain_text("these lines are your signature")
    assert await ended(site, asked) is None
    await offer(site, asked, 1)
    async with a_page(browser, site, java_script_enabled=False, has_touch=True, viewport=SMALL) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_role("button", name="Yes, and my answer is: Deny refund").tap()
        await expect(page.get_by_role("heading", name="Recorded:")).to_contain_text("Deny refund")
    assert await ended(site, asked) == ("deny", ALICE, "web", None)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_can_be_read_by_day_and_by_night_and_nothing_sticks_out(
    browser: Browser, site: World, scheme: str
) -> None:
    asked = await site.ask()
    async with a_page(browser, site, color_scheme=scheme, viewport=SMALL) as page:
        await sign_in(page, site, ALICE)
        for choice in (0, 1, None):
            await offer(site, asked, choice)
            for place in (f"/q/{asked.ask.ref}", await site.link_of(ALICE, asked.ask.ref), "/me"):
                await page.goto(place)
                assert await page.evaluate(READABLE) == [], place
                assert await page.evaluate("document.documentElement.scrollWidth") <= SMALL["width"], place
                await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                for one in await page.locator("main button").all():
                    box = await one.bounding_box()
                    assert box is not None
                    assert box["height"] >= FINGER, (place, await one.inner_text())
        await page.goto(f"/q/{asked.ask.ref}")
        await page.get_by_role("button", name="They are my signature").click()
        await page.goto("/me")
        await expect(page.get_by_text("4 lines that you have called your signature")).to_be_visible()
        assert await page.evaluate(READABLE) == []
        await page.get_by_role("button", name="Forget all of them").click()
        await expect(page.get_by_role("status")).to_contain_text("Forgotten.")


async def test_a_choice_in_the_link_is_picked_beside_the_lines(browser: Browser, site: World) -> None:
    asked = await site.ask()
    await offer(site, asked, 0)
    async with a_page(browser, site) as page:
        await page.goto(f"{await site.link_of(ALICE)}#c=0")
        await expect(page.locator("input[type=radio][value='0']")).to_be_checked()
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("heading", name="Recorded:")).to_contain_text("Approve refund")
    assert (await ended(site, asked))[0] == "approve"
