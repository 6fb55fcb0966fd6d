"""A gate is never passed without its answer, whatever an author has put around it.

Every graph here ends with the node ``after``, and no test gives an answer: ``after`` must not have run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from handraise import (
    Outcome,
    SignalDescriptor,
    SuspensionError,
    SuspensionInUnsupportedContext,
    SuspensionPersistenceFailed,
    suspend,
)
from handraise.openarmature import GraphRunner
from openarmature.graph import (
    END,
    BranchSpec,
    CompiledGraph,
    FailureIsolationMiddleware,
    GraphBuilder,
    NodeException,
    RetryConfig,
    RetryMiddleware,
    State,
    append,
)
from pydantic import Field

from tests.openarmature.office import Office

Update = Mapping[str, Any]


class Whole(State):
    items: list[int] = Field(default_factory=lambda: [0, 1, 2])
    results: Annotated[list[int], append] = Field(default_factory=list)
    degraded: bool = False


class Part(State):
    item: int = 0
    result: int = 0


ISOLATION = FailureIsolationMiddleware(degraded_update={"degraded": True}, event_name="isolated")
IN_PART = FailureIsolationMiddleware(degraded_update={"result": -1}, event_name="isolated")
RETRY = RetryMiddleware(RetryConfig(max_attempts=2, classifier=lambda *_: True, backoff=lambda _: 0))


async def swallows(state: Any, next_: Any) -> Update:
    """What no middleware should do."""
    try:
        return await next_(state)
    except BaseException:
        return {"degraded": True}


async def calls_again(state: Any, next_: Any) -> Update:
    try:
        return await next_(state)
    except BaseException:
        return await next_(state)


async def leaves_behind(state: Any, next_: Any) -> Update:
    """Goes on while the node still runs."""
    TASKS.append(asyncio.create_task(next_(state)))
    return {}


TASKS: list[asyncio.Task[Any]] = []


async def gives_up(state: Any, next_: Any) -> Update:
    return await asyncio.wait_for(next_(state), 0.01)


class Graph:
    """What runs behind the gate is in ``ran``."""

    def __init__(self, place: Office, signal: str) -> None:
        self._place = place
        self.signal = signal
        self.ran: list[str] = []

    async def gate(self, state: Any) -> Update:
        self.ran.append("gate")
        await suspend(SignalDescriptor(self.signal))

    async def refused_gate(self, state: Any) -> Update:
        """The server knows nobody of that name, so nothing is stored."""
        self.ran.append("gate")
        await suspend(SignalDescriptor(self.signal), responders=["nobody@elsewhere.example"])

    async def after(self, state: Any) -> Update:
        self.ran.append("after")
        return {}

    def behind(self, builder: GraphBuilder[Any]) -> CompiledGraph[Any]:
        builder.add_node("after", self.after).set_entry("first").add_edge("first", "after").add_edge("after", END)
        return builder.compile()

    def line(self, node: Any, *around: Any) -> CompiledGraph[Any]:
        return self.behind(GraphBuilder(Whole).add_node("first", node, middleware=around))

    def fan_out(self, node: Any, *around: Any, inside: tuple[Any, ...] = (), **options: Any) -> CompiledGraph[Any]:
        part = GraphBuilder(Part).add_node("part", node).set_entry("part").add_edge("part", END).compile()
        fields = {"items_field": "items", "item_field": "item", "collect_field": "result", "target_field": "results"}
        said = {**fields, **options, "middleware": around, "instance_middleware": inside}
        return self.behind(GraphBuilder(Whole).add_fan_out_node("first", subgraph=part, **said))

    def branches(self, *around: Any, policy: Any = "fail_fast", **nodes: Any) -> CompiledGraph[Any]:
        specs = {name: BranchSpec[Any](call=node) for name, node in nodes.items()}
        builder = GraphBuilder(Whole)
        builder.add_parallel_branches_node("first", branches=specs, error_policy=policy, middleware=around)
        return self.behind(builder)

    def suspends_at(self, *items: int) -> Any:
        async def part(state: Part) -> Update:
            if state.item in items:
                await suspend(SignalDescriptor(f"{self.signal}-{state.item}"))
            self.ran.append(f"part {state.item}")
            return {"result": state.item}

        return part

    async def invoke(self, graph: CompiledGraph[Any], state: Any = None) -> Outcome[Any]:
        async with self._place.people() as people, asyncio.timeout(60):
            return await GraphRunner(graph, people).invoke(state)

    async def is_open(self) -> bool:
        """Whether anything waits for a signal of this test's."""
        return any(one.startswith(self.signal) for one in await self._place.open_signals())


