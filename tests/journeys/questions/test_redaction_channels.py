"""Secrets and personal data stay here (RFC-0026 §11): no channel and no page shows them, and a question whose label
was redacted is answered all the same. The agent and the API keep everything."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.pages.test_signin_links import a_link, enter
from tests.journeys.questions.test_roads import page_of
from tests.vendors.mail import Mail
from tests.vendors.slack import shown
from tests.world import World, running

CARD = "4111 1111 1111 1111"
SECRETS = (
    CARD,
    "hunter2",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "DE89370400440532013000",
    "078-05-1120",
    "+49 30 901820",
)
CHOICES = [
    {"value": f"charge-{CARD}", "label": f"Charge {CARD}", "description": "IBAN DE89370400440532013000"},
    {"value": "charge-other", "label": "Charge 5555 5555 5555 4444"},
    {"value": "deny", "label": "Deny"},
]
CONTEXT = {
    "order_id": "12345",
    "customer": {"ssn": "078-05-1120", "contacts": [{"phone": "+49 30 901820"}, {"note": f"pays with {CARD}"}]},
    "stripe": ["sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"],
    "db_password": "hunter2",
    f"card {CARD}": True,
}
QUESTION = f"Charge order 12345 to {CARD}?"
FIELDS: dict[str, Any] = {
    "choices": CHOICES,
    "context": CONTEXT,
    "timeout_seconds": 3600,
    "fallback_policy": "complete_with_fallback",
    "fallback_value": f"charge-{CARD}",
}
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}],
}


@pytest.fixture
async def selective(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """Our own mail server may see everything, and so may our pages."""
    channels = {"email": {"policy": False}, "page": {"policy": "off"}}  # YAML reads a bare ``off`` as false
    async with running(tmp_path, sqlite_url, redaction={"channels": channels}) as world:
        yield world


def mail_text(mail: Mail) -> str:
    return "\n".join([mail.subject, mail.text, mail.html])


def left_on_slack(world: World) -> str:
    workspace = world.slack.workspace
    return repr([workspace.messages, workspace.ephemerals, [view.content for view in workspace.views.values()]])


def left_on_pagerduty(world: World) -> str:
    incidents = world.pager.account.incidents
    return json.dumps([alert.event for one in incidents for alert in one.alerts], ensure_ascii=False)


def left_by_mail(world: World) -> str:
    return "\n".join(mail_text(mail) for mail in world.mailbox.mails)


def has_none(text: str) -> None:
    assert text
    assert [secret for secret in (*SECRETS, "5555 5555") if secret in text] == []


async def open_page(world: World, mail: Mail) -> str:
    response = await world.http.get(await page_of(world, mail))
    assert response.status_code == 200
    return response.text


async def test_nothing_secret_leaves_on_any_channel_from_the_first_notice_to_the_end(any_world: World) -> None:
    world = any_world
    asked = await world.ask(QUESTION, **FIELDS, responders=["group:finance"], retry_policy=LADDER)
    await world.advance(seconds=1_200)
    await world.pager.expect_incident(asked["ref"])
    await world.mailbox.expect(subject="Charge order 12345 to [redacted: card number]?")
    assert (await world.answer(asked, CHOICES[0]["value"])).status_code == 200
    await world.settle()
    for left in (left_on_slack(world), left_by_mail(world), left_on_pagerduty(world)):
        has_none(left)
        assert "[redacted: card number]" in left
        assert "12345" in left


async def test_the_agent_and_the_api_keep_everything(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS, resume={"state": {"card": CARD}})
    record = (await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}")).json()
    assert (record["question"], record["context"]) == (QUESTION, CONTEXT)
    assert record["choices"] == CHOICES
    await world.answer(asked, CHOICES[0]["value"])
    told = (await world.told(asked))["data"]
    assert (told["value"], told["choice_label"]) == (CHOICES[0]["value"], CHOICES[0]["label"])
    assert told["state"] == {"card": CARD}


async def test_a_redacted_button_in_slack_answers_with_the_stored_choice(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS, responders=["group:finance"], notify_to="slack:C0OPS")
    message = await world.slack.expect_message("Charge [redacted: card number]")
    as_it_was = copy.deepcopy(message)
    await world.slack.click("U0ALICE", message, "ans:1")
    assert (await world.told(asked))["data"]["value"] == "charge-other"
    edited = world.slack.workspace.at(message.channel, message.ts)
    assert edited is not None
    assert "Answered “Charge [redacted: card number] (2)” by alice@example.com" in shown(edited)
    late = await world.slack.click("U0BOB", as_it_was, "ans:0")
    assert late.status_code == 200
    assert await world.slack.expect_private("U0BOB", "Charge [redacted: card number]")
    has_none(left_on_slack(world))


async def test_a_modal_in_slack_shows_marks_and_answers_by_position(world: World) -> None:
    many = [{"value": f"v{number}", "label": f"{CARD} number {number}"} for number in range(60)]
    asked = await world.ask(QUESTION, choices=many, context=CONTEXT, notify_to="slack:C0OPS")
    message = await world.slack.expect_message("[redacted: card number] number 1")
    await world.slack.click("U0BOB", message, "open_modal")
    view = await world.slack.expect_view("U0BOB")
    has_none(repr(view.content))
    await world.slack.submit(view.id, "U0BOB", {"answer": "[redacted: card number] number 7"})
    assert (await world.told(asked))["data"]["value"] == "v7"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("1", CHOICES[0]["value"]),
        ("2) Charge [redacted: card number] (2)", CHOICES[1]["value"]),
        ("Deny", "deny"),
    ],
)
async def test_a_reply_by_mail_names_a_redacted_choice_by_number(world: World, reply: str, value: str) -> None:
    asked = await world.ask(QUESTION, **FIELDS, channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    await world.mailbox.reply(mail, reply)
    assert (await world.told(asked))["data"]["value"] == value
    await world.mailbox.expect(subject="Re: ", where=lambda one: "Recorded" in one.text)
    has_none(left_by_mail(world))


async def test_mails_that_ask_back_or_come_too_late_quote_nothing_secret(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS, channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    await world.mailbox.reply(mail, "what is this?")
    await world.settle()
    unclear = await world.mailbox.expect(where=lambda one: "Nothing has been recorded" in one.text)
    assert "2) Charge [redacted: card number] (2)" in unclear.text
    await world.answer(asked, CHOICES[0]["value"])
    await world.mailbox.reply(mail, "3")
    await world.settle()
    assert await world.mailbox.expect(where=lambda one: "Too late" in one.text)
    has_none(left_by_mail(world))


async def test_a_note_in_pagerduty_answers_a_redacted_choice(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS, channel_hint="pagerduty", notify_to="alice@example.com")
    incident = await world.pager.expect_incident(asked["ref"])
    await world.pager.add_note(incident, world.pager.account.users["PALICE"], "1")
    assert (await world.told(asked))["data"]["value"] == CHOICES[0]["value"]
    has_none(left_on_pagerduty(world))


async def test_the_answer_page_shows_marks_and_answers(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS, channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    has_none(await open_page(world, mail))
    await world.answer(asked, CHOICES[1]["value"])
    ended = await open_page(world, mail)
    assert "Charge [redacted: card number]" in ended
    has_none(ended)


async def test_what_somebody_answers_is_not_repeated_to_others_either(world: World) -> None:
    asked = await world.ask("Which account?", response_type="text", responders=["group:finance"])
    message = await world.slack.expect_message("Which account?")
    await world.answer(asked, f"Use {CARD}, password: hunter2")
    await world.settle()
    edited = world.slack.workspace.at(message.channel, message.ts)
    assert edited is not None
    assert "Answered “Use [redacted: card number], password: [redacted: password]”" in shown(edited)
    assert (await world.told(asked))["data"]["value"] == f"Use {CARD}, password: hunter2"


async def test_a_channel_may_be_trusted_with_everything_and_the_others_not(selective: World) -> None:
    world = selective
    asked = await world.ask(QUESTION, **FIELDS, responders=["alice@example.com"], retry_policy=LADDER)
    await world.advance(seconds=600)
    has_none(left_on_slack(world))
    mail = await world.mailbox.expect(to="alice@example.com", subject=QUESTION)
    assert [secret for secret in SECRETS if secret not in mail.text] == []
    assert CARD in await open_page(world, mail)
    await world.mailbox.reply(mail, CHOICES[0]["label"])
    assert (await world.told(asked))["data"]["value"] == CHOICES[0]["value"]
    confirmed = await world.mailbox.expect(where=lambda one: "Recorded" in one.text)
    assert CARD in confirmed.text
    has_none(left_on_slack(world))


async def test_own_keys_patterns_and_kept_kinds_are_as_configured(tmp_path: Path, sqlite_url: str) -> None:
    rules = {"keys": ["customer_no"], "patterns": [r"EMP-\d+"], "keep": ["email"]}
    async with running(tmp_path, sqlite_url, redaction=rules) as world:
        await world.ask("May EMP-4711 write to bob@shop.example?", context={"customerNo": "K-1", "n": "K-2"})
        message = await world.slack.expect_message("May [redacted] write to bob@shop.example?")
        assert "K-1" not in shown(message)
        assert "K-2" in shown(message)


async def test_the_inbox_shows_marks(world: World) -> None:
    asked = await world.ask(QUESTION, **FIELDS)
    inbox = await enter(world, await a_link(world, "alice@example.com"))
    assert asked["ref"] in inbox.text
    assert "Charge order 12345 to [" in inbox.text
    has_none(inbox.text)
