"""``/q/{ref}`` and ``/inbox``: for whoever is signed in. Source: API.md §2, "Who may answer"; §6."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import ResponseType, Suspension
from core.store import event_log
from tests.bot.web.pages_world import ALICE, BOB, CAROL, OLGA, Browser, Page, World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def test_a_shared_link_asks_to_sign_in_and_then_leads_back(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    page = await browser.get(f"/q/{asked.ask.ref}")
    assert page.path == "/signin"
    assert asked.ask.question not in page.html
    await browser.submit(email=ALICE)
    await browser.get(await world.sign_in_link_of(ALICE))
    page = await browser.submit()
    assert page.path == f"/q/{asked.ask.ref}"
    assert asked.ask.question in page.text


async def test_without_signing_in_a_question_looks_the_same_whether_it_exists_or_not(world: World) -> None:
    asked = await world.ask()
    for ref in (asked.ask.ref, "HR-ZZZZ"):
        response = await world.browser().client.get(f"/q/{ref}", follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (303, f"/signin?next=/q/{ref}")


async def test_a_responder_answers_at_the_shared_link(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(ALICE)
    await browser.get(f"/q/{asked.ask.ref.lower()}")
    page = await browser.submit(choice="1", reason="no")
    assert "Recorded: Deny refund by you" in page.text
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert (ended.value, ended.by, ended.channel, ended.reason) == ("deny", ALICE, "web", "no")


async def test_somebody_else_can_t_tell_it_from_one_that_does_not_exist(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(CAROL)
    there, absent = await browser.get(f"/q/{asked.ask.ref}"), await browser.get("/q/HR-ZZZZ")
    assert there.status == absent.status == 404
    assert there.html.replace(asked.ask.ref, "HR-ZZZZ") == absent.html


async def test_a_wrong_account_is_told_which_it_is_and_can_use_another(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(CAROL)
    page = await browser.get(f"/q/{asked.ask.ref}")
    assert f"You are signed in as {CAROL}" in page.text
    assert "This link is unknown or too old." not in page.text
    assert asked.ask.question not in page.text
    page = await browser.submit_to(page.switch)
    assert page.links == [f"/signin?next=/q/{asked.ask.ref}"]
    assert (await browser.get("/inbox")).path == "/signin"


async def test_an_operator_reads_what_others_are_asked_but_can_t_answer_it(world: World) -> None:
    asked = await world.ask()
    operator = await world.signed_in(OLGA)
    page = await operator.get(f"/q/{asked.ask.ref}")
    assert asked.ask.question in page.text
    assert "you are not among those who may answer" in page.text
    assert page.forms == []
    page = await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")
    forged = await operator.post(page.form.action, {**dict(page.form.fields), "choice": "0"})
    assert forged.status == 403
    assert (await world.fresh(asked)).is_open


async def test_a_narrowed_operator_finds_only_what_means_them(tmp_path: Path) -> None:
    async with a_world(tmp_path, answers={"operators_read": "own_groups"}) as world:
        hidden, theirs = await world.ask(), await world.ask("Yours?", responders=(OLGA,))
        operator = await world.signed_in(OLGA)
        page, absent = await operator.get(f"/q/{hidden.ask.ref}"), await operator.get("/q/HR-ZZZZ")
        assert page.status == 404
        assert page.html.replace(hidden.ask.ref, "HR-ZZZZ") == absent.html
        assert "Yours?" in (await operator.get(f"/q/{theirs.ask.ref}")).text
        inbox = await operator.get("/inbox")
        assert (theirs.ask.ref in inbox.text, hidden.ask.ref in inbox.text) == (True, False)


async def test_an_operator_may_answer_where_nobody_was_named(world: World) -> None:
    asked = await world.ask(responders=(), notify_to=ALICE)
    browser = await world.signed_in(OLGA)
    await browser.get(f"/q/{asked.ask.ref}")
    await browser.submit(choice="0")
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert ended.by == OLGA


async def test_whoever_is_asked_for_is_told_why_they_can_t_answer(world: World) -> None:
    asked = await world.ask(on_behalf_of=OLGA)
    page = await (await world.signed_in(OLGA)).get(f"/q/{asked.ask.ref}")
    assert "it was asked by you, or for you" in page.text
    assert page.forms == []


async def test_signed_out_meanwhile_nothing_is_recorded(world: World) -> None:
    asked = await world.ask(timeout=timedelta(days=2))
    browser = await world.signed_in(ALICE)
    await browser.get(f"/q/{asked.ask.ref}")
    world.later(hours=12)
    page = await browser.submit(choice="0")
    assert page.status == 403
    assert "You are signed out" in page.text
    assert f"/signin?next=/q/{asked.ask.ref}" in page.links
    assert (await world.fresh(asked)).is_open


async def test_a_form_made_for_one_session_is_refused_in_another(world: World) -> None:
    asked = await world.ask()
    browser = await world.signed_in(BOB)
    page = await browser.get(f"/q/{asked.ask.ref}")
    stale = {**dict(page.form.fields), "choice": "0"}
    await browser.post("/signout", dict(page.sign_out.fields))
    await browser.get("/signin")
    await browser.submit(email=ALICE)
    await browser.get(await world.sign_in_link_of(ALICE))
    await browser.submit()
    assert (await browser.post(f"/q/{asked.ask.ref}", stale)).status == 403
    assert (await world.fresh(asked)).is_open


@pytest.mark.parametrize("ref", ["HR_7F3K", "x" * 65, "%F0%9F%99%82", "HR-7F3K%20", "%0A"])
async def test_an_odd_reference_is_just_unknown(world: World, ref: str) -> None:
    browser = await world.signed_in(ALICE)
    assert (await browser.get(f"/q/{ref}")).status == 404
    assert (await world.browser().get(f"/q/{ref}")).path == "/signin"


def questions(page: Page) -> list[str]:
    return [link for link in page.links if "/q/" in link]


async def test_the_inbox_needs_a_session(world: World) -> None:
    page = await world.browser().get("/inbox")
    assert page.path == "/signin"


async def test_an_empty_inbox_says_so(world: World) -> None:
    await world.ask()
    page = await (await world.signed_in(CAROL)).get("/inbox")
    assert "Nothing waits for you." in page.text
    assert questions(page) == []


async def test_the_inbox_lists_what_waits_for_this_person_the_soonest_deadline_first(world: World) -> None:
    first = await world.ask("First?")
    world.later(minutes=5)
    second = await world.ask("Second?", response_type=ResponseType.TEXT, timeout=timedelta(minutes=10))
    await world.ask("For Carol?", responders=(CAROL,))
    page = await (await world.signed_in(ALICE)).get("/inbox")
    assert questions(page) == [f"/q/{one.ask.ref}" for one in (second, first)]
    assert "For Carol?" not in page.text
    assert "asked by refund-agent, 6 min ago" in page.text
    assert (
        page.text.index("9 min left") < page.text.index("until 2026-03-24 03:15 UTC") < page.text.index("54 min left")
    )
    assert page.text.index("54 min left") < page.text.index("until 2026-03-24 04:00 UTC")


async def test_what_was_answered_leaves_the_inbox(world: World) -> None:
    asked, other = await world.ask(), await world.ask()
    browser = await world.signed_in(ALICE)
    await browser.get(f"/q/{asked.ask.ref}")
    await browser.submit(choice="0")
    assert questions(await browser.get("/inbox")) == [f"/q/{other.ask.ref}"]
    await world.engine.respond(GivenAnswer(other.id, Actor(BOB), "slack", "deny"))
    assert questions(await browser.get("/inbox")) == []


async def test_the_inbox_tells_who_is_on_it(world: World) -> None:
    asked = await world.ask()
    await world.engine.claim(asked.id, Actor(BOB), "slack")
    assert "on it: Bob" in (await (await world.signed_in(ALICE)).get("/inbox")).text
    assert "on it: you" in (await (await world.signed_in(BOB)).get("/inbox")).text


async def test_the_inbox_says_that_new_notices_are_paused(world: World) -> None:
    await world.ask()
    browser = await world.signed_in(ALICE)
    assert "paused" not in (await browser.get("/inbox")).text
    await world.service.services.running.pausing.pause(Actor("root"), None)
    page = await browser.get("/inbox")
    assert "New notices are paused since 2026-03-24 03:01 UTC" in page.text
    assert len(questions(page)) == 1


async def test_a_question_without_an_end_has_no_deadline(world: World) -> None:
    asked = await world.ask("Take your time.", response_type=ResponseType.TEXT, timeout=None)
    browser = await world.signed_in(ALICE)
    assert "no deadline" in (await browser.get("/inbox")).text
    assert "The agent waits until somebody answers." in (await browser.get(f"/q/{asked.ask.ref}")).text


async def test_whoever_has_answered_finds_it_in_the_inbox_no_more_while_it_waits_for_others(world: World) -> None:
    asked = await world.ask(answers_required=2)
    await world.engine.respond(GivenAnswer(asked.id, Actor(ALICE), "slack", "approve"))
    assert "Nothing waits for you." in (await (await world.signed_in(ALICE)).get("/inbox")).text
    assert "Refund order 12345?" in (await (await world.signed_in(BOB)).get("/inbox")).text


async def test_what_will_run_stands_on_the_page_whole_with_its_digest(world: World) -> None:
    action = {"tool": "shell", "script": "echo fine; " * 9_000 + "rm -rf /<script>", "\u202e": "card 4111111111111111"}
    asked = await world.ask(action=action)
    page = await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")
    assert asked.ask.action_digest is not None
    assert f"Exactly this will run (sha256 {asked.ask.action_digest[7:15]})" in page.text
    assert "rm -rf /&lt;script&gt;" in page.html
    assert "\\u202e" in page.html
    assert "\u202e" not in page.html
    assert "4111" not in page.html
    assert "What is marked [redacted] or [masked] is hidden here, and runs all the same." in page.text


async def test_a_question_without_an_action_says_nothing_of_what_will_run(world: World) -> None:
    asked = await world.ask()
    assert "will run" not in (await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")).text


@pytest.mark.parametrize(
    "stated", [{"decision_record": {"risk": 0.9}}, {"context": {"risk": "critical"}}], ids=["record", "context"]
)
async def test_a_high_risk_is_on_the_page(world: World, stated: dict[str, Any]) -> None:
    asked = await world.ask(**stated)
    page = await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")
    assert "Risk critical, says the agent" in " ".join(page.text.split())


# --- Hidden values ----------------------------------------------------------------------------------------------------

IBAN, KEY = "DE89370400440532013000", "sk-live-0123456789abcdef0123"
PAYMENT: dict[str, Any] = {"action": {"to": IBAN, "api_key": KEY}, "context": {"mail": "payee@bank.example"}}


async def send(browser: Browser, **fields: str) -> Page:
    """With the form token of the page, which has two forms."""
    assert browser.page is not None
    token = dict(browser.page.forms[0].fields)["form_token"]
    return await browser.post(browser.page.path, {"form_token": token, **fields})


async def revealed_events(world: World, asked: Suspension) -> list[Any]:
    logged = await world.engine.database.read(lambda conn: [*event_log.walk(conn, asked.ask.intent_id)])
    return [(one.actor, dict(one.payload)) for one in logged if one.type == "notice.revealed"]


async def test_whoever_may_answer_and_is_signed_in_has_hidden_values_shown_once_and_the_log_says_so(
    world: World,
) -> None:
    asked = await world.ask(question=f"Pay {IBAN}?", **PAYMENT)
    browser = await world.signed_in(ALICE)
    page = await browser.get(f"/q/{asked.ask.ref}")
    assert "[masked: IBAN DE…3000]" in page.text
    assert "[redacted: e-mail address]" in page.text
    assert "Show hidden values" in page.buttons
    assert await revealed_events(world, asked) == []

    page = await send(browser, do="reveal")
    assert page.status == 200
    assert page.response.headers["Cache-Control"] == "no-store"
    for value in (f"Pay {IBAN}?", f'"to": "{IBAN}"', "payee@bank.example"):
        assert value in page.text
    assert KEY not in page.html, "a secret is never shown"
    assert "Hide them again" in page.text
    assert await revealed_events(world, asked) == [(ALICE, {"suspension_id": asked.id, "revealed_to": ALICE})]

    again = await browser.get(f"/q/{asked.ask.ref}")
    assert IBAN not in again.html
    assert "Recorded: Approve refund by you" in (await send(browser, do="answer", choice="0")).text


async def test_nobody_else_has_them_shown(world: World) -> None:
    asked = await world.ask(**PAYMENT)
    by_link = world.browser()
    page = await by_link.get(await world.link_of(ALICE))
    assert "Show hidden values" not in page.buttons
    assert IBAN not in (await by_link.submit(do="reveal")).html

    without_token = await world.signed_in(ALICE)
    refused = await without_token.post(f"/q/{asked.ask.ref}", {"do": "reveal"})
    assert refused.status == 403
    assert IBAN not in refused.html
    assert await revealed_events(world, asked) == []


async def test_who_may_not_answer_or_comes_late_is_shown_nothing(world: World) -> None:
    asked = await world.ask(on_behalf_of=ALICE, **PAYMENT)
    browser = await world.signed_in(BOB)
    await browser.get(f"/q/{asked.ask.ref}")
    await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny"))
    late = await send(browser, do="reveal")
    assert late.status == 409
    assert IBAN not in late.html
    assert await revealed_events(world, asked) == []


async def test_where_nothing_but_secrets_is_hidden_there_is_nothing_to_reveal(world: World) -> None:
    asked = await world.ask(action={"api_key": KEY})
    page = await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")
    assert "[redacted: access token]" in page.text
    assert "Show hidden values" not in page.buttons
