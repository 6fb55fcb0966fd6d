"""``/a/{token}``: what the one person sees and does whom the link was made for. Source: API.md §3, §4, §6."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from handraise.suspension.merging import payload_schema
from pydantic import BaseModel

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.policy import PolicyFields
from core.domain.suspension import Kind, ResponseType, Resume, Status, Suspension
from core.errors import InvalidRequest
from tests.bot.web.pages_world import ALICE, BOB, World, a_world


class Approval(BaseModel):
    """The state of an agent that waits."""

    approved: bool | None = None


OTHERS = ["Bob", "Carol", "Olga"]
"""To whom Alice may hand a question over, each a button."""
TEXT, FORM = {"response_type": ResponseType.TEXT}, {"response_type": ResponseType.FORM}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def recorded(world: World, asked: Suspension) -> Any:
    """The answer as it was stored, ``None`` while there is none."""
    ended = (await world.fresh(asked)).ended
    return None if ended is None else (ended.value, ended.by, ended.channel, ended.reason)


async def answer(world: World, asked: Suspension, by: str, value: Any, channel: str = "slack") -> None:
    await world.engine.respond(GivenAnswer(asked.id, Actor(by), channel, value))


async def test_the_page_tells_what_is_asked_and_what_silence_means(world: World) -> None:
    await world.ask(context={"order": "12345", "amount": 499.99, "paid": True, "items": [{"sku": "A-1"}], "note": None})
    page = await world.browser().get(await world.link_of(ALICE))
    assert page.status == 200
    for words in (
        "Refund order 12345?",
        "asked by refund-agent",
        "amount 499.99",
        "paid Yes",
        "items 1 sku A-1",
        "order 12345",
        "Approve refund To the card it was paid with.",
        "Deny refund",
        "If nobody answers by 2026-03-24 04:00 UTC, the agent goes on with “Deny refund”.",
        "1 h left",
        f"Answering as {ALICE}",
    ):
        assert words in page.text
    assert page.buttons == ["Send answer", "Ask the agent", *OTHERS, "I’m on it"]


async def test_a_choice_sent_from_the_page_is_the_answer(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(choice="0", reason="The parcel is lost.")
    assert "Recorded: Approve refund by you" in page.text
    assert page.forms == []
    assert await recorded(world, asked) == ("approve", ALICE, "web", "The parcel is lost.")


async def test_a_yes_or_no_is_answered_by_choosing(world: World) -> None:
    asked = await world.ask("Deploy?", response_type=ResponseType.CONFIRM)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(choice="1")
    assert await recorded(world, asked) == ("no", ALICE, "web", None)


async def test_a_text_arrives_as_it_was_typed(world: World) -> None:
    asked = await world.ask("What shall we write?", **TEXT)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(answer="Dear Zoë 🙂,\n<we> are & sorry.")
    assert "Recorded:" in page.text
    assert await recorded(world, asked) == ("Dear Zoë 🙂,\n<we> are & sorry.", ALICE, "web", None)


async def test_the_longest_text_there_may_be_fits_through_the_form(world: World) -> None:
    asked = await world.ask("What shall we write?", **TEXT)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(answer="🙂" * 40_000)
    assert (await recorded(world, asked))[0] == "🙂" * 40_000


async def test_a_filled_in_form_arrives_with_its_types(world: World) -> None:
    schema = {
        "type": "object",
        "required": ["amount"],
        "properties": {"amount": {"type": "integer"}, "fast": {"type": "boolean"}, "note": {"type": "string"}},
    }
    asked = await world.ask("How much?", **FORM, form_schema=schema)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(f0="12", f1="0")
    assert (await recorded(world, asked))[0] == {"amount": 12, "fast": True}


async def test_a_form_without_a_schema_asks_for_the_keys_of_the_context(world: World) -> None:
    asked = await world.ask("Where to?", **FORM, context={"street": "Old Road 1", "city": "Aachen"})
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    assert [
        one["name"] for one in page.form.inputs if (one["name"] or "").startswith("f") and one["type"] == "text"
    ] == ["f0", "f1"]
    await browser.submit(f0="New Road 2")
    assert (await recorded(world, asked))[0] == {"street": "New Road 2"}


async def test_a_wrong_answer_comes_back_with_what_was_typed_and_the_error_beside_it(world: World) -> None:
    schema = {
        "type": "object",
        "required": ["amount"],
        "properties": {
            "amount": {"type": "number", "maximum": 500},
            "note": {"type": "string"},
            "how": {"enum": ["a", "b"]},
        },
    }
    asked = await world.ask("How much?", **FORM, form_schema=schema)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(f0="501", f1="careful & slow", f2="1", reason="my reason")
    assert page.status == 422
    assert "Enter a number of at most 500." in page.text
    assert [page.value(name) for name in ("f0", "f1", "f2", "reason")] == ["501", "careful & slow", "1", "my reason"]
    amount = next(one for one in page.form.inputs if one["name"] == "f0")
    assert amount["aria-invalid"] == "true"
    assert "f0-problem" in (amount["aria-describedby"] or "")
    assert 'id="f0-problem"' in page.html
    await browser.submit(f0="500")
    assert (await recorded(world, asked))[0] == {"amount": 500, "note": "careful & slow", "how": "b"}


async def test_a_rule_over_several_fields_is_told_too(world: World) -> None:
    schema = {"type": "object", "minProperties": 2, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    asked = await world.ask("Which?", **FORM, form_schema=schema)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(f0="only one")
    assert page.status == 422
    assert "not filled in as asked" in page.text
    assert page.value("f0") == "only one"
    assert await recorded(world, asked) is None


async def test_sending_without_choosing_asks_to_choose_and_keeps_the_reason(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(reason="because")
    assert page.status == 422
    assert "Pick one of these." in page.text
    assert page.value("reason") == "because"
    assert await recorded(world, asked) is None


async def test_an_answer_that_the_agent_could_not_use_is_refused(world: World) -> None:
    payload = {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}}
    asked = await world.ask(resume=Resume(payload_schema=payload))
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(choice="0")
    assert page.status == 422
    assert page.value("choice") == "0"
    await browser.submit(reason="now with a reason")
    assert (await recorded(world, asked))[3] == "now with a reason"


@pytest.mark.parametrize("fields", [True, False], ids=["a form with fields", "lines alone"])
async def test_a_form_that_would_not_fit_the_paused_invocation_says_why_and_is_filled_in_again(
    world: World, fields: bool
) -> None:
    """The agent's state takes a yes or no; its form, or a form without fields, any text."""
    schema = {"type": "object", "properties": {"approved": {"type": "string"}}} if fields else None
    resume = Resume(signal_id="refund-1", payload_schema=payload_schema(Approval))
    asked = await world.ask(response_type=ResponseType.FORM, form_schema=schema, resume=resume)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    name, filled = ("f0", "{}") if fields else ("answer", "approved: {}")
    page = await browser.submit(**{name: filled.format("perhaps")})
    assert page.status == 422
    assert 'approved: "perhaps" does not match' in page.text
    assert page.value(name) == filled.format("perhaps")
    assert await recorded(world, asked) is None
    await browser.submit(**{name: filled.format("yes")})
    assert (await recorded(world, asked))[0] == {"approved": "yes"}


