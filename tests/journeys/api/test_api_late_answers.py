"""Too late (API.md §3, §4): who answers after the end is told the truth, and what is in flight is withdrawn."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.vendors.slack import shown
from tests.vendors.slack_faults import Slow
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def late(world: World, asked: dict[str, Any], value: Any = "approve", role: str = "operator") -> dict[str, Any]:
    response = await world.answer(asked, value, role)
    assert response.status_code == 409
    detail: dict[str, Any] = response.json()["detail"]
    return detail


async def test_after_fail_one_learns_that_nothing_was_gone_on_with(room: World) -> None:
    asked = await room.ask(timeout_seconds=60)
    await room.advance(seconds=90)
    detail = await late(room, asked)
    assert (detail["error"], detail["resolution"]) == ("suspension_ended", "expired")
    assert (detail["ended_at"], detail["continued_with"]) == (after(asked, seconds=60), None)
    assert (await room.show(asked))["response"] is None


@pytest.mark.parametrize("policy", ["complete_with_fallback", "use_default_and_continue"])
async def test_after_a_fallback_one_learns_what_the_agent_went_on_with(room: World, policy: str) -> None:
    asked = await room.ask(timeout_seconds=60, fallback_policy=policy, fallback_value="deny")
    await room.advance(seconds=90)
    detail = await late(room, asked)
    assert (detail["error"], detail["resolution"], detail["continued_with"]) == ("suspension_ended", "expired", "deny")


async def test_after_a_cancellation_one_learns_of_it(room: World) -> None:
    asked = await room.ask(fallback_value="deny", timeout_seconds=60, fallback_policy="complete_with_fallback")
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    detail = await late(room, asked)
    assert (detail["error"], detail["resolution"]) == ("suspension_ended", "cancelled")
    assert (detail["ended_at"], detail["continued_with"]) == (asked["suspended_at"], None)


@pytest.mark.parametrize(
    ("value", "role", "same"),
    [("approve", "operator", True), ("deny", "operator", False), ("approve", "second_operator", False)],
)
async def test_after_an_answer_one_learns_whether_it_was_the_same(
    room: World, value: str, role: str, same: bool
) -> None:
    asked = await room.ask()
    await room.answer(asked, "approve")
    detail = await late(room, asked, value, role)
    assert (detail["error"], detail["same_answer"]) == ("already_answered", same)


async def test_a_gateways_repeated_answer_is_that_of_the_person_it_names(room: World) -> None:
    asked = await room.ask()
    first = await room.answer(asked, "approve", "admin", responded_by="alice@example.com")
    assert first.status_code == 200
    again = await room.answer(asked, "approve", "admin", responded_by="alice@example.com")
    assert again.json()["detail"]["same_answer"] is True
    other = await room.answer(asked, "approve", "admin", responded_by="bob@example.com")
    assert other.json()["detail"]["same_answer"] is False


async def test_a_button_pressed_too_late_tells_the_person_and_changes_nothing(room: World) -> None:
    asked = await room.ask("Too late to press?", timeout_seconds=60)
    as_seen = copy.deepcopy(await room.slack.expect_message("Too late to press?"))
    await room.advance(seconds=60)
    await room.press("U0ALICE", as_seen, "Approve refund")
    await room.slack.expect_private("U0ALICE", "no longer open")
    assert (await room.show(asked))["resolution"] == "expired"


async def test_a_mail_sent_too_late_is_answered_with_the_truth(room: World) -> None:
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    asked = await room.ask("Too late to write?", channel_hint="email", timeout_seconds=60, **fallback)
    mail = await room.mailbox.expect(subject="Too late to write?", to="alice@example.com")
    await room.advance(seconds=60)
    await room.mailbox.reply(mail, "approve")
    await room.settle()
    answer = room.mailbox.of("alice@example.com")[-1]
    assert answer.id != mail.id
    assert asked["ref"] in answer.subject + answer.text
    assert "deny" in answer.text.lower()
    assert (await room.show(asked))["response"] is None


@pytest.mark.parametrize("end", ["answer", "cancel"])
async def test_a_notice_still_in_flight_at_the_end_is_withdrawn_when_it_arrives(room: World, end: str) -> None:
    question = f"In flight until the {end}?"
    slow = Slow(20)
    room.slack.fail_next(slow, "chat.postMessage")
    body = {"question": question, "response_type": "confirm"}
    asked = (await room.call("POST", "/v1/suspensions", json=body)).json()
    message = await room.slack.expect_message(question)
    assert any(element["type"] == "button" for block in message.blocks for element in block.get("elements", []))
    if end == "answer":
        assert (await room.answer(asked, "yes")).status_code == 200
    else:
        await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    slow.released.set()
    await room.settle()
    edited = room.slack.workspace.at(message.channel, message.ts)
    assert edited is not None and edited.edited
    elements = [element for block in edited.blocks for element in block.get("elements", [])]
    assert not any(element.get("type") == "button" for element in elements)
    assert ("alice@example.com" if end == "answer" else "cancel") in shown(edited).lower()


async def test_every_notice_of_every_attempt_is_withdrawn(room: World) -> None:
    rungs = [{"attempt": 2, "notify_to": "group:finance"}, {"attempt": 3, "channel_hint": "pagerduty"}]
    policy = {"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": rungs}
    asked = await room.ask("Withdrawn everywhere?", timeout_seconds=60, retry_policy=policy)
    await room.advance(seconds=150)
    posted = [message for message in room.slack.workspace.posted() if "Withdrawn everywhere?" in shown(message)]
    assert sorted(message.channel for message in posted) == ["C0OPS", "D0ALICE", "D0BOB"]
    incident = await room.pager.expect_incident("Withdrawn everywhere?")
    assert incident.is_open
    await room.answer(asked, "approve")
    await room.settle()
    assert not incident.is_open
    for message in posted:
        now = room.slack.workspace.at(message.channel, message.ts)
        assert now is not None and now.edited
