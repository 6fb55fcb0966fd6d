"""The pages in a real Chromium: on a phone, without JavaScript, by keyboard alone; and what loading them never does.

Needs Chromium (``apt-get install chromium``); without one every test here fails and says so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Response,
    ViewportSize,
    expect,
)

from bot.sandbox.serving import serving
from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import ResponseType, Suspension
from tests.bot.web.pages_world import ALICE, BOB, START, World, a_site
from tests.core.store_examples import keep, numbered

pytestmark = pytest.mark.browser

PHONE = ViewportSize(width=390, height=844)
FINGER = 44
"""CSS pixels that a finger needs (WCAG 2.5.5)."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["amount", "notify"],
    "properties": {
        "amount": {"type": "number", "title": "Amount", "maximum": 500},
        "notify": {"type": "boolean", "title": "Tell the customer?"},
        "on": {"type": "string", "format": "date"},
        "note": {"type": "string", "maxLength": 1000},
    },
}
_SAYS_STATUS = "Failed to load resource: the server responded with a status of"
"""Chromium says this of our own 4xx pages too."""


@pytest.fixture
async def site() -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        async with a_site(Path(folder)) as site:
            yield site


@asynccontextmanager
async def a_page(browser: Browser, site: World, **options: Any) -> AsyncIterator[Page]:
    """A page of a phone; fails where a part of it was missing or blocked by the end of the block."""
    complaints: list[str] = []

    def note(said: ConsoleMessage) -> None:
        if said.type == "error" and not said.text.startswith(_SAYS_STATUS):
            complaints.append(said.text)

    def note_missing(response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            complaints.append(f"{response.status} {response.url}")

    context: BrowserContext = await browser.new_context(
        base_url=site.service.settings.public_url, **{"viewport": PHONE, **options}
    )
    page = await context.new_page()
    page.on("console", note)
    page.on("response", note_missing)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    await context.close()
    assert complaints == []


async def ended(site: World, asked: Suspension) -> Any:
    end = (await site.fresh(asked)).ended
    return None if end is None else (end.value, end.by, end.channel, end.reason)


async def sign_in(page: Page, site: World, person: str) -> None:
    await page.goto("/signin")
    await page.get_by_label("E-mail").fill(person)
    await page.get_by_role("button", name="Send me a link").click()
    await expect(page.get_by_role("heading")).to_have_text("Check your mail")
    await site.mailbox.expect(to=person, subject="sign-in link")
    await page.goto(await site.sign_in_link_of(person))
    await page.get_by_role("button", name="Sign in").click()


async def test_a_choice_is_answered_on_a_phone_without_javascript(browser: Browser, site: World) -> None:
    asked = await site.ask(context={"order": "12345"})
    async with a_page(browser, site, java_script_enabled=False, has_touch=True) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_text("Deny refund", exact=True).tap()
        await page.get_by_label("Reason").fill("Already refunded.")
        await page.get_by_role("button", name="Send answer").tap()
        await expect(page.get_by_role("heading", name="Recorded:")).to_contain_text("Deny refund")
    assert await ended(site, asked) == ("deny", ALICE, "web", "Already refunded.")


async def test_a_form_is_filled_in_on_a_phone_without_javascript(browser: Browser, site: World) -> None:
    asked = await site.ask("How much?", response_type=ResponseType.FORM, form_schema=SCHEMA)
    async with a_page(browser, site, java_script_enabled=False, has_touch=True) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_label("Amount").fill("501")
        await page.get_by_label("Yes").tap()
        await page.get_by_label("on optional", exact=True).fill("2026-03-25")
        await page.get_by_role("button", name="Send answer").tap()
        await expect(page.locator("#f0-problem")).to_have_text("Enter a number of at most 500.")
        await expect(page.get_by_label("Yes")).to_be_checked()
        await page.get_by_label("Amount").fill("12.5")
        await page.get_by_role("button", name="Send answer").tap()
        await expect(page.get_by_role("heading", name="Recorded:")).to_be_visible()
    assert (await ended(site, asked))[0] == {"amount": 12.5, "notify": True, "on": "2026-03-25"}


async def test_without_choosing_nothing_is_sent(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site, java_script_enabled=False) as page:
        sent: list[str] = []
        await page.goto(await site.link_of(ALICE))
        page.on("request", lambda request: sent.append(request.method))
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.locator("input[name=choice]").first).to_be_focused()  # where the browser says what is missing
        assert "POST" not in sent
    assert await ended(site, asked) is None


