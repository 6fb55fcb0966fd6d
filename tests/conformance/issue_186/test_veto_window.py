"""Veto windows (issue 186; API.md §2): the agent yields, and goes on in the same session unless somebody objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vendors.slack_faults import SaysNo
from tests.vendors.smtp import Stage
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN = [
    {"value": "go", "label": "Go on"},
    {"value": "later", "label": "Not today", "metadata": {"veto": False}},
    {"value": "stop", "label": "Stop it", "style": "danger", "metadata": {"veto": True}},
]


async def open_window(world: World, question: str = "Refund $50?", **fields: Any) -> dict[str, Any]:
    resume = {"session_id": "sess-1", "state": {"why": "the customer asked"}}
    return await world.ask(question, **{"kind": "veto", "timeout_seconds": 600, "resume": resume, **fields})


async def test_the_agent_gets_a_structured_outcome_to_yield_on(room: World) -> None:
    asked = await open_window(room)
    assert (asked["outcome"], asked["status"], asked["session_id"]) == ("suspended", "pending_veto", "sess-1")
    assert asked["suspension"]["kind"] == "veto"
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"


async def test_by_default_one_authorizes_or_vetoes(room: World) -> None:
    asked = await open_window(room)
    assert [choice["value"] for choice in asked["suspension"]["choices"]] == ["authorize", "veto"]
    response = await room.answer(asked, "approve")
    assert (response.status_code, response.json()["valid_choices"]) == (422, ["authorize", "veto"])


async def test_an_authorisation_resumes_the_agent_in_its_session(room: World) -> None:
    asked = await open_window(room)
    assert (await room.answer(asked, "authorize")).status_code == 200
    told = await room.told(asked)
    assert told["type"] == told["data"]["event"] == "intent_authorized"
    assert told["data"]["session_id"] == "sess-1"
    assert told["data"]["state"] == {"why": "the customer asked"}
    assert (told["data"]["resolution"], told["data"]["error"]) == ("responded", None)
    assert (await room.intent(asked))["status"] == "active"


async def test_a_veto_resumes_the_agent_with_the_reason(room: World) -> None:
    asked = await open_window(room)
    assert (await room.answer(asked, "veto", metadata={"reason": "wrong customer"})).status_code == 200
    told = await room.told(asked)
    assert told["type"] == told["data"]["event"] == "intent_vetoed"
    assert (told["data"]["reason"], told["data"]["responded_by"]) == ("wrong customer", "alice@example.com")
    assert told["data"]["session_id"] == "sess-1"


async def test_the_timeout_is_the_whole_window_and_the_inherited_attempts_share_it(room: World) -> None:
    agents = "/v1/agents/refund-agent/default-retry-policy"
    await room.call("PUT", agents, json={"max_attempts": 3, "interval_seconds": 3600})
    asked = await open_window(room)
    await room.call("PUT", agents, json={})
    assert [step["due_at"] for step in asked["ladder"]] == [
        after(asked),
        after(asked, seconds=200),
        after(asked, seconds=400),
    ]
    assert asked["expires_at"] == after(asked, seconds=600)
    await room.advance(seconds=600)
    assert (await room.told(asked))["type"] == "intent_authorized"


async def test_its_end_is_exactly_its_timeout_also_where_the_ladder_is_over_before(room: World) -> None:
    asked = await open_window(room, retry_policy={"max_attempts": 2, "interval_seconds": 60})
    assert asked["expires_at"] == after(asked, seconds=600)
    await room.advance(seconds=599)
    assert (await room.show(asked))["status"] == "open"


async def test_silence_authorises_where_the_notice_was_delivered(room: World) -> None:
    asked = await open_window(room)
    await room.advance(seconds=599)
    assert (await room.show(asked))["status"] == "open"
    await room.advance(seconds=1)
    told = await room.told(asked)
    assert told["type"] == told["data"]["event"] == "intent_authorized"
    assert (told["data"]["resolution"], told["data"]["error"]) == ("expired", None)
    assert told["data"]["responded_by"] is None
    assert (await room.intent(asked))["status"] == "active"


async def test_silence_authorises_nothing_where_nobody_could_have_known(room: World) -> None:
    room.slack.fail_next(SaysNo("channel_not_found"), "chat.postMessage")
    asked = await open_window(room)
    await room.advance(seconds=600)
    told = await room.told(asked)
    assert told["type"] == "intent.suspension_expired"
    assert (told["data"]["resolution"], told["data"]["error"]) == ("expired", "notice_undelivered")
    assert told["data"]["event"] is None
    assert (await room.intent(asked))["status"] == "abandoned"
    assert (await room.show(asked))["error"] == "notice_undelivered"


async def test_one_delivery_of_any_attempt_is_enough(room: World) -> None:
    room.slack.fail_next(SaysNo("channel_not_found"), "chat.postMessage")
    rungs = [{"attempt": 2, "channel_hint": "email"}]
    policy = {"max_attempts": 2, "interval_seconds": 300, "escalation_ladder": rungs}
    asked = await open_window(room, retry_policy=policy)
    await room.advance(seconds=600)
    assert (await room.told(asked))["type"] == "intent_authorized"


async def test_a_delivery_that_never_came_through_authorises_nothing(room: World) -> None:
    """Deferred or ambiguous for the whole window: the channel has accepted nothing."""
    room.mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later", times=10_000)
    asked = await open_window(room, channel_hint="email")
    await room.advance(seconds=600)
    room.mailbox.behave()
    told = await room.told(asked)
    assert (told["type"], told["data"]["error"]) == ("intent.suspension_expired", "notice_undelivered")


@pytest.mark.parametrize(
    ("value", "event"), [("go", "intent_authorized"), ("later", "intent_authorized"), ("stop", "intent_vetoed")]
)
async def test_own_choices_say_which_one_is_the_veto(room: World, value: str, event: str) -> None:
    asked = await open_window(room, choices=OWN)
    answered = await room.answer(asked, value)
    assert answered.status_code == 200
    told = await room.told(asked)
    assert (told["type"], told["data"]["event"], told["data"]["value"]) == (event, event, value)


async def test_a_veto_can_be_pressed_on_slack(room: World) -> None:
    asked = await open_window(room, "Delete the old backups?", choices=OWN)
    message = await room.slack.expect_message("Delete the old backups?")
    await room.press("U0BOB", message, "Stop it")
    told = await room.told(asked)
    assert (told["type"], told["data"]["responded_by"]) == ("intent_vetoed", "bob@example.com")


async def test_a_cancelled_window_neither_authorises_nor_vetoes(room: World) -> None:
    asked = await open_window(room)
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    told = await room.told(asked)
    assert (told["type"], told["data"]["event"]) == ("intent.suspension_cancelled", None)


async def test_an_ordinary_question_has_no_event_in_its_callback(room: World) -> None:
    asked = await room.ask(kind="input")
    await room.answer(asked, "approve")
    told = await room.told(asked)
    assert (asked["status"], told["type"], told["data"]["event"]) == (
        "suspended_awaiting_input",
        "intent.resumed",
        None,
    )
