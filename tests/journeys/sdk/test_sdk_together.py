"""The SDK's words for handing over and asking back, against the service itself (API.md §2)."""

from __future__ import annotations

import pytest
from handraise import Handraise, RequestRefused

from tests.world import KEYS, World

BOB = "bob@example.com"


def client(world: World, role: str) -> Handraise:
    return Handraise(world.url, KEYS[role])


async def test_a_person_asks_back_the_agent_says_more_and_the_clock_goes_on(world: World) -> None:
    asked = await world.ask(retry_policy={"max_attempts": 2, "interval_seconds": 3600})
    async with client(world, "operator") as alice, client(world, "agent") as agent:
        held = await alice.clarify(asked["suspension_id"], "Which card?")
        assert held.clarification is not None
        assert (held.clarification.question, held.clarification.text) == ("Which card?", None)
        with pytest.raises(RequestRefused) as refused:
            await alice.clarify(asked["suspension_id"], "Which one?")
        assert refused.value.code == "clarification_open"
        told = await agent.clarification(asked["suspension_id"], "The one it was paid with.")
        assert told.clarification is not None
        assert told.clarification.text == "The one it was paid with."
        with pytest.raises(RequestRefused) as refused:
            await agent.clarification(asked["suspension_id"], "And another thing.")
        assert refused.value.code == "nothing_to_clarify"


async def test_a_question_is_handed_over_to_somebody_who_may_be_asked(world: World) -> None:
    asked = await world.ask(responders=["alice@example.com"])
    async with client(world, "operator") as alice:
        handed = await alice.assign(asked["suspension_id"], to=BOB)
        assert (handed.assigned_to, handed.is_open, handed.answers_required) == (BOB, True, 1)
        with pytest.raises(RequestRefused) as refused:
            await alice.assign(asked["suspension_id"], to="eve@elsewhere.example")
        assert refused.value.code == "recipient_not_allowed"
    assert (await world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_an_agents_key_hands_nothing_over(world: World) -> None:
    asked = await world.ask()
    async with client(world, "agent") as agent:
        with pytest.raises(RequestRefused) as refused:
            await agent.assign(asked["suspension_id"], to=BOB)
    assert refused.value.status == 403
