"""Lines around a reply that its writer may call their signature: on the question's page, by a press of their own, and
forgotten on ``/me``."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.domain.root_key import RootKey
from core.domain.signature_lines import KEY, KnownLines, Side, SignatureOffer
from core.domain.suspension import Choice, ResponseType, Suspension
from core.engine.signature_lines import SignatureLines
from core.store import event_log, signature_lines
from tests.bot.web.pages_world import ALICE, BOB, CAROL, CONFIG, REFUND, Form, Page, World, a_world

SLOGAN, DISCLAIMER = "Never stop innovating.", "If you are not the intended recipient, delete this mail."
OPERATORS = [*CONFIG["api_keys"], {"name": ALICE, "key": secrets.token_hex(16), "roles": ["operator"]}]
HEADING = "Are these lines your signature?"
YES, YES_APPROVE = "They are my signature", "Yes, and my answer is:"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def signatures(world: World) -> SignatureLines:
    """As the door for mails asks it."""
    key = RootKey(CONFIG["secret_key"].encode()).derive_renewed(KEY)
    return SignatureLines(world.engine.database, world.service.transitions, key)


async def known(world: World, identity: str) -> KnownLines:
    return await signatures(world).known(identity)


async def offer(
    world: World,
    asked: Suspension,
    identity: str = ALICE,
    *,
    above: tuple[str, ...] = (DISCLAIMER,),
    below: tuple[str, ...] = (SLOGAN,),
    choice: int | None = 0,
) -> SignatureOffer:
    """What the echo of a reply keeps."""
    made, now = SignatureOffer(above, below, choice), world.clock.now()
    await world.engine.database.write(lambda tx: signature_lines.offer(tx, asked.id, identity, made, now))
    return made


async def is_offered(world: World, asked: Suspension, identity: str = ALICE) -> bool:
    return await signatures(world).offered(asked.id, identity) is not None


def form_of(page: Page) -> Form:
    return next(form for form in page.forms if YES in form.buttons)


def pressed(form: Form, button: str, **more: Any) -> dict[str, Any]:
    return {**dict(form.fields), "do": button, **more}


async def value_of(world: World, asked: Suspension) -> Any:
    ended = (await world.fresh(asked)).ended
    return None if ended is None else (ended.value, ended.by)


async def test_the_page_shows_the_lines_and_one_press_makes_them_nobodys_words(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    assert f"{HEADING} They stood around your reply by mail, so nothing has been recorded." in page.text
    assert page.text.index(HEADING) < page.text.index(DISCLAIMER) < page.text.index(SLOGAN) < page.text.index(YES)
    page = await browser.post(form_of(page).action, pressed(form_of(page), "signature"))
    assert (page.status, HEADING in page.text) == (200, False)
    assert "in your later replies these lines are your signature. The question still needs your answer." in page.text
    assert (await world.fresh(asked)).is_open
    mine = await known(world, ALICE)
    assert mine.is_known(SLOGAN.upper(), Side.BELOW)
    assert mine.is_known(DISCLAIMER, Side.ABOVE)
    assert not mine.is_known(SLOGAN, Side.ABOVE)


async def test_the_press_may_confirm_the_answer_with_it(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    assert "Yes, and my answer is: Approve refund" in page.text
    await browser.post(form_of(page).action, pressed(form_of(page), "signature_and_answer"))
    assert await value_of(world, asked) == ("approve", ALICE)
    assert (await known(world, ALICE)).is_known(SLOGAN, Side.BELOW)


@pytest.mark.parametrize(("choice", "style"), [(0, "primary"), (1, "danger"), (2, "neutral")])
async def test_the_button_that_answers_looks_as_its_option(world: World, choice: int, style: str) -> None:
    asked = await world.ask(choices=(*REFUND, Choice("later", "Ask again later")))
    await offer(world, asked, choice=choice)
    page = await world.browser().get(await world.link_of(ALICE))
    assert f'<button class="send {style}" name="do" value="signature_and_answer">' in page.html


async def test_a_second_press_changes_nothing(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    for button in ("signature", "signature"):
        again = await browser.post(form_of(page).action, pressed(form_of(page), button))
        assert again.status == 200
    assert (await signatures(world).kept(ALICE)).count == 2
    for _ in range(2):
        await browser.post(form_of(page).action, pressed(form_of(page), "signature_and_answer"))
    assert await value_of(world, asked) == ("approve", ALICE)


async def test_one_persons_lines_are_never_anothers(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    form = form_of(page)
    theirs = world.browser()
    others = await theirs.get(await world.link_of(BOB))
    assert (HEADING in others.text, SLOGAN in others.text) == (False, False)
    taken = await theirs.post(others.form.action, pressed(others.form, "signature", shown=dict(form.fields)["shown"]))
    assert (taken.status, HEADING in taken.text) == (200, False)
    assert await is_offered(world, asked)
    await browser.post(form.action, pressed(form, "signature"))
    assert not (await known(world, BOB)).is_known(SLOGAN, Side.BELOW)
    assert (await signatures(world).kept(BOB)).count == 0


@pytest.mark.parametrize("button", ["signature", "signature_and_answer"])
async def test_without_the_form_token_nothing_is_called_or_recorded(world: World, button: str) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    form = form_of(await browser.get(await world.link_of(ALICE)))
    for token in ("", "0" * 64):
        refused = await browser.post(form.action, pressed(form, button, form_token=token))
        assert (refused.status, "reload the page" in refused.text) == (403, True)
    assert (await world.browser().post(form.action, pressed(form, button))).status == 403  # another browser's form
    assert (await world.fresh(asked)).is_open
    assert await is_offered(world, asked)
    assert (await signatures(world).kept(ALICE)).count == 0


async def test_looking_calls_nothing(world: World) -> None:
    asked = await world.ask()
    made = await offer(world, asked)
    link = await world.link_of(ALICE)
    for address in (link, f"{link}?do=signature&shown={made.mark}"):
        assert HEADING in (await world.browser().get(address)).text
    assert (await signatures(world).kept(ALICE)).count == 0


async def test_who_may_not_answer_any_more_is_shown_no_lines_and_calls_none(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    async with a_world(folder, answers={"allow_self_response": True}) as world:
        asked = await world.ask(on_behalf_of=ALICE)
        await offer(world, asked)
        before = await world.signed_in(ALICE)
        form = form_of(await before.get(f"/q/{asked.ask.ref}"))
    async with a_world(folder, api_keys=OPERATORS) as world:
        browser = world.browser()
        browser.client.cookies.update(before.client.cookies)
        page = await browser.get(f"/q/{asked.ask.ref}")
        assert (asked.ask.question in page.text, HEADING in page.text) == (True, False)
        for button in ("signature", "signature_and_answer"):
            refused = await browser.post(form.action, pressed(form, button))
            assert (refused.status, "may not answer it" in refused.text) == (403, True)
        assert await is_offered(world, asked)
        assert (await signatures(world).kept(ALICE)).count == 0


async def test_where_the_answer_needs_a_sign_in_so_does_the_press(tmp_path: Path) -> None:
    (tmp_path / "personal").mkdir()
    async with a_world(tmp_path / "personal", answers={"require_sign_in": True}) as world:
        asked = await world.ask()
        made = await offer(world, asked)
        link = await world.link_of(ALICE)
        browser = world.browser()
        assert SLOGAN not in (await browser.get(link)).text
        for button in ("signature", "signature_and_answer"):
            given = {"do": button, "shown": made.mark, "choice": "0"}
            posted = await browser.post(link, given)
            assert (posted.status, "You are signed out" in posted.text) == (403, True)
        as_bob = await world.signed_in(BOB)
        assert (await as_bob.post(link, {"do": "signature", "shown": made.mark})).status == 404
        assert (await signatures(world).kept(ALICE)).count == 0
        signed_in = await world.signed_in(ALICE)
        page = await signed_in.get(link)
        await signed_in.post(form_of(page).action, pressed(form_of(page), "signature"))
        assert (await known(world, ALICE)).is_known(SLOGAN, Side.BELOW)


async def test_a_link_that_went_to_a_shared_mailbox_shows_and_calls_nothing_before_a_sign_in(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    shared = "finance-team@example.com"
    async with a_world(tmp_path / "shared", recipients={"allow": ["*@example.com"]}) as world:
        asked = await world.ask(responders=(ALICE, BOB), notify_to=shared)
        made = await offer(world, asked, below=("If Alice says so.",))
        await offer(world, asked, shared)
        link = await world.link_of(shared)
        browser = world.browser()
        assert (await browser.get(link)).path == "/signin"
        for identity in (ALICE, shared):
            posted = await browser.post(link, {"do": "signature", "shown": made.mark})
            assert (posted.status, (await signatures(world).kept(identity)).count) == (403, 0)
        page = await (await world.signed_in(ALICE)).get(link)
        assert ("If Alice says so." in page.text, SLOGAN in page.text) == (True, False)
        page = await (await world.signed_in(BOB)).get(link)
        assert HEADING not in page.text


async def test_lines_of_a_mail_that_came_after_the_page_was_opened_are_not_called_unseen(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    form = form_of(await browser.get(await world.link_of(ALICE)))
    condition = "Only if Bob has looked at it."
    await offer(world, asked, below=(condition,))
    for button in ("signature", "signature_and_answer"):
        page = await browser.post(form.action, pressed(form, button))
        assert page.status == 409
        assert "another reply of yours has come meanwhile" in page.text
        assert condition in page.text
    assert (await world.fresh(asked)).is_open
    assert (await signatures(world).kept(ALICE)).count == 0
    page = await browser.post(form.action, pressed(form, "signature", shown=""))
    assert (page.status, (await signatures(world).kept(ALICE)).count) == (409, 0)


async def test_html_in_a_line_is_shown_as_it_was_written(world: World) -> None:
    asked = await world.ask()
    nasty = "<script>alert(1)</script> if <a href='https://evil.example'>you</a> \"&{{ 7*1573 }}"
    await offer(world, asked, below=(nasty,))
    page = await world.browser().get(await world.link_of(ALICE))
    assert nasty in page.text
    assert "<script>alert" not in page.html
    assert "11011" not in page.html
    assert not [link for link in page.links if "evil" in link]


async def test_an_answer_that_is_refused_leaves_the_lines_called(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    form = form_of(await browser.get(await world.link_of(ALICE)))
    page = await browser.post(form.action, pressed(form, "signature_and_answer", choice="7"))
    assert page.status == 422
    assert (await world.fresh(asked)).is_open
    assert (await known(world, ALICE)).is_known(SLOGAN, Side.BELOW)


async def test_where_nothing_is_confirmed_the_page_only_asks_about_the_lines(world: World) -> None:
    for asked, choice in (
        (await world.ask("Unclear?"), None),
        (await world.ask("Gone?"), 7),
        (await world.ask("Say more?", response_type=ResponseType.TEXT), None),
    ):
        await offer(world, asked, choice=choice)
        page = await world.browser().get(await world.link_of(ALICE, asked.ask.ref))
        assert YES in page.text
        assert YES_APPROVE not in page.text


async def test_an_answer_that_counts_already_is_not_changed_in_passing(world: World) -> None:
    asked = await world.ask(answers_required=2)
    browser = world.browser()
    link = await world.link_of(ALICE)
    page = await browser.get(link)
    await browser.submit(choice="0")
    await offer(world, asked, choice=0)
    page = await browser.get(link)
    assert (YES in page.text, YES_APPROVE in page.text) == (True, False)


async def test_the_offer_is_gone_with_its_question(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    await offer(world, asked, BOB)
    browser = world.browser()
    form = form_of(await browser.get(await world.link_of(ALICE)))
    other = world.browser()
    await other.get(await world.link_of(BOB))
    assert other.page is not None
    answer = next(one for one in other.page.forms if YES not in one.buttons)
    await other.post(answer.action, {**dict(answer.fields), "do": "answer", "choice": "1"})
    assert not (await world.fresh(asked)).is_open
    assert [await is_offered(world, asked, one) for one in (ALICE, BOB)] == [False, False]
    page = await browser.post(form.action, pressed(form, "signature"))
    assert (page.status, "Nothing was kept" in page.text) == (409, True)
    assert (await signatures(world).kept(ALICE)).count == 0


async def test_the_offer_is_gone_where_silence_ends_the_question(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    world.later(hours=1)
    page = await world.browser().get(await world.link_of(ALICE))
    assert HEADING not in page.text  # its time is up, though the clock has not looked yet
    await world.engine.look()
    assert not (await world.fresh(asked)).is_open
    assert not await is_offered(world, asked)


async def test_the_log_says_how_many_lines_and_never_a_word_of_them(world: World) -> None:
    asked = await world.ask()
    await offer(world, asked)
    browser = world.browser()
    form = form_of(await browser.get(await world.link_of(ALICE)))
    await browser.post(form.action, pressed(form, "signature"))
    logged = await world.engine.database.read(lambda conn: [*event_log.walk(conn, asked.ask.intent_id)])
    [event] = [one for one in logged if one.type == "notice.signature_called"]
    assert (event.actor, dict(event.payload)) == (ALICE, {"suspension_id": asked.id, "lines": 2})


async def test_the_link_on_a_signed_in_page_leads_to_what_is_kept_and_one_press_forgets_it(world: World) -> None:
    asked = await world.ask()
    for identity in (ALICE, BOB):
        await offer(world, asked, identity)
        browser = world.browser()
        form = form_of(await browser.get(await world.link_of(identity)))
        await browser.post(form.action, pressed(form, "signature"))
    browser = await world.signed_in(ALICE)
    assert browser.page is not None
    assert "/me" in browser.page.links
    page = await browser.get("/me")
    assert "2 lines that you have called your signature, the oldest since" in page.text
    assert SLOGAN not in page.text
    page = await browser.post("/me", pressed(page.form, "forget_signature"))
    assert "Forgotten." in page.text
    assert "You have called no line your signature" in page.text
    assert not (await known(world, ALICE)).is_known(SLOGAN, Side.BELOW)
    assert (await known(world, BOB)).is_known(SLOGAN, Side.BELOW)


async def test_nothing_is_forgotten_without_a_session_and_its_form_token(world: World) -> None:
    asked = await world.ask()
    made = await offer(world, asked)
    await signatures(world).call(asked.id, ALICE, made.mark, now=world.clock.now())
    stranger = world.browser()
    assert (await stranger.get("/me")).path == "/signin"
    assert (await stranger.post("/me", {"do": "forget_signature"})).status == 403
    browser, other = await world.signed_in(ALICE), await world.signed_in(CAROL)
    await browser.get("/me")
    theirs = await other.get("/me")
    assert "You have called no line your signature" in theirs.text
    inbox = await other.get("/inbox")
    token = inbox.sign_out.fields[0][1]
    for fields in ({}, {"form_token": token}):
        assert (await browser.post("/me", {"do": "forget_signature", **fields})).status == 403
    assert (await signatures(world).kept(ALICE)).count == 2


async def test_signing_in_on_the_way_leads_to_what_is_kept(world: World) -> None:
    browser = world.browser()
    await browser.get("/me")
    await browser.submit(email=ALICE)
    await browser.get(await world.sign_in_link_of(ALICE))
    assert (await browser.submit()).path == "/me"


async def test_who_leaves_the_directory_leaves_no_line_behind(tmp_path: Path) -> None:
    people = [one for one in CONFIG["people"] if one["email"] != ALICE]
    folder = tmp_path / "both"
    folder.mkdir()
    async with a_world(folder) as world:
        asked = await world.ask()
        for identity in (ALICE, BOB):
            made = await offer(world, asked, identity)
            await signatures(world).call(asked.id, identity, made.mark, now=world.clock.now())
    async with a_world(folder, people=people) as world:
        await world.engine.look()
        kept = [(await signatures(world).kept(identity)).count for identity in (ALICE, BOB)]
        assert kept == [0, 2]
