"""The specification's suspension fixtures that need no engine, over a :class:`handraise.Pipeline` and the service.

A payload that a fixture resumes with is first given as the answer, by a person's key: nothing else is believed. Each
assertion is compared with something that was seen; one without such a view fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from handraise import (
    Handraise,
    MemorySessionStore,
    Options,
    Outcome,
    Pipeline,
    RequestRefused,
    SuspendedOutcome,
    SuspensionError,
)

from tests.conformance.openarmature.fixtures import Said, cases, nodes_of, state_of
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

LINEAR = {"001", "002", "003", "004", "010", "012", "013"}
"""The others need subgraphs, fan-out, branches, middleware or the engine's spans (docs/reference/conformance.md)."""
CASES = {name: case for name, case in cases("suspension").items() if name[:3] in LINEAR}
ANYTHING: Options = {"resume": {"payload_schema": {}}}
"""The server takes any answer, and the resume decides."""


@pytest_asyncio.fixture(loop_scope="module")
async def people(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["agent"]) as people:
        yield people


@pytest_asyncio.fixture(loop_scope="module")
async def alice(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["operator"]) as alice:
        yield alice


@dataclass
class Run:
    """One case, step by step."""

    case: Said
    people: Handraise
    alice: Handraise
    asking: Options = field(default_factory=Options)
    store: MemorySessionStore = field(default_factory=MemorySessionStore)
    outcome: Outcome[Any] | None = None
    ran: list[str] = field(default_factory=list)

    def pipeline(self) -> Pipeline[Any]:
        """A new one each time, as in another process."""
        nodes = [self._noted(node) for node in nodes_of(self.case)]
        return Pipeline(state_of(self.case), nodes, self.people, sessions=self.store, asking=self.asking)

    def _noted(self, node: Any) -> Any:
        async def noted(state: Any) -> Any:
            self.ran.append(node.__name__)
            return await node(state)

        noted.__name__ = node.__name__
        return noted

    async def all(self) -> None:
        for said in self.case["invocations"]:
            await self._step(said)

    async def end(self) -> None:
        """Take back a question that was left open: its signal id is another test's, too."""
        if isinstance(self.outcome, SuspendedOutcome):
            record = await self.people.get(self.outcome.suspended.suspension_id)
            if record.is_open:
                await self.people.cancel(record.id)

    async def _step(self, said: Said) -> None:
        self.ran.clear()
        expected = dict(said["expected"])
        try:
            self.outcome = await self._invoked(said)
        except (SuspensionError, RequestRefused) as refused:
            category = refused.code if isinstance(refused, RequestRefused) else refused.category
            assert (expected.pop("outcome"), expected.pop("error")) == ("errored", {"category": category})
        else:
            await self._check(self.outcome, expected, said.get("session_id"))
        assert expected == {}, "an assertion that nothing here looks at"

    async def _invoked(self, said: Said) -> Outcome[Any]:
        if "resume_invocation" not in said:
            return await self.pipeline().invoke(said["initial_state"], session_id=said.get("session_id"))
        invocation_id, payload = said["resume_invocation"], said["signal_payload"]
        if invocation_id.startswith("<"):  # a placeholder (conformance-adapter §5.8)
            assert self.outcome is not None
            invocation_id = self.outcome.invocation_id
        if isinstance(self.outcome, SuspendedOutcome):
            await self.alice.signal(self.outcome.descriptor.signal_id, payload)
        return await self.pipeline().invoke(resume_invocation=invocation_id, signal_payload=payload)

    async def _check(self, outcome: Outcome[Any], expected: dict[str, Any], session_id: str | None) -> None:
        """Take each assertion that holds out of ``expected``."""
        seen: dict[str, Any] = {"outcome": outcome.outcome, "execution_order": self.ran}
        if isinstance(outcome, SuspendedOutcome):
            seen |= {"suspended_state": outcome.state.model_dump(), "suspending_node": outcome.node_name}
            descriptor = {"signal_id": outcome.descriptor.signal_id, "metadata": outcome.descriptor.metadata}
            seen["descriptor"] = descriptor
            record = await self.people.get(outcome.suspended.suspension_id)
            exists = record.resume is not None and record.resume.invocation_id == outcome.invocation_id
            kind = "suspended" if record.is_open else "ended"
            seen["checkpointer_assertions"] = {"paused_invocation_record_exists": exists, "record_type": kind}
            self._check_events(outcome, expected)
        else:
            seen["final_state"] = outcome.state.model_dump()
        if session_id is not None:
            seen["saved_session_assertions"] = {"state": await self.store.load(session_id)}
        for name in expected.keys() & seen.keys():
            assert expected.pop(name) == seen[name], name

    def _check_events(self, outcome: SuspendedOutcome[Any], expected: dict[str, Any]) -> None:
        """A pipeline has no observers. What its outcome says is what the last event would: this far it is compared."""
        for events in expected.pop("observer_events", {}).values():
            last = events[-1]
            seen = (outcome.outcome, outcome.node_name, list(outcome.namespace), outcome.descriptor.metadata)
            descriptor = last["descriptor"]
            assert seen == (last["phase"], last["node_name"], last["namespace"], descriptor["metadata"])
        expected.pop("observer_event_invariants", None)


@pytest.mark.parametrize("name", CASES)
async def test_a_linear_fixture_holds_over_a_pipeline(people: Handraise, alice: Handraise, name: str) -> None:
    run = Run(CASES[name], people, alice)
    await run.all()
    await run.end()


@pytest.mark.parametrize("name", [name for name in CASES if name[:3] == "003"])
async def test_an_invalid_payload_that_the_server_takes_is_refused_by_the_resume(
    people: Handraise, alice: Handraise, name: str
) -> None:
    run = Run(CASES[name], people, alice, ANYTHING)
    await run.all()
    assert isinstance(run.outcome, SuspendedOutcome)
    record = await people.get(run.outcome.suspended.suspension_id)
    assert record.signal_payload == CASES[name]["invocations"][-1]["signal_payload"]


async def test_every_linear_fixture_is_there() -> None:
    assert {name[:3] for name in CASES} == LINEAR
