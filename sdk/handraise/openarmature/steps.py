"""The state of a run: its current steps, and the gates that it has reached.

A step is one node with everything around it: its middleware and, if it holds a graph, the steps inside. Each step
checks its gates when it ends. A step that has reached a gate ends well only if the gate was opened. No wrapper of its
author, such as middleware that isolates failures, can make it pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from openarmature.observability import current_fan_out_index, current_invocation_id, current_namespace_prefix
from openarmature.observability.correlation import (
    current_branch_name,
    current_branch_name_chain,
    current_fan_out_index_chain,
)
from pydantic import BaseModel, JsonValue

from handraise.openarmature.dispatches import Dispatch
from handraise.openarmature.node_events import tell_suspended
from handraise.questions import Options
from handraise.suspension import SignalDescriptor, SuspendedOutcome, SuspensionInUnsupportedContext
from handraise.suspension.suspending import InvocationPaused, run_body

Result = TypeVar("Result")
Gate: TypeAlias = tuple[tuple[str, ...], tuple[int | None, ...], tuple[str | None, ...]]
"""The path of a node, and which of its instances: the indexes of fan-outs and the names of branches around it."""


@dataclass(eq=False)
class NodeStep:
    """``path`` is the node's, from the outermost graph. ``state`` is the engine's, before any middleware.
    ``unopened`` are the gates in it that were reached and not opened, with the reason of each."""

    path: tuple[str, ...]
    state: BaseModel
    is_over: bool = False
    dispatch: Dispatch | None = None
    unopened: dict[Gate, BaseException] = field(default_factory=dict, repr=False)


class Store(Protocol):
    """Stores the paused invocation."""

    def __call__(
        self, pause: PausePoint, *, question: str, options: Options
    ) -> Coroutine[Any, Any, SuspendedOutcome[Any]]: ...


@dataclass(frozen=True)
class PausePoint:
    """Where a run pauses: ``steps`` from the outermost graph to the node that counts as suspending."""

    descriptor: SignalDescriptor
    mark_node_completed: bool
    steps: tuple[NodeStep, ...]


@dataclass(eq=False)
class Run:
    """One ``invoke``. ``check`` raises if this process may not go on.

    ``paused`` is its outcome once a question is open. ``passed``: a gate was reached only after its step had ended, so
    that it was passed.
    """

    invocation_id: str
    store: Store
    check: Callable[[], None]
    paused: SuspendedOutcome[Any] | None = None
    passed: SuspensionInUnsupportedContext | None = None

    def go_on(self) -> None:
        """Raises unless a further node may run."""
        if self.paused is not None:
            raise InvocationPaused(self.paused)
        if self.passed is not None:
            raise self.passed
        self.check()


@dataclass(frozen=True)
class _Here:
    run: Run
    steps: tuple[NodeStep, ...] = ()


_HERE: ContextVar[_Here | None] = ContextVar("handraise_openarmature", default=None)


async def in_run(run: Run, call: Callable[[], Awaitable[Result]]) -> Result:
    """What ``call()`` returns, run as ``run``."""
    token = _HERE.set(_Here(run))
    try:
        return await call()
    finally:
        _HERE.reset(token)


async def in_step(state: BaseModel, call: Callable[[], Awaitable[Result]]) -> Result:
    """One step of the current run. Middleware runs in it, and may not suspend.

    Raises what ``call()`` raises. If it returns though a gate in it was not opened, raises what kept the gate shut.
    """
    here = _here()
    step = NodeStep(current_namespace_prefix(), state)
    token = _HERE.set(_Here(here.run, (*here.steps, step)))
    try:
        result = await run_body(_Middleware(here.run, (*here.steps, step)), call)
    finally:
        step.is_over = True
        _HERE.reset(token)
    here.run.go_on()
    for kept_shut in step.unopened.values():
        raise kept_shut
    return result


async def in_dispatch(dispatch: Dispatch, call: Callable[[], Awaitable[Result]]) -> Result:
    """The current step's ``dispatch``. The engine makes an ordinary error of whatever leaves an instance; here the
    suspension gets out again before any middleware sees that."""
    here = _here()
    here.steps[-1].dispatch = dispatch
    try:
        return await call()
    except Exception:
        if here.run.paused is None:
            raise
    step = here.steps[-1]
    outermost = all(around.dispatch is None for around in here.steps[:-1])
    tell_suspended(step.path[-1], step.path, step.state, here.run.paused.descriptor, is_last=outermost)
    raise InvocationPaused(here.run.paused)


async def in_instance(call: Callable[[], Awaitable[Result]]) -> Result:
    """One instance of the current step's dispatch."""
    dispatch = _here().steps[-1].dispatch
    if dispatch is None:
        raise RuntimeError("An instance runs in a dispatch.")
    with dispatch.instance():
        return await call()


