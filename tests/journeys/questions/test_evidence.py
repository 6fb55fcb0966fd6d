"""The evidence of an answer (API.md §4): each way in says by what it can be found there, and it is shown again."""

from __future__ import annotations

import re
from typing import Any

import httpx

from bot.sandbox.pagerduty.world import User
from tests.cli import handraise
from tests.world import World

ALICE, BOB = "alice@example.com", "bob@example.com"


async def evidence(world: World, asked: Any, event: str = "intent.resumed") -> Any:
    (found,) = [one["payload"]["via"] for one in await world.timeline(asked) if one.get("type") == event]
    return found


async def delivery(world: World, asked: Any, channel: str) -> str:
    (found,) = [
        one["id"]
        for one in await world.timeline(asked)
        if (one["kind"], one.get("channel")) == ("delivery", channel) and one["status"] == "delivered"
    ]
    return str(found)


async def test_a_press_in_slack_names_account_message_and_delivery(any_world: World) -> None:
    world = any_world
    asked = await world.ask(notify_to="slack:C0OPS", responders=[ALICE])
    message = await world.slack.expect_message("Refund order 12345?")
    sent = await delivery(world, asked, "slack")
    await world.press("U0ALICE", message, "Approve refund")
    via = await evidence(world, asked)
    assert via["account"].endswith("/U0ALICE")
    assert via == {
        "channel": "slack",
        "account": via["account"],
        "delivery_id": sent,
        "message_id": f"{message.channel}/{message.ts}",
    }


async def test_a_reply_by_mail_names_its_author_itself_and_the_mail_that_it_answers(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", responders=[ALICE], notify_to=ALICE)
    mail = await world.mailbox.expect(to=ALICE)
    sent = await delivery(world, asked, "email")
    await world.mailbox.reply(mail, "approve")
    await world.settle()
    via = await evidence(world, asked)
    assert re.fullmatch(r"<[^<>\s]+>", via.pop("message_id"))
    assert via == {"channel": "email", "account": ALICE, "delivery_id": sent}


async def test_a_link_names_whom_it_was_made_for_and_the_mail_that_it_was_in(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=[ALICE], notify_to=ALICE)
    mail = await world.mailbox.expect(to=ALICE)
    link = re.search(r"/a/[a-z2-7]+", mail.text)
    assert link is not None
    sent = await delivery(world, asked, "email")
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        page = (await browser.get(world.url + link[0])).text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token is not None
        data = {"form_token": token[1], "do": "answer", "choice": "0"}
        shown = (await browser.post(world.url + link[0], data=data)).text
    assert await evidence(world, asked) == {"channel": "web", "account": ALICE, "delivery_id": sent}
    assert f"Alice: by web, account {ALICE}, delivery {sent}" in shown
    assert link[0].removeprefix("/a/") not in str(await world.timeline(asked)), "no token is evidence"


async def test_an_incident_names_user_and_event(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", responders=[ALICE])
    incident = await world.pager.expect_incident(asked["ref"])
    await world.pager.add_note(incident, User("PALICE", "Alice", ALICE), "approve")
    await world.settle()
    via = await evidence(world, asked)
    assert via.pop("message_id")
    assert via == {"channel": "pagerduty", "account": "PALICE"}


async def test_a_key_is_named_even_where_it_answers_for_somebody_else(world: World) -> None:
    asked = await world.ask()
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    body = {"suspension_id": asked["suspension_id"], "value": "approve", "responded_by": ALICE}
    assert (await world.call("POST", path, "admin", json=body)).status_code == 200
    shown = await world.show(asked)
    assert (shown["responded_by"], (await evidence(world, asked))["account"]) == (ALICE, "root")

    other = await world.ask(resume={"signal_id": "go"})
    await world.call("POST", "/v1/signals/go", "operator", json={"value": "approve"})
    assert await evidence(world, other) == {"channel": "signal", "account": ALICE}


async def test_each_of_several_answers_has_its_own_and_show_prints_them(world: World) -> None:
    asked = await world.ask(responders=[ALICE, BOB], answers_required=2)
    await world.answer(asked, "approve")
    assert (await evidence(world, asked, "intent.suspension_answer_recorded"))["account"] == ALICE
    await world.answer(asked, "approve", "second_operator")
    assert (await evidence(world, asked))["account"] == BOB
    shown = await handraise(world, "show", asked["ref"], role="operator")
    assert f"answered by Alice <{ALICE}>: by api, account {ALICE}" in shown.out
    assert f": by api, account {BOB}" in shown.out


async def test_the_agent_is_told_no_more_than_who_and_how(world: World) -> None:
    asked = await world.ask(notify_to="slack:C0OPS", responders=[ALICE])
    await world.press("U0ALICE", await world.slack.expect_message("Refund order 12345?"), "Approve refund")
    told = await world.told(asked)
    assert "via" not in told["data"]
    assert "U0ALICE" not in str(told)
