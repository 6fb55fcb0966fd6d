"""What the pages must never do: answer by being looked at, take a form that is not theirs, believe what an agent
wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.app import build_app
from bot.web.pages.forms import LARGEST_FORM
from core.domain.suspension import Choice, ResponseType
from tests.bot.web.pages_world import ALICE, BOB, Browser, Page, World, a_world

PAGES = ["/inbox", "/inbox/together", "/signin", "/signin/forged", "/q/HR-7F3K", "/a/unknown"]
NASTY = (
    "<script>alert(1)</script> <a href='https://evil.example'>x</a> \"'&{{ 7*1573 }} https://evil.example javascript:x"
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PROPFIND"])
async def test_looking_at_a_link_never_changes_anything(world: World, method: str) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    scanner = world.browser()
    for address in (link, f"{link}?do=answer&choice=0", f"{link}?choice=0&form_token=x"):
        response = await scanner.client.request(method, address)
        assert response.status_code in {200, 405}
    assert await world.fresh(asked) == asked


async def test_a_form_without_its_token_is_refused_and_says_reload(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    for token in ({}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": "é"}):
        refused = await browser.post(page.form.action, {"choice": "0", **token})
        assert refused.status == 403
        assert "reload the page" in refused.text
    assert await world.fresh(asked) == asked


async def test_a_form_without_the_cookie_of_its_page_is_refused(world: World) -> None:
    """Another site can make a browser post, but a same-site cookie does not come along."""
    asked = await world.ask()
    page = await world.browser().get(await world.link_of(ALICE))
    stranger = world.browser()
    refused = await stranger.post(page.form.action, {**dict(page.form.fields), "choice": "0"})
    assert refused.status == 403
    assert await world.fresh(asked) == asked


async def test_a_form_token_of_one_question_is_worth_nothing_at_another(world: World) -> None:
    first, second = await world.ask("First?"), await world.ask("Second?")
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE, first.ask.ref))
    other = await world.link_of(ALICE, second.ask.ref)
    assert (await browser.post(other, {**dict(page.form.fields), "choice": "0"})).status == 403
    assert await world.fresh(second) == second


async def test_an_older_tab_still_works_after_a_newer_one_was_opened(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    link = await world.link_of(ALICE)
    first = await browser.get(link)
    await browser.get(link)
    page = await browser.post(link, {**dict(first.form.fields), "choice": "0"})
    assert page.status == 200
    assert not (await world.fresh(asked)).is_open


async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(world: World) -> None:
    await world.ask()
    response = await world.browser().client.get(await world.link_of(ALICE))
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("__Host-handraise_form=")
    for attribute in ("HttpOnly", "SameSite=lax", "Secure", "Path=/"):
        assert attribute in cookie


async def test_without_https_the_cookie_is_one_that_a_browser_keeps(tmp_path: Path) -> None:
    async with a_world(tmp_path, public_url="http://127.0.0.1:8080") as world:
        asked = await world.ask()
        browser = world.browser(base_url="http://127.0.0.1:8080")
        page = await browser.get(await world.link_of(ALICE))
        assert "Secure" not in page.response.headers["set-cookie"]
        await browser.submit(choice="0")
        assert not (await world.fresh(asked)).is_open


async def test_links_stay_below_the_path_of_the_public_url(tmp_path: Path) -> None:
    async with a_world(tmp_path, public_url="https://example.com/hand") as world:
        await world.ask()
        link = await world.link_of(ALICE)
        assert link.startswith("/hand/a/")
        page = await world.browser().get(link.removeprefix("/hand"))
        assert page.form.action == link
        assert 'href="/hand/static/pages.css' in page.html
        redirect = await world.browser().client.get("/inbox", follow_redirects=False)
        assert redirect.headers["location"] == "/hand/signin"


def below(app: ASGIApp, path: str) -> ASGIApp:
    """As a reverse proxy shows ``app`` at a path of its own, beside other services of the host."""

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        inner = scope["path"].removeprefix(path)
        if inner == scope["path"]:
            await Response("another service")(scope, receive, send)
        else:
            await app({**scope, "path": inner, "raw_path": inner.encode()}, receive, send)

    return proxy


@pytest.mark.parametrize(
    ("site", "path", "begins"),
    [
        ("https://example.com", "/hand", "__Secure-handraise_"),
        ("https://example.com", "/teams/hand", "__Secure-handraise_"),
        ("http://127.0.0.1:8080", "/hand", "handraise_"),
    ],
)
async def test_no_other_service_of_the_host_gets_our_cookies(tmp_path: Path, site: str, path: str, begins: str) -> None:
    async with a_world(tmp_path, public_url=f"{site}{path}/") as world:
        asked = await world.ask()
        browser = Browser(below(world.app, path), base_url=site)
        await browser.get(f"{path}/signin")
        await browser.submit(email=ALICE)
        await browser.get(await world.sign_in_link_of(ALICE))
        signed_in = await browser.submit()
        assert (signed_in.path, asked.ask.question in signed_in.text) == (f"{path}/inbox", True)

        said = [cookie for step in signed_in.response.history for cookie in step.headers.get_list("set-cookie")]
        assert [cookie.startswith(begins) for cookie in said] == [True] * len(said) != []
        assert all(f"Path={path};" in cookie for cookie in said)
        for beside in ("/", "/other", f"{path}s", path.removesuffix("hand")):
            assert "cookie" not in (await browser.client.get(beside)).request.headers

        await browser.submit_to(signed_in.sign_out)
        assert [cookie.name for cookie in browser.client.cookies.jar] == [f"{begins}form"]
        assert (await browser.get(f"{path}/inbox")).path == f"{path}/signin"


async def all_pages(world: World) -> list[Page]:
    await world.ask()
    browser = world.browser()
    pages = [await browser.get(await world.link_of(ALICE))]
    pages += [await browser.post("/a/unknown", {}), await browser.post(pages[0].path, {})]
    pages += [await browser.get(path) for path in PAGES]
    signed_in = await world.signed_in(BOB)
    return [*pages, *[await signed_in.get(path) for path in ("/inbox", "/inbox/together", "/q/HR-none")]]


async def test_every_page_carries_the_headers_that_keep_it_to_itself(world: World) -> None:
    for page in await all_pages(world):
        for step in (*page.response.history, page.response):
            assert step.headers["cache-control"] == "no-store"
            assert step.headers["referrer-policy"] == "no-referrer"
            assert step.headers["x-robots-tag"] == "noindex"
            assert step.headers["x-frame-options"] == "DENY"
            assert step.headers["x-content-type-options"] == "nosniff"
            policy = step.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy


async def test_no_page_needs_what_its_policy_forbids(world: World) -> None:
    for page in await all_pages(world):
        assert "<style" not in page.html
        assert " style=" not in page.html
        assert " onclick=" not in page.html
        assert page.html.count("<script") == page.html.count('<script src="/static/')


async def test_what_an_agent_writes_is_text_and_nothing_else(world: World) -> None:
    schema = {
        "type": "object",
        "properties": {NASTY: {"type": "string", "title": NASTY, "description": NASTY, "default": NASTY}},
    }
    form = await world.ask(
        NASTY, context={NASTY: NASTY, "n": [NASTY]}, response_type=ResponseType.FORM, form_schema=schema
    )
    choices = (Choice("a", NASTY, NASTY), Choice("b", "B"))
    choice = await world.ask(NASTY, choices=choices, fallback_policy=None, fallback_value=None)
    inbox = await world.signed_in(ALICE)
    browser = world.browser()
    shown = [
        await browser.get(await world.link_of(ALICE, form.ask.ref)),
        await browser.get(await world.link_of(ALICE, choice.ask.ref)),
        await inbox.get("/inbox"),
    ]
    await browser.get(await world.link_of(ALICE, choice.ask.ref))
    shown.append(await browser.submit(choice="0", reason=NASTY))
    for page in shown:
        assert NASTY in page.text
        assert page.html.count("<script") == page.html.count('<script src="/static/')
        assert not any("evil" in link for link in page.links)
        assert "11011" not in page.text  # 7 × 1573; no ref has a 0 or a 1


async def test_what_a_person_types_comes_back_as_text(world: World) -> None:
    await world.ask("Write:", response_type=ResponseType.TEXT)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do="claim", answer="</textarea><script>alert(1)</script>")
    assert page.html.count("<script") == page.html.count('<script src="/static/')
    assert page.value("answer") == "</textarea><script>alert(1)</script>"


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"choice=%00", "application/x-www-form-urlencoded", 400),
        (b"choice=%FF", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe\x00", "application/x-www-form-urlencoded", 400),
        (b"do=answer&do=claim", "application/x-www-form-urlencoded", 403),
        (b"form_token=a&form_token=b", "application/x-www-form-urlencoded", 400),
        (b'{"choice": 0}', "application/json", 400),
        (b"--x\r\n", "multipart/form-data; boundary=x", 400),
        (b"choice=0", "", 400),
        (b"answer=" + b"a" * LARGEST_FORM, "application/x-www-form-urlencoded", 413),
    ],
)
async def test_a_body_that_is_no_form_of_ours_gets_a_page_and_changes_nothing(
    world: World, body: bytes, content_type: str, status: int
) -> None:
    asked = await world.ask()
    browser = world.browser()
    link = await world.link_of(ALICE)
    await browser.get(link)
    response = await browser.client.post(link, content=body, headers={"content-type": content_type})
    assert response.status_code == status
    assert response.headers["content-type"].startswith("text/html")
    assert "Nothing was recorded" in response.text
    assert await world.fresh(asked) == asked


async def test_an_unknown_wish_is_refused(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do="cancel", choice="0")
    assert page.status == 400
    assert await world.fresh(asked) == asked


async def test_the_suspension_s_own_id_is_on_no_page(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    answered = await browser.submit(choice="0")
    inbox = await (await world.signed_in(BOB)).get("/inbox")
    for one in (page, answered, inbox):
        assert asked.id not in one.html
        assert asked.id not in str(one.response.headers)


async def test_a_database_that_is_away_is_a_page_that_says_try_again(world: World) -> None:
    await world.ask()
    browser = world.browser()
    link = await world.link_of(ALICE)
    file = Path(world.service.database.engine.url.database or "")
    for engine in (world.service.database.engine, world.service.database.reading):
        engine.dispose()
    away = file.rename(file.with_suffix(".away"))
    file.mkdir()
    page = await browser.get(link)
    assert page.status == 503
    assert "Please try again in a minute" in page.text
    file.rmdir()
    away.rename(file)
    assert (await browser.get(link)).status == 200


async def test_the_pages_are_not_part_of_the_api_document(world: World) -> None:
    document = build_app(world.service).openapi()
    places = ("/a/", "/q/", "/inbox", "/signin", "/signout", "/static")
    assert [path for path in document["paths"] if path.startswith(places)] == []