async def test_whoever_is_second_learns_who_was_first(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await answer(world, asked, BOB, "deny")
    page = await browser.submit(choice="0")
    assert page.status == 409
    assert "Your answer was not recorded" in page.text
    assert "Answered: Deny refund by Bob via Slack, 2026-03-24 03:00 UTC" in page.text
    assert await recorded(world, asked) == ("deny", BOB, "slack", None)


async def test_a_double_click_is_no_mistake(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    fields = {**dict(page.form.fields), "choice": "0"}
    await browser.post(page.form.action, fields)
    page = await browser.post(page.path, fields)
    assert page.status == 200
    assert "Recorded: Approve refund" in page.text
    assert (await recorded(world, asked))[0] == "approve"


async def test_somebody_who_opens_the_link_later_learns_how_it_ended(world: World) -> None:
    asked = await world.ask()
    await answer(world, asked, BOB, "approve", "email")
    page = await world.browser().get(await world.link_of(ALICE))
    assert "Answered: Approve refund by Bob via e-mail" in page.text
    assert "Refund order 12345?" in page.text
    assert page.forms == []


async def test_after_silence_the_page_tells_what_the_agent_went_on_with(world: World) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    world.later(hours=1)
    await world.engine.look()
    page = await world.browser().get(link)
    assert "Nobody answered in time" in page.text
    assert "The agent went on with Deny refund" in page.text
    assert (await world.fresh(asked)).status is Status.EXPIRED


async def test_after_silence_without_a_fallback_the_page_says_that_the_agent_stopped(world: World) -> None:
    await world.ask("What shall we write?", **TEXT)
    link = await world.link_of(ALICE)
    world.later(hours=1)
    await world.engine.look()
    assert "The agent stopped." in (await world.browser().get(link)).text


async def test_a_cancelled_question_needs_no_answer(world: World) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    await world.engine.cancel(asked.id, Actor("refund-agent", key="refund-agent"), "Order withdrawn.")
    page = await world.browser().get(link)
    assert "Cancelled by refund-agent" in page.text
    assert "Order withdrawn." in page.text
    assert page.forms == []


async def test_no_answer_is_taken_after_the_deadline_even_if_the_clock_has_not_looked(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    form = page.form
    world.later(hours=1)
    assert (await browser.get(form.action)).forms == []
    page = await browser.post(form.action, {**dict(form.fields), "choice": "0"})
    assert page.status == 409
    assert "The agent went on with Deny refund" in page.text
    assert (await world.fresh(asked)).status is Status.EXPIRED


async def test_a_veto_window_says_that_silence_goes_ahead(world: World) -> None:
    asked = await world.ask("Send 400 mails?", kind=Kind.VETO, choices=())
    browser = world.browser()
    page = await browser.get(await world.link_of(ALICE))
    assert "About to go ahead" in page.text
    assert "If nobody objects by 2026-03-24 04:00 UTC, the agent goes ahead." in page.text
    await browser.submit(choice="1")
    assert (await recorded(world, asked))[0] == "veto"


async def test_the_last_reminder_looks_like_one(world: World) -> None:
    twice = PolicyFields(max_attempts=2, interval=timedelta(hours=1))
    await world.ask(policy=twice, timeout=None)
    link = await world.link_of(ALICE)
    assert "Input needed" in (await world.browser().get(link)).text
    world.later(hours=1)
    await world.engine.look()
    assert "URGENT: final reminder" in (await world.browser().get(link)).text


async def test_saying_i_m_on_it_holds_reminders_and_keeps_what_was_typed(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do="claim", choice="1", reason="looking into it")
    assert page.status == 200
    assert "You are on it until 2026-03-24 03:30 UTC" in page.text
    assert (page.value("choice"), page.value("reason")) == ("1", "looking into it")
    claim = (await world.fresh(asked)).claim
    assert claim is not None
    assert (claim.by, claim.channel) == (ALICE, "web")
    assert await recorded(world, asked) is None


async def test_others_see_who_is_on_it_and_may_still_answer(world: World) -> None:
    asked = await world.ask()
    await world.engine.claim(asked.id, Actor(ALICE), "slack")
    browser = world.browser()
    page = await browser.get(await world.link_of(BOB))
    assert "Alice is on it until 2026-03-24 03:30 UTC" in page.text
    assert page.buttons == ["Send answer", "Ask the agent"]
    page = await browser.submit(do="claim")
    assert page.status == 409
    assert "Alice is on it." in page.text
    await browser.submit(do="answer", choice="1")
    assert (await recorded(world, asked))[:2] == ("deny", BOB)


async def test_a_claim_is_given_back(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do="claim")
    assert page.buttons == ["Send answer", "Ask the agent", *OTHERS, "Give it back"]
    page = await browser.submit(do="release")
    assert page.buttons == ["Send answer", "Ask the agent", *OTHERS, "I’m on it"]
    assert (await world.fresh(asked)).claim is None
    page = await browser.submit(do="release")
    assert page.status == 409
    assert "You hold no claim" in page.text


async def test_a_claim_that_has_run_out_is_not_shown(world: World) -> None:
    asked = await world.ask()
    await world.engine.claim(asked.id, Actor(ALICE), "slack")
    world.later(minutes=31)
    page = await world.browser().get(await world.link_of(BOB))
    assert "is on it until" not in page.text
    assert "I’m on it" in page.buttons


@pytest.mark.parametrize("token", ["x" * 26, "short", "a" * 65, "%F0%9F%99%82" * 20])
async def test_an_unknown_link_says_so(world: World, token: str) -> None:
    page = await world.browser().get(f"/a/{token}")
    assert page.status == 404
    assert "This link is unknown or too old." in page.text


async def test_a_link_whose_case_a_mail_program_changed_still_works(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get((await world.link_of(ALICE)).upper().replace("/A/", "/a/"))
    await browser.submit(choice="0")
    assert (await recorded(world, asked))[0] == "approve"


async def test_a_mail_token_opens_no_page(world: World) -> None:
    await world.ask()
    await world.service.lanes.empty()
    mail = world.mailbox.of(ALICE)[-1]
    reply_token = mail.answers_to.partition("@")[0].rpartition("+")[2].rpartition(".")[2]
    page = await world.browser().get(f"/a/{reply_token}")
    assert page.status == 404


async def test_whoever_may_no_longer_answer_is_not_told_the_question(world: World) -> None:
    asked = await world.ask(responders=(ALICE,), on_behalf_of=ALICE)
    page = await world.browser().get(await world.link_of(ALICE))
    assert page.status == 403
    assert asked.ask.question not in page.text
    assert "You can't answer this question" in page.text


async def test_whoever_misses_something_asks_the_agent_back_and_sees_what_it_says(world: World) -> None:
    asked, browser = await world.ask(), world.browser()
    link = await world.link_of(ALICE)
    await browser.get(link)
    page = await browser.submit(do="clarify", clarify="  Which card?  ")
    assert (page.status, page.path) == (200, link)
    assert "Alice has asked the agent: Which card?" in page.text
    assert (
        "Reminders and the deadline wait while the agent is asked back, until 2026-03-24 04:00 UTC at the latest."
        in page.text
    )
    assert page.buttons == ["Send answer", *OTHERS, "I’m on it"], "one question at a time"
    assert await recorded(world, asked) is None

    agent = Actor("refund-agent", key="refund-agent")
    await world.service.services.asking.collaboration.clarification(asked.id, agent, "The one that was paid with.")
    page = await browser.get(link)
    assert "The agent: The one that was paid with." in page.text
    await browser.submit(choice="0")
    assert await recorded(world, asked) == ("approve", ALICE, "web", None)


@pytest.mark.parametrize("words", ["", "   ", "x" * 3001])
async def test_a_question_back_needs_words_and_loses_none(world: World, words: str) -> None:
    asked, browser = await world.ask(), world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do="clarify", clarify=words, reason="Because.")
    assert (page.status, page.value("reason"), page.value("clarify")) == (422, "Because.", words)
    assert "Write what you need to know" in page.text
    assert (await world.fresh(asked)).clarifications == ()


async def test_two_who_ask_back_at_once_are_told_of_each_other(world: World) -> None:
    asked, browser = await world.ask(), world.browser()
    await browser.get(await world.link_of(ALICE))
    await world.service.services.asking.collaboration.clarify(asked.id, Actor(BOB), "Why?")
    page = await browser.submit(do="clarify", clarify="Which card?")
    assert page.status == 409
    assert "Bob has asked the agent back already." in page.text
    assert "Bob has asked the agent: Why?" in page.text


async def test_the_evidence_of_somebody_signed_in_is_their_session_which_signs_nobody_in(world: World) -> None:
    asked, browser = await world.ask(), await world.signed_in(ALICE)
    await browser.get(f"/q/{asked.ask.ref}")
    page = await browser.submit(choice="0")
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert ended.via is not None
    assert (ended.via.channel, ended.via.account) == ("web", ALICE)
    assert re.fullmatch("[0-9a-f]{16}", ended.via.session or "")
    assert f"Alice: by web, account {ALICE}, session {ended.via.session}" in page.text
    assert not any(str(ended.via.session) in cookie for cookie in browser.client.cookies.values())


ADDRESS: dict[str, Any] = {
    "type": "object",
    "required": ["zip", "mail"],
    "properties": {
        "street": {"type": "string"},
        "zip": {"type": "string", "title": "ZIP code", "pattern": "^[0-9]{5}$", "examples": ["12345"]},
        "mail": {"type": "string", "title": "Write to", "pattern": "^.+@x$", "examples": ["bo.berg@x"]},
        "size": {"enum": ["S", "M"], "title": "Size"},
    },
}


async def test_what_is_wrong_stands_above_the_form_leads_to_its_fields_and_the_first_has_the_focus(
    world: World,
) -> None:
    await world.ask("Where to?", **FORM, form_schema=ADDRESS)
    browser = world.browser()
    first = await browser.get(await world.link_of(ALICE))
    assert 'class="errors"' not in first.html and "autofocus" not in first.html
    assert "Such as 12345." in first.text
    page = await browser.submit(f0="Old Road 1", f1="12", f2="", reason="x" * 3_001)
    assert page.status == 422
    assert "3 fields need another look Nothing has been recorded." in page.text
    assert "ZIP code Enter five digits, such as 12345. Write to Fill this in. Reason At most 3000" in page.text
    assert [link for link in page.links if link.startswith(("#f", "#r"))] == ["#f1", "#f2", "#reason"]
    assert re.findall(r'<\w+ id="(\w+)"[^>]* autofocus', page.html) == ["f1"]
    assert page.html.count('role="alert"') == 1
    wrong = {one["name"]: one for one in page.form.inputs if one.get("aria-invalid")}
    assert wrong.keys() >= {"f1", "f2"}
    assert (wrong["f1"]["aria-describedby"] or "").split() == ["f1-example", "f1-problem"]


async def test_a_choice_that_was_not_made_has_the_focus_on_its_first_option(world: World) -> None:
    await world.ask("Where to?", **FORM, form_schema={**ADDRESS, "required": ["size"]})
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(f3="")
    assert re.findall(r'<input id="(\w+)" type="radio"[^>]* autofocus', page.html) == ["f3"]
    await world.ask()
    await browser.get(await world.link_of(BOB))
    page = await browser.submit(choice=None)
    assert re.findall(r'<input id="(\w+)" type="radio"[^>]* autofocus', page.html) == ["choice"]
    assert "Your answer Pick one of these." in page.text


HOSTILE = "<img src=x onerror=alert(1)>\"'{{7*7}}"


async def test_the_agent_s_own_words_are_text_and_what_is_secret_in_them_stays_hidden(world: World) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {
                "type": "string",
                "title": HOSTILE,
                "pattern": "^[0-9]{5}$",
                "examples": ["12345"],
                "errorMessage": f"{HOSTILE} or ask carol@example.org",
            },
            "b": {"type": "string", "maxLength": 1, "errorMessage": {"maxLength": "شكرا، حرف واحد"}},
            "c": {"type": "string", "pattern": "^(?:x|.+@example[.]org)$", "examples": ["dave@example.org"]},
        },
    }
    await world.ask("What?", **FORM, form_schema=schema)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(f0="12", f1="ab", f2="y")
    assert page.status == 422
    assert "<img" not in page.html.replace('<img src="/static/hand.svg', "")
    assert page.text.count(HOSTILE) >= 3
    assert "carol@example.org" not in page.html and "[redacted: e-mail" in page.text
    assert '<span dir="auto">شكرا، حرف واحد</span>' in page.html
    assert "dave@example.org" not in page.html


async def test_words_that_nobody_would_be_told_are_refused_when_the_question_is_asked(world: World) -> None:
    schema = {"type": "object", "properties": {"zip": {"type": "string", "errorMessage": {"patern": "Five digits."}}}}
    with pytest.raises(InvalidRequest, match=r"form_schema\.properties\.zip\.errorMessage has 'patern'"):
        await world.ask("Where to?", **FORM, form_schema=schema)
