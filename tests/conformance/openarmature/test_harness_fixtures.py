"""The specification's harness fixtures, over a :class:`handraise.Pipeline` and the service itself.

Each assertion is compared with something that was seen: the arguments of ``invoke()``, its outcome, the reply as JSON,
the calls of the store, and the question as the service shows it. An assertion without such a view fails.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from handraise import (
    Handraise,
    Harness,
    HarnessMode,
    MemorySessionStore,
    Outcome,
    Pipeline,
    SignalCoordinator,
    SuspendedOutcome,
    SuspensionRecord,
    Transmission,
)
from handraise.harness.classification import NO_SIGNAL
from handraise.harness.outbound import Outbound
from pydantic import BaseModel

from tests.conformance.openarmature.fixtures import Raised, cases, nodes_of, state_of
from tests.mutants.page import PAGE, requirements
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

CASES = cases("harness")


@dataclass
class WatchedStore:
    """The SDK's own store, and how often it was asked."""

    load_raises: str | None = None
    loads: int = 0
    saves: int = 0
    inside: MemorySessionStore = field(default_factory=MemorySessionStore)

    async def load(self, session_id: str) -> Mapping[str, Any] | None:
        self.loads += 1
        if self.load_raises is not None:
            raise Raised(self.load_raises)
        return await self.inside.load(session_id)

    async def save(self, session_id: str, state: Mapping[str, Any]) -> None:
        self.saves += 1
        await self.inside.save(session_id, state)


@dataclass
class WatchedRunner:
    """The SDK's own pipeline, and what it was called with and came to."""

    pipeline: Pipeline[Any]
    calls: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome[Any] | Exception] = field(default_factory=list)

    async def invoke(self, *state: Any, **given: Any) -> Outcome[Any]:
        self.calls.append(given)
        try:
            outcome = await self.pipeline.invoke(*state, **given)
        except Exception as error:
            self.outcomes.append(error)
            raise
        self.outcomes.append(outcome)
        return outcome


@dataclass
class Seen:
    """One transmission and what came of it. ``waiting`` are the questions that were open when the reply was there."""

    transmission: Transmission
    reply: Outbound[Any]
    payload: dict[str, Any]
    calls: Sequence[Mapping[str, Any]]
    outcomes: Sequence[Outcome[Any] | Exception]
    waiting: Sequence[SuspensionRecord]
    loads: int
    saves: int
    session_before: Mapping[str, Any] | None

    @property
    def call(self) -> Mapping[str, Any]:
        [call] = self.calls
        return call

    @property
    def outcome(self) -> Outcome[Any] | Exception:
        [outcome] = self.outcomes
        return outcome

    @property
    def outcome_name(self) -> str:
        return "errored" if isinstance(self.outcome, Exception) else self.outcome.outcome

    @property
    def suspended(self) -> SuspendedOutcome[Any]:
        assert isinstance(self.outcome, SuspendedOutcome)
        return self.outcome

    @property
    def state(self) -> Any:
        assert not isinstance(self.outcome, Exception)
        assert isinstance(self.outcome.state, BaseModel)
        return self.outcome.state.model_dump()

    @property
    def is_subscribed(self) -> bool:
        """Whether the service waits for this signal on behalf of this invocation, and knows whom to call."""
        ours = [one for one in self.waiting if one.invocation_id == self.suspended.invocation_id]
        return [one.signal_id for one in ours if one.resume is not None and one.resume.callback_url] == [
            self.suspended.descriptor.signal_id
        ]

    @property
    def has_not_blocked(self) -> bool:
        """Whether the reply was there while nobody had answered."""
        return any(one.invocation_id == self.suspended.invocation_id and one.is_open for one in self.waiting)

    @property
    def made_session(self) -> bool:
        """Whether the session is a fresh UUID that the transmission does not hold."""
        session_id = self.call["session_id"]
        return str(uuid.UUID(session_id)) == session_id and session_id not in json.dumps(
            dict(self.transmission.payload)
        )


@pytest_asyncio.fixture(loop_scope="module")
async def agent(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["agent"]) as agent:
        yield agent


@pytest_asyncio.fixture(loop_scope="module")
async def signals(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["operator"]) as signals:
        yield signals


def resolved(said: Any, earlier: Sequence[Seen]) -> Any:
    """``said`` with what the fixture leaves to the run: the id of the invocation that was suspended before."""
    if isinstance(said, str) and said.startswith("<from "):
        return next(one.suspended.invocation_id for one in earlier if one.outcome_name == "suspended")
    if isinstance(said, dict):
        return {name: resolved(value, earlier) for name, value in said.items()}
    return said