async def test_i_m_on_it_and_giving_it_back_keep_what_was_typed(browser: Browser, site: World) -> None:
    await site.ask()
    async with a_page(browser, site, java_script_enabled=False) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_label("Reason").fill("looking into it")
        await page.get_by_role("button", name="I’m on it").click()
        await expect(page.get_by_role("alert")).to_contain_text("You are on it.")
        await page.get_by_role("button", name="Give it back").click()
        await expect(page.get_by_role("alert")).to_contain_text("Given back")
        await expect(page.get_by_label("Reason")).to_have_value("looking into it")


async def test_loading_the_page_never_answers_even_with_a_choice_in_the_link(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site) as page:
        methods: set[str] = set()
        page.on("request", lambda request: methods.add(request.method))
        for _ in range(2):
            await page.goto(f"{await site.link_of(ALICE)}#c=0", wait_until="networkidle")
            await page.reload(wait_until="networkidle")
        await expect(page.locator("input[name=choice][value='0']")).to_be_checked()
        assert methods == {"GET"}
    assert await site.fresh(asked) == asked


async def test_a_choice_in_the_link_is_only_picked_and_can_be_changed(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site) as page:
        await page.goto(f"{await site.link_of(ALICE)}#c=0")
        await expect(page.locator("input[name=choice][value='0']")).to_be_checked()
        await page.get_by_text("Deny refund", exact=True).click()
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("heading", name="Recorded:")).to_contain_text("Deny refund")
    assert (await ended(site, asked))[0] == "deny"


@pytest.mark.parametrize("odd", ["#c=7", "#c=-1", "#c=x", "#c=0x1", "#c='];alert(1)//"])
async def test_an_odd_choice_in_the_link_picks_nothing(browser: Browser, site: World, odd: str) -> None:
    await site.ask()
    async with a_page(browser, site) as page:
        await page.goto(f"{await site.link_of(ALICE)}{odd}", wait_until="networkidle")
        assert await page.locator("input[name=choice]:checked").count() == 0


async def test_a_keyboard_is_enough(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site, viewport={"width": 1200, "height": 900}) as page:
        await page.goto(await site.link_of(ALICE))
        await page.keyboard.press("Tab")
        await page.keyboard.press("Space")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Tab")
        await page.keyboard.type("By keyboard")
        await page.keyboard.press("Enter")  # a line of the reason, not the answer
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Recorded:")).to_be_visible()
    assert await ended(site, asked) == ("deny", ALICE, "web", "By keyboard")


TOLD = "2026-03-24 04:00 UTC"
"""When the question's hour is over."""


async def test_every_page_tells_times_in_the_browser_s_zone_and_keeps_utc_beside_it(
    browser: Browser, site: World
) -> None:
    asked = await site.ask()
    await site.engine.claim(asked.id, Actor(BOB), "slack")
    link = await site.link_of(ALICE)
    async with a_page(browser, site, timezone_id="Asia/Kolkata") as page:
        await sign_in(page, site, ALICE)
        for place in ("/inbox", f"/q/{asked.ask.ref}", link):
            await page.goto(place)
            time = page.locator("time").get_by_text("2026-03-24 09:30 GMT+5:30", exact=True).first
            await expect(time).to_have_attribute("title", TOLD)
            await expect(time).to_have_attribute("datetime", "2026-03-24T04:00:00Z")
            await expect(page.locator("main")).not_to_contain_text("UTC")
        await expect(page.locator("main")).to_contain_text("is on it until 2026-03-24 09:00 GMT+5:30")
        await site.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny"))
        await page.goto(link)
        await expect(page.locator("main")).to_contain_text("2026-03-24 08:30 GMT+5:30")


async def test_without_javascript_and_in_utc_times_stay_in_utc(browser: Browser, site: World) -> None:
    await site.ask()
    link = await site.link_of(ALICE)
    here: dict[str, Any]
    for here in ({"timezone_id": "Asia/Kolkata", "java_script_enabled": False}, {"timezone_id": "UTC"}):
        async with a_page(browser, site, **here) as page:
            await page.goto(link)
            await expect(page.locator("main time").first).to_have_text(TOLD)


