"""The specification's suspension fixtures, over the published engine with the adapter and the real service.

They run from the folder that ``HANDRAISE_CONFORMANCE_DIR`` names. The first ``invoke`` suspends through the real
``suspend()``. The signal arrives at the service by ``POST /signals/{signal_id}``, and the second ``invoke`` is a real
resume, by another runner over another copy of the graph.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from handraise import CompletedOutcome, MemorySessionStore, SuspendedOutcome, SuspensionError
from handraise.openarmature import GraphRunner, SuspendedEvent
from handraise.openarmature.span_observer import SpanObserver
from openarmature.graph import InvocationCompletedEvent, NodeEvent
from openarmature.observability.otel import OTelObserver
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.openarmature.fixtures import Built, Said, built, cases
from tests.openarmature.office import Office

CASES = cases(Path(os.environ["HANDRAISE_CONFORMANCE_DIR"]))
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("name", CASES)
async def test_a_fixture_of_the_specification(place: Office, name: str) -> None:
    await Case(place, CASES[name]).play()


class Case:
    def __init__(self, place: Office, said: Said) -> None:
        self._place = place
        self._said = said
        self._sessions = MemorySessionStore() if said.get("session_store") == "in_memory" else None
        self._outcomes: list[Any] = []

    async def play(self) -> None:
        for step in self._said["invocations"]:
            await self._step(step)

    async def _step(self, step: Said) -> None:
        expected = dict(step["expected"])
        graph = built(self._said)
        seen = Seen(self._said)
        async with self._place.people() as people:
            runner = GraphRunner(graph.graph, people, sessions=self._sessions)
            arguments = {"session_id": step.get("session_id"), "observers": seen.observers}
            raised: SuspensionError | None = None
            outcome: Any = None
            try:
                if "resume_invocation" in step:
                    paused, payload = self._paused(step["resume_invocation"]), step["signal_payload"]
                    outcome = await runner.invoke(resume_invocation=paused, signal_payload=payload, **arguments)
                else:
                    outcome = await runner.invoke(step["initial_state"], **arguments)
            except SuspensionError as problem:
                raised = problem
            await graph.graph.drain()
        self._outcomes.append(outcome)
        seen.close()
        assert ("errored" if raised is not None else outcome.outcome) == expected.pop("outcome")
        await self._check(expected, graph, seen, outcome, raised)
        assert expected == {}, "something is expected that nothing here looks at"
        if isinstance(outcome, SuspendedOutcome):
            await self._arrives(outcome)

    def _paused(self, written: str) -> str:
        """The placeholder's invocation, which is that of the case's last outcome."""
        return self._outcomes[-1].invocation_id if written.startswith("<") else written

    async def _arrives(self, outcome: SuspendedOutcome[Any]) -> None:
        """The signal that the next step of the case resumes with."""
        later = self._said["invocations"][len(self._outcomes) :]
        if later:
            response = await self._place.signal(outcome.descriptor.signal_id, later[0]["signal_payload"])
            assert response.status_code == 200, response.text

    async def _check(
        self, expected: dict[str, Any], graph: Built, seen: Seen, outcome: Any, raised: SuspensionError | None
    ) -> None:
        """Take out of ``expected`` what was looked at."""
        if (error := expected.pop("error", None)) is not None:
            assert raised is not None and raised.category == error["category"]
        if (state := expected.pop("final_state_at_error", None)) is not None:
            assert seen.final_state == state and graph.ran == []
        if (state := expected.pop("final_state", None)) is not None:
            assert isinstance(outcome, CompletedOutcome) and outcome.state.model_dump() == state
        if (order := expected.pop("execution_order", None)) is not None:
            assert seen.started == graph.ran == order
        if (logged := expected.pop("middleware_log_captured", None)) is not None:
            assert graph.logged == logged
        if (state := expected.pop("suspended_state", None)) is not None:
            assert outcome.state.model_dump() == state
        if (node := expected.pop("suspending_node", None)) is not None:
            # By the specification's §5 this is the node's name in the graph that holds it; the fixtures mean the
            # outermost graph's node.
            assert outcome.namespace[0] == node
        if (descriptor := expected.pop("descriptor", None)) is not None:
            _check_descriptor(outcome, descriptor)
        if (saved := expected.pop("saved_session_assertions", None)) is not None:
            assert self._sessions is not None
            session = self._said["invocations"][0]["session_id"]
            assert await self._sessions.load(session) == saved["state"]
        if (kept := expected.pop("checkpointer_assertions", None)) is not None:
            assert kept == {"paused_invocation_record_exists": True, "record_type": "suspended"}
            await self._check_record(graph, outcome)
        if (events := expected.pop("observer_events", None)) is not None:
            assert seen.events == events["obs"]
            assert expected.pop("observer_event_invariants") == dict.fromkeys(
                (
                    "no_completed_event_for_suspending_node",
                    "suspended_event_carries_descriptor",
                    "started_followed_by_suspended_in_order",
                ),
                True,
            )
        if (spans := expected.pop("otel_spans", None)) is not None:
            _check_span(seen.root, seen.spans, spans["otel_obs"], outcome.invocation_id)

    async def _check_record(self, graph: Built, outcome: SuspendedOutcome[Any]) -> None:
        """The service has it, and the engine does not take it for a checkpoint of its own."""
        async with self._place.people() as people:
            shown = await people.get(outcome.suspended.suspension_id)
        assert shown.status == "open"
        with pytest.raises(Exception):  # noqa: B017 - whichever way: it does not succeed
            await graph.graph.invoke(graph.graph.state_cls(), resume_invocation=outcome.invocation_id)


class Seen:
    """What the observers that a case names are told."""

    def __init__(self, said: Said) -> None:
        self.events: list[dict[str, Any]] = []
        self.started: list[str] = []
        self.final_state: Mapping[str, Any] | None = None
        self._exporter = InMemorySpanExporter()
        self._spans: OTelObserver | None = None
        self.observers: list[Any] = [self._observe]
        if any(one["behavior"] == "otel" for one in said.get("observers", [])):
            self._spans = SpanObserver(span_processor=SimpleSpanProcessor(self._exporter), signal_metadata=True)
            self.observers.append(self._spans)

    async def _observe(self, event: Any) -> None:
        if isinstance(event, InvocationCompletedEvent):
            self.final_state = event.final_state.model_dump()
        if isinstance(event, NodeEvent | SuspendedEvent):
            told = {"phase": event.phase, "node_name": event.node_name, "namespace": [*event.namespace]}
            if isinstance(event, SuspendedEvent):
                descriptor = event.descriptor
                told["descriptor"] = {"signal_id": descriptor.signal_id, "metadata": descriptor.metadata_json()}
            self.events.append(told)
            if event.phase == "started":
                self.started.append(event.node_name)

    def close(self) -> None:
        if self._spans is not None:
            self._spans.shutdown()

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def root(self) -> ReadableSpan:
        [root] = [span for span in self.spans if span.parent is None]
        return root


def _check_descriptor(outcome: SuspendedOutcome[Any], expected: Said) -> None:
    metadata = outcome.descriptor.metadata_json() or {}
    assert outcome.descriptor.signal_id == expected["signal_id"]
    assert expected.get("metadata", metadata) == metadata
    assert expected.get("metadata_includes", {}).items() <= metadata.items()


def _check_span(span: ReadableSpan, spans: tuple[ReadableSpan, ...], expected: Said, invocation_id: str) -> None:
    assert (span.name, span.status.status_code.name) == (expected["name"], expected["status"])
    attributes = dict(span.attributes or {})
    for key, value in expected["attributes"].items():
        assert attributes.get(key) == (invocation_id if value == "<uuid>" else value), key
    children: Iterator[ReadableSpan] = (
        one for one in spans if one.parent and one.parent.span_id == span.context.span_id
    )
    for child, said in zip(children, expected.get("children", []), strict=True):
        _check_span(child, spans, said, invocation_id)
