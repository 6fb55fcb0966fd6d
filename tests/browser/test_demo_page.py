"""The demo's page in a real Chromium, in front of the real demo: what a person does there reaches the agents.

Needs Chromium (``apt-get install chromium``); without one every test here fails and says so.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, expect

pytestmark = pytest.mark.browser

PHONE = ViewportSize(width=375, height=812)
DESK = ViewportSize(width=1400, height=1000)
NOTED_BY_ANOTHER = """field => fetch(`/pager/${field.id.slice("note-".length)}/note`, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({text: "Looking into it"}),
})"""
"""A note that comes by a way that this page does not know of."""


@pytest.fixture
async def signed_in_url(tmp_path: Path) -> AsyncIterator[str]:
    """Where a running demo says that its page is."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "handraise", "demo"),
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            async for line in process.stdout:
                if found := re.search(r"http://\S+\?key=\S+", line.decode()):
                    yield found[0]
                    break
            else:
                pytest.fail("the demo ended before it said where its page is")
    finally:
        process.send_signal(signal.SIGINT)
        await process.communicate()


@pytest.fixture
async def page(browser: Browser, signed_in_url: str) -> AsyncIterator[Page]:
    """The page on a desk, signed in; a script that fails, or anything that the policy blocks, fails the test.

    That Handraise did not answer a press is no fault of the page's, and said on it.
    """
    complaints: list[str] = []

    def note(said: ConsoleMessage) -> None:
        if said.type == "error" and " 502 " not in said.text:
            complaints.append(said.text)

    page = await browser.new_page(viewport=DESK)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", note)
    await page.goto(signed_in_url)
    yield page
    assert complaints == []


async def test_a_click_in_slack_edits_the_message_and_resumes_the_agent(page: Page) -> None:
    message = page.locator(".message").first

    await message.get_by_role("button", name="Approve refund").click()

    await expect(message).to_contain_text("Answered “Approve refund” by you@example.com via Slack")
    await expect(message).to_contain_text("(edited)")
    await expect(message.get_by_role("button")).to_have_count(0)
    await expect(page.locator(".card")).to_contain_text('resumed with "approve" by you via slack')


async def test_slack_asks_before_a_dangerous_button_counts(page: Page) -> None:
    deny = page.get_by_role("button", name="Deny refund")
    await deny.click()
    await page.locator("#confirm").get_by_role("button", name="Go back").click()
    await expect(page.locator("#confirm")).to_be_hidden()

    await deny.click()
    await page.locator("#confirm").get_by_role("button", name="Deny refund").click()

    await expect(page.locator(".card")).to_contain_text('resumed with "deny" by you via slack')


async def test_being_on_it_is_noted_in_private_and_keeps_the_question_open(page: Page) -> None:
    await page.get_by_role("button", name="I'm on it").click()

    await expect(page.locator(".message.private")).to_contain_text("Only visible to you")
    await expect(page.locator(".message.private")).to_contain_text("You're on it")
    await expect(page.locator(".card")).to_contain_text("taken by you")
    await expect(page.get_by_role("button", name="Approve refund")).to_be_visible()


async def test_open_in_slack_gives_a_private_link_that_leads_to_the_question_signed_in(page: Page) -> None:
    await page.get_by_role("button", name="Open", exact=True).click()
    private = page.locator(".message.private")
    await expect(private).to_contain_text("This link is yours alone")

    async with page.context.expect_page() as opened:
        await private.get_by_role("link").click()

    question = await opened.value
    await question.get_by_role("button", name="Sign in").click()
    await expect(question).to_have_url(re.compile(r"/q/HR-\w+$"))
    await expect(question.get_by_text("Signed in as you@example.com")).to_be_visible()
    await expect(question.get_by_role("heading", level=1)).to_contain_text("Refund")


async def test_a_form_is_filled_in_in_a_modal_which_says_what_is_missing(page: Page) -> None:
    await page.get_by_role("button", name="Form in Slack").click()
    await page.get_by_role("button", name="Answer…").click()
    modal = page.locator("#modal")
    await modal.get_by_label("Street and number").fill("Main Street 5")

    await modal.get_by_role("button", name="Send answer").click()
    await expect(modal).to_contain_text("Please complete this required field.")

    await modal.get_by_label("City").fill("Berlin")
    await modal.get_by_label("Carrier").select_option(label="UPS")
    await modal.get_by_role("button", name="Send answer").click()
    await expect(modal).to_be_hidden()
    await expect(page.locator(".card").first).to_contain_text('"street": "Main Street 5"')


