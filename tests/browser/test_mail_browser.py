"""The mail that asks in a real Chromium, on a small phone: what stands on the first screen before anybody scrolls.

Needs Chromium (``apt-get install chromium``); without one every test here fails and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, ViewportSize

from channels.email.examples import FIRST, NOTICES
from channels.email.first_screen import HEIGHT
from core.domain.action import ShownAction
from core.domain.notice import Notice, NoticeChoice
from core.domain.silence import Comes, Silence
from core.domain.suspension import ResponseType, Style
from tests.channels.email.test_email_looks import html_of, mail_of

pytestmark = pytest.mark.browser

PHONE = ViewportSize(width=375, height=HEIGHT)
TABLET = ViewportSize(width=700, height=900)
FINGER = 44

APPROVE_OR_DENY = (
    NoticeChoice(0, "Approve", "approve", None, Style.PRIMARY),
    NoticeChoice(1, "Deny", "deny", None, Style.DANGER, negative=True),
)
FOUR = (
    NoticeChoice(0, "Approve refund", "approve", None, Style.PRIMARY),
    NoticeChoice(1, "Refund half of it", "half"),
    NoticeChoice(2, "Ask the warehouse", "ask"),
    NoticeChoice(3, "Deny refund", "deny", None, Style.DANGER, negative=True),
)
LONG = (
    "Customer 4711 says that order 12345 arrived broken, twice, and wants the whole amount back to the card that it "
    "was paid with. Our warehouse has found no trace of the second parcel, the carrier denies any damage, and the "
    "customer has threatened with a chargeback. Shall I pay the money back?"
)
NESTED = {
    "tool": "stripe.refund",
    "arguments": {
        "charge": "ch_3PqX7LkdIwHu7ix0",
        "amount": 49999,
        "currency": "EUR",
        "reason": "requested_by_customer",
        "reverse_transfer": True,
        "refund_application_fee": False,
        "metadata": {"order": "12345", "customer": "4711"},
    },
    "idempotency_key": "refund-12345-2",
}
FLAT = {f"field_{number}": f"value {number} of this action" for number in range(10)}


def acting(action: Mapping[str, Any], **changes: Any) -> Notice:
    usual = {"response_type": ResponseType.CONFIRM, "choices": APPROVE_OR_DENY}
    return replace(FIRST, **{**usual, "action": ShownAction(action, "1a2b3c4d"), **changes})


WHOLE: dict[str, Notice] = {
    "a plain choice": FIRST,
    "an action": NOTICES["action"],
    "the last reminder": NOTICES["last-reminder"],
    "a window to object in": NOTICES["veto"],
    "no replies by mail": NOTICES["no-replies"],
    "a flat action": acting(FLAT, risk="high, says the agent"),
    "a question of 300 letters": replace(FIRST, question=LONG, choices=FOUR),
    "all that is ordinary at once": acting(NESTED, question=LONG, risk="high, says the agent", choices=FOUR),
    "all that is ordinary, flat": acting(FLAT, question=LONG, risk="high, says the agent", choices=FOUR),
    "two lines of what silence does": acting(
        NESTED, question=LONG, choices=FOUR, unanswered=Silence(Comes.VALUE, FIRST.expires_at, "Tell the people")
    ),
    "Hebrew": replace(
        FIRST,
        question="האם להחזיר את סכום ההזמנה 12345 לכרטיס שבו שולמה?",
        choices=(NoticeChoice(0, "אשר החזר", "approve"), NoticeChoice(1, "דחה את ההחזר", "deny")),
    ),
    "Japanese": acting(FLAT, question="注文12345の返金を、カードに対して実行してもよろしいですか。" * 3),
}
NOT_WHOLE: dict[str, Notice] = {
    "a long action that is approved": acting(
        {"tool": "apply", "manifests": [{"name": f"web-{number}", "replicas": number} for number in range(60)]}
    ),
    "a long question that is approved": replace(FIRST, question=LONG * 5, choices=APPROVE_OR_DENY),
}
FOLDED: dict[str, Notice] = {
    "an action that is cut": acting({"statement": "UPDATE accounts SET balance = 0; " * 1_000}, question=LONG),
    "a long action with a hidden payee": acting(
        {"payee": "[masked: IBAN DE…3000]", **NESTED, "items": ["a line of an invoice"] * 30}, to_reveal=True
    ),
}


async def shown(browser: Browser, notice: Notice, viewport: ViewportSize = PHONE, **options: Any) -> Page:
    page = await browser.new_page(viewport=viewport, **options)
    await page.set_content(html_of(mail_of(notice)))
    return page


async def bottom(part: Locator) -> float:
    box = await part.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def silence(page: Page) -> Locator:
    return page.locator("h1 + div")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name, exact=True)


@pytest.mark.parametrize("name", WHOLE)
async def test_question_action_choices_and_what_silence_does_stand_on_the_first_screen(
    browser: Browser, name: str
) -> None:
    notice = WHOLE[name]
    page = await shown(browser, notice)
    action = [page.locator("pre")] if notice.action else []
    choices = [button(page, f"{choice.number}. {choice.label}") for choice in notice.choices]

    for part in (silence(page), page.get_by_text(notice.question).first, *action, *choices):
        assert await bottom(part) <= HEIGHT, await part.inner_text()
    assert notice.in_short == await silence(page).inner_text()
    heights = [await choice.bounding_box() for choice in choices]
    assert all(box is not None and box["height"] >= FINGER for box in heights)


@pytest.mark.parametrize("name", ["text", "form"])
async def test_a_question_without_choices_has_its_button_on_the_first_screen_however_long_it_is(
    browser: Browser, name: str
) -> None:
    page = await shown(browser, replace(NOTICES[name], question=LONG * 5))

    assert await bottom(silence(page)) <= HEIGHT
    assert await bottom(button(page, "Answer…")) <= HEIGHT
    assert LONG * 5 in await page.locator("body").inner_text()


@pytest.mark.parametrize("name", FOLDED)
async def test_where_nothing_can_be_approved_the_buttons_stand_on_the_first_screen(browser: Browser, name: str) -> None:
    page = await shown(browser, FOLDED[name])

    for part in (silence(page), button(page, "Open"), button(page, "2. Deny")):
        assert await bottom(part) <= HEIGHT
    assert await button(page, "1. Approve").count() == 0


@pytest.mark.parametrize("name", NOT_WHOLE)
async def test_what_is_too_long_for_the_first_screen_stands_whole_above_the_buttons_and_names_them_there(
    browser: Browser, name: str
) -> None:
    notice = NOT_WHOLE[name]
    page = await shown(browser, notice)
    named = page.get_by_text("Choices, below: 1. Approve · 2. Deny")
    long = page.locator("pre") if notice.action else page.get_by_text(notice.question)

    assert await bottom(silence(page)) <= HEIGHT
    assert await bottom(named) <= HEIGHT
    approve = await button(page, "1. Approve").bounding_box()
    assert approve is not None
    assert await bottom(long) <= approve["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, TABLET], ids=["a phone", "a tablet"])
@pytest.mark.parametrize("name", ["all that is ordinary at once", "Hebrew"])
async def test_no_mail_is_wider_than_its_screen(
    browser: Browser, name: str, viewport: ViewportSize, scheme: Any
) -> None:
    page = await shown(browser, WHOLE[name], viewport, color_scheme=scheme)

    assert await page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


async def test_a_dark_phone_has_a_dark_mail_in_which_what_silence_does_is_light(browser: Browser) -> None:
    page = await shown(browser, FIRST, color_scheme="dark")
    look = "element => { const style = getComputedStyle(element); return [style.color, style.backgroundColor] }"

    assert (await silence(page).evaluate(look))[0] == "rgb(236, 239, 243)"
    assert (await page.locator(".hr-card").evaluate(look))[1] == "rgb(33, 37, 44)"
