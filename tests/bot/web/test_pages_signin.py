"""Signing in by a link in a mail: known or not looks the same, once, not for long, and only by pressing a button."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.keys import root_key
from bot.web.pages.cookies import Seal
from bot.web.pages.signin import LINK_LIFE, SignInLinks
from bot.web.pages.urls import INBOX, Site
from core.ports import Clock
from tests.bot.web.pages_world import ALICE, BOB, PEOPLE, SITE, Browser, Page, World, a_world

STRANGER = "stranger@example.org"
NO_TOKEN = {"form_token": ""}


def issue_sign_in_url(
    mail: str, *, public_url: str, key: bytes, clock: Clock, leads_to: str = INBOX, life: timedelta = LINK_LIFE
) -> str:
    """A URL that signs ``mail`` in; ``key`` is the pages' own."""
    return SignInLinks(Seal(key), Site(public_url), clock).issue(mail, leads_to, life)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def ask_for_link(world: World, mail: str) -> Page:
    browser = world.browser()
    await browser.get("/signin")
    return await browser.submit(email=mail)


async def test_the_link_in_the_mail_signs_in(world: World) -> None:
    await ask_for_link(world, f"  {ALICE.title()} ")
    browser = world.browser()
    page = await browser.get(await world.sign_in_link_of(ALICE))
    assert page.buttons == ["Sign in"]
    assert ALICE in page.text
    page = await browser.submit()
    assert page.path == "/inbox"
    assert f"Signed in as {ALICE}" in page.text


async def test_known_or_not_the_page_is_the_same_but_only_one_gets_a_mail(world: World) -> None:
    known, unknown = await ask_for_link(world, ALICE), await ask_for_link(world, STRANGER)
    assert known.status == unknown.status == 200
    assert known.html.replace(ALICE, "…") == unknown.html.replace(STRANGER, "…")
    assert dict(known.response.headers) | {"content-length": ""} == dict(unknown.response.headers) | {
        "content-length": ""
    }
    assert len(await world.mails_to(ALICE)) == 1
    assert await world.mails_to(STRANGER) == []


async def test_the_mail_says_what_it_is_and_holds_one_link(world: World) -> None:
    await ask_for_link(world, ALICE)
    [mail] = await world.mails_to(ALICE)
    assert mail.subject == "Your sign-in link"
    assert "works once, within 15 minutes" in mail.text
    assert len({link for link in mail.links if link.startswith(SITE)}) == 1


async def test_a_person_gets_one_link_a_minute(world: World) -> None:
    for _ in range(3):
        await ask_for_link(world, ALICE)
    assert len(await world.mails_to(ALICE)) == 1
    await ask_for_link(world, BOB)
    assert len(await world.mails_to(BOB)) == 1
    world.later(minutes=1)
    await ask_for_link(world, ALICE)
    assert len(await world.mails_to(ALICE)) == 2


@pytest.mark.parametrize(
    "typed", ["", "alice", "a@", "@b", "a b@example.com", "a@example.com, b@example.com", "a" * 250 + "@b.com"]
)
async def test_what_is_no_address_is_said_to_be_none(world: World, typed: str) -> None:
    page = await ask_for_link(world, typed)
    assert page.status == 422
    assert "Enter a whole e-mail address" in page.text
    assert page.value("email") == typed


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_scanner_that_opens_the_link_neither_signs_in_nor_uses_it_up(world: World, method: str) -> None:
    await ask_for_link(world, ALICE)
    link = await world.sign_in_link_of(ALICE)
    scanner = world.browser()
    for _ in range(3):
        await scanner.client.request(method, link)
    assert (await scanner.get("/inbox")).path == "/signin"
    browser = world.browser()
    await browser.get(link)
    assert (await browser.submit()).path == "/inbox"


async def test_a_link_works_once(world: World) -> None:
    await ask_for_link(world, ALICE)
    link = await world.sign_in_link_of(ALICE)
    first, second = world.browser(), world.browser()
    await first.get(link)
    await second.get(link)
    await first.submit()
    assert "does not work any more" in (await second.submit()).text
    assert (await second.get("/inbox")).path == "/signin"
    assert (await world.browser().get(link)).status == 404