async def test_a_mail_is_opened_and_answered_with_a_reply(page: Page) -> None:
    await page.get_by_role("button", name="By mail").click()
    await page.locator(".row", has_text="Pay invoice").click()
    await expect(page.frame_locator("iframe").get_by_role("link", name="1. Pay it")).to_be_visible()

    await page.get_by_label("Your reply").fill("2, please\n\nReason: The sum is odd.")
    await page.get_by_role("button", name="Send reply").click()

    await expect(page.locator(".card").first).to_contain_text('resumed with "ask_back" by you via email')
    await expect(page.locator(".row", has_text="Re: [HR-")).to_be_visible()


async def test_a_mails_envelope_and_headers_can_be_looked_at(page: Page) -> None:
    await page.get_by_role("button", name="By mail").click()
    await page.locator(".row", has_text="Pay invoice").click()
    await page.get_by_text("Headers", exact=True).click()

    headers = page.locator(".headers pre")
    await expect(headers).to_contain_text(re.compile(r"^MAIL FROM:<bounces\+"))
    await expect(headers).to_contain_text("Auto-Submitted: auto-generated")


async def test_the_answer_link_of_a_mail_opens_the_answer_page(page: Page) -> None:
    await page.get_by_role("button", name="By mail").click()
    await page.locator(".row", has_text="Pay invoice").click()

    async with page.context.expect_page() as opened:
        await page.frame_locator("iframe").get_by_role("link", name="1. Pay it").click()

    answer_page = await opened.value
    await expect(answer_page).to_have_url(re.compile(r"/a/[a-z2-7]+#c=0$"))
    await answer_page.get_by_role("button", name=re.compile("Send|Answer")).first.click()
    await expect(page.locator(".card").first).to_contain_text('resumed with "pay" by you via web')


async def test_an_incident_is_acknowledged_and_answered_with_a_note(page: Page) -> None:
    await page.get_by_role("button", name="On the pager").click()
    incident = page.locator(".incident")
    await expect(incident).to_contain_text("Exactly this will run")
    await expect(incident.locator("pre")).to_contain_text('"tool": "deploy.release"')
    await incident.get_by_role("button", name="Acknowledge").click()
    await expect(incident).to_contain_text("acknowledged by you")
    await expect(page.locator(".card").first).to_contain_text("taken by you")

    await incident.get_by_label("A note").fill("yes")
    await incident.get_by_role("button", name="Note").click()

    await expect(page.locator(".card").first).to_contain_text('resumed with "yes" by you via pagerduty')
    await expect(incident).to_contain_text("resolved")


async def test_a_press_counts_though_the_incident_changes_before_it_ends(page: Page) -> None:
    await page.get_by_role("button", name="On the pager").click()
    incident = page.locator(".incident")
    await incident.get_by_role("button", name="Acknowledge").hover()
    await page.mouse.down()
    async with page.expect_response(lambda one: one.url.endswith("/world") and one.status == 200):
        await incident.get_by_label("A note").evaluate(NOTED_BY_ANOTHER)
    await page.evaluate("new Promise(requestAnimationFrame)")

    await page.mouse.up()

    await expect(incident).to_contain_text("acknowledged by you")
    await expect(incident).to_contain_text("Looking into it")


async def test_a_question_whose_incident_somebody_resolved_is_still_answered_there_with_a_note(page: Page) -> None:
    await page.get_by_role("button", name="On the pager").click()
    incident = page.locator(".incident")
    await incident.get_by_role("button", name="Resolve").click()
    await expect(incident.locator(".status")).to_have_text("resolved")

    await incident.get_by_label("A note").fill("yes")
    await incident.get_by_role("button", name="Note").click()

    await expect(page.locator(".card").first).to_contain_text('resumed with "yes" by you via pagerduty')


