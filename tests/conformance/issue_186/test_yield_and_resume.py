"""Issue 186: the agent yields on a structured result, and goes on in the same session when it is called back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from handraise import (
    Handraise,
    InputCancelledError,
    InputTimeoutError,
    ResumeReceiver,
    ResumeTarget,
    Suspended,
    Turn,
)

from bot.sandbox.serving import serving
from tests.journeys.sdk.test_sdk_methods import InThread
from tests.vendors.slack_faults import SaysNo
from tests.world import KEYS, WEBHOOK_SECRET, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 5000}


class Session:
    """An agent's conversation: the model's messages, one after the other."""

    def __init__(self) -> None:
        self.turns: list[Turn[Session]] = []


@asynccontextmanager
async def agent(world: World, **options: Any) -> AsyncIterator[tuple[Session, Handraise, str]]:
    """A session, a client to ask with, and where its callbacks go."""
    session = Session()

    async def go_on(turn: Turn[Session]) -> None:
        turn.session.turns.append(turn)

    receiver = ResumeReceiver(
        WEBHOOK_SECRET, go_on, load_session={"sess-1": session}.get, now=world.clock.now, **options
    )
    async with serving(receiver) as url, Handraise(world.url, KEYS["agent"]) as people:
        yield session, people, f"{url}/resume"


async def window(people: Handraise, url: str, **options: Any) -> Suspended:
    target = ResumeTarget(session_id="sess-1", callback_url=url, state={"secret": "of the agent"})
    given: dict[str, Any] = {"kind": "veto", "timeout_seconds": 600, "action": ACTION, "resume": target, **options}
    return await people.suspend("Refund $50?", **given)


async def answer(world: World, asked: Suspended, value: str, **more: Any) -> None:
    await world.settle()
    fields = {"intent_id": asked.intent_id, "suspension_id": asked.suspension_id}
    assert (await world.answer(fields, value, **more)).status_code == 200
    await world.settle()


async def test_the_structured_result_says_pause_here_and_keeps_the_agents_secrets(room: World) -> None:
    async with agent(room) as (_, people, url):
        asked = await window(people, url)
        told = asked.tool_result()
        assert set(told) == {"status", "intent_id", "ref", "expires_at", "silence", "instruction"}
        assert (told["status"], told["intent_id"], told["ref"]) == ("pending_veto", asked.intent_id, asked.ref)
        assert "end your turn" in str(told["instruction"])
        written = json.dumps(told)
        assert not [kept for kept in (asked.suspension_id, "of the agent", "alice", "C0OPS") if kept in written]
        await people.cancel(asked.suspension_id)
        await room.settle()


async def test_an_authorisation_is_a_new_turn_of_the_same_session(room: World) -> None:
    async with agent(room) as (session, people, url):
        asked = await window(people, url)
        await answer(room, asked, "authorize")
        [turn] = session.turns
        assert turn.message()["event"] == "intent_authorized"
        assert turn.veto is not None
        assert (turn.veto.authorized, turn.veto.intent_id) == (True, asked.intent_id)
        await people.execute_once(turn.veto.receipt, ACTION, when=turn.veto.value)


async def test_a_veto_is_a_new_turn_with_the_reason(room: World) -> None:
    async with agent(room) as (session, people, url):
        asked = await window(people, url)
        await answer(room, asked, "veto", metadata={"reason": "wrong customer"})
        [turn] = session.turns
        assert turn.veto is not None
        assert (turn.veto.event, turn.veto.reason) == ("intent_vetoed", "wrong customer")
        told = turn.message()
        assert (told["event"], told["reason"], told["intent_id"]) == (
            "intent_vetoed",
            "wrong customer",
            asked.intent_id,
        )


async def test_q2_the_session_is_not_paused_and_each_answer_is_a_turn_of_its_own(room: World) -> None:
    async with agent(room) as (session, people, url):
        asked = await window(people, url)
        beside = await people.suspend(
            "Which card?", response_type="text", resume=ResumeTarget(session_id="sess-1", callback_url=url)
        )
        await answer(room, beside, "the blue one")
        assert [turn.resumed.value for turn in session.turns] == ["the blue one"]
        await answer(room, asked, "veto")
        assert [turn.event for turn in session.turns] == ["intent.resumed", "intent_vetoed"]


@pytest.mark.parametrize(("days", "stale"), [(1, False), (3, True)])
async def test_q3_a_context_that_is_too_old_is_called_stale(room: World, days: int, stale: bool) -> None:
    async with agent(room, context_stale_after=timedelta(days=2)) as (session, people, url):
        asked = await window(people, url, timeout_seconds=7 * 86_400)
        await room.advance(days=days)
        await answer(room, asked, "authorize")
        [turn] = session.turns
        assert (turn.stale, turn.message().get("stale")) == (stale, stale or None)


async def test_what_the_handler_could_not_do_is_tried_again(room: World) -> None:
    failures, seen = [RuntimeError("no model today")], []

    def go_on(turn: Turn[None]) -> None:
        seen.append(turn.event)
        if failures:
            raise failures.pop()

    receiver = ResumeReceiver(WEBHOOK_SECRET, go_on, now=room.clock.now)
    async with serving(receiver) as url, Handraise(room.url, KEYS["agent"]) as people:
        asked = await window(people, url)
        await answer(room, asked, "veto")
        await room.advance(seconds=10)
        assert seen == ["intent_vetoed"] * 2
        await room.advance(hours=72)
    assert seen == ["intent_vetoed"] * 2


@pytest.fixture(params=[Handraise, InThread], ids=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    made: Callable[..., Any] = request.param
    return made


async def opened(world: World) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while not (items := (await world.call("GET", "/v1/suspensions?status=open", "admin")).json()["items"]):
            await asyncio.sleep(0.01)
    await world.settle()
    [question] = items
    return {**question, "suspension_id": question["id"]}


OWN = [
    {"value": "go", "label": "Go on"},
    {"value": "stop", "label": "Stop it", "metadata": {"veto": True}},
]


@pytest.mark.parametrize(
    ("value", "event", "choices"),
    [
        ("authorize", "intent_authorized", None),
        ("veto", "intent_vetoed", None),
        ("go", "intent_authorized", OWN),
        ("stop", "intent_vetoed", OWN),
    ],
)
async def test_the_same_in_one_process(
    room: World, connect: Callable[..., Any], value: str, event: str, choices: Any
) -> None:
    async with connect(room.url, KEYS["agent"]) as people:
        waiting = asyncio.create_task(people.request_veto("Refund $50?", timeout_seconds=600, choices=choices))
        question = await opened(room)
        await room.answer(question, value, metadata={"reason": "because"})
        outcome = await waiting
    assert (outcome.event, outcome.authorized) == (event, event == "intent_authorized")
    assert (outcome.intent_id, outcome.value, outcome.reason, outcome.responded_by) == (
        question["intent_id"],
        value,
        "because",
        "alice@example.com",
    )


async def test_silence_authorises_in_one_process_too(room: World) -> None:
    async with Handraise(room.url, KEYS["agent"]) as people:
        waiting = asyncio.create_task(people.request_veto("Refund $50?", timeout_seconds=600, action=ACTION))
        await opened(room)
        await room.advance(seconds=600)
        outcome = await waiting
        assert (outcome.authorized, outcome.responded_by, outcome.value) == (True, None, "authorize")
        assert outcome.receipt is not None
        assert outcome.receipt not in repr(outcome)
        await people.execute_once(outcome.receipt, ACTION, when=outcome.value, allow_silence=True)


async def test_a_window_that_nobody_saw_or_that_was_taken_back_is_neither(room: World) -> None:
    async with Handraise(room.url, KEYS["agent"]) as people:
        room.slack.fail_next(SaysNo("channel_not_found"), "chat.postMessage")
        unseen = asyncio.create_task(people.request_veto("Refund $50?", timeout_seconds=600))
        await opened(room)
        await room.advance(seconds=600)
        with pytest.raises(InputTimeoutError) as timeout:
            await unseen
        assert timeout.value.reason == "notice_undelivered"
        taken_back = asyncio.create_task(people.request_veto("Refund $50?", timeout_seconds=600))
        await people.cancel((await opened(room))["id"])
        with pytest.raises(InputCancelledError):
            await taken_back
