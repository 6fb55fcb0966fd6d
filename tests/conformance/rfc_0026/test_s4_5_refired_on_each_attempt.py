"""RFC-0026 §4.5: ``@on_input_requested`` is called again on each attempt. The hook is the RFC's."""

from __future__ import annotations

import asyncio

import pytest
from handraise import BaseAgent, HumanRetryPolicy, on_input_requested

from tests.conformance.watching import soon, watching
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

sent: asyncio.Queue[tuple[str, str | None]] = asyncio.Queue()


async def send_notification(msg, channel):  # type: ignore[no-untyped-def]
    await sent.put((msg, channel))


class NotifyingAgent(BaseAgent):
    @on_input_requested
    async def notify_operator(self, intent, suspension):  # type: ignore[no-untyped-def]
        attempt = suspension.context.get("_attempt", 1)
        if attempt == 1:
            msg = f"Input needed: {suspension.question}"
        elif attempt < suspension.context.get("_max_attempts", 1):
            msg = f"Reminder ({attempt}): {suspension.question}"
        else:
            msg = f"URGENT — final reminder: {suspension.question}"
        await send_notification(msg, channel=suspension.channel_hint)


async def test_the_agent_words_each_attempt_itself(room: World) -> None:
    intent = await room.active_intent()
    policy = HumanRetryPolicy(
        max_attempts=3,
        interval_seconds=3600,
        escalation_ladder=[
            {"attempt": 2, "channel_hint": "email"},
            {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "supervisor@example.com"},
        ],
    )
    async with NotifyingAgent(room.url, KEYS["agent"]) as agent, watching(room) as watch:
        question = agent.request_input(intent["id"], "Refund?", response_type="confirm", retry_policy=policy)
        working = asyncio.create_task(question)
        asked = await watch.asked()
        assert await soon(sent) == ("Input needed: Refund?", "slack")
        await room.advance(hours=1)
        assert await soon(sent) == ("Reminder (2): Refund?", "email")
        await room.advance(hours=1)
        assert await soon(sent) == ("URGENT — final reminder: Refund?", "pagerduty")
        await room.answer(asked, "yes")
        assert await soon(working) == "yes"
    assert sent.empty()
