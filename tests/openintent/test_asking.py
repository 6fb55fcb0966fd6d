"""``request_input`` of the published client, as its agents call it, against the service (API.md §7).

The client has no clock but the host's: it looks every two seconds. So a silence lasts a second or two here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.openintent.office import Office, office

pytestmark = [pytest.mark.kills, pytest.mark.asyncio(loop_scope="module")]

CHOICES = [
    {"value": "approve", "label": "Approve refund", "description": "All of it", "style": "primary"},
    {"value": "deny", "label": "Deny refund", "style": "danger"},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, client_python: Path) -> AsyncIterator[Office]:
    """One service on SQLite for all of them."""
    folder = tmp_path_factory.mktemp("office")
    async with office(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", client_python) as place:
        yield place


async def asked_and_answered(place: Office, ask: dict[str, Any], value: Any, **told: Any) -> None:
    async with place.agent(ask, **told) as agent:
        intent = await agent.said("intent")
        requested = await agent.said("requested")
        shown = await place.record(intent)
        assert (requested["status"], requested["id"]) == ("suspended_awaiting_input", shown["id"])
        await place.answer(intent, value)
        received = {"status": "active", "value": value, "by": "alice@example.com"}
        assert await agent.said("received") == received
        assert await agent.said("value") == value
        types = await agent.said("completed")
    assert types.count("intent.suspended") == types.count("intent.resumed") == 1
    after = await place.intent(intent)
    assert (after["status"], after["state"]["order"], after["state"]["decision"]) == ("completed", 12345, value)


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        ({"response_type": "choice", "choices": CHOICES, "context": {"amount": 499.99}, "confidence": 0.55}, "approve"),
        ({"response_type": "confirm", "timeout_seconds": 600}, "yes"),
        ({"response_type": "text", "channel_hint": "email"}, "Not before noon, please."),
        ({"response_type": "form", "context": {"street": "Which one?"}}, {"street": "Main St", "floors": 3}),
    ],
    ids=lambda one: one.get("response_type") if isinstance(one, dict) and "response_type" in one else None,
)
async def test_each_kind_of_question_is_answered(place: Office, ask: dict[str, Any], value: Any) -> None:
    await asked_and_answered(place, {"question": "Refund order 12345?", **ask}, value)


async def test_an_intent_that_is_still_a_draft_is_suspended_too(place: Office) -> None:
    await asked_and_answered(place, {"question": "Go on?", "response_type": "confirm"}, "no", draft=True)


async def test_on_postgresql_too(tmp_path: Path, postgres_url: str, client_python: Path) -> None:
    async with office(tmp_path, postgres_url, client_python) as place:
        await asked_and_answered(place, {"question": "Go on?", "response_type": "confirm"}, "yes", draft=True)


async def test_silence_that_fails_is_a_timeout_and_the_intent_is_abandoned(place: Office) -> None:
    ask = {"question": "Go on?", "response_type": "confirm", "timeout_seconds": 1}
    async with place.agent(ask) as agent:
        intent = await agent.said("intent")
        requested = await agent.said("requested")
        assert await agent.said("expired") == requested["id"]
        assert await agent.said("failed") == "InputTimeoutError"
    after = await place.intent(intent)
    assert (after["status"], after["state"]["_suspension"]["resolution"]) == ("abandoned", "expired")


@pytest.mark.parametrize("policy", ["complete_with_fallback", "use_default_and_continue"])
async def test_silence_with_a_fallback_goes_on_with_it(place: Office, policy: str) -> None:
    ask = {"question": "Go on?", "choices": CHOICES, "timeout_seconds": 1}
    async with place.agent({**ask, "fallback_policy": policy, "fallback_value": "deny"}) as agent:
        intent = await agent.said("intent")
        await agent.said("requested")
        await agent.said("expired")
        assert await agent.said("value") == "deny"
        await agent.said("completed")
    after = await place.intent(intent)
    assert (after["status"], after["state"]["_suspension"]["continued_with"]) == ("completed", "deny")


async def test_what_is_cancelled_ends_the_agents_wait(place: Office) -> None:
    async with place.agent({"question": "Go on?", "response_type": "confirm"}) as agent:
        intent = await agent.said("intent")
        await agent.said("requested")
        suspension = await place.record(intent)
        await place.call("POST", f"/v1/suspensions/{suspension['id']}/cancel", json={"reason": "not needed"})
        assert await agent.said("failed") == "InputCancelledError"
    assert (await place.intent(intent))["status"] == "active"


async def test_both_go_up_the_ladder_and_each_person_is_asked_once_for_each_attempt(place: Office) -> None:
    """The client tells of its own attempts, and is believed nothing: the service's are those in the log."""
    ladder = [
        {"attempt": 2, "channel_hint": "email", "notify_to": ""},
        {"attempt": 3, "channel_hint": "email", "notify_to": "bob@example.com"},
    ]
    policy = {"max_attempts": 3, "interval_seconds": 2, "escalation_ladder": ladder}
    question = "Which of the two ladders is it?"
    async with place.agent({"question": question, "response_type": "confirm"}, policy=policy) as agent:
        intent = await agent.said("intent")
        said = await agent.all_said()
    assert [*said[0]] == ["requested"] and said[-1] == {"failed": "InputTimeoutError"}
    renotified = await place.events(intent, "intent.suspension_renotified")
    assert [(one["attempt"], one["notify_to"]) for one in renotified] == [(2, None), (3, "bob@example.com")]
    escalated = await place.events(intent, "intent.suspension_escalated")
    assert [(one["attempt"], one["escalated_to"]) for one in escalated] == [(2, None), (3, "bob@example.com")]
    after = await place.intent(intent)
    assert (after["status"], after["state"]["_suspension"]["attempt"]) == ("abandoned", 3)


async def test_the_platforms_policy_reaches_the_client_and_comes_back_in_its_record(
    tmp_path: Path, sqlite_url: str, client_python: Path
) -> None:
    default = {"max_attempts": 2, "interval_seconds": 1, "final_fallback_policy": "complete_with_fallback"}
    async with office(tmp_path, sqlite_url, client_python, default_retry_policy=default) as place:
        ask = {"question": "Go on?", "response_type": "confirm", "fallback_value": "no"}
        async with place.agent(ask) as agent:
            intent = await agent.said("intent")
            assert {"value": "no"} in await agent.all_said()
        record = (await place.intent(intent))["state"]["_suspension"]
    assert (record["max_attempts"], record["continued_with"]) == (2, "no")