async def in_body(call: Callable[[], Awaitable[Result]], branch: str | None = None) -> Result:
    """A node's own function, the only place to suspend. ``branch`` names a branch that is a function."""
    here = _here()
    here.run.go_on()
    path = current_namespace_prefix() if branch is None else (*current_namespace_prefix(), branch)
    gate = _gate(path)
    for step in here.steps:
        step.unopened.pop(gate, None)
    body = _NodeBody(here.run, here.steps, path[-1], current_namespace_prefix())
    try:
        result = await run_body(body, call)
        if isinstance(body.kept_shut, SuspensionInUnsupportedContext):
            raise body.kept_shut
    except BaseException as raised:
        if body.has_come_to_gate:
            for step in here.steps:
                step.unopened[gate] = body.kept_shut or raised
        raise
    return result


def _gate(path: tuple[str, ...]) -> Gate:
    return path, current_fan_out_index_chain(), current_branch_name_chain()


def _here() -> _Here:
    here = _HERE.get()
    if here is None:
        raise RuntimeError("This copy of the graph runs through its GraphRunner alone.")
    return here


@dataclass
class _Middleware:
    """Not a body, for ``suspend()`` to be refused in."""

    run: Run
    steps: tuple[NodeStep, ...]

    @property
    def invocation_id(self) -> str:
        return self.run.invocation_id

    async def admit(self) -> None:
        refused = SuspensionInUnsupportedContext("Middleware called suspend(); put the gate into a node before it.")
        gate = _gate((*current_namespace_prefix(), "middleware of it"))  # no run of the body makes up for it
        for step in self.steps:
            step.unopened[gate] = refused
        raise refused

    async def pause(
        self, descriptor: SignalDescriptor, *, mark_node_completed: bool, question: str, options: Options
    ) -> SuspendedOutcome[Any]:
        raise RuntimeError("Middleware is never admitted.")


@dataclass
class _NodeBody:
    run: Run
    steps: tuple[NodeStep, ...]
    name: str
    namespace: tuple[str, ...]
    has_come_to_gate: bool = False
    kept_shut: BaseException | None = None

    @property
    def invocation_id(self) -> str:
        return self.run.invocation_id

    async def admit(self) -> None:
        self.has_come_to_gate, self.kept_shut = True, None
        with self._noting():
            self.run.check()
            self._check_place()
            for step in reversed(self.steps):
                if step.dispatch is not None:
                    await step.dispatch.alone()

    async def pause(
        self, descriptor: SignalDescriptor, *, mark_node_completed: bool, question: str, options: Options
    ) -> SuspendedOutcome[Any]:
        with self._noting():
            pause = PausePoint(_attributed(descriptor), mark_node_completed, _suspending(self.steps))
            self.run.paused = await self.run.store(pause, question=question, options=options)
        alone = all(step.dispatch is None for step in self.steps)
        tell_suspended(self.name, self.namespace, self.steps[-1].state, pause.descriptor, is_last=alone)
        return self.run.paused

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except BaseException as raised:
            self.kept_shut = raised
            raise

    def _check_place(self) -> None:
        if any(step.is_over for step in self.steps):
            self.run.passed = SuspensionInUnsupportedContext("The node had been left behind when it called suspend().")
            raise self.run.passed
        if self.run.paused is not None:
            raise SuspensionInUnsupportedContext("This invocation is suspended already.")
        if (current_namespace_prefix(), current_invocation_id()) != (self.namespace, self.run.invocation_id):
            raise SuspensionInUnsupportedContext("A graph that a node invokes by itself can't suspend the outer one.")
        if any(step.dispatch is not None and step.dispatch.collects for step in self.steps):
            raise SuspensionInUnsupportedContext('An instance under error_policy="collect" called suspend().')


def _suspending(steps: tuple[NodeStep, ...]) -> tuple[NodeStep, ...]:
    """Down to the node that suspends for the graph: the outermost fan-out or parallel branches if there is one."""
    outermost = next((index for index, step in enumerate(steps) if step.dispatch is not None), len(steps))
    return steps[: outermost + 1]


def _attributed(descriptor: SignalDescriptor) -> SignalDescriptor:
    """With the instance that suspends in the metadata."""
    index, branch = current_fan_out_index(), current_branch_name()
    where: dict[str, JsonValue] = {}
    if index is not None:
        where["fan_out_index"] = index
    if branch is not None:
        where["branch_name"] = branch
    if not where:
        return descriptor
    return SignalDescriptor(descriptor.signal_id, {**(descriptor.metadata_json() or {}), **where})
