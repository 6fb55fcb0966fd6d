"""Nobody approves what they were not shown, and whoever approves a payment can see where it goes (API.md §2)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from copy import deepcopy
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.world import User
from bot.sandbox.slack.world import Message
from tests.bot.mail_world import words_back
from tests.vendors.slack import shown
from tests.vendors.slack_blocks import texts
from tests.world import World, running

ALICE, BOB = "alice@example.com", "bob@example.com"
BESIDE = ["I'm on it", "Ask back…", "Hand over…"]
"""The buttons beside the answers."""
DROPS = {"sql": [f"DROP TABLE customers_{number}" for number in range(2_000)]}
FEWER = {"sql": DROPS["sql"][:300]}
"""More than a message of Slack's has room for, and less than its modal."""
CHOICES = [
    {"value": "approve", "label": "Drop tables", "style": "danger", "metadata": {"on_acknowledge": True}},
    {"value": "deny", "label": "Keep them"},
]
IBAN, MASKED = "DE89370400440532013000", "[masked: IBAN DE…3000]"
PAYMENT = {"tool": "bank.transfer", "to": IBAN, "mail": "payee@bank.example", "api_key": "sk-live-0123456789abcdef0123"}
HIGH = {"decision_record": {"risk": 0.9}}


def labels(message: Message) -> list[str]:
    elements = [element for block in message.blocks for element in block.get("elements", [])]
    return [element["text"]["text"] for element in elements if element["type"] == "button"]


async def asked_in_slack(world: World, **fields: Any) -> tuple[Any, Message]:
    given = {"choices": CHOICES, "responders": [ALICE, BOB], "notify_to": "slack:C0OPS", **fields}
    asked = await world.ask("Clean up?", **given)
    return asked, world.slack.workspace.messages[-1]


async def ended(world: World, asked: Any) -> Any:
    await world.settle()
    return (await world.show(asked))["response"]


def forged(asked: Any, message: Message, index: int) -> Message:
    """A message with a button that it does not have."""
    copy = deepcopy(message)
    delivery = copy.blocks[-2]["elements"][0]["value"].split(";m=")[1]
    value = f"q={asked['ref']};c={index};m={delivery}"
    text = {"type": "plain_text", "text": "forged"}
    button = {"type": "button", "action_id": f"ans:{index}", "value": value, "text": text}
    copy.blocks.append({"type": "actions", "block_id": "forged", "elements": [button]})
    return copy


# --- An action that is cut --------------------------------------------------------------------------------------------


async def test_a_cut_action_has_no_live_approval_in_slack_and_its_page_approves(any_world: World) -> None:
    world = any_world
    asked, message = await asked_in_slack(world, action=DROPS)
    assert "customers_1999" not in shown(message)
    assert labels(message) == ["Open to read all and answer", "Keep them", *BESIDE]
    await world.slack.click("U0ALICE", forged(asked, message, 0), "ans:0")
    told = await world.slack.expect_private("U0ALICE", "longer than its message")
    assert f"/q/{asked['ref']}" in told.text
    assert await ended(world, asked) is None


async def test_a_cut_action_is_denied_where_it_is_met(any_world: World) -> None:
    asked, message = await asked_in_slack(any_world, action=DROPS)
    await any_world.press("U0BOB", message, "Keep them")
    assert await ended(any_world, asked) == "deny"


async def test_slacks_modal_shows_a_longer_action_whole_and_approves_it(world: World) -> None:
    asked, message = await asked_in_slack(world, action=FEWER)
    assert labels(message) == ["Open to read all and answer", "Keep them", *BESIDE, "Open"]
    await world.press("U0ALICE", message, "Open to read all and answer")
    view = await world.slack.expect_view("U0ALICE")
    assert "customers_299" in "".join(texts(view.content["blocks"]))
    await world.slack.submit(view.id, "U0ALICE", {"answer": "Drop tables"})
    assert await ended(world, asked) == "approve"