async def test_of_many_who_use_a_link_at_once_one_is_signed_in(world: World) -> None:
    await ask_for_link(world, ALICE)
    link = await world.sign_in_link_of(ALICE)
    browsers = [world.browser() for _ in range(8)]
    for browser in browsers:
        await browser.get(link)
    pages = await asyncio.gather(*(browser.submit() for browser in browsers))
    assert sorted(page.path for page in pages) == ["/inbox", *[link] * 7]


async def test_a_link_lasts_fifteen_minutes(world: World) -> None:
    await ask_for_link(world, ALICE)
    link = await world.sign_in_link_of(ALICE)
    browser = world.browser()
    world.later(minutes=14, seconds=59)
    await browser.get(link)
    world.later(seconds=1)
    assert (await browser.submit()).status == 404
    assert (await browser.get(link)).status == 404


@pytest.mark.parametrize("forged", ["x", "x.y", "e30.x", "%00", "a" * 3000, "%F0%9F%99%82.x"])
async def test_a_forged_link_is_worthless(world: World, forged: str) -> None:
    assert (await world.browser().get(f"/signin/{forged}")).status == 404


async def test_a_session_cookie_can_t_be_made_from_a_link(world: World) -> None:
    """One kind of sealed value is never taken for another."""
    await ask_for_link(world, ALICE)
    token = (await world.sign_in_link_of(ALICE)).removeprefix("/signin/")
    browser = world.browser()
    browser.client.cookies.set("__Host-handraise_session", token, domain="hand.example.com")
    assert (await browser.get("/inbox")).path == "/signin"


async def test_a_link_can_t_be_made_from_a_session_cookie(world: World) -> None:
    browser = await world.signed_in(ALICE)
    session = browser.client.cookies["__Host-handraise_session"]
    assert (await world.browser().get(f"/signin/{session}")).status == 404


async def test_another_site_can_t_sign_a_visitor_in(world: World) -> None:
    await ask_for_link(world, ALICE)
    link = await world.sign_in_link_of(ALICE)
    victim = world.browser()
    assert (await victim.post(link, NO_TOKEN)).status == 403
    assert (await victim.get("/inbox")).path == "/signin"


async def test_another_site_can_t_have_links_sent(world: World) -> None:
    assert (await world.browser().post("/signin", {"email": ALICE})).status == 403
    assert await world.mails_to(ALICE) == []


async def test_the_session_cookie_is_kept_from_scripts_and_from_other_sites(world: World) -> None:
    await ask_for_link(world, ALICE)
    browser = world.browser()
    await browser.get(await world.sign_in_link_of(ALICE))
    page = await browser.submit()
    cookie = page.response.history[0].headers["set-cookie"]
    assert cookie.startswith("__Host-handraise_session=")
    for attribute in ("HttpOnly", "SameSite=lax", "Secure", "Path=/", "Max-Age=43200"):
        assert attribute in cookie


async def test_a_session_ends_after_twelve_hours(world: World) -> None:
    browser = await world.signed_in(ALICE)
    world.later(hours=11, minutes=58)  # the first minute has passed with signing in
    assert (await browser.get("/inbox")).path == "/inbox"
    world.later(minutes=1)
    assert (await browser.get("/inbox")).path == "/signin"


