"""Each way in, once from the question to the agent: Slack, mail, PagerDuty, the answer page."""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.slack.faults import DropAfterStoring
from tests.vendors.mail import Mail
from tests.vendors.pagerduty import EventFault as PagerFault
from tests.vendors.slack import shown
from tests.world import World


async def page_of(world: World, mail: Mail) -> str:
    """The personal answer page that a mail links to."""
    link = re.search(rf"{re.escape(world.service.settings.public_url)}(/a/[a-z2-7]+)", mail.text)
    assert link is not None, mail.text
    return world.url + link[1]


async def test_a_click_in_slack_answers_and_the_message_says_who(any_world: World) -> None:
    world = any_world
    asked = await world.ask(responders=["group:finance"], notify_to="slack:C0OPS")
    message = await world.slack.expect_message("Refund order 12345?")
    assert (await world.slack.click("U0ALICE", message, "ans:0")).status_code == 200
    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by, resumed.channel) == ("approve", "alice@example.com", "slack")
    await world.settle()
    edited = world.slack.workspace.at(message.channel, message.ts)
    assert edited is not None
    assert "alice@example.com" in shown(edited)
    assert "Approve refund" in shown(edited)
    assert (await world.show(asked))["resolution"] == "responded"


async def test_somebody_in_the_channel_who_may_not_answer_is_told_so_privately(world: World) -> None:
    asked = await world.ask(responders=["group:finance"], notify_to="slack:C0OPS")
    message = await world.slack.expect_message("Refund order 12345?")
    await world.slack.click("U0CAROL", message, "ans:0")
    assert await world.slack.expect_private("U0CAROL", "")
    assert (await world.show(asked))["status"] == "open"


async def test_a_reply_by_mail_answers_and_is_confirmed(any_world: World) -> None:
    world = any_world
    await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com", subject="Refund order 12345?")
    assert (await world.mailbox.reply(mail, "Approve refund")).status_code == 202
    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by, resumed.channel) == ("approve", "alice@example.com", "email")
    await world.settle()
    assert await world.mailbox.expect(subject="Re: ", where=lambda one: "recorded" in one.text.lower())


async def test_an_unclear_reply_is_asked_about_and_the_reply_to_that_counts(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    await world.mailbox.reply(mail, "approve, or maybe deny?")
    await world.settle()
    assert (await world.show(asked))["status"] == "open"
    clarification = await world.mailbox.expect(where=lambda one: "Nothing has been recorded" in one.text)
    await world.mailbox.reply(clarification, "2")
    assert (await world.agent.expect()).value == "deny"


async def test_mail_that_is_forged_automatic_or_a_bounce_never_answers(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    came = len(world.mailbox.mails)
    for response in (
        await world.mailbox.forge_reply(mail, "approve", sender="alice@example.com"),
        await world.mailbox.forge_reply(mail, "approve", sender="eve@elsewhere.example"),
        await world.mailbox.auto_reply(mail, "approve"),
        await world.mailbox.bounce(mail),
    ):
        assert response.status_code == 202
    await world.settle()
    assert (await world.show(asked))["status"] == "open"
    (told,) = world.mailbox.mails[came:]
    assert told.recipient == "alice@example.com", "nobody else is written to because of such mail"
    assert "could not be verified, so nothing was recorded" in told.text


async def test_an_acknowledgement_claims_and_a_note_answers(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="pagerduty", notify_to="alice@example.com")
    incident = await world.pager.expect_incident(asked["ref"])
    alice = world.pager.account.users["PALICE"]
    assert (await world.pager.acknowledge(incident, alice)).status_code == 202
    claimed = await world.show(asked)
    assert (claimed["status"], claimed["claimed_by"]) == ("open", "alice@example.com")
    await world.pager.add_note(incident, alice, "approve")
    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by, resumed.channel) == ("approve", "alice@example.com", "pagerduty")
    await world.settle()
    assert incident.status.value == "resolved"


async def test_an_acknowledgement_answers_only_where_the_agent_marked_a_choice_so(world: World) -> None:
    choices: list[dict[str, Any]] = [
        {"value": "seen", "label": "Seen", "metadata": {"on_acknowledge": True}},
        {"value": "other", "label": "Other"},
    ]
    asked = await world.ask(channel_hint="pagerduty", notify_to="alice@example.com", choices=choices)
    incident = await world.pager.expect_incident(asked["ref"])
    await world.pager.acknowledge(incident, world.pager.account.users["PALICE"])
    assert (await world.agent.expect()).value == "seen"


async def test_the_answer_page_answers_on_a_post_from_it_alone(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    page = await page_of(world, await world.mailbox.expect(to="alice@example.com"))
    for method in ("GET", "HEAD", "OPTIONS"):
        await world.http.request(method, page)
    assert (await world.http.post(page, data={"choice": "0"})).status_code in {400, 403}
    assert (await world.show(asked))["status"] == "open"


async def test_a_question_answered_in_slack_resolves_the_page_and_tells_the_late_reply_the_truth(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}]
    policy = {"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": ladder}
    asked = await world.ask(responders=["group:finance"], retry_policy=policy)
    await world.advance(seconds=120)
    message = world.slack.workspace.posted("D0ALICE")[0]
    mail = await world.mailbox.expect(to="bob@example.com")
    incident = await world.pager.expect_incident(asked["ref"])
    await world.slack.click("U0ALICE", message, "ans:1")
    assert (await world.agent.expect()).value == "deny"
    await world.settle()
    assert incident.status.value == "resolved"
    await world.mailbox.reply(mail, "approve")
    await world.settle()
    late = await world.mailbox.expect(to="bob@example.com", where=lambda one: "alice@example.com" in one.text)
    assert "Deny refund" in late.text or "deny" in late.text.lower()
    assert (await world.show(asked))["response"] == "deny"


async def test_what_a_doubtful_send_left_behind_is_withdrawn_though_the_question_has_ended(world: World) -> None:
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    world.pager.fail_next(PagerFault.DROP_AFTER_STORING)
    in_slack = await world.ask("In Slack?")
    paged = await world.ask("On the pager?", channel_hint="pagerduty")
    for asked in (in_slack, paged):
        assert (await world.answer(asked, "approve")).status_code == 200
    await world.advance(minutes=1)
    message = await world.slack.expect_message("In Slack?")
    assert "alice@example.com" in shown(message), "the message no longer asks"
    (incident,) = world.pager.incidents
    assert incident.status.value == "resolved"
    assert len(world.slack.workspace.posted()) == 1, "nothing was sent twice"