@pytest.fixture
def graph(place: Office, request: pytest.FixtureRequest) -> Graph:
    return Graph(place, request.node.name)


MIDDLEWARE = {
    "isolation": (ISOLATION,),
    "isolation around retry": (ISOLATION, RETRY),
    "a bare except": (swallows,),
    "a bare except and retry": (RETRY, swallows, RETRY),
    "a second call": (calls_again,),
    "a timeout, isolated": (ISOLATION, gives_up),
}


@pytest.mark.parametrize("around", MIDDLEWARE.values(), ids=MIDDLEWARE)
async def test_no_middleware_gets_a_suspended_run_past_its_gate(graph: Graph, around: tuple[Any, ...]) -> None:
    outcome = await graph.invoke(graph.line(graph.gate, *around))
    assert (outcome.outcome, graph.ran) == ("suspended", ["gate"])


async def test_code_behind_next_does_not_run(graph: Graph) -> None:
    async def counts(state: Any, next_: Any) -> Update:
        graph.ran.append("before")
        update: Update = await next_(state)
        graph.ran.append("behind")
        return update

    outcome = await graph.invoke(graph.line(graph.gate, counts))
    assert (outcome.outcome, graph.ran) == ("suspended", ["before", "gate"])


@pytest.mark.parametrize("around", [(ISOLATION,), (swallows,)], ids=["isolation", "a bare except"])
async def test_a_gate_that_could_not_be_opened_is_not_passed(graph: Graph, around: tuple[Any, ...]) -> None:
    with pytest.raises(SuspensionPersistenceFailed):
        await graph.invoke(graph.line(graph.refused_gate, *around))
    assert graph.ran == ["gate"]


async def test_a_retry_may_open_the_gate_after_all(graph: Graph) -> None:
    async def first_refused(state: Any) -> Update:
        await (graph.gate if graph.ran else graph.refused_gate)(state)
        return {}

    outcome = await graph.invoke(graph.line(first_refused, ISOLATION, RETRY))
    assert (outcome.outcome, graph.ran) == ("suspended", ["gate", "gate"])


async def test_a_retry_that_comes_to_no_gate_makes_up_for_it_too(graph: Graph) -> None:
    async def first_refused(state: Any) -> Update:
        if not graph.ran:
            await graph.refused_gate(state)
        return {}

    outcome = await graph.invoke(graph.line(first_refused, ISOLATION, RETRY))
    assert (outcome.outcome, outcome.state.degraded, graph.ran) == ("completed", False, ["gate", "after"])


async def test_a_node_may_answer_for_its_own_gate(graph: Graph) -> None:
    """It says in its own words what holds if nobody can be asked."""

    async def careful(state: Any) -> Update:
        try:
            await graph.refused_gate(state)
        except SuspensionPersistenceFailed:
            return {"degraded": True}
        return {}

    outcome = await graph.invoke(graph.line(careful))
    assert (outcome.outcome, outcome.state.degraded, graph.ran) == ("completed", True, ["gate", "after"])


async def test_a_gate_in_a_subgraph_is_not_passed_by_isolating_the_subgraph(graph: Graph) -> None:
    for node, ending in ((graph.gate, "suspended"), (graph.refused_gate, SuspensionPersistenceFailed)):
        inner = GraphBuilder(Whole).add_node("gate", node).set_entry("gate").add_edge("gate", END).compile()
        whole = graph.behind(GraphBuilder(Whole).add_subgraph_node("first", inner, middleware=[ISOLATION]))
        if isinstance(ending, str):
            assert (await graph.invoke(whole)).outcome == ending
        else:
            with pytest.raises(ending):
                await graph.invoke(whole)
    assert graph.ran == ["gate", "gate"]


# --- Where no gate can be ---------------------------------------------------------------------------------------------


async def suspends_before(state: Any, next_: Any) -> Update:
    await suspend(SignalDescriptor("never"))
    return await next_(state)


async def suspends_after(state: Any, next_: Any) -> Update:
    update = await next_(state)
    await suspend(SignalDescriptor("never"))
    return update


async def suspends_and_goes_on(state: Any, next_: Any) -> Update:
    try:
        await suspend(SignalDescriptor("never"))
    except SuspensionError:
        return await next_(state)


