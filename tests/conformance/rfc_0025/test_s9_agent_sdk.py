"""RFC-0025 §9: the agent SDK. The programs are those of the RFC; what is around them is a wrapper."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from handraise import (
    BaseAgent,
    EngagementDecision,
    EngagementSignals,
    InputCancelledError,
    InputResponse,
    InputTimeoutError,
    Intent,
    SuspensionRecord,
    on_engagement_decision,
    on_input_received,
    on_input_requested,
    on_suspension_expired,
)

from tests.conformance.watching import soon, watching
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


class RefundAgent(BaseAgent):
    async def refund(self, intent_id: str) -> Any:
        # from openintent import SuspensionChoice
        from handraise import SuspensionChoice

        value = await self.request_input(
            intent_id,
            question="Should we refund order #12345?",
            response_type="choice",
            choices=[
                SuspensionChoice(value="approve", label="Approve refund",
                                 description="Issue full refund to original payment method",
                                 style="primary"),
                SuspensionChoice(value="deny", label="Deny refund",
                                 description="Reject and close the case",
                                 style="danger"),
                SuspensionChoice(value="escalate", label="Escalate",
                                 description="Route to a senior operator"),
            ],
            context={"order_id": "12345", "amount": 499.99},
            channel_hint="slack",
            timeout_seconds=3600,
            fallback_policy="complete_with_fallback",
            fallback_value="deny",
            confidence=0.55,
        )  # fmt: skip
        return value  # noqa: RET504

    async def deploy(self, intent_id: str) -> Any:
        value = await self.request_input(
            intent_id,
            question="Deploy to production?",
            response_type="confirm",
            timeout_seconds=600,
            fallback_policy="fail",
        )
        # value will be "yes" or "no"
        return value  # noqa: RET504

    async def proceed(self, intent_id: str) -> Any:
        value = None
        decision = await self.should_request_input(
            intent_id,
            confidence=0.55,
            risk=0.60,
            reversibility=0.80,
        )
        if decision.should_ask:
            value = await self.request_input(intent_id, question="Proceed?",
                                             response_type="confirm")  # fmt: skip
        return decision, value


def agent(world: World) -> RefundAgent:
    return RefundAgent(world.url, KEYS["agent"])


# --- §9.1 request_input() -------------------------------------------------------------------------------------------


async def test_the_operators_value_is_returned(room: World) -> None:
    intent = await room.active_intent("Refund order 12345")
    async with agent(room) as refunds, watching(room) as watch:
        working = asyncio.create_task(refunds.refund(intent["id"]))
        asked = await watch.asked()
        record = await room.show(asked)
        assert record["context"] == {"order_id": "12345", "amount": 499.99}
        assert record["confidence_at_suspension"] == 0.55
        await room.settle()
        await room.slack.expect_message("Should we refund order #12345?")
        assert (await room.answer(asked, "escalate")).status_code == 200
        assert await soon(working) == "escalate"
    assert asked["intent_id"] == intent["id"]
    assert (await room.intent(asked))["status"] == "active"


async def test_after_an_hour_of_silence_it_is_the_fallback(room: World) -> None:
    intent = await room.active_intent("Refund order 12345")
    async with agent(room) as refunds, watching(room) as watch:
        working = asyncio.create_task(refunds.refund(intent["id"]))
        await watch.asked()
        await room.advance(seconds=3599)
        assert not working.done()
        await room.advance(seconds=1)
        assert await soon(working) == "deny"


@pytest.mark.parametrize("word", ["yes", "no"])
async def test_a_confirm_is_yes_or_no(room: World, word: str) -> None:
    intent = await room.active_intent()
    async with agent(room) as deployer, watching(room) as watch:
        working = asyncio.create_task(deployer.deploy(intent["id"]))
        await room.answer(await watch.asked(), word)
        assert await soon(working) == word


async def test_with_the_policy_fail_silence_is_an_input_timeout_error(room: World) -> None:
    intent = await room.active_intent()
    async with agent(room) as deployer, watching(room) as watch:
        working = asyncio.create_task(deployer.deploy(intent["id"]))
        await watch.asked()
        await room.advance(seconds=600)
        with pytest.raises(InputTimeoutError):
            await soon(working)


async def test_a_question_that_is_taken_back_is_an_input_cancelled_error(room: World) -> None:
    intent = await room.active_intent()
    async with agent(room) as deployer, watching(room) as watch:
        working = asyncio.create_task(deployer.deploy(intent["id"]))
        await deployer.people.cancel((await watch.asked())["suspension_id"])
        with pytest.raises(InputCancelledError):
            await soon(working)


# --- §9.2 should_request_input() ------------------------------------------------------------------------------------


async def test_a_person_is_asked_if_the_decision_says_so_and_the_log_has_it(room: World) -> None:
    intent = await room.active_intent()
    async with agent(room) as cautious, watching(room) as watch:
        working = asyncio.create_task(cautious.proceed(intent["id"]))
        asked = await watch.asked()
        await room.answer(asked, "yes")
        decision, value = await soon(working)
    assert (decision.mode, decision.should_ask, value) == ("require_input", True, "yes")
    [event] = [event for event in await room.events(asked) if event["event_type"] == "engagement.decision"]
    assert event["id"] == decision.event_id
    assert event["payload"]["signals"] == {"confidence": 0.55, "risk": 0.6, "reversibility": 0.8, "context": {}}


async def test_signals_may_be_given_as_one_and_a_keyword_goes_before_them(room: World) -> None:
    intent = await room.active_intent()
    async with agent(room) as cautious:
        sure = EngagementSignals(confidence=0.9, risk=0.1, context={"order": "12345"})
        assert (await cautious.should_request_input(intent["id"], sure)).mode == "autonomous"
        assert (await cautious.should_request_input(intent["id"], sure, risk=0.9)).mode == "defer"
        assert (await cautious.should_request_input(intent["id"])).mode == "autonomous"
    events = await room.events({"intent_id": intent["id"]})
    signals = [event["payload"]["signals"] for event in events if event["event_type"] == "engagement.decision"]
    assert [(one["risk"], one["context"]) for one in signals] == [
        (0.1, {"order": "12345"}),
        (0.9, {"order": "12345"}),
        (0.0, {}),
    ]


async def test_the_decision_can_be_kept_with_the_question(room: World) -> None:
    intent = await room.active_intent()
    async with agent(room) as cautious, watching(room) as watch:
        decision = await cautious.should_request_input(intent["id"], confidence=0.4)
        question = cautious.request_input(intent["id"], "Proceed?", response_type="confirm", decision_record=decision)
        working = asyncio.create_task(question)
        asked = await watch.asked()
        await room.answer(asked, "no")
        await soon(working)
    assert (await room.show(asked))["decision_record"]["rationale"] == decision.rationale


# --- §9.3 Lifecycle decorators --------------------------------------------------------------------------------------


class Told(RefundAgent):
    def __init__(self, *where: str) -> None:
        super().__init__(*where)
        self.told: asyncio.Queue[tuple[str, Intent, Any]] = asyncio.Queue()

    @on_input_requested  # fired after suspension is written
    async def requested(self, intent: Intent, suspension: SuspensionRecord) -> None:
        await self.told.put(("requested", intent, suspension))

    @on_input_received  # fired when operator response arrives
    async def received(self, intent: Intent, response: InputResponse) -> None:
        await self.told.put(("received", intent, response))

    @on_suspension_expired  # fired when timeout expires
    async def expired(self, intent: Intent, suspension: SuspensionRecord) -> None:
        await self.told.put(("expired", intent, suspension))

    @on_engagement_decision  # fired after should_request_input() returns
    async def decided(self, intent: Intent, decision: EngagementDecision) -> None:
        await self.told.put(("decided", intent, decision))


async def test_each_hook_is_called_with_the_intent_and_what_it_is_about(room: World) -> None:
    intent = await room.active_intent("Refund order 12345")
    async with Told(room.url, KEYS["agent"]) as refunds, watching(room) as watch:
        working = asyncio.create_task(refunds.refund(intent["id"]))
        asked = await watch.asked()
        kind, of, suspension = await soon(refunds.told)
        assert (kind, of.id, of.title) == ("requested", intent["id"], "Refund order 12345")
        assert (suspension.id, suspension.question) == (asked["suspension_id"], "Should we refund order #12345?")
        assert suspension.context == {"order_id": "12345", "amount": 499.99, "_attempt": 1, "_max_attempts": 1}

        await room.answer(asked, "approve")
        kind, of, response = await soon(refunds.told)
        assert (kind, of.id, of.status) == ("received", intent["id"], "active")
        assert (response.value, response.choice_label) == ("approve", "Approve refund")
        assert response.choice_description == "Issue full refund to original payment method"
        assert (response.suspension_id, response.responded_by) == (asked["suspension_id"], "alice@example.com")
        assert await soon(working) == "approve"

        decision = await refunds.should_request_input(intent["id"], risk=0.9)
        kind, of, told = await soon(refunds.told)
        assert (kind, of.id, told.mode, told.event_id) == ("decided", intent["id"], "defer", decision.event_id)


async def test_the_end_by_silence_is_told_whatever_the_policy_makes_of_it(room: World) -> None:
    refund, deploy = await room.active_intent(), await room.active_intent()
    async with Told(room.url, KEYS["agent"]) as refunds, watching(room) as watch:
        denied = asyncio.create_task(refunds.refund(refund["id"]))
        failed = asyncio.create_task(refunds.deploy(deploy["id"]))
        await watch.asked()
        await watch.asked()
        assert {(await soon(refunds.told))[0] for _ in range(2)} == {"requested"}
        await room.advance(hours=1)
        told = [await soon(refunds.told) for _ in range(2)]
        assert [(kind, of.id, of.status) for kind, of, _ in told] == [
            ("expired", deploy["id"], "abandoned"),
            ("expired", refund["id"], "active"),
        ]
        assert [suspension.error for _, _, suspension in told] == ["input_timeout", None]
        assert await soon(denied) == "deny"
        with pytest.raises(InputTimeoutError):
            await soon(failed)
