"""RFC-0026 §8: ``HumanRetryPolicy``, and an agent's ``default_human_retry_policy`` (§5). The programs are the RFC's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from handraise import Agent, BaseAgent, HumanRetryPolicy, SuspensionChoice

from tests.conformance.watching import soon, watching
from tests.world import KEYS, World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


class RefundAgent(BaseAgent):
    async def refund(self, intent_id: str) -> Any:
        # from openintent import HumanRetryPolicy

        policy = HumanRetryPolicy(
            max_attempts=3,
            interval_seconds=3600,
            escalation_ladder=[
                {"attempt": 2, "channel_hint": "email"},
                {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "supervisor@example.com"},
            ],
            final_fallback_policy="fail",
        )

        value = await self.request_input(
            intent_id,
            question="Should we proceed with the refund?",
            response_type="choice",
            choices=[SuspensionChoice(value="yes", label="Yes"), "no"],  # choices=[...]
            timeout_seconds=3600,
            retry_policy=policy,
        )
        return value  # noqa: RET504


@Agent("my-agent")
class MyAgent:
    default_human_retry_policy = HumanRetryPolicy(
        max_attempts=2,
        interval_seconds=1800,
        final_fallback_policy="complete_with_fallback",
    )


async def test_the_policy_asks_three_times_and_the_answer_is_returned(room: World) -> None:
    intent = await room.active_intent()
    async with RefundAgent(room.url, KEYS["agent"]) as refunds, watching(room) as watch:
        working = asyncio.create_task(refunds.refund(intent["id"]))
        asked = await watch.asked()
        await room.advance(hours=2, minutes=30)
        renotified = [
            (event["payload"]["attempt"], event["payload"]["channel_hint"], event["payload"]["notify_to"])
            for event in await room.events(asked)
            if event["event_type"] == "intent.suspension_renotified"
        ]
        assert renotified == [(2, "email", None), (3, "pagerduty", "supervisor@example.com")]
        assert (await room.answer(asked, "yes")).status_code == 200
        assert await soon(working) == "yes"


async def test_the_agents_default_is_that_of_its_key_from_its_start_on(room: World) -> None:
    intent = await room.active_intent()
    async with MyAgent(room.url, KEYS["agent"]) as agent, watching(room) as watch:
        policy = (await room.call("GET", "/v1/agents/refund-agent/default-retry-policy")).json()["default_retry_policy"]
        assert policy == {
            "max_attempts": 2,
            "interval_seconds": 1800,
            "final_fallback_policy": "complete_with_fallback",
        }
        question = agent.request_input(intent["id"], "Go on?", response_type="confirm", fallback_value="no")
        working = asyncio.create_task(question)
        record = await room.show(await watch.asked())
        assert (record["max_attempts"], record["expires_at"]) == (2, after(record, hours=1))
        await room.advance(hours=1)
        assert await soon(working) == "no"


async def test_what_the_call_says_goes_before_the_agents_default(room: World) -> None:
    intent = await room.active_intent()
    async with MyAgent(room.url, KEYS["agent"]) as agent, watching(room) as watch:
        own = HumanRetryPolicy(max_attempts=1, interval_seconds=300)
        question = agent.request_input(
            intent["id"], "Go on?", response_type="confirm", fallback_value="no", retry_policy=own
        )
        working = asyncio.create_task(question)
        record = await room.show(await watch.asked())
        assert (record["max_attempts"], record["expires_at"]) == (1, after(record, minutes=5))
        assert record["retry_policy"]["final_fallback_policy"] == "complete_with_fallback"
        await room.advance(minutes=5)
        assert await soon(working) == "no"


async def test_a_default_may_be_set_in_init(room: World) -> None:
    """§5: "set in the agent definition or ``__init__``"."""

    @Agent("my-agent")
    class Patient:
        def __init__(self) -> None:
            self.default_human_retry_policy = HumanRetryPolicy(max_attempts=7, interval_seconds=60)

    async with Patient(room.url, KEYS["agent"]) as agent:
        assert (await agent.people.me()).default_retry_policy.max_attempts == 7


async def test_an_agent_without_one_leaves_the_servers_as_it_is(room: World) -> None:
    async with MyAgent(room.url, KEYS["agent"]):
        pass
    async with RefundAgent(room.url, KEYS["agent"]) as agent:
        assert (await agent.people.me()).default_retry_policy.max_attempts == 2
