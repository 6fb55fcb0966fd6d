"""Answers in the inbox: one in its row, several together. Each carries what was shown, and is checked like any."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import Choice, Kind, ResponseType, Suspension
from core.engine.collaboration import Collaboration
from tests.bot.web.pages_world import ALICE, BOB, CAROL, OLGA, REFUND, Browser, Form, Page, World, a_world

NASTY = "<script>alert(1)</script><a href='https://evil.example'>x</a> \"'&{{ 7*1573 }}"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def collaboration(world: World) -> Collaboration:
    return world.service.services.asking.collaboration


def form_of(page: Page, asked: Suspension) -> Form:
    return next(form for form in page.forms if ("ref", asked.ask.ref) in form.fields)


async def press(browser: Browser, form: Form, **typed: str) -> Page:
    return await browser.post(form.action, dict(form.fields) | typed)


async def end_of(world: World, asked: Suspension) -> tuple[object, ...] | None:
    end = (await world.fresh(asked)).ended
    return None if end is None else (end.value, end.by, end.channel, end.reason)


def together_form(page: Page) -> Form:
    return next(form for form in page.forms if form.action.endswith("/together") and form.buttons)


async def together(browser: Browser, *asked: Suspension) -> Page:
    return await browser.get("/inbox/together?" + "&".join(f"ref={one.ask.ref}" for one in asked))


async def press_together(browser: Browser, page: Page, value: str, reason: str = "") -> Page:
    fields: dict[str, object] = {}
    for name, given in together_form(page).fields:
        fields[name] = [*fields.get(name, []), given]  # type: ignore[misc]
    return await browser.post("/inbox/together", {**fields, "value": value, "reason": reason})


async def test_a_row_is_answered_where_it_stands_and_the_next_one_is_before_them(world: World) -> None:
    first = await world.ask("First?", action={"tool": "stripe.refund", "amount": 499.99})
    second = await world.ask("Second?", timeout=timedelta(hours=2))
    third = await world.ask("Third?", timeout=timedelta(hours=3))
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    assert "stripe.refund 499.99" in page.text
    assert "Exactly this will run (sha256" in page.text
    page = await press(browser, form_of(page, first), choice="0", reason="They paid twice.")
    assert await end_of(world, first) == ("approve", ALICE, "web", "They paid twice.")
    assert f"Recorded: Approve refund ({first.ask.ref}). · 2 left" in page.text
    before = page.html[: page.html.index("<summary autofocus")]
    assert before.rstrip().endswith("<details open>")
    focused = re.findall(r'data-ref="([^"]+)"', before)[-1]
    assert focused == second.ask.ref
    page = await press(browser, form_of(page, third), choice="1")
    assert await end_of(world, third) == ("deny", ALICE, "web", None)
    assert "· 1 left" in page.text


async def test_an_answer_to_what_has_changed_since_is_refused_and_keeps_the_reason(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    await collaboration(world).clarify(asked.id, Actor(BOB), "Which card?")
    await collaboration(world).clarification(asked.id, Actor("refund-agent", key="refund-agent"), "Another one.")
    page = await press(browser, form_of(page, asked), choice="0", reason="fine")
    assert (page.status, await end_of(world, asked)) == (409, None)
    assert "it has changed since you looked" in page.text
    assert "Another one." in page.text
    assert 'value="fine"' in page.html
    await press(browser, form_of(page, asked), choice="0", reason="fine")
    assert (await end_of(world, asked) or ("",))[0] == "approve"


async def test_a_reminder_changes_nothing_that_was_shown(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    await world.engine.claim(asked.id, Actor(BOB), "slack")
    await press(browser, form_of(page, asked), choice="0")
    assert (await end_of(world, asked) or ("",))[0] == "approve"


@pytest.mark.parametrize("forged", ["", "0" * 24, "é"])
async def test_an_answer_without_the_mark_of_what_was_shown_is_refused(world: World, forged: str) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    assert (await press(browser, form_of(page, asked), choice="0", shown=forged)).status == 409
    assert await end_of(world, asked) is None


async def test_a_lost_race_is_told_and_by_whom(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny"))
    page = await press(browser, form_of(page, asked), choice="0")
    assert page.status == 409
    assert "Nothing was recorded: the question had already ended (Bob was faster)." in page.text
    assert (await end_of(world, asked) or ("",))[:2] == ("deny", BOB)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"response_type": ResponseType.TEXT}, "a text is asked for"),
        ({"response_type": ResponseType.FORM}, "a form is to be filled in"),
        ({"choices": (*REFUND, Choice("c", "C"), Choice("d", "D"))}, "it has 4 choices"),
        ({"choices": (Choice("approve", "A", metadata={"reason": "required"}), Choice("deny", "B"))}, "a reason"),
        ({"context": {"log": "x" * 7_000}}, "it is long"),
        ({"kind": Kind.VETO, "choices": ()}, "who has seen a veto"),
        ({"decision_record": {"risk": 0.9}, "action": {"iban": "DE89370400440532013000"}}, "to be revealed first"),
    ],
)
async def test_what_takes_more_than_a_press_is_answered_on_its_page(
    world: World, fields: dict[str, object], why: str
) -> None:
    asked = await world.ask(**fields)
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    assert f"answered on its page: {why}" in page.text or why in page.text
    assert not [form for form in page.forms if ("ref", asked.ask.ref) in form.fields]
    assert f"/q/{asked.ask.ref}" in page.links
    plain = await world.ask("Plain?")
    form = form_of(await browser.get("/inbox"), plain)
    page = await press(browser, form, ref=asked.ask.ref, choice="0")
    assert (page.status, await end_of(world, asked)) == (409, None)
    page = await together(browser, asked)
    assert why in page.text
    assert "Nothing to answer together" in page.text


async def test_several_are_answered_with_one_press_and_each_is_recorded_by_itself(world: World) -> None:
    asked = [await world.ask(f"Nr. {n}?", action={"tool": "refund", "amount": n}) for n in range(12)]
    browser = await world.signed_in(ALICE)
    page = await browser.get("/inbox")
    [all_of_them] = [link for link in page.links if "/inbox/together?" in link]
    page = await browser.get(all_of_them.replace("&amp;", "&"))
    assert page.text.count("Exactly this will run (sha256") == 12
    assert together_form(page).buttons == ["Approve refund", "Deny refund"]
    page = await press_together(browser, page, "approve", "Checked.")
    assert "12 of 12 recorded" in page.text
    assert {await end_of(world, one) for one in asked} == {("approve", ALICE, "web", "Checked.")}


async def test_each_result_is_told_and_what_was_not_recorded_stays_with_its_reason(world: World) -> None:
    raced, changed, plain = await world.ask("Raced?"), await world.ask("Changed?"), await world.ask("Plain?")
    browser = await world.signed_in(ALICE)
    page = await together(browser, raced, changed, plain)
    await world.engine.respond(GivenAnswer(raced.id, Actor(BOB), "slack", "deny"))
    await collaboration(world).clarify(changed.id, Actor(BOB), "Which card?")
    page = await press_together(browser, page, "approve", "Checked twice.")
    assert "1 of 3 recorded" in page.text
    assert "Bob was faster" in page.text
    assert "it has changed since you looked" in page.text
    assert (await end_of(world, plain) or ("",))[0] == "approve"
    assert (await end_of(world, raced) or ("",))[0] == "deny"
    assert await end_of(world, changed) is None
    page = await press_together(browser, page, "approve", dict(together_form(page).fields)["reason"])
    assert await end_of(world, changed) == ("approve", ALICE, "web", "Checked twice.")


async def test_what_offers_other_choices_is_left_out(world: World) -> None:
    asked = [await world.ask(f"Nr. {n}?") for n in range(2)]
    other = await world.ask(
        "Which?", choices=(Choice("a", "A"), Choice("b", "B")), fallback_policy=None, fallback_value=None
    )
    browser = await world.signed_in(ALICE)
    page = await together(browser, *asked, other)
    assert "it offers other choices than the rest" in page.text
    await press_together(browser, page, "deny")
    assert [await end_of(world, one) is None for one in (*asked, other)] == [False, False, True]


async def test_who_may_not_know_of_a_question_is_told_the_same_as_of_none(world: World) -> None:
    secret = await world.ask("A secret?", responders=(BOB,))
    mine = await world.ask()
    browser = await world.signed_in(ALICE)
    pages = [
        (await browser.get(f"/inbox/together?ref={ref}")).text for ref in (secret.ask.ref, "HR-NONE", "%00", "x" * 80)
    ]
    assert len(set(pages)) == 1
    assert "A secret?" not in pages[0]
    form = form_of(await browser.get("/inbox"), mine)
    answers = [await press(browser, form, ref=ref, choice="0") for ref in (secret.ask.ref, "HR-NONE")]
    assert [(page.status, page.text) for page in answers] == [(404, answers[0].text)] * 2
    told = []
    page = await together(browser, mine)
    token = dict(together_form(page).fields)["form_token"]
    for ref in (secret.ask.ref, "HR-NONE"):
        fields = {"form_token": token, "item": f"{ref}:{'0' * 24}", "value": "approve"}
        told.append((await browser.post("/inbox/together", fields)).text)
    assert told[0] == told[1]
    assert await end_of(world, secret) is None


@pytest.mark.parametrize("place", ["/inbox/answer", "/inbox/together"])
async def test_a_forged_form_answers_nothing(world: World, place: str) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    form = form_of(await browser.get("/inbox"), asked)
    shown = dict(form.fields)["shown"]
    fields = {
        "ref": asked.ask.ref,
        "shown": shown,
        "item": f"{asked.ask.ref}:{shown}",
        "choice": "0",
        "value": "approve",
    }
    theirs = await world.signed_in(BOB)
    stolen = dict(form_of(await theirs.get("/inbox"), asked).fields)["form_token"]
    for token in ("", "0" * 64, stolen):
        assert (await browser.post(place, {**fields, "form_token": token})).status == 403
    assert (await world.browser().post(place, {**fields, "form_token": stolen})).status == 403
    assert await end_of(world, asked) is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_looking_answers_nothing(world: World, method: str) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    shown = dict(form_of(await browser.get("/inbox"), asked).fields)["shown"]
    query = f"ref={asked.ask.ref}&shown={shown}&item={asked.ask.ref}:{shown}&choice=0&value=approve"
    for place in ("/inbox", "/inbox/answer", "/inbox/together"):
        assert (await browser.client.request(method, f"{place}?{query}")).status_code in {200, 405}
    assert await world.fresh(asked) == asked


async def test_a_forged_address_says_nothing_was_recorded_by_them(world: World) -> None:
    asked, own = await world.ask(), await world.ask()
    await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny"))
    browser = await world.signed_in(ALICE)
    for ref in (asked.ask.ref, own.ask.ref, "HR-NONE"):
        assert "Recorded" not in (await browser.get(f"/inbox?done={ref}")).text


async def test_an_agents_text_is_text_in_every_cell(world: World) -> None:
    choices = (Choice("approve", NASTY, NASTY), Choice("deny", "Deny"))
    fields = {"choices": choices, "context": {NASTY: NASTY}, "action": {"tool": NASTY, NASTY: NASTY}}
    asked = await world.ask(NASTY, **fields, fallback_policy=None, fallback_value=None)
    alice, olga = await world.signed_in(ALICE), await world.signed_in(OLGA)
    pages = [await alice.get("/inbox"), await together(alice, asked), await olga.get("/inbox?tab=all")]
    pages.append(await press_together(alice, await together(alice, asked), "approve", NASTY))
    pages += [await alice.get("/inbox?tab=mine"), await olga.get(f"/inbox?tab=all&q=script&by={NASTY[:9]}")]
    for page in pages:
        assert page.html.count("<script") == page.html.count('<script src="/static/')
        assert "evil.example" not in " ".join(page.links)
        assert "11011" not in page.text


async def test_signed_out_a_link_of_a_filter_leads_back_to_it(world: World) -> None:
    browser = world.browser()
    page = await browser.get("/inbox?tab=mine&q=refund&ended=yesterday")
    assert "next=/inbox%3Ftab%3Dmine%26q%3Drefund%26ended%3Dyesterday" in str(page.response.url)


async def test_nobody_elses_question_is_in_the_list(world: World) -> None:
    await world.ask("For finance?")
    page = await (await world.signed_in(CAROL)).get("/inbox")
    assert "For finance?" not in page.text
