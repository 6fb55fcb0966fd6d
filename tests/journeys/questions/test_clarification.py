"""Asking the agent back (API.md §2, ``clarify`` and ``clarification``): the clock holds, for a bounded time."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.journeys.questions.test_quorum import cli, page_link
from tests.world import World, after

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
REQUESTED, CLARIFIED = "intent.suspension_clarification_requested", "intent.suspension_clarified"
LAPSED = "intent.suspension_clarification_lapsed"


async def post(world: World, asked: dict[str, Any], what: str, role: str | None, body: Any, **o: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/{what}", role, json=body, **o)


async def clarify(
    world: World, asked: dict[str, Any], role: str | None = "operator", question: str = "Which account?", **o: Any
) -> httpx.Response:
    return await post(world, asked, "clarify", role, {"question": question}, **o)


async def say(
    world: World, asked: dict[str, Any], text: str = "The shared one.", role: str | None = "agent", **o: Any
) -> httpx.Response:
    return await post(world, asked, "clarification", role, {"text": text}, **o)


@in_room
async def test_the_agent_is_called_with_the_question_and_who_asks(any_room: World) -> None:
    world = any_room
    resume = {"session_id": "sess-1", "state": {"cart": 7}, "correlation_id": "corr-1"}
    asked = await world.ask(retry_policy=HOURLY, resume=resume)

    done = await clarify(world, asked)

    assert done.status_code == 200
    told = await world.told(asked)
    assert told["type"] == "clarification_requested"
    data = told["data"]
    assert data["clarification"] == done.json()["clarification"]
    assert (data["clarification"]["question"], data["clarification"]["asked_by"]) == ("Which account?", ALICE)
    assert data["clarification"]["held_until"] == after(asked, hours=1)
    assert (data["session_id"], data["state"], data["correlation_id"]) == ("sess-1", {"cart": 7}, "corr-1")
    nothing = ("resolution", "value", "responded_by", "responded_at", "signal_payload", "error", "event", "receipt")
    assert {name: data[name] for name in nothing} == dict.fromkeys(nothing)

    await say(world, asked)
    await world.answer(asked, "approve")
    await world.settle()
    last = world.agent.told_of(asked)[-1].json
    assert set(data) == {*last["data"], "clarification"}, "every field of the other callbacks is there"
    assert last["type"] == "intent.resumed"


@in_room
async def test_the_clock_holds_and_goes_on_by_exactly_what_it_took(any_room: World) -> None:
    world = any_room
    asked = await world.ask(channel_hint="email", retry_policy=HOURLY, responders=[ALICE])
    await world.advance(minutes=50)
    await clarify(world, asked)

    await world.advance(minutes=42)

    assert (await world.show(asked))["attempt"] == 1, "no attempt while the agent is asked back"
    await say(world, asked)
    shown = await world.show(asked)
    assert (shown["next_attempt_at"], shown["expires_at"]) == (after(asked, minutes=102), after(asked, minutes=222))
    await world.advance(minutes=9, seconds=59)
    assert (await world.show(asked))["attempt"] == 1
    await world.advance(seconds=1)
    assert (await world.show(asked))["attempt"] == 2
    await world.advance(minutes=119, seconds=59)
    assert (await world.show(asked))["status"] == "open"
    await world.advance(seconds=1)
    assert (await world.show(asked))["status"] == "expired"
    (event,) = [one for one in await world.events(asked) if one["event_type"] == CLARIFIED]
    assert (event["payload"]["held_seconds"], event["payload"]["text"]) == (42 * 60, "The shared one.")
    assert (event["actor"], event["payload"]["expires_at"]) == ("refund-agent", after(asked, minutes=222))


@in_room
async def test_no_question_expires_while_the_agent_is_asked_back(room: World) -> None:
    asked = await room.ask(timeout_seconds=3600)
    await room.advance(minutes=59)
    await clarify(room, asked)
    await room.advance(minutes=59)
    assert (await room.show(asked))["status"] == "open"
    await say(room, asked)
    assert (await room.show(asked))["expires_at"] == after(asked, minutes=119)
    await room.advance(minutes=1)
    assert (await room.show(asked))["status"] == "expired"


async def test_an_agent_that_says_nothing_is_waited_for_as_long_as_one_attempt(any_world: World) -> None:
    world = any_world
    asked = await world.ask(retry_policy=HOURLY, responders=[ALICE])
    await world.advance(minutes=30)
    await clarify(world, asked)
    assert (await world.show(asked))["clarification"]["held_until"] == after(asked, minutes=90)

    await world.advance(minutes=60)

    shown = await world.show(asked)
    assert (shown["clarification"]["held_until"], shown["clarification"]["text"]) == (None, None)
    assert (shown["next_attempt_at"], shown["expires_at"]) == (after(asked, hours=2), after(asked, hours=4))
    (event,) = [one for one in await world.events(asked) if one["event_type"] == LAPSED]
    assert event["payload"]["held_seconds"] == 3600
    assert await world.slack.expect_message("refund-agent has not answered by")
    await world.advance(minutes=30)
    assert (await world.show(asked))["attempt"] == 2


@in_room
@pytest.mark.parametrize(("timeout", "hours"), [(None, 24), (30 * 86_400, 24), (7200, 2)])
async def test_nobody_is_held_for_longer_than_a_day(room: World, timeout: int | None, hours: int) -> None:
    asked = await room.ask(**({} if timeout is None else {"timeout_seconds": timeout}))
    await clarify(room, asked)
    assert (await room.show(asked))["clarification"]["held_until"] == after(asked, hours=hours)


@in_room
async def test_a_late_clarification_is_shown_and_moves_nothing(room: World) -> None:
    asked = await room.ask(retry_policy=HOURLY, responders=[ALICE])
    await clarify(room, asked)
    await room.advance(minutes=61)
    before = await room.show(asked)
    assert (await say(room, asked)).status_code == 200
    after_it = await room.show(asked)
    assert after_it["clarification"]["text"] == "The shared one."
    assert (after_it["expires_at"], after_it["next_attempt_at"]) == (before["expires_at"], before["next_attempt_at"])
    assert (await say(room, asked)).json()["detail"]["error"] == "nothing_to_clarify"


@in_room
async def test_a_claim_and_what_it_holds_survive_it(room: World) -> None:
    """Claimed until 0:50, an attempt due at 1:00 is not held; asked back at 0:40, it comes at 1:00 + 25 minutes."""
    asked = await room.ask(retry_policy=HOURLY, responders=[ALICE])
    await room.advance(minutes=20)
    await post(room, asked, "claim", "operator", {"seconds": 1800})
    await room.advance(minutes=20)
    await clarify(room, asked)
    await room.advance(minutes=15)
    assert (await room.show(asked))["claimed_by"] is None
    await room.advance(minutes=10)
    await say(room, asked)
    await room.advance(minutes=19)
    assert (await room.show(asked))["attempt"] == 1
    await room.advance(minutes=1)
    assert (await room.show(asked))["attempt"] == 2


@in_room
async def test_an_attempt_that_a_claim_held_goes_out_when_the_agent_has_spoken(room: World) -> None:
    asked = await room.ask(retry_policy=HOURLY, responders=[ALICE])
    await room.advance(minutes=50)
    await post(room, asked, "claim", "operator", {"seconds": 1800})
    await room.advance(minutes=15)
    await clarify(room, asked)
    await room.advance(minutes=20)
    assert (await room.show(asked))["attempt"] == 1
    await say(room, asked)
    await room.settle()
    shown = await room.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"]) == (2, after(asked, minutes=140))


# --- What people see ----------------------------------------------------------------------------------------------


async def test_whoever_asked_is_told_by_mail_and_may_answer_in_reply(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", responders=[ALICE, BOB])
    await clarify(world, asked)
    await say(world, asked)
    await world.settle()
    mail = await world.mailbox.expect(to=ALICE, where=lambda one: "The shared one." in one.text)
    assert "You asked: Which account?" in mail.text
    assert "/a/" in mail.text
    assert not [one for one in world.mailbox.of(BOB) if "The shared one." in one.text]
    await world.mailbox.reply(mail, "approve")
    await world.settle()
    assert (await world.show(asked))["responded_by"] == ALICE


async def test_somebody_who_was_never_asked_is_told_with_a_reply_that_counts(world: World) -> None:
    """An operator who met the question in the API: nothing of it has gone to their mailbox before."""
    asked = await world.ask(channel_hint="email", notify_to="email:ops@example.com")
    await clarify(world, asked, "second_operator")
    await say(world, asked)
    await world.settle()
    mail = await world.mailbox.expect(to=BOB, where=lambda one: "The shared one." in one.text)
    await world.mailbox.reply(mail, "deny")
    await world.settle()
    assert (await world.show(asked))["responded_by"] == BOB


async def test_later_notices_and_pages_show_question_and_answer(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "slack"}, {"attempt": 3, "channel_hint": "pagerduty"}]
    asked = await world.ask(
        channel_hint="email", responders=[ALICE, BOB], retry_policy={**HOURLY, "escalation_ladder": ladder}
    )
    bob = await page_link(world, BOB)
    await clarify(world, asked, question="Which <account>?")
    async with httpx.AsyncClient(timeout=30) as browser:
        page = (await browser.get(bob)).text
        assert "Alice has asked the agent: Which &lt;account&gt;?" in page
        assert "Reminders and the deadline wait" in page
        await say(world, asked, "The <shared> one.")
        assert "The agent: The &lt;shared&gt; one." in (await browser.get(bob)).text
    await world.advance(hours=1)
    assert await world.slack.expect_message("The agent: The <shared> one.")
    await world.advance(hours=1)
    incident = await world.pager.expect_incident(asked["ref"])
    assert "The <shared> one." in str(incident.alerts[0].payload)


async def test_the_record_shows_it_to_an_agent_without_a_callback(world: World) -> None:
    asked = await world.ask(resume=None)
    await clarify(world, asked)
    mine = (await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}", "agent")).json()
    assert mine["clarification"]["question"] == "Which account?"
    assert world.agent.told == []
    assert (await say(world, asked)).status_code == 200
    waits = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/wait?timeout_seconds=1", "agent")
    assert waits.status_code == 204


@in_room
async def test_from_the_command_line(room: World) -> None:
    asked = await room.ask(timeout_seconds=3600)
    said = await cli(room, "operator", "clarify", asked["ref"], "Which account?")
    assert f"{asked['ref']}: asked back, reminders and the deadline wait until {after(asked, hours=1)}" in said
    assert "Alice <alice@example.com> asked: Which account?" in await cli(room, "operator", "show", asked["ref"])


# --- While it is open ---------------------------------------------------------------------------------------------


@in_room
async def test_an_answer_ends_it_and_the_agents_word_is_not_wanted_any_more(any_room: World) -> None:
    world = any_room
    asked = await world.ask(responders=[ALICE, BOB])
    await clarify(world, asked)
    assert (await world.answer(asked, "approve", "second_operator")).status_code == 200
    assert (await world.show(asked))["clarification"]["held_until"] is None
    assert (await say(world, asked)).json()["detail"]["error"] == "already_answered"


async def test_a_call_that_could_not_get_through_is_not_repeated_after_the_end(world: World) -> None:
    asked = await world.ask()
    world.agent.answers += [500]
    await clarify(world, asked)
    await world.settle()
    await world.answer(asked, "approve")
    await world.advance(minutes=1)
    types = [one.json["type"] for one in world.agent.told_of(asked)]
    assert types == ["clarification_requested", "intent.resumed"]
    items = (await world.call("GET", "/v1/callbacks", "agent")).json()["items"]
    assert {one["type"]: one["status"] for one in items} == {
        "clarification_requested": "refused",
        "intent.resumed": "delivered",
    }


@in_room
async def test_it_can_be_cancelled(room: World) -> None:
    asked = await room.ask()
    await clarify(room, asked)
    assert (await post(room, asked, "cancel", "agent", {})).status_code == 200
    assert (await say(room, asked)).json()["detail"]["error"] == "suspension_ended"


@in_room
async def test_one_question_at_a_time(any_room: World) -> None:
    asked = await any_room.ask()
    replies = await asyncio.gather(*(clarify(any_room, asked, question=f"Why {n}?") for n in range(6)))
    assert sorted(one.status_code for one in replies) == [200] + [409] * 5
    refused = next(one for one in replies if one.status_code == 409).json()["detail"]
    assert (refused["error"], refused["asked_by"]) == ("clarification_open", ALICE)
    await any_room.settle()
    assert len(any_room.agent.told_of(asked)) == 1
    await say(any_room, asked)
    assert (await clarify(any_room, asked)).status_code == 200


@in_room
async def test_nobody_can_hold_the_clock_for_ever(room: World) -> None:
    asked = await room.ask()
    for _ in range(10):
        assert (await clarify(room, asked)).status_code == 200
        assert (await say(room, asked)).status_code == 200
    refused = await clarify(room, asked)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "clarifications_spent")


@in_room
async def test_repeated_under_one_key_it_asks_and_answers_once(any_room: World) -> None:
    world, key = any_room, {"Idempotency-Key": "ask-back"}
    asked = await world.ask()
    first = await asyncio.gather(*(clarify(world, asked, headers=key) for _ in range(4)))
    assert len({one.text for one in first}) == 1
    assert {one.status_code for one in first} == {200}
    second = await asyncio.gather(*(say(world, asked, headers=key) for _ in range(4)))
    assert {one.status_code for one in second} == {200}
    assert [one for one in await world.event_types(asked) if "clarif" in one] == [REQUESTED, CLARIFIED]


# --- Who may ------------------------------------------------------------------------------------------------------


@in_room
async def test_responders_ask_back_and_nobody_else(room: World) -> None:
    asked = await room.ask(responders=[ALICE])
    statuses = {role: (await clarify(room, asked, role)).status_code for role in (None, "agent", "second_operator")}
    assert statuses == {None: 401, "agent": 403, "second_operator": 403}
    assert (await clarify(room, {"suspension_id": "unknown"})).status_code == 404
    assert (await clarify(room, asked)).status_code == 200


@in_room
async def test_the_agent_that_asked_clarifies_and_nobody_else(room: World) -> None:
    asked = await room.ask()
    assert (await say(room, asked)).json()["detail"]["error"] == "nothing_to_clarify"
    await clarify(room, asked)
    statuses = {role: (await say(room, asked, role=role)).status_code for role in (None, "operator", "other_agent")}
    assert statuses == {None: 401, "operator": 403, "other_agent": 404}
    assert (await say(room, asked, role="admin")).status_code == 200


@in_room
@pytest.mark.parametrize("words", ["", " ", "x" * 10_001, 7, None, "\x00"])
async def test_words_have_to_be_words(room: World, words: Any) -> None:
    asked = await room.ask()
    for what, body, role in (("clarify", {"question": words}, "operator"), ("clarification", {"text": words}, "agent")):
        assert (await post(room, asked, what, role, body)).status_code == 422
    assert (await room.show(asked))["clarification"] is None