@pytest.mark.parametrize("middleware", [suspends_before, suspends_after, suspends_and_goes_on])
@pytest.mark.parametrize("around", [(), (ISOLATION,)], ids=["alone", "isolated"])
async def test_middleware_can_not_suspend(graph: Graph, middleware: Any, around: tuple[Any, ...]) -> None:
    async def plain(state: Any) -> Update:
        return {}

    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.line(plain, *around, middleware))
    assert graph.ran == []
    assert "never" not in await graph._place.open_signals()


async def test_nothing_suspends_outside_an_invocation(graph: Graph) -> None:
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.gate(Whole())


async def test_a_graph_that_runs_without_the_adapter_does_not_suspend(graph: Graph) -> None:
    with pytest.raises(NodeException) as raised:
        await graph.line(graph.gate).invoke(Whole())
    assert isinstance(raised.value.__cause__, SuspensionInUnsupportedContext)


async def test_a_graph_that_a_node_invokes_by_itself_does_not_suspend_it(graph: Graph) -> None:
    inner = graph.line(graph.gate, ISOLATION)

    async def invokes(state: Any) -> Update:
        await inner.invoke(Whole())
        return {}

    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.behind(GraphBuilder(Whole).add_node("first", invokes, middleware=[ISOLATION])))
    assert not await graph.is_open()


async def test_a_task_that_outlives_its_node_does_not_suspend(graph: Graph) -> None:
    tasks: list[asyncio.Task[Any]] = []
    ended = asyncio.Event()

    async def too_late() -> None:
        await ended.wait()
        await suspend(SignalDescriptor(graph.signal))

    async def leaves_one_behind(state: Any) -> Update:
        tasks.append(asyncio.create_task(too_late()))
        return {}

    outcome = await graph.invoke(graph.line(leaves_one_behind))
    assert outcome.outcome == "completed"
    ended.set()
    [raised] = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(raised, SuspensionInUnsupportedContext)


async def test_a_node_that_was_left_behind_does_not_come_to_a_gate_later(graph: Graph) -> None:
    left = asyncio.Event()

    async def slow(state: Any) -> Update:
        await left.wait()
        await suspend(SignalDescriptor(graph.signal))

    async def next_one(state: Any) -> Update:
        left.set()
        await asyncio.gather(*TASKS, return_exceptions=True)
        return {}

    builder = GraphBuilder(Whole).add_node("slow", slow, middleware=[leaves_behind]).add_node("next", next_one)
    builder.add_node("after", graph.after).set_entry("slow").add_edge("slow", "next").add_edge("next", "after")
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(builder.add_edge("after", END).compile())
    assert graph.ran == [] and not await graph.is_open()


# --- Side by side -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "around", [(), (ISOLATION,), (RETRY,), (swallows,)], ids=["alone", "isolated", "retry", "bare"]
)
async def test_one_instance_that_suspends_suspends_the_fan_out(graph: Graph, around: tuple[Any, ...]) -> None:
    """The engine makes an ordinary error of whatever leaves an instance: isolation around the node would catch it."""
    outcome = await graph.invoke(graph.fan_out(graph.suspends_at(1), *around))
    assert (outcome.outcome, outcome.namespace, outcome.descriptor.metadata) == (
        "suspended",
        ("first",),
        {"fan_out_index": 1},
    )
    assert graph.ran == ["part 0", "part 2"], "the others have ended before the question was opened"


@pytest.mark.parametrize("around", [(), (ISOLATION,)], ids=["alone", "isolated"])
@pytest.mark.parametrize("inside", [(), (IN_PART,)], ids=["", "isolated inside"])
@pytest.mark.parametrize("width", [2, None])
async def test_of_two_instances_that_suspend_neither_does(
    graph: Graph, around: tuple[Any, ...], inside: tuple[Any, ...], width: int | None
) -> None:
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.fan_out(graph.suspends_at(0, 2), *around, inside=inside, concurrency=width))
    assert "after" not in graph.ran
    assert not await graph.is_open()


async def test_after_two_were_refused_a_third_is_refused_too(graph: Graph) -> None:
    both_refused, refused = asyncio.Event(), list[int]()

    async def part(state: Part) -> Update:
        if state.item == 2:
            await both_refused.wait()
        try:
            await suspend(SignalDescriptor(f"{graph.signal}-{state.item}"))
        finally:
            refused.append(state.item)
            if len(refused) == 2:
                both_refused.set()

    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.fan_out(part, inside=(IN_PART,)))
    assert len(refused) == 3 and graph.ran == [] and not await graph.is_open()


async def test_an_instance_can_not_suspend_while_others_have_yet_to_begin(graph: Graph) -> None:
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.fan_out(graph.suspends_at(0), ISOLATION, concurrency=1))
    assert graph.ran == [] and not await graph.is_open()
    outcome = await graph.invoke(graph.fan_out(graph.suspends_at(2), concurrency=1))
    assert (outcome.outcome, graph.ran) == ("suspended", ["part 0", "part 1"])


