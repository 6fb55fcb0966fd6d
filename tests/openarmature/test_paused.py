"""What is stored of a paused graph, who may go on with it, and what observers are told. In one process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from handraise import (
    MemorySessionStore,
    Resumed,
    SignalDescriptor,
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
    suspend,
)
from handraise.openarmature import GraphRunner, SuspendedEvent
from handraise.openarmature.span_observer import SpanObserver
from handraise.suspension import invocation_lease
from openarmature.checkpoint import InMemoryCheckpointer
from openarmature.graph import (
    END,
    CompiledGraph,
    FailureIsolationMiddleware,
    GraphBuilder,
    NodeEvent,
    NodeException,
    State,
    SubscribedObserver,
)
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, Field

from tests.openarmature.agent import nested
from tests.openarmature.office import AGENT, Office

Update = Mapping[str, Any]


class Stock(State):
    approved: bool = False
    anything: Any = None


class Approval(BaseModel):
    kind: str
    pool: list[str]


class Line:
    """gate, then send. ``send`` may be told to wait, or to fail."""

    def __init__(self, signal: str, state: type[State] = Stock) -> None:
        self.ran: list[str] = []
        self.may_send, self.is_sending = asyncio.Event(), asyncio.Event()
        self.may_send.set()
        self.fails = False

        async def gate(state: Any) -> Update:
            self.ran.append("gate")
            await suspend(SignalDescriptor(signal, Approval(kind="refund", pool=["finance"])))

        async def send(state: Any) -> Update:
            self.is_sending.set()
            await self.may_send.wait()
            self.ran.append("send")
            if self.fails:
                raise RuntimeError("no route")
            return {}

        builder = GraphBuilder(state).add_node("gate", gate).add_node("send", send).set_entry("gate")
        self.graph: CompiledGraph[Any] = builder.add_edge("gate", "send").add_edge("send", END).compile()

    def runner(self, people: Any, **more: Any) -> GraphRunner[Any]:
        return GraphRunner(self.graph, people, **more)


async def test_while_one_process_goes_on_another_does_not(place: Office) -> None:
    line = Line("both")
    async with place.people() as people, asyncio.timeout(60):
        paused = await line.runner(people).invoke()
        await place.signal("both", {"approved": True})
        line.may_send.clear()
        one = asyncio.create_task(line.runner(people).invoke(resume_invocation=paused.invocation_id))
        await line.is_sending.wait()
        with pytest.raises(SuspensionRecordInvalid) as raised:
            await line.runner(people).invoke(resume_invocation=paused.invocation_id)
        line.may_send.set()
        assert (await one).outcome == "completed"
    assert (raised.value.reason, line.ran) == ("running", ["gate", "send"])


async def test_a_run_that_fails_after_its_resume_is_resumed_again(place: Office) -> None:
    line = Line("fails")
    line.fails = True
    async with place.people() as people:
        paused = await line.runner(people).invoke()
        await place.signal("fails", {"approved": True})
        with pytest.raises(NodeException, match="no route"):
            await line.runner(people).invoke(resume_invocation=paused.invocation_id)
        line.fails = False
        done = await line.runner(people).invoke(resume_invocation=paused.invocation_id)
    assert (done.outcome, done.state.approved, line.ran) == ("completed", True, ["gate", "send", "send"])


async def renewal() -> None:
    """Return when the lease of the run is given up for lost."""
    [renewing] = [task for task in asyncio.all_tasks() if "Renewal._run" in repr(task.get_coro())]
    await asyncio.wait({renewing})


async def test_a_run_whose_lease_is_taken_away_goes_no_further(place: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation_lease, "DURATION", timedelta(seconds=1))
    line = Line("lost")
    line.may_send.clear()

    async def takes_it_away(leases: str) -> None:
        await line.is_sending.wait()
        [lease, *_] = (await place.call("GET", leases, AGENT)).json()["leases"]
        assert (await place.call("DELETE", f"{leases}/{lease['id']}", AGENT)).is_success
        await renewal()
        line.may_send.set()

    async def after(state: Any) -> Update:
        line.ran.append("after")
        return {}

    isolated = FailureIsolationMiddleware(degraded_update={}, event_name="isolated")
    builder = GraphBuilder(Stock).add_subgraph_node("line", line.graph, middleware=[isolated]).set_entry("line")
    graph = builder.add_node("after", after).add_edge("line", "after").add_edge("after", END).compile()
    async with place.people() as people, asyncio.timeout(60):
        paused = await GraphRunner(graph, people).invoke()
        await place.signal("lost", {"approved": True})
        taking = asyncio.create_task(takes_it_away(f"/v1/intents/{paused.suspended.intent_id}/leases"))
        with pytest.raises(SuspensionRecordInvalid) as raised:
            await GraphRunner(graph, people).invoke(resume_invocation=paused.invocation_id)
        await taking
    assert (raised.value.reason, line.ran) == ("running", ["gate", "send"])


async def test_what_middleware_makes_of_the_state_is_not_what_is_paused(place: Office) -> None:
    """The engine goes on with the state that it handed to the middleware; so does a resume."""

    async def colours(state: Any, next_: Any) -> Update:
        return await next_(state.model_copy(update={"anything": "coloured"}))

    seen: list[Any] = []

    async def gate(state: Any) -> Update:
        seen.append(state.anything)
        await suspend(SignalDescriptor("coloured"))

    builder = GraphBuilder(Stock).add_node("gate", gate, middleware=[colours]).set_entry("gate")
    async with place.people() as people:
        outcome = await GraphRunner(builder.add_edge("gate", END).compile(), people).invoke({"anything": "plain"})
    assert (outcome.state.anything, seen) == ("plain", ["coloured"])


async def test_a_callback_resumes_what_it_is_about_once(place: Office) -> None:
    line = Line("called")
    async with place.people() as people:
        paused = await line.runner(people).invoke()
        answered = (await place.signal("called", {"approved": True})).json()
        told = {name: answered[name] for name in ("intent_id", "suspension_id", "resolution")}
        resumed = Resumed(
            webhook_id="msg_1",
            type="intent.resumed",
            timestamp=answered["responded_at"],
            invocation_id=paused.invocation_id,
            signal_payload={"approved": True},
            **told,
        )
        assert (await line.runner(people).resume(resumed)).outcome == "completed"
        with pytest.raises(SuspensionRecordInvalid):
            await line.runner(people).resume(resumed)
    assert line.ran == ["gate", "send"]


async def test_metadata_that_is_a_model_comes_back_as_json(place: Office) -> None:
    line = Line("model")
    async with place.people() as people:
        paused = await line.runner(people).invoke()
        shown = await people.get(paused.suspended.suspension_id)
    assert shown.resume is not None
    assert shown.resume.signal_metadata == {"kind": "refund", "pool": ["finance"]}
    assert shown.resume.state["state"] == {"approved": False, "anything": None}


async def test_a_state_without_a_form_in_json_is_not_paused(place: Office) -> None:
    line = Line("object")
    async with place.people() as people:
        with pytest.raises(SuspensionPersistenceFailed):
            await line.runner(people).invoke(Stock(anything=object()))
    assert "object" not in await place.open_signals()


async def test_a_session_that_can_not_be_saved_opens_no_question(place: Office) -> None:
    class Full(MemorySessionStore):
        async def save(self, session_id: str, state: Mapping[str, Any]) -> None:
            raise OSError("disk full")

    line = Line("session")
    async with place.people() as people:
        with pytest.raises(SuspensionPersistenceFailed):
            await line.runner(people, sessions=Full()).invoke(session_id="s-1")
    assert "session" not in await place.open_signals()


async def test_a_state_of_another_version_does_not_go_on(place: Office) -> None:
    class Second(Stock):
        schema_version: ClassVar[str] = "2"

    async with place.people() as people:
        paused = await Line("version").runner(people).invoke()
        await place.signal("version", {"approved": True})
        with pytest.raises(SuspensionRecordInvalid) as raised:
            await Line("version", Second).runner(people).invoke(resume_invocation=paused.invocation_id)
        done = await Line("version").runner(people).invoke(resume_invocation=paused.invocation_id)
    assert (raised.value.reason, done.outcome) == ("foreign", "completed")


async def test_a_checkpointer_goes_on_saving_after_the_resume(place: Office) -> None:
    line = Line("saves")
    kept = InMemoryCheckpointer()
    line.graph.attach_checkpointer(kept)
    async with place.people() as people:
        paused = await line.runner(people).invoke()
        assert await kept.load(paused.invocation_id) is None, "the engine saves nothing of a node that suspends"
        await place.signal("saves", {"approved": True})
        await line.runner(people).invoke(resume_invocation=paused.invocation_id)
    saved = await kept.load(paused.invocation_id)
    assert saved is not None
    assert ([one.node_name for one in saved.completed_positions], saved.correlation_id) == (
        ["send"],
        paused.correlation_id,
    )


# --- Observers --------------------------------------------------------------------------------------------------------


class Part(State):
    item: int = 0
    result: int = 0


class Whole(State):
    items: list[int] = Field(default_factory=lambda: [0, 1])
    results: list[int] = Field(default_factory=list)


def fan_out(signal: str) -> CompiledGraph[Whole]:
    async def part(state: Part) -> Update:
        if state.item == 1:
            await suspend(SignalDescriptor(signal, {"kind": "approval", "by": {"pool": "finance"}}))
        return {}

    inner = GraphBuilder(Part).add_node("part", part).set_entry("part").add_edge("part", END).compile()
    fields = {"items_field": "items", "item_field": "item", "collect_field": "result", "target_field": "results"}
    return (
        GraphBuilder(Whole)
        .add_fan_out_node("parts", subgraph=inner, **fields)
        .set_entry("parts")
        .add_edge("parts", END)
        .compile()
    )


async def test_every_node_that_has_started_and_suspends_is_told_of_once(place: Office) -> None:
    told: list[tuple[Any, ...]] = []

    async def observe(event: Any) -> None:
        if isinstance(event, NodeEvent | SuspendedEvent):
            told.append((event.phase, event.namespace, event.fan_out_index))

    graph = fan_out("told")
    async with place.people() as people:
        observer = SubscribedObserver(observe, phases=frozenset({"completed"}))
        outcome = await GraphRunner(graph, people).invoke(observers=[observer])
    await graph.drain()
    assert outcome.outcome == "suspended"
    assert told == [
        ("completed", ("parts", "part"), 0),
        ("suspended", ("parts", "part"), 1),
        ("suspended", ("parts",), None),
    ]


async def test_the_event_of_a_gate_in_a_subgraph_has_its_whole_path(place: Office) -> None:
    told: list[Any] = []

    async def observe(event: Any) -> None:
        if isinstance(event, SuspendedEvent):
            told.append(event)

    graph = nested()
    graph.attach_observer(observe)
    async with place.people() as people:
        outcome = await GraphRunner(graph, people).invoke({"signal": "path"}, correlation_id="corr-8")
    await graph.drain()
    [event] = told
    assert (
        (event.node_name, event.namespace)
        == ("gate", ("outer", "inner", "gate"))
        == (outcome.node_name, outcome.namespace)
    )
    assert (event.invocation_id, event.correlation_id) == (outcome.invocation_id, "corr-8")


@pytest.mark.parametrize("with_metadata", [False, True])
async def test_spans_end_as_suspended_and_have_metadata_if_that_is_wanted(place: Office, with_metadata: bool) -> None:
    exporter = InMemorySpanExporter()
    spans = SpanObserver(SimpleSpanProcessor(exporter), signal_metadata=with_metadata)
    graph = fan_out(f"spans-{with_metadata}")
    async with place.people() as people:
        await GraphRunner(graph, people).invoke(observers=[spans])
    await graph.drain()
    found = {span.name: span for span in exporter.get_finished_spans()}  # without a shutdown: they have ended
    for name in ("parts", "openarmature.invocation"):
        assert (found[name].attributes or {})["openarmature.outcome"] == "suspended"
        assert found[name].status.status_code.name == "OK"
    [suspended] = [
        dict(span.attributes or {})
        for span in exporter.get_finished_spans()
        if span.name == "part" and "openarmature.outcome" in (span.attributes or {})
    ]
    assert suspended["openarmature.suspension.signal_id"] == f"spans-{with_metadata}"
    metadata = {key.rpartition("metadata.")[2]: value for key, value in suspended.items() if ".metadata." in key}
    assert metadata == ({"kind": "approval", "by.pool": "finance", "fan_out_index": 1} if with_metadata else {})