async def test_the_inbox_is_paged_through_by_keyboard_on_a_phone_without_javascript(
    browser: Browser, site: World
) -> None:
    many = [
        numbered(n, responders=(ALICE,), suspended_at=START, timeout=timedelta(minutes=60 + n), context={"risk": 0.7})
        for n in range(1, 73)
    ]
    async with a_page(browser, site, java_script_enabled=False) as page:
        await sign_in(page, site, ALICE)
        await keep(site.engine.database, *many)
        await page.goto("/inbox")
        await expect(page.locator(".count")).to_have_text("72")
        await expect(page.locator(".inbox .ref")).to_have_count(50)
        onward = page.get_by_role("link", name="Next")
        await onward.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".inbox .ref").first).to_have_text("HR-0051")
        await expect(page.locator(".inbox .ref").last).to_have_text("HR-0072")
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for one in await page.locator(".pager a, .inbox a").all():
            box = await one.bounding_box()
            assert box is not None
            assert box["height"] >= FINGER
        await page.get_by_role("link", name="Previous").click()
        await expect(page.locator(".inbox .ref").first).to_have_text("HR-0001")


async def test_signing_in_leads_to_the_question_and_signing_out_away_from_it(browser: Browser, site: World) -> None:
    asked = await site.ask()
    async with a_page(browser, site, java_script_enabled=False) as page:
        await sign_in(page, site, ALICE)
        await page.get_by_role("link", name=asked.ask.ref).click()
        await expect(page).to_have_url(f"{site.service.settings.public_url}/q/{asked.ask.ref}")
        await page.get_by_text("Approve refund", exact=True).click()
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("heading", name="Recorded:")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await page.goto("/inbox")
        await expect(page.get_by_role("heading")).to_have_text("Sign in")
    assert (await ended(site, asked))[:2] == ("approve", ALICE)


async def test_another_site_can_t_answer_through_somebody_s_browser(browser: Browser, site: World) -> None:
    """The attacker even knows the link and has a form token of their own."""
    asked = await site.ask()
    link = await site.link_of(ALICE)
    own = await site.browser(base_url=site.service.settings.public_url).get(link)
    trap = f"""<form method="post" action="{site.service.settings.public_url}{link}">
      <input name="form_token" value="{own.value("form_token")}"><input name="choice" value="0"><button>Win</button>"""

    async def attacker(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
            await send({"type": "http.response.body", "body": trap.encode()})

    async with serving(attacker) as elsewhere, a_page(browser, site) as page:
        await page.goto(link)
        await page.goto(elsewhere.replace("127.0.0.1", "localhost"))
        async with page.expect_response(lambda response: response.request.method == "POST") as posted:
            await page.get_by_role("button", name="Win").click()
        assert (await posted.value).status == 403
        await expect(page.get_by_role("heading")).to_have_text("Please reload the page")
    assert await ended(site, asked) is None


WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3


async def test_nothing_sticks_out_on_a_phone_and_a_finger_hits_everything(browser: Browser, site: World) -> None:
    long = await site.ask(f"{WORD}?", context={WORD: WORD, "n": [{"k": WORD}]})
    form = await site.ask(WORD, response_type=ResponseType.FORM, form_schema=SCHEMA, timeout=timedelta(minutes=5))
    async with a_page(browser, site) as page:
        await sign_in(page, site, ALICE)
        places = ["/inbox", "/signin", "/a/unknown", f"/q/{long.ask.ref}", f"/q/{form.ask.ref}"]
        for place in [*places, await site.link_of(BOB, long.ask.ref), await site.link_of(BOB, form.ask.ref)]:
            await page.goto(place)
            assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], place
            await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            for one in await page.locator("main button, .choice, .tick, .inbox a, main input[type=text]").all():
                box = await one.bounding_box()
                assert box is not None
                assert box["height"] >= FINGER, (place, await one.inner_text())