@pytest.mark.parametrize("inside", [(), (IN_PART,)], ids=["", "isolated inside"])
async def test_under_collect_no_instance_suspends(graph: Graph, inside: tuple[Any, ...]) -> None:
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.fan_out(graph.suspends_at(1), ISOLATION, inside=inside, error_policy="collect"))
    assert "after" not in graph.ran and not await graph.is_open()


async def test_an_instance_that_fails_ends_one_that_was_about_to_suspend(graph: Graph) -> None:
    about_to = asyncio.Event()

    async def part(state: Part) -> Update:
        if state.item == 1:
            await suspend(SignalDescriptor(graph.signal))
        if state.item == 0:
            about_to.set()
        if state.item == 2:
            await about_to.wait()
            raise RuntimeError("no stock")
        return {"result": 0}

    with pytest.raises(NodeException, match="no stock"):
        await graph.invoke(graph.fan_out(part))
    assert graph.ran == [] and not await graph.is_open()


async def test_an_instance_that_was_about_to_suspend_is_not_isolated_away(graph: Graph) -> None:
    async def part(state: Part) -> Update:
        if state.item == 2:
            raise RuntimeError("no stock")
        await suspend(SignalDescriptor(f"{graph.signal}-{state.item}"))

    whole = graph.fan_out(part, ISOLATION, count=3, items_field=None, item_field=None)
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(whole)
    assert "after" not in graph.ran and not await graph.is_open()


async def test_a_run_that_is_cancelled_while_an_instance_waits_to_suspend_ends(graph: Graph) -> None:
    """One instance waits, one runs, and one has not begun."""
    runs = asyncio.Event()

    async def part(state: Part) -> Update:
        if state.item == 0:
            await suspend(SignalDescriptor(graph.signal))
        runs.set()
        await asyncio.Event().wait()
        return {}

    invoked = asyncio.create_task(graph.invoke(graph.fan_out(part, concurrency=2)))
    await runs.wait()
    invoked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await invoked
    assert not await graph.is_open()


async def test_a_fan_out_in_an_instance_counts_those_around_it_too(graph: Graph) -> None:
    part = GraphBuilder(Part).add_node("part", graph.suspends_at(0)).set_entry("part").add_edge("part", END).compile()
    fields = {"item_field": "item", "items_field": "items", "collect_field": "result", "target_field": "results"}
    inner = GraphBuilder(Whole).add_fan_out_node("inner", subgraph=part, **fields)
    many = inner.set_entry("inner").add_edge("inner", END).compile()

    class Outer(State):
        rows: list[list[int]]
        results: list[list[int]] = Field(default_factory=list)

    fields = {"item_field": "items", "items_field": "rows", "collect_field": "results", "target_field": "results"}
    whole = graph.behind(GraphBuilder(Outer).add_fan_out_node("first", subgraph=many, **fields))
    outcome = await graph.invoke(whole, {"rows": [[1, 2], [0, 3]]})
    assert (outcome.outcome, outcome.namespace, outcome.state.rows[1]) == ("suspended", ("first",), [0, 3])
    assert (outcome.descriptor.metadata, graph.ran) == ({"fan_out_index": 0}, ["part 1", "part 2", "part 3"])
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(whole, {"rows": [[0, 1], [0, 2]]})
    assert "after" not in graph.ran


@pytest.mark.parametrize("around", [(), (ISOLATION,)], ids=["alone", "isolated"])
async def test_a_branch_that_suspends_suspends_the_node(graph: Graph, around: tuple[Any, ...]) -> None:
    async def other(state: Any) -> Update:
        return {"degraded": False}

    outcome = await graph.invoke(graph.branches(*around, alpha=graph.gate, beta=other))
    assert (outcome.outcome, outcome.namespace) == ("suspended", ("first",))
    assert (outcome.descriptor.metadata, graph.ran) == ({"branch_name": "alpha"}, ["gate"])


@pytest.mark.parametrize("policy", ["fail_fast", "collect"])
async def test_of_two_branches_that_suspend_neither_does(graph: Graph, policy: str) -> None:
    with pytest.raises(SuspensionInUnsupportedContext):
        await graph.invoke(graph.branches(ISOLATION, policy=policy, alpha=graph.gate, beta=graph.gate))
    assert graph.ran == ["gate", "gate"] and not await graph.is_open()