@pytest.mark.parametrize("name", CASES)
async def test_a_fixture_of_the_harness(name: str, room: World, agent: Handraise, signals: Handraise) -> None:
    case = CASES[name]
    behavior = case["session_store"].get("behavior", {}) if isinstance(case["session_store"], dict) else {}
    store = WatchedStore(**behavior)
    asking: Any = {"resume": {"callback_url": room.agent.url}}
    runner = WatchedRunner(Pipeline(state_of(case), nodes_of(case), agent, sessions=store, asking=asking))
    coordinator = SignalCoordinator(agent, signals)
    mode = HarnessMode(case["harness"]["mode"])
    harness: Harness[Any] = Harness(runner, mode, coordinator, initial_state=lambda _: {})

    seen: list[Seen] = []
    for one in case["transmissions"]:
        transmission = Transmission(
            resolved(one["payload"], seen), one.get("dispatch_intent"), one.get("signal_payload", NO_SIGNAL)
        )
        at, loads, saves = len(runner.calls), store.loads, store.saves
        session_id = transmission.payload.get("session_id")
        before = await store.inside.load(str(session_id)) if session_id else None
        reply = await harness.receive(transmission)
        found = [await agent.get(one.id) async for one in agent.list(status="open")]
        seen.append(
            Seen(
                transmission,
                reply,
                json.loads(json.dumps(reply.payload())),
                runner.calls[at:],
                runner.outcomes[at:],
                found,
                store.loads - loads,
                store.saves - saves,
                before,
            )
        )
        for what, expected in one["expected"].items():
            check(what, resolved(expected, seen[:-1]), seen)
    for what, expected in case["invariants"].items():
        assert INVARIANTS[what](seen) is expected, what


async def test_the_page_has_a_row_for_each_fixture() -> None:
    page = (Path(__file__).parents[3] / PAGE).read_text()
    rows = [row.tests for row in requirements(page) if row.id.startswith("H-fixture.")]
    here = f"tests/conformance/openarmature/{Path(__file__).name}::test_a_fixture_of_the_harness"
    assert rows == [(f"{here}[{name}]",) for name in CASES]


def check(what: str, expected: Any, seen: Sequence[Seen]) -> None:
    if what == "invoke_args":
        for argument, value in expected.items():
            assert ARGUMENTS[argument](seen[-1]) == value, argument
    elif what == "outbound_payload_includes":
        assert {name: seen[-1].payload.get(name) for name in expected} == expected
    else:
        assert EXPECTED[what](seen[-1]) == expected, what


ARGUMENTS: Mapping[str, Callable[[Seen], Any]] = {
    "session_id": lambda seen: seen.call["session_id"],
    "session_id_present": lambda seen: "session_id" in seen.call,
    "session_id_absent_verified": lambda seen: "session_id" not in seen.call,
    "session_id_auto_generated": lambda seen: seen.made_session,
    "session_id_caller_supplied": lambda seen: seen.call["session_id"] == seen.transmission.payload["session_id"],
    "resume_invocation": lambda seen: seen.call["resume_invocation"],
    "signal_payload": lambda seen: seen.call["signal_payload"],
}

EXPECTED: Mapping[str, Callable[[Seen], Any]] = {
    "dispatch_path": lambda seen: seen.reply.path,
    "invoke_outcome": lambda seen: seen.outcome_name,
    "final_state": lambda seen: seen.state,
    "outbound_shape": lambda seen: seen.reply.shape,
    "descriptor": lambda seen: {
        name: value
        for name, value in {
            "signal_id": seen.suspended.descriptor.signal_id,
            "metadata": seen.suspended.descriptor.metadata,
        }.items()
        if value is not None
    },
    "descriptor_read_from_outcome": lambda seen: seen.payload["signal_id"] == seen.suspended.descriptor.signal_id,
    "harness_signal_subscription_registered": lambda seen: seen.is_subscribed,
    "signal_subscription_registered": lambda seen: seen.is_subscribed,
    "harness_did_not_block": lambda seen: seen.has_not_blocked,
    "signal_correlation_resolved": lambda seen: (
        "resume_invocation" in seen.call
        and seen.transmission.payload["signal_id"] not in {one.signal_id for one in seen.waiting}
    ),
    "resolved_to_invocation_id": lambda seen: seen.call["resume_invocation"],
    "error_category": lambda seen: seen.payload["category"],
    "error_bucket": lambda seen: seen.payload["bucket"],
    "harness_auto_retried": lambda seen: len(seen.calls) > 1,
    "session_store_load_calls": lambda seen: seen.loads,
    "session_store_save_calls": lambda seen: seen.saves,
}