READABLE = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${e.className || e.tagName}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_word_can_be_read_by_day_and_by_night(browser: Browser, site: World, scheme: str) -> None:
    """Contrast of at least 4.5 : 1 (WCAG 1.4.3)."""
    asked = await site.ask(context={"order": "12345"})
    soon = await site.ask("Soon?", response_type=ResponseType.TEXT, timeout=timedelta(minutes=5))
    grounds = []
    async with a_page(browser, site, color_scheme=scheme) as page:
        await sign_in(page, site, ALICE)
        for place in ["/inbox", f"/q/{asked.ask.ref}#c=1", f"/q/{soon.ask.ref}", await site.link_of(BOB), "/a/unknown"]:
            await page.goto(place)
            await page.wait_for_load_state("networkidle")
            assert await page.evaluate(READABLE) == [], place
            grounds.append(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
        await page.goto(f"/q/{soon.ask.ref}")
        await page.get_by_role("textbox").fill(" ")
        await page.get_by_role("button", name="Send answer").click()
        assert await page.evaluate(READABLE) == []
    assert len(set(grounds)) == 1
    assert (sum(map(int, grounds[0].strip("rgb()").split(","))) < 200) is (scheme == "dark")


WRONG: dict[str, Any] = {
    "type": "object",
    "required": ["zip", "size"],
    "properties": {
        "street": {"type": "string", "title": "Street"},
        "zip": {"type": "string", "title": "ZIP code", "pattern": "^[0-9]{5}$", "examples": ["12345"]},
        "size": {"enum": ["S", "M"], "title": "Size"},
        "رمز": {"type": "string", "title": f"رمز البريد {WORD}", "pattern": "^[0-9]{5}$", "errorMessage": "خمسة أرقام"},
    },
}


@pytest.mark.parametrize("has_javascript", [True, False])
async def test_a_form_with_errors_says_so_first_and_leads_to_each_field(
    browser: Browser, site: World, has_javascript: bool
) -> None:
    asked = await site.ask("Where to?", response_type=ResponseType.FORM, form_schema=WRONG)
    async with a_page(browser, site, java_script_enabled=has_javascript) as page:
        await page.goto(await site.link_of(ALICE))
        await page.get_by_label("ZIP code").fill("12")
        await page.get_by_label("M", exact=True).check()
        await page.locator("#f3").fill("1")
        await page.get_by_role("button", name="Send answer").click()
        alert = page.get_by_role("alert")
        await expect(alert.get_by_role("heading")).to_have_text("2 fields need another look")
        await expect(alert).to_contain_text("ZIP code Enter five digits, such as 12345.")
        await expect(alert).to_contain_text("خمسة أرقام")
        await expect(page.get_by_label("ZIP code")).to_be_focused()
        await expect(page.get_by_label("ZIP code")).to_have_accessible_description(
            "Such as 12345. Enter five digits, such as 12345."
        )
        await alert.get_by_role("link").last.click()
        await expect(page.locator("#f3")).to_be_in_viewport()
        await page.get_by_label("ZIP code").fill("12345")
        await page.locator("#f3").fill("12345")
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("heading", name="Recorded:")).to_be_visible()
    assert (await ended(site, asked))[0] == {"zip": "12345", "size": "M", "رمز": "12345"}


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark"), (1440, "light"), (1440, "dark")])
async def test_errors_of_a_form_can_be_read_and_hit_and_stick_out_nowhere(
    browser: Browser, site: World, width: int, scheme: str
) -> None:
    await site.ask("Where to?", response_type=ResponseType.FORM, form_schema=WRONG)
    viewport = ViewportSize(width=width, height=900)
    async with a_page(browser, site, viewport=viewport, color_scheme=scheme) as page:
        await page.goto(await site.link_of(ALICE))
        await page.locator("#f1").fill("12")
        await page.locator("#f3").fill("1")
        await page.get_by_label("M", exact=True).check()
        await page.get_by_role("button", name="Send answer").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert await page.evaluate(READABLE) == []
        for link in await page.get_by_role("alert").get_by_role("link").all():
            box = await link.bounding_box()
            assert box is not None and box["height"] >= FINGER
        if folder := os.environ.get("PICTURES"):
            await page.screenshot(path=f"{folder}/errors-{width}-{scheme}.png", full_page=True)
