"""Earlier answers to the same action (API.md §2): whoever is asked again sees who said what before, and why."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from channels.slack.limits import MORE
from tests.cli import handraise
from tests.journeys.questions.test_roads import page_of
from tests.vendors.slack import shown
from tests.world import World, running

CARD = "4111 1111 1111 1111"
TOKEN = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999}
HEADING = "Earlier answers to this action"
BY_MAIL: dict[str, Any] = {"channel_hint": "email", "notify_to": "alice@example.com"}
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}],
}


async def deny(world: World, reason: str | None = "Too much.", role: str = "operator", **fields: Any) -> dict[str, Any]:
    """A question about the action that somebody has said no to."""
    first = await world.ask(**{"action": ACTION, "responders": ["group:finance"], **fields})
    metadata = {} if reason is None else {"reason": reason}
    assert (await world.answer(first, "deny", role, metadata=metadata)).status_code == 200
    await world.settle()
    return first


async def notice_of(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    response = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/notice", "admin")
    found: dict[str, Any] = response.json()
    return found


async def earlier(world: World, asked: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [
        (one["responded_by"], one["answer"], one["reason"])
        for one in (await notice_of(world, asked))["earlier_answers"]
    ]


async def test_every_channel_and_the_page_show_the_no_of_a_second_ago(any_world: World) -> None:
    world = any_world
    first = await deny(world, f"Too much for {CARD}.")
    denied_at = f"{world.clock.now():%Y-%m-%d %H:%M} UTC"
    await world.advance(seconds=1)
    asked = await world.ask("Once more?", action=ACTION, responders=["group:finance"], retry_policy=LADDER)
    read = [shown(world.slack.workspace.messages[-1])]
    await world.advance(seconds=1_200)
    mail = await world.mailbox.expect(subject="Once more?")
    [alert, *_] = (await world.pager.expect_incident(asked["ref"])).alerts
    paged = alert.event["payload"]["custom_details"]["earlier_answers"]
    page = (await world.http.get(await page_of(world, mail))).text
    read += [mail.text, unescape(mail.html), "\n".join(paged), unescape(page)]
    for one in read:
        assert HEADING in one or one == "\n".join(paged)
        assert "Deny refund" in one
        assert ("Alice" if one == unescape(page) else "alice@example.com") in one
        assert denied_at in one
        assert first["ref"] in one
        assert "Too much for [redacted: card number]." in one
        assert CARD not in one


async def test_the_command_line_shows_them_too(world: World) -> None:
    first = await deny(world)
    asked = await world.ask(action=ACTION)
    at = f"{world.clock.now():%Y-%m-%d %H:%M} UTC"
    ran = await handraise(world, "show", asked["ref"], role="operator")
    line = f"  answered before: 'Deny refund' by Alice <alice@example.com> at {at} ({first['ref']}): Too much."
    assert line in ran.lines


async def test_only_the_same_action_of_the_same_key_is_shown(any_world: World) -> None:
    world = any_world
    await deny(world)
    body = {"question": "Refund?", "choices": ["approve", "deny"]}
    for other in ({"action": {**ACTION, "amount": 1}}, {"action": None}):
        assert await earlier(world, await world.ask(**other)) == []
    foreign = await world.call("POST", "/v1/suspensions", "other_agent", json={**body, "action": ACTION})
    assert await earlier(world, foreign.json()) == []
    reordered = {"amount": 49999, "tool": "stripe.refund"}
    assert await earlier(world, await world.ask(action=reordered)) == [
        ("alice@example.com", "Deny refund", "Too much.")
    ]


async def test_a_no_in_a_question_beside_it_is_shown_by_the_reminder(any_world: World) -> None:
    world = any_world
    policy = {"max_attempts": 2, "interval_seconds": 600}
    asked = await world.ask("Once more?", action=ACTION, **BY_MAIL, retry_policy=policy)
    assert HEADING not in (await world.mailbox.expect(subject="Once more?")).text
    await deny(world)
    came = len(world.mailbox.mails)
    await world.advance(seconds=600)
    [reminder] = world.mailbox.mails[came:]
    assert HEADING in reminder.text
    assert await earlier(world, asked) == [("alice@example.com", "Deny refund", "Too much.")]


async def test_they_are_shown_for_thirty_days(any_world: World) -> None:
    world = any_world
    await deny(world)
    asked = await world.ask(action=ACTION)
    await world.advance(days=29)
    assert len(await earlier(world, asked)) == 1
    await world.advance(days=2)
    assert await earlier(world, asked) == []


async def test_silence_and_a_cancellation_are_no_answers(any_world: World) -> None:
    world = any_world
    fallback = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    await world.ask(action=ACTION, **fallback)
    await world.advance(minutes=2)
    cancelled = await world.ask(action=ACTION)
    path = f"/v1/suspensions/{cancelled['suspension_id']}/cancel"
    assert (await world.call("POST", path, json={"reason": "Changed my mind."})).status_code == 200
    assert await earlier(world, await world.ask(action=ACTION)) == []


async def test_of_several_people_each_is_shown_once_their_question_has_ended(any_world: World) -> None:
    world = any_world
    first = await world.ask(action=ACTION, answers_required=2, responders=["group:finance"])
    assert (await world.answer(first, "approve", metadata={"reason": "Fine."})).status_code == 202
    second = await world.ask("Once more?", action=ACTION)
    assert await earlier(world, second) == [], "what one of several has said is told to nobody before the end"
    await world.advance(seconds=1)
    assert (await world.answer(first, "deny", "second_operator", metadata={"reason": "No."})).status_code == 200
    assert await earlier(world, second) == [
        ("bob@example.com", "Deny refund", "No."),
        ("alice@example.com", "Approve refund", "Fine."),
    ]


async def test_a_message_shows_the_latest_three_and_says_how_many_more_are_on_the_page(world: World) -> None:
    for number in range(5):
        await deny(world, f"Reason {number}.")
        await world.advance(seconds=1)
    came = len(world.mailbox.mails)
    await world.ask("Once more?", action=ACTION, **BY_MAIL)
    [mail] = world.mailbox.mails[came:]
    assert [f"Reason {number}." in mail.text for number in range(5)] == [False, False, True, True, True]
    assert mail.text.index("Reason 4.") < mail.text.index("Reason 2.")
    assert "… and 2 more on the page" in mail.text
    page = (await world.http.get(await page_of(world, mail))).text
    assert all(f"Reason {number}." in page for number in range(5))


@pytest.mark.parametrize("channel", ["slack", "email", "pagerduty"])
async def test_long_reasons_take_no_room_from_the_action(channel: str, tmp_path: Path, sqlite_url: str) -> None:
    """A message that showed all of the action shows all of it still, and it is approved there."""
    action = {"tool": "shell", "script": "echo fine; " * 60 + "LAST WORD"}
    async with running(tmp_path, sqlite_url, answers={"require_open_when_cut": True}) as world:
        for _ in range(4):
            await deny(world, "very long " * 299, action=action)
        body = {"question": "Once more?", "choices": ["approve", "deny"], "action": action, "channel_hint": channel}
        preview = (await world.call("POST", "/v1/suspensions/preview", json=body)).json()["notices"][channel]
        assert preview["cut"] is False
        assert len(preview["earlier_answers"]) == 4
        came = len(world.mailbox.mails)
        asked = await world.ask("Once more?", action=action, channel_hint=channel)
        if channel == "slack":
            text = shown(world.slack.workspace.messages[-1])
            assert "Approve refund" in text
        elif channel == "email":
            text = world.mailbox.mails[came].text
            await world.mailbox.reply(world.mailbox.mails[came], "Approve refund")
            await world.settle()
            assert (await world.show(asked))["response"] == "approve"
        else:
            [alert] = (await world.pager.expect_incident(asked["ref"])).alerts
            text = json.dumps(alert.event["payload"]["custom_details"], ensure_ascii=False)
        assert "LAST WORD" in text
        assert "very long very long" in text
        assert MORE not in text


async def test_secrets_and_a_forms_fields_are_redacted_like_the_rest(world: World) -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "amount": {"type": "integer"}}}
    form = {"response_type": "form", "form_schema": schema, "action": ACTION}
    first = await world.ask(**form)
    given = {"password": "hunter2hunter2", "amount": 5}
    assert (await world.answer(first, given, metadata={"reason": f"with {TOKEN}"})).status_code == 200
    notice = await notice_of(world, await world.ask(action=ACTION))
    [one] = notice["earlier_answers"]
    assert "hunter2" not in one["answer"]
    assert "amount: 5" in one["answer"]
    assert TOKEN not in one["reason"]
    assert one["reason"].startswith("with [redacted")


async def test_what_has_moved_to_the_archive_is_no_longer_shown(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, retention={"ended_days": 1}) as world:
        await deny(world)
        asked = await world.ask(action=ACTION)
        assert len(await earlier(world, asked)) == 1
        await world.advance(days=3)
        await world.service.retention.look()
        assert await earlier(world, asked) == []


async def test_the_inbox_in_slack_and_an_ended_question_show_none(world: World) -> None:
    await deny(world)
    asked = await world.ask(action=ACTION)
    assert (await world.answer(asked, "approve")).status_code == 200
    assert await earlier(world, asked) == []
