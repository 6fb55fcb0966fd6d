"""RFC-0025 §10: what an agent is told of an answer."""

from __future__ import annotations

import asyncio

import pytest
from handraise import BaseAgent, InputResponse, Intent, SuspensionChoice, on_input_received

from tests.conformance.watching import soon, watching
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

told: asyncio.Queue[InputResponse] = asyncio.Queue()


class Listening(BaseAgent):
    @on_input_received
    async def received(self, intent: Intent, response: InputResponse) -> None:
        await told.put(response)


async def test_an_input_response_has_every_field(room: World) -> None:
    intent = await room.active_intent()
    choices = [SuspensionChoice(value="approve", label="Approve refund", description="All of it"), "deny"]
    async with Listening(room.url, KEYS["agent"]) as agent, watching(room) as watch:
        working = asyncio.create_task(agent.request_input(intent["id"], "Refund?", choices=choices))
        asked = await watch.asked()
        await room.advance(minutes=5)
        answered = (await room.answer(asked, "approve", metadata={"ticket": "T-1"})).json()
        response = await soon(told)
        await soon(working)
    assert response.model_dump(mode="json") == {
        "suspension_id": asked["suspension_id"],
        "value": "approve",
        "choice_label": "Approve refund",
        "choice_description": "All of it",
        "responded_by": "alice@example.com",
        "responded_at": answered["responded_at"],
        "metadata": {"ticket": "T-1"},
    }