async def test_a_reason_is_asked_for_after_the_modal_that_shows_all(world: World) -> None:
    choices = [{**CHOICES[0], "metadata": {"reason": "required"}}, CHOICES[1]]
    asked, message = await asked_in_slack(world, action=FEWER, choices=choices)
    await world.press("U0ALICE", message, "Open to read all and answer")
    view = await world.slack.expect_view("U0ALICE")
    await world.slack.submit(view.id, "U0ALICE", {"answer": "Drop tables"})
    await world.slack.submit((await world.slack.expect_view("U0ALICE")).id, "U0ALICE", {"reason": "Old ones."})
    assert await ended(world, asked) == "approve"


async def test_a_text_about_a_cut_action_is_no_answer_by_mail(world: World) -> None:
    asked = await world.ask("Which?", response_type="text", action=DROPS, responders=[ALICE], channel_hint="email")
    mail = await world.mailbox.expect(to=ALICE)
    await world.mailbox.reply(mail, "All of them")
    assert await ended(world, asked) is None
    assert "can be approved only" in (await words_back(world, asked))[-1]


async def test_a_mail_with_a_cut_action_offers_the_denial_alone(any_world: World) -> None:
    world = any_world
    asked = await world.ask("Clean up?", choices=CHOICES, action=DROPS, responders=[ALICE], channel_hint="email")
    mail = await world.mailbox.expect(to=ALICE)
    assert "customers_1999" not in mail.text
    for part in (mail.text, unescape(mail.html)):
        assert part.index("can be approved only on its page") < part.rindex("Keep them"), "but for a list of mails"
        assert "Drop tables" not in part
    await world.mailbox.reply(mail, "1")
    assert await ended(world, asked) is None
    assert "can be approved only on its page" in (await words_back(world, asked))[-1]
    await world.mailbox.reply(mail, "2")
    assert await ended(world, asked) == "deny"


async def test_the_page_shows_all_of_it_and_approves(world: World) -> None:
    asked = await world.ask("Clean up?", choices=CHOICES, action=DROPS, responders=[ALICE], channel_hint="email")
    link = re.search(r"/a/[a-z2-7]+", (await world.mailbox.expect(to=ALICE)).text)
    assert link is not None
    page = await pressed(world, link[0], "0")
    assert "customers_1999" in page
    assert await ended(world, asked) == "approve"


async def pressed(world: World, place: str, choice: str) -> str:
    """The page after its form was sent, and before; without scripts."""
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        page = (await browser.get(world.url + place)).text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token is not None
        data = {"form_token": token[1], "do": "answer", "choice": choice}
        return page + (await browser.post(world.url + place, data=data)).text


async def test_acknowledging_a_cut_action_is_a_claim_and_a_note_denies(any_world: World) -> None:
    world = any_world
    long = {"sql": ["DROP TABLE customers_" + "x" * 200] * 400}
    asked = await world.ask(
        "Clean up?", choices=CHOICES, action=long, responders=[ALICE, BOB], channel_hint="pagerduty"
    )
    incident = await world.pager.expect_incident(asked["ref"])
    assert "Acknowledging answers" not in incident.title
    await world.pager.acknowledge(incident, User("PALICE", "Alice", ALICE))
    assert await ended(world, asked) is None
    assert (await world.show(asked))["claimed_by"] == ALICE
    await world.pager.add_note(incident, User("PBOB", "Bob", BOB), "1")
    assert await ended(world, asked) is None
    await world.pager.add_note(incident, User("PBOB", "Bob", BOB), "2")
    assert await ended(world, asked) == "deny"


async def test_what_an_approval_is_called_does_not_make_it_a_denial(world: World) -> None:
    body = {"question": "Clean up?", "action": DROPS, "responders": [ALICE]}
    trick = [{"value": "approve", "label": "Keep them", "metadata": {"negative": True}}, CHOICES[1]]
    refused = await world.call("POST", "/v1/suspensions", json={**body, "choices": trick})
    assert refused.status_code == 422


# --- A payee that is masked -------------------------------------------------------------------------------------------