SHAPES = {"completed": "completion_response", "suspended": "suspended_acknowledgment", "errored": "error_response"}


def has_shape_of_its_own(seen: Sequence[Seen]) -> bool:
    return SHAPES[seen[0].outcome_name] == seen[0].reply.shape and len(set(SHAPES.values())) == len(SHAPES)


def is_in_bucket(bucket: str) -> Callable[[Sequence[Seen]], bool]:
    return lambda seen: seen[0].payload["bucket"] == bucket


def is_resumed_with_its_signal(seen: Sequence[Seen]) -> bool:
    signal = {
        "resume_invocation": seen[0].suspended.invocation_id,
        "signal_payload": seen[1].transmission.signal_payload,
    }
    return seen[1].call == signal


INVARIANTS: Mapping[str, Callable[[Sequence[Seen]], bool]] = {
    "harness_classified_as_new_session_path": lambda seen: seen[0].reply.path == "3.1",
    "harness_auto_generated_session_id": lambda seen: seen[0].made_session,
    "engine_received_session_id": lambda seen: seen[0].call["session_id"] is not None and seen[0].saves == 1,
    "harness_classified_first_as_new_second_as_existing": lambda seen: (
        [one.reply.path for one in seen] == ["3.1", "3.2"]
    ),
    "harness_threaded_caller_session_id_verbatim": lambda seen: (
        [one.call["session_id"] for one in seen] == [one.transmission.payload["session_id"] for one in seen]
    ),
    "engine_loaded_prior_session_state_on_second_invoke": lambda seen: (
        seen[1].loads == 1 and seen[1].session_before == seen[0].state
    ),
    "first_invoke_suspended_and_signal_subscribed": lambda seen: seen[0].is_subscribed,
    "second_invoke_classified_as_signal_resume": lambda seen: seen[1].reply.path == "3.3",
    "resume_threaded_signal_payload_into_engine": is_resumed_with_its_signal,
    "harness_did_not_block_between_suspend_and_signal": lambda seen: seen[0].has_not_blocked,
    "completed_outcome_surfaced_as_completion_response_shape": lambda seen: (
        seen[0].reply.shape == "completion_response"
    ),
    "outbound_shape_distinct_from_error_or_suspended": has_shape_of_its_own,
    "errored_outcome_categorized_into_retryable_transient_bucket": is_in_bucket("retryable_transient"),
    "outbound_shape_is_error_response": lambda seen: seen[0].reply.shape == "error_response",
    "outbound_includes_category_and_bucket": lambda seen: {"category", "bucket"} <= seen[0].payload.keys(),
    "suspended_outcome_registered_subscription": lambda seen: seen[0].is_subscribed,
    "suspended_outcome_distinct_outbound_shape": has_shape_of_its_own,
    "harness_did_not_block_on_suspended_turn": lambda seen: seen[0].has_not_blocked,
    "suspend_registered_subscription": lambda seen: seen[0].is_subscribed,
    "signal_arrival_correlated_to_paused_invocation": is_resumed_with_its_signal,
    "resume_invocation_completed_the_graph": lambda seen: seen[1].outcome_name == "completed",
    "end_to_end_signal_roundtrip_succeeded": lambda seen: seen[1].payload["completed_flag"] is True,
    "session_load_failed_classified_as_terminating": is_in_bucket("session_terminating"),
    "harness_did_not_auto_retry": lambda seen: len(seen[0].calls) == 1,
    "outbound_marked_intervention_required": lambda seen: seen[0].payload["intervention_required"] is True,
    "provider_unavailable_classified_as_retryable_transient": is_in_bucket("retryable_transient"),
    "outbound_marked_retry_safe": lambda seen: seen[0].payload["retry_safe"] is True,
    "provider_invalid_request_classified_as_user_correctable": is_in_bucket("user_correctable"),
    "outbound_includes_diagnostic_message": lambda seen: seen[0].payload["diagnostic_message"] == str(seen[0].outcome),
    "outbound_marks_user_action_required": lambda seen: seen[0].payload["user_action_required"] is True,
    "stateless_harness_classified_via_path_3_0": lambda seen: seen[0].reply.path == "3.0",
    "stateless_harness_did_not_resolve_session_id": lambda seen: "session_id" not in seen[0].call,
    "engine_did_not_invoke_session_store": lambda seen: (seen[0].loads, seen[0].saves) == (0, 0),
    "session_store_completely_untouched": lambda seen: (seen[0].loads, seen[0].saves) == (0, 0),
}
"""What each names, seen again over the whole of the case."""
