"""An agent of the published client, as a process: makes an intent, asks, and says what came of it.

It reads one JSON object, the first argument: ``ask`` holds the arguments of ``request_input``, ``policy`` its retry
policy, ``draft`` whether the intent is still one when it asks. Each line that it prints is a JSON object with one key.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import shim  # noqa: F401 (what it puts right)
from openintent.agents import BaseAgent, on_input_received, on_input_requested, on_suspension_expired
from openintent.models import HumanRetryPolicy, IntentStatus


def say(**what: Any) -> None:
    print(json.dumps(what, default=str), flush=True)


class RefundAgent(BaseAgent):
    _agent_id = "refund-agent"

    @on_input_requested
    async def requested(self, intent: Any, suspension: Any) -> None:
        say(requested={"status": intent.status.value, "id": suspension.id, "channel": suspension.channel_hint})

    @on_input_received
    async def received(self, intent: Any, response: Any) -> None:
        say(received={"status": intent.status.value, "value": response.value, "by": response.responded_by})

    @on_suspension_expired
    async def expired(self, intent: Any, suspension: Any) -> None:
        say(expired=suspension.id)


async def main(told: dict[str, Any]) -> None:
    agent = RefundAgent(os.environ["HANDRAISE_URL"], os.environ["HANDRAISE_API_KEY"])
    client = agent.async_client
    intent = await client.create_intent("Refund order 12345", "Decide on it", initial_state={"order": 12345})
    if not told.get("draft"):
        await client.set_status(intent.id, intent.version, IntentStatus.ACTIVE)
    say(intent=intent.id)
    decision = await agent.should_request_input(intent.id, confidence=0.55, risk=0.4, reversibility=0.8)
    assert decision.should_ask
    policy = HumanRetryPolicy.from_dict(told["policy"]) if "policy" in told else None
    try:
        value = await agent.request_input(intent.id, retry_policy=policy, **told["ask"])
    except Exception as failure:
        say(failed=type(failure).__name__)
        return
    say(value=value)
    await agent.patch_state(intent.id, {"decision": value})
    await agent.complete_intent(intent.id)
    say(completed=[event.event_type.value for event in await client.get_events(intent.id)])


asyncio.run(main(json.loads(sys.argv[1])))
