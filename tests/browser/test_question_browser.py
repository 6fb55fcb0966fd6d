"""A question's page in a real Chromium: hostile texts, long lists, a phone's foot, and what came too late.

Needs Chromium (``apt-get install chromium``); without one every test here fails and says so.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.policy import PolicyFields
from core.domain.suspension import Choice, Rung, Suspension
from tests.bot.web.pages_world import ALICE, BOB, CAROL, World
from tests.browser.test_pages_browser import PHONE, READABLE, WORD, a_page, ended, site
from tests.nasty import NASTY

__all__ = ["site"]

pytestmark = pytest.mark.browser

FAMILY = "👨‍👩‍👧‍👦"
TEXT = f"""注文 12345 を返金しますか? {FAMILY}
See [the run](https://ci.example.com/runs/81).

```diff
-image: api:1.9
+image: api:2.0
```

هل نعيد المبلغ؟ {WORD}
"""
CONTEXT = {
    "المبلغ المستحق": "499.99 ج.م",
    "お客様": {"名前": "山田太郎", "住所": {"city": "القاهرة", "zip": "11511"}},
    WORD: WORD,
    "log": "word " * 400,
    "family": FAMILY,
}
MANY = tuple(Choice(f"r{number}", f"Region {number}") for number in range(30))
NO_FALLBACK = {"fallback_policy": None, "fallback_value": None}
HOURLY = PolicyFields(max_attempts=2, interval=timedelta(hours=1), escalation_ladder=(Rung(2, notify_to=CAROL),))


async def asked_with_everything(site: World) -> Suspension:
    action = {"tool": "deploy.run", "note": WORD}
    return await site.ask(TEXT, context=CONTEXT, action=action, policy=HOURLY, timeout=None, answers_required=2)


async def unfold(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


async def test_nothing_that_an_agent_writes_runs_or_becomes_an_element(browser: Browser, site: World) -> None:
    """By a browser's own parser, which takes more for a tag than ours does; a blocked attempt is a complaint."""
    for nasty in NASTY:
        choices = (Choice("a", nasty, nasty), Choice("b", "B", nasty))
        texts = f"{nasty}\n\n{nasty}\n\n- {nasty}\n\n```{nasty.splitlines()[0]}\n{nasty}\n```"
        await site.ask(texts, context={nasty: [nasty]}, action={nasty: nasty}, choices=choices, **NO_FALLBACK)
        async with a_page(browser, site) as page:
            await page.goto(await site.link_of(ALICE))
            await unfold(page)
            assert await page.evaluate("window.__ran") is None, nasty
            assert await page.locator("main :is(script, style, svg, iframe, img, object, embed, base)").count() == 0
            odd = "main :is([onerror], [onload], [onmouseover], [onfocus], [onclick], [style], [srcdoc])"
            assert await page.locator(odd).count() == 0, nasty
            schemes = await page.eval_on_selector_all("main a", "(all) => all.map((one) => one.protocol)")
            assert set(schemes) <= {"http:", "https:", "mailto:"}, nasty


@pytest.mark.parametrize("width", [320, 390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_whatever_is_in_it_nothing_sticks_out_and_all_can_be_read(
    browser: Browser, site: World, width: int, scheme: str
) -> None:
    asked = await asked_with_everything(site)
    size = ViewportSize(width=width, height=844)
    async with a_page(browser, site, viewport=size, color_scheme=scheme) as page:
        link = await site.link_of(ALICE, asked.ask.ref)
        for _ in ("open", "ended"):
            await page.goto(link)
            await unfold(page)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert await page.evaluate(READABLE) == []
            await site.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny", reason=WORD))


async def test_label_and_value_of_the_context_never_collide(browser: Browser, site: World) -> None:
    asked = await asked_with_everything(site)
    async with a_page(browser, site, viewport=ViewportSize(width=320, height=844)) as page:
        await page.goto(await site.link_of(ALICE, asked.ask.ref))
        rows = page.locator(".context tr:not(.group)")
        assert await rows.count() > 5
        for row in await rows.all():
            label, value = await row.locator("th").bounding_box(), await row.locator("td").bounding_box()
            assert label is not None
            assert value is not None
            assert label["x"] + label["width"] <= value["x"] + 1


async def test_a_long_list_is_filtered_and_whole_without_javascript(browser: Browser, site: World) -> None:
    asked = await site.ask("Which region?", choices=MANY, **NO_FALLBACK)
    link = await site.link_of(ALICE, asked.ask.ref)
    async with a_page(browser, site) as page:
        await page.goto(link)
        await page.get_by_text("Region 7", exact=True).click()
        await page.get_by_label("Filter these 30").fill("region 2")
        await expect(page.locator(".choice:visible")).to_have_count(13)  # 2, 12, 20 to 29, and the one that is picked
        await expect(page.get_by_text("13 of 30 shown")).to_be_visible()
        await page.keyboard.press("Enter")  # sends nothing
        assert await ended(site, asked) is None
    async with a_page(browser, site, java_script_enabled=False) as page:
        await page.goto(link)
        await expect(page.locator(".choice:visible")).to_have_count(30)
        await expect(page.get_by_label("Filter these 30")).to_be_hidden()


@pytest.mark.parametrize("script", [True, False])
async def test_the_foot_of_a_phone_leads_to_the_answer_and_covers_nothing_with_the_focus(
    browser: Browser, site: World, script: bool
) -> None:
    asked = await site.ask("Which region?", choices=MANY, context=CONTEXT, **NO_FALLBACK)
    async with a_page(browser, site, java_script_enabled=script) as page:
        await page.goto(await site.link_of(ALICE, asked.ask.ref))
        await expect(page.get_by_role("link", name="Answer", exact=True)).to_be_in_viewport()
        await page.get_by_role("link", name="Answer", exact=True).click()
        await expect(page.get_by_role("button", name="Send answer")).to_be_in_viewport()
        for field in (page.locator("input[name=choice]").nth(3), page.get_by_label("Reason")):
            await field.focus()
            box, bar = await field.bounding_box(), await page.locator(".bar").bounding_box()
            assert box is not None
            assert bar is not None
            assert box["y"] + box["height"] <= bar["y"] or box["y"] >= bar["y"] + bar["height"]
            assert box["y"] < PHONE["height"]


async def test_a_question_is_handed_over_in_two_clicks(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site, java_script_enabled=False) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_text("Hand over…").click()
        await page.get_by_role("button", name="Carol").click()
        await expect(page.get_by_role("alert")).to_contain_text("Handed over to Carol, who is asked now.")
        await expect(page.locator(".timeline")).to_contain_text("handed over by Alice to Carol")
    assert (await site.fresh(asked)).assigned_to == CAROL


async def test_a_lost_race_keeps_words_and_the_end_is_a_record(browser: Browser, site: World) -> None:
    asked = await site.ask(action={"tool": "stripe.refund"})
    async with a_page(browser, site, java_script_enabled=False) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_text("Approve refund", exact=True).click()
        await page.get_by_label("Reason").fill("The customer called twice.")
        await site.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny", reason="Paid back."))
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("heading", name="Your words were not sent")).to_be_visible()
        await expect(page.get_by_label("Your reason")).to_have_value("The customer called twice.")
        await expect(page.get_by_role("heading", name="Answered:")).to_contain_text("Deny refund")
        await page.goto(await site.link_of(ALICE))
        await expect(page.get_by_role("heading", name="Your words were not sent")).to_have_count(0)
        record = page.locator(".record")
        await expect(record).to_contain_text(asked.ask.action_digest or "none")
        await expect(record).to_contain_text("not used; the agent has not got it yet")
        await expect(record).to_contain_text("none: the agent waits for the answer")


async def test_who_is_next_is_on_the_page(browser: Browser, site: World) -> None:
    asked = await asked_with_everything(site)
    async with a_page(browser, site) as page:
        await page.goto(await site.link_of(ALICE, asked.ask.ref))
        steps = page.locator(".timeline .step")
        await expect(steps.nth(0)).to_contain_text("e-mail to")
        await expect(steps.nth(1)).to_contain_text("next: e-mail to Carol")
        await expect(steps.nth(2)).to_contain_text("end:")
        await expect(steps.nth(2)).to_contain_text("Deny refund")
