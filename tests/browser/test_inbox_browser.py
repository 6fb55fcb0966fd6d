"""The inbox in a real Chromium: twelve at once, yesterday's refund, the keyboard alone, and a list that moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import Suspension
from tests.bot.web.pages_world import ALICE, BOB, OLGA, World, a_site
from tests.browser.test_pages_browser import a_page, sign_in

pytestmark = pytest.mark.browser

COLLIDING = """() => [...document.querySelectorAll(".first")].flatMap((row) => {
  const [ask, left] = [".ask", ".left"].map((one) => row.querySelector(one).getBoundingClientRect());
  const apart = ask.right <= left.left + 1 || left.right <= ask.left + 1 || left.bottom <= ask.top + 1;
  return apart ? [] : [row.textContent];
})"""


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[World]:
    async with a_site(tmp_path) as site:
        yield site


async def value_of(site: World, asked: Suspension) -> object:
    end = (await site.fresh(asked)).ended
    return None if end is None else end.value


@pytest.mark.parametrize("java_script_enabled", [True, False])
async def test_twelve_are_cleared_in_two_clicks_and_three_loads(
    browser: Browser, site: World, java_script_enabled: bool
) -> None:
    asked = [await site.ask(f"Refund nr. {n}?", action={"tool": "refund", "amount": n}) for n in range(12)]
    async with a_page(browser, site, java_script_enabled=java_script_enabled) as page:
        await sign_in(page, site, ALICE)
        loads: list[str] = []
        page.on("framenavigated", lambda frame: loads.append(frame.url))
        await page.goto("/inbox")
        await page.get_by_role("link", name="All 12 on this page").click()
        await expect(page.get_by_text("Exactly this will run")).to_have_count(12)
        await page.get_by_role("button", name="Approve refund").click()
        await expect(page.get_by_role("heading", name="12 of 12 recorded")).to_be_visible()
        assert len(loads) == 3
    assert [await value_of(site, one) for one in asked] == ["approve"] * 12


async def test_yesterdays_refund_and_who_approved_it_is_three_clicks_away(browser: Browser, site: World) -> None:
    asked = await site.ask("Refund the zebra?")
    await site.ask("Feed the yak?")
    await site.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "approve"))
    site.later(days=1)
    async with a_page(browser, site, java_script_enabled=False) as page:
        await sign_in(page, site, OLGA)
        await page.goto("/inbox")
        await page.get_by_role("link", name="yesterday").click()
        await page.get_by_label("Search the questions").fill("refund")
        await page.get_by_role("button", name="Search").click()
        row = page.locator(".row")
        await expect(row).to_have_count(1)
        await expect(row).to_contain_text("Refund the zebra?")
        await expect(row).to_contain_text("Approve refund")
        await expect(row).to_contain_text("by Bob")
        assert "ended=yesterday" in page.url


async def test_one_after_the_other_is_answered_by_keyboard_alone(browser: Browser, site: World) -> None:
    asked = [await site.ask(f"Nr. {n}?", timeout=timedelta(hours=n + 1)) for n in range(3)]
    async with a_page(browser, site) as page:
        await sign_in(page, site, ALICE)
        await page.goto("/inbox")
        await page.locator("summary", has_text="Nr. 0?").focus()
        await page.keyboard.press("Enter")
        for n in range(3):
            await expect(page.locator("details[open] > summary", has_text=f"Nr. {n}?")).to_be_focused()
            await page.keyboard.press("Tab")
            await page.keyboard.type("Fine.")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text(f"{2 - n} left")).to_be_visible()
    assert [await value_of(site, one) for one in asked] == ["approve"] * 3


async def test_a_closed_row_has_nothing_to_press(browser: Browser, site: World) -> None:
    await site.ask()
    async with a_page(browser, site, java_script_enabled=False) as page:
        await sign_in(page, site, ALICE)
        await page.goto("/inbox")
        await expect(page.get_by_role("button", name="Approve refund")).to_have_count(0)
        await page.locator("summary", has_text="Refund order 12345?").click()
        await expect(page.get_by_role("button", name="Approve refund")).to_be_visible()


async def test_new_questions_appear_beside_a_row_that_is_unfolded_and_typed_into(browser: Browser, site: World) -> None:
    first = await site.ask("First?")
    async with a_page(browser, site) as page:
        await sign_in(page, site, ALICE)
        await page.goto("/inbox")
        await page.locator("summary", has_text="First?").click()
        await page.get_by_label("Reason").fill("Half a thought")
        await page.locator("h1").click()  # the focus is elsewhere
        await site.ask("Second?", timeout=timedelta(hours=2))
        await expect(page.locator("summary", has_text="Second?")).to_be_visible()
        await expect(page.get_by_label("Reason").first).to_have_value("Half a thought")
        await expect(page.locator("details[open] > summary", has_text="First?")).to_be_visible()
        await site.engine.respond(GivenAnswer(first.id, Actor(BOB), "slack", "deny"))
        await expect(page.get_by_text("This no longer waits for you.")).to_be_visible()
        await expect(page.get_by_label("Reason").first).to_have_value("Half a thought")


@pytest.mark.parametrize("width", [320, 390, 1440])
async def test_no_row_sticks_out_or_covers_another_in_any_script(browser: Browser, site: World, width: int) -> None:
    word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk" * 4
    for question in (
        word,
        "返金しますか？注文番号12345のカードへの返金です。" * 6,
        "هل تريد استرداد المبلغ للطلب 12345؟ " * 6,
    ):
        await site.ask(question, action={"tool": word, "to": question}, decision_record={"risk": 0.9})
    async with a_page(browser, site, viewport={"width": width, "height": 800}) as page:
        await sign_in(page, site, ALICE)
        for place in ("/inbox", "/inbox?tab=mine", "/inbox?risk=no&tab=mine"):
            await page.goto(place)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width, place
        await page.goto("/inbox")
        assert await page.evaluate(COLLIDING) == []
