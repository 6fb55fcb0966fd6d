"""Every method of the SDK against the service itself, by either client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from handraise import Handraise, HumanRetryPolicy, RequestRefused, ResumeTarget
from pydantic import BaseModel, Field

from sdk.tests.in_thread import InThread
from tests.world import KEYS, World


@pytest.fixture(params=[Handraise, InThread], ids=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    connect: Callable[..., Any] = request.param
    return connect


class Refund(BaseModel):
    amount: int = Field(ge=1, description="In cents.")
    note: str | None = None


async def test_a_form_is_asked_as_a_model_and_the_answer_is_one(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        task = asyncio.create_task(agent.request_input("How much?", response_model=Refund))
        [asked] = await _open(alice)
        with pytest.raises(RequestRefused) as refused:
            await alice.respond(asked.intent_id, asked.id, {"amount": 0})
        assert refused.value.status == 422
        answered = await alice.respond(asked.intent_id, asked.id, Refund(amount=5, note="In full."), reason="Known.")
        assert (answered.resolution, answered.responded_by) == ("responded", "alice@example.com")
        assert await task == Refund(amount=5, note="In full.")
        assert (await agent.get(asked.id)).reason == "Known."


async def _open(people: Any) -> list[Any]:
    """What is open, as soon as something is."""
    while not (found := [record async for record in people.list(status="open")]):
        await asyncio.sleep(0.01)
    return found


async def test_what_is_asked_can_be_previewed_and_looked_at(world: World, connect: Callable[..., Any]) -> None:
    policy = HumanRetryPolicy(max_attempts=2, interval_seconds=600)
    async with connect(world.url, KEYS["agent"]) as agent:
        preview = await agent.preview("Refund?", choices=["approve"], retry_policy=policy)
        assert [step.attempt for step in preview.ladder] == [1, 2]
        assert (preview.policy["max_attempts"].value, preview.policy["max_attempts"].level) == (2, "call")
        assert preview.notices["slack"]["question"] == "Refund?"
        assert [record async for record in agent.list()] == []

        target = ResumeTarget(session_id="sess-1", invocation_id="inv-1", state={"cart": 7})
        asked = await agent.suspend("Refund?", choices=["approve"], resume=target)
        await agent.suspend("Deploy?", choices=["yes"])
        await world.settle()
        assert [record.question async for record in agent.list(session_id="sess-1")] == ["Refund?"]
        assert [record.question async for record in agent.list(invocation_id="inv-1")] == ["Refund?"]
        whole = await agent.get(asked.suspension_id)
        assert (whole.invocation_id, whole.resume.state, whole.signal_payload) == ("inv-1", {"cart": 7}, None)
        assert [record.question async for record in agent.list(q="Deploy")] == ["Deploy?"]
        kinds = [item.kind for item in await agent.timeline(asked.suspension_id)]
        assert kinds == ["event", "attempt", "delivery"]


@pytest.mark.slow
async def test_every_page_of_a_list_is_read(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        for number in range(203):
            await agent.suspend(f"Refund {number}?", choices=["approve"])
        assert len({record.id async for record in agent.list()}) == 203


async def test_a_person_claims_gives_back_hands_over_and_asks_back(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        asked = await agent.suspend("Refund?", choices=["approve"], timeout_seconds=3600)
        name = asked.suspension_id
        assert (await alice.claim(name, seconds=60)).claimed_by == "alice@example.com"
        assert (await alice.release(name)).claimed_by is None
        assert (await alice.assign(name, "bob@example.com")).assigned_to == "bob@example.com"
        assert (await alice.clarify(name, "Which card?")).clarification.held_until is not None
        said = await agent.clarification(name, "The old one.")
        assert (said.clarification.text, said.clarification.held_until) == ("The old one.", None)


async def test_a_signal_answers(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        asked = await agent.suspend("Refund?", choices=["approve"], resume=ResumeTarget(signal_id="refund-1"))
        assert (await alice.signal("refund-1", "approve", reason="Known.", creator="refund-agent")).value == "approve"
        assert (await agent.get(asked.suspension_id)).reason == "Known."


async def test_a_signal_that_is_sent_again_answers_no_other_question(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        waits = ResumeTarget(signal_id="refund-1")
        first = await agent.suspend("Refund?", choices=["approve"], resume=waits)
        await alice.signal("refund-1", "approve", idempotency_key="sent-1")
        second = await agent.suspend("Refund again?", choices=["approve"], resume=waits)
        again = await alice.signal("refund-1", "approve", idempotency_key="sent-1")
        assert again.suspension_id == first.suspension_id
        assert (await agent.get(second.suspension_id)).is_open
        found = {record.id async for record in agent.list(signal_id="refund-1")}
        assert found == {first.suspension_id, second.suspension_id}


async def test_an_answer_that_is_one_of_several_says_how_many_are_needed(
    world: World, connect: Callable[..., Any]
) -> None:
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        asked = await agent.suspend("Refund?", choices=["approve"], answers_required=2)
        answered = await alice.respond(asked.intent_id, asked.suspension_id, "approve")
        assert (answered.resolution, answered.received, answered.required) == (None, 1, 2)


async def test_an_intent_of_ones_own_is_suspended_and_its_log_is_read(
    world: World, connect: Callable[..., Any]
) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        intent = await agent.create_intent("compliance_review", description="Q3", state={"step": 2})
        assert (intent.status, intent.state["step"]) == ("active", 2)
        await agent.log_event(intent.id, "refund.prepared", {"amount": 5})
        decision = await agent.decide_engagement(intent.id, confidence=0.55, risk=0.4)
        assert (decision.mode, decision.should_ask) == ("request_input", True)
        await agent.suspend("Refund?", choices=["approve"], intent_id=intent.id)
        assert (await agent.intent(intent.id)).status == "suspended_awaiting_input"
        types = [event.event_type for event in await agent.events(intent.id)]
        assert [kind for kind in types if "." in kind] == ["refund.prepared", "engagement.decision", "intent.suspended"]


async def test_a_key_says_whose_it_is_and_which_policy_it_has(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        await agent.set_default_retry_policy(HumanRetryPolicy(max_attempts=3, interval_seconds=600))
        me = await agent.me()
        assert (me.name, me.roles, me.webhook_secrets) == ("refund-agent", ("agent",), 1)
        assert (me.default_retry_policy.max_attempts, me.default_retry_policy.interval_seconds) == (3, 600)
        await agent.set_default_retry_policy({})
        assert (await agent.me()).default_retry_policy.max_attempts is None


async def test_what_waits_what_is_shown_and_what_was_called_back(world: World, connect: Callable[..., Any]) -> None:
    world.agent.answers[:] = [410]
    async with connect(world.url, KEYS["agent"]) as agent, connect(world.url, KEYS["operator"]) as alice:
        target = ResumeTarget(callback_url=world.agent.url)
        asked = await agent.suspend("Refund?", choices=["approve"], responders=["alice@example.com"], resume=target)
        await agent.suspend("Another's?", choices=["yes"], responders=["bob@example.com"])
        assert [record.ref async for record in alice.inbox()] == [asked.ref]
        shown = await alice.notice(asked.suspension_id)
        assert (shown.question, shown.people) == ("Refund?", {"alice@example.com": "Alice"})
        assert shown.url.endswith(f"/q/{asked.ref}")
        assert [step.recipients for step in shown.ladder] == [("alice@example.com",)]
        await alice.respond(asked.intent_id, asked.suspension_id, "approve")
        await world.settle()
        [refused] = [one async for one in agent.callbacks(status="refused")]
        assert (refused.suspension_id, refused.tries) == (asked.suspension_id, 1)
        assert (await agent.redrive(refused.id)).status == "pending"
        await world.settle()
        assert [one.status async for one in agent.callbacks()] == ["delivered"]