async def test_whoever_leaves_the_directory_is_signed_out(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await ask_for_link(world, BOB)
        link = await world.sign_in_link_of(BOB)
        alice = await world.signed_in(ALICE)
    async with a_world(tmp_path, people=[one for one in PEOPLE if one["email"] not in {ALICE, BOB}]) as world:
        browser = world.browser()
        browser.client.cookies.update(dict(alice.client.cookies))
        assert (await browser.get("/inbox")).path == "/signin"
        assert (await browser.get(link)).status == 404
    async with a_world(tmp_path) as world:
        browser = world.browser()
        browser.client.cookies.update(dict(alice.client.cookies))
        assert (await browser.get("/inbox")).path == "/inbox"
        assert (await browser.get(link)).status == 200


async def test_signing_out_ends_the_session_wherever_its_cookie_was_copied(world: World) -> None:
    browser = await world.signed_in(ALICE)
    copy = world.browser()
    copy.client.cookies.update(dict(browser.client.cookies))
    assert (await copy.get("/inbox")).path == "/inbox"
    form = (await browser.get("/inbox")).sign_out
    assert (await browser.post(form.action, NO_TOKEN)).status == 403
    page = await browser.post(form.action, dict(form.fields))
    assert "You are signed out" in page.text
    assert (await browser.get("/inbox")).path == "/signin"
    assert (await copy.get("/inbox")).path == "/signin"


async def test_signing_out_works_from_a_question_too(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    form = (await browser.get(f"/q/{asked.ask.ref}")).sign_out
    await browser.post(form.action, dict(form.fields))
    assert (await browser.get("/inbox")).path == "/signin"


async def test_signing_out_when_nobody_is_in_is_harmless(world: World) -> None:
    assert (await world.browser().post("/signout", NO_TOKEN)).path == "/signin"


async def test_whoever_is_signed_in_is_not_asked_again(world: World) -> None:
    browser = await world.signed_in(ALICE)
    assert (await browser.get("/signin")).path == "/inbox"
    assert (await browser.get("/signin?next=/q/HR-ZZZZ")).path == "/q/HR-ZZZZ"


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "/a/x", "%0d%0aSet-Cookie:a=b"])
async def test_signing_in_never_leads_to_another_site(world: World, elsewhere: str) -> None:
    browser = world.browser()
    await browser.get(f"/signin?next={elsewhere}")
    await browser.submit(email=ALICE)
    await browser.get(await world.sign_in_link_of(ALICE))
    assert (await browser.submit()).response.url == f"{SITE}/inbox"


async def test_without_a_mail_channel_the_page_says_that_no_link_can_be_sent(tmp_path: Path) -> None:
    slack = {"bot_token": "xoxb-1", "signing_secret": "s"}
    async with a_world(tmp_path, email=None, slack=slack) as world:
        browser = world.browser()
        page = await browser.get("/signin")
        assert "no mail channel" in page.text
        assert "In Slack, press Open under the question" in page.text
        assert page.forms == []
        assert await world.mails_to(ALICE) == []


async def url_for(world: World, browser: Browser, mail: str, **options: object) -> Page:
    settings = world.service.settings
    key = root_key(settings, Path()).derive("pages")
    url = issue_sign_in_url(mail, public_url=settings.public_url, key=key, clock=world.clock, **options)  # type: ignore[arg-type]
    assert url.startswith(f"{SITE}/signin/")
    return await browser.get(urlsplit(url).path)


async def test_whoever_runs_the_service_can_hand_a_link_over(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await url_for(world, browser, ALICE.upper(), leads_to=f"/q/{asked.ask.ref}", life=timedelta(hours=1))
    page = await browser.submit()
    assert page.path == f"/q/{asked.ask.ref}"
    assert f"Signed in as {ALICE}" in page.text


async def test_a_link_leads_on_at_once_where_its_person_is_signed_in_already(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    page = await url_for(world, browser, ALICE, leads_to=f"/q/{asked.ask.ref}")
    assert page.path == f"/q/{asked.ask.ref}"
    page = await url_for(world, browser, BOB, leads_to=f"/q/{asked.ask.ref}")
    assert "Sign in as" in page.text
    assert BOB in page.text


async def test_a_link_made_with_another_secret_key_is_worthless(world: World) -> None:
    url = issue_sign_in_url(ALICE, public_url=SITE, key=b"of before" * 4, clock=world.clock)
    assert (await world.browser().get(urlsplit(url).path)).status == 404


async def test_a_link_handed_over_to_a_stranger_does_not_work(world: World) -> None:
    assert (await url_for(world, world.browser(), STRANGER)).status == 404