async def test_personal_data_in_an_action_is_masked_on_every_channel(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}]
    policy = {"max_attempts": 3, "interval_seconds": 600, "escalation_ladder": ladder}
    asked = await world.ask("Pay?", action=PAYMENT, responders=["group:finance"], retry_policy=policy)
    message = world.slack.workspace.messages[-1]
    await world.advance(seconds=1_200)
    mail = await world.mailbox.expect(subject="Pay?")
    incident = await world.pager.expect_incident(asked["ref"])
    paged = str([one.event for one in incident.alerts])
    for read in (shown(message), mail.text, unescape(mail.html), paged):
        assert MASKED in read
        assert "p…@bank.example" in read
        assert "[redacted: access token]" in read
        assert IBAN not in read
        assert "payee@" not in read


async def test_with_a_high_risk_a_masked_payee_is_not_approved_where_it_is_hidden(any_world: World) -> None:
    world = any_world
    asked, message = await asked_in_slack(world, action=PAYMENT, **HIGH)
    assert labels(message) == ["Open to see what is hidden and answer", "Keep them", *BESIDE]
    await world.slack.click("U0ALICE", forged(asked, message, 0), "ans:0")
    await world.slack.expect_private("U0ALICE", "part of what will run is hidden here")
    assert await ended(world, asked) is None
    await world.press("U0BOB", message, "Keep them")
    assert await ended(world, asked) == "deny"


async def test_nor_by_mail_nor_by_its_link(any_world: World) -> None:
    world = any_world
    asked = await world.ask("Pay?", choices=CHOICES, action=PAYMENT, responders=[ALICE], channel_hint="email", **HIGH)
    mail = await world.mailbox.expect(to=ALICE)
    assert "Drop tables" not in mail.text
    await world.mailbox.reply(mail, "approve")
    assert await ended(world, asked) is None
    link = re.search(r"/a/[a-z2-7]+", mail.text)
    assert link is not None
    page = await pressed(world, link[0], "0")
    assert "Sign in to see it and to approve it" in page
    assert "Sign in to approve it" in page
    assert await ended(world, asked) is None
    assert "Recorded:" in await pressed(world, link[0], "1")
    assert await ended(world, asked) == "deny"


@pytest.mark.parametrize(
    ("fields", "live"),
    [
        ({"decision_record": {"risk": 0.3}}, True),
        ({}, True),
        ({**HIGH, "action": {"mail": "payee@bank.example"}}, True),
        ({**HIGH, "action": {"api_key": IBAN}}, False),
        ({**HIGH, "action": {"bank_account": "1234567890"}}, False),
        ({**HIGH, "action": {"to": 4111111111111111}}, False),
    ],
    ids=["low", "not stated", "no payee", "a payee called a key", "an account", "a card as a number"],
)
async def test_what_stops_an_approval_is_a_payee_at_a_high_risk(
    world: World, fields: dict[str, Any], live: bool
) -> None:
    _, message = await asked_in_slack(world, **{"action": PAYMENT, **fields})
    assert ("Drop tables" in labels(message)) is live


async def test_the_api_hides_nothing_and_takes_the_approval(world: World) -> None:
    asked, _ = await asked_in_slack(world, action=PAYMENT, **HIGH)
    assert (await world.show(asked))["action"] == PAYMENT
    assert (await world.answer(asked, "approve")).status_code == 200


@pytest.fixture
async def careful(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, sqlite_url, redaction={"action": "open_to_approve"}) as world:
        yield world


async def test_whatever_is_masked_is_opened_first_where_that_is_wanted(careful: World) -> None:
    asked, message = await asked_in_slack(careful, action={"mail": "payee@bank.example"})
    assert "Drop tables" not in labels(message)
    await careful.slack.click("U0ALICE", forged(asked, message, 0), "ans:0")
    assert await ended(careful, asked) is None
    _, plain = await asked_in_slack(careful, action={"api_key": "sk-live-0123456789abcdef0123"})
    assert "Drop tables" in labels(plain), "a secret can't be revealed to anybody"


async def test_or_hidden_as_before(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, redaction={"action": "hide"}) as world:
        _, message = await asked_in_slack(world, action=PAYMENT, **HIGH)
        assert "[redacted: IBAN]" in shown(message)
        assert "Drop tables" in labels(message)
