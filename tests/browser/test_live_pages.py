"""Open pages that are told of what happens, in a real Chromium: two people at one question, and an inbox."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from tests.bot.web.pages_world import ALICE, BOB, World
from tests.browser.test_pages_browser import a_page, sign_in, site

__all__ = ["site"]
pytestmark = pytest.mark.browser


async def test_anothers_answer_turns_the_form_into_its_result_and_keeps_what_was_typed(
    browser: Browser, site: World
) -> None:
    asked = await site.ask(responders=(ALICE, BOB), notify_to=ALICE)
    async with a_page(browser, site) as page:
        await sign_in(page, site, ALICE)
        await page.goto(f"/q/{asked.ask.ref}")
        await page.get_by_label("Reason").fill("The parcel is lost, I think.")
        await page.get_by_text("Approve refund", exact=True).click()
        await site.engine.respond(GivenAnswer(asked.id, Actor(BOB), "api", "deny", reason="Already refunded."))
        await expect(page.get_by_role("heading", name="Answered: Deny refund")).to_be_visible()
        await expect(page.get_by_role("heading", name="Your words were not sent")).to_be_visible()
        assert await page.locator(".kept textarea").input_value() == "The parcel is lost, I think."
        assert await page.get_by_role("button", name="Send answer").count() == 0


async def test_a_claim_shows_while_a_form_is_filled_in_and_touches_nothing(browser: Browser, site: World) -> None:
    asked = await site.ask(responders=(ALICE, BOB), notify_to=ALICE)
    async with a_page(browser, site) as page:
        await sign_in(page, site, ALICE)
        await page.goto(f"/q/{asked.ask.ref}")
        await page.get_by_label("Reason").fill("The parcel")
        await site.engine.claim(asked.id, Actor(BOB), "api")
        await expect(page.get_by_text("is on it until")).to_be_visible()
        assert await page.get_by_label("Reason").input_value() == "The parcel"
        await expect(page.get_by_label("Reason")).to_be_focused()