async def test_nobody_answers_leads_up_the_ladder_and_three_steps_tick_off(page: Page) -> None:
    steps, card = page.locator("#steps li"), page.locator(".card")
    await expect(page.locator("#gist")).to_contain_text("An AI agent needs your yes to refund $499.99")
    await expect(steps.first).to_have_attribute("aria-current", "step")
    await expect(page.locator("#steps .done")).to_have_count(0)

    await card.get_by_role("button", name="nobody answers: on to mail").click()
    await expect(page.frame_locator("iframe").get_by_role("heading", name="Reminder (2 of 3)")).to_be_visible()
    await expect(page.locator("#steps .done")).to_have_text(re.compile("Stay silent"))

    await card.get_by_role("button", name="nobody answers: on to the pager").click()
    await expect(page.locator(".incident")).to_contain_text("Refund order 12345?")
    await expect(card.get_by_role("button", name="nobody answers: its time is up")).to_be_visible()

    await page.get_by_label("Your reply").fill("approve")
    await page.get_by_role("button", name="Send reply").click()
    await expect(card).to_contain_text('resumed with "approve" by you via email')
    await expect(page.locator("#steps .done")).to_have_count(2)

    await card.get_by_text("the callback", exact=True).click()
    await expect(card.locator("dd", has_text="intent.resumed")).to_be_visible()
    await expect(page.locator("#steps .done")).to_have_count(3)
    await page.reload()
    await expect(page.locator("#steps .done")).to_have_count(3)


async def test_silence_on_one_card_leaves_the_others_alone(page: Page) -> None:
    await page.get_by_role("button", name="Text in Slack").click()
    cards = page.locator(".card")
    await cards.first.get_by_role("button", name="nobody answers: on to mail").click()

    await expect(page.locator(".row")).to_contain_text("What shall I tell customer 881")
    await expect(page.locator(".row")).to_have_count(1)
    await expect(cards.last.get_by_role("button", name="nobody answers: on to mail")).to_be_visible()


async def test_a_trouble_says_what_to_expect_and_it_comes_true(page: Page) -> None:
    async def choose(label: str) -> None:
        await page.get_by_text("Trouble", exact=True).click()
        await page.get_by_role("button", name=label).click()

    expected = page.locator("#expect")
    await expect(page.locator(".message")).to_have_count(1)
    await choose("Take chat:write away")
    await expect(expected).to_contain_text("goes on to mail at once")
    await page.get_by_role("button", name="Slack → mail → pager").click()
    await expect(page.locator(".row")).to_contain_text("Refund order 12345?")
    await choose("Take chat:write away")
    await expect(expected).to_be_hidden()

    await choose("Lose the next acknowledgement")
    await expect(expected).to_contain_text("recorded all the same")
    await page.get_by_role("button", name="Approve refund").click()
    await expect(page.locator("#toast")).to_contain_text("did not answer in time")
    await expect(page.locator(".message").first).to_contain_text("Answered “Approve refund”")
    await expected.get_by_role("button", name="Dismiss").click()
    await expect(expected).to_be_hidden()


async def test_on_a_phone_one_window_shows_at_a_time_and_nothing_sticks_out(page: Page) -> None:
    await page.set_viewport_size(PHONE)
    for name, shown in (("Mail", ".window.mail"), ("Pager", ".window.pager"), ("Slack", ".window.slack")):
        await page.locator(".tabs").get_by_role("button", name=name).click()
        await expect(page.locator(".window:visible")).to_have_count(1)
        await expect(page.locator(shown)).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


async def test_on_a_phone_what_it_is_the_steps_and_the_button_are_seen_without_scrolling(page: Page) -> None:
    await page.set_viewport_size(PHONE)
    button = page.get_by_role("button", name="nobody answers: on to mail")
    seen = [page.locator("#gist"), *await page.locator("#steps li").all(), button, page.locator(".tabs")]
    tops = []
    for one in seen:
        await expect(one).to_be_visible()
        box = await one.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= PHONE["height"]
        tops.append(box["y"])
    assert tops == sorted(tops)

    await button.click()

    await expect(page.locator(".window.mail")).to_be_visible()
    await expect(page.frame_locator("iframe").get_by_role("heading", name="Reminder (2 of 3)")).to_be_visible()
