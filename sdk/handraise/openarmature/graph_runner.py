"""Runs a compiled graph of the engine, and resumes it in any process once its question has been answered.

The service is the store: the paused state is the suspension's own ``resume.state``, as JSON. The engine's checkpointer,
if there is one, goes on saving, and is not asked.

Source: OpenArmature suspension §3, §5–§8.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from openarmature.graph import CompiledGraph, Observer, RuntimeGraphError, State, SubscribedObserver
from pydantic import BaseModel, ConfigDict, JsonValue

from handraise.callbacks import Resumed
from handraise.client import Handraise
from handraise.openarmature.graph_copy import copied
from handraise.openarmature.reentry import reentered, states_of
from handraise.openarmature.steps import NodeStep, PausePoint, Run, in_run
from handraise.questions import Options
from handraise.suspension.descriptor import check_ids
from handraise.suspension.errors import (
    SuspensionError,
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
)
from handraise.suspension.invocation_lease import InvocationLease
from handraise.suspension.merging import read, written
from handraise.suspension.outcomes import CompletedOutcome, Outcome, SuspendedOutcome
from handraise.suspension.paused import LoadedInvocation, PausedInvocation, PausedInvocations, StoredDescriptor
from handraise.suspension.sessions import SessionStore, first_state, load_session, save_session, save_suspended
from handraise.suspension.suspending import InvocationPaused, check_options

StateT = TypeVar("StateT", bound=State)
Observers = Iterable[Observer | SubscribedObserver]
Metadata = Mapping[str, Any]

RUNNER = "openarmature"


class StoredPath(BaseModel):
    """What the adapter keeps beside the paused state, which is that of the innermost graph.

    ``states`` are those of the graphs around it, the outermost first. ``schema_versions`` are of all of them.
    """

    model_config = ConfigDict(frozen=True)

    states: tuple[dict[str, JsonValue], ...]
    schema_versions: tuple[str, ...]


@dataclass(frozen=True)
class _Invocation:
    """The constant part of an invocation, over all its suspensions."""

    invocation_id: str
    correlation_id: str
    session_id: str | None = None
    resumes: LoadedInvocation | None = None
    lease: InvocationLease | None = None

    def check(self) -> None:
        if self.lease is not None:
            self.lease.check()


class GraphRunner(Generic[StateT]):
    """Runs ``graph``, whose nodes may call :func:`handraise.suspend`. A :class:`handraise.Runner`.

    ``client`` asks the questions; ``asking`` are the defaults of each, such as ``responders`` and
    ``resume={"callback_url": …}``. With ``sessions``, runs that name a session load and save it. Observers and a
    checkpointer are attached to ``graph`` itself.

    Raises ``TypeError`` or ``ValueError`` for defaults that can't be any.
    """

    def __init__(
        self,
        graph: CompiledGraph[StateT],
        client: Handraise,
        *,
        sessions: SessionStore | None = None,
        asking: Options | None = None,
    ) -> None:
        check_options(asking or {})
        self._graph = copied(graph)
        self._sessions = sessions
        self._paused = PausedInvocations(client, RUNNER, asking or {})

    async def invoke(
        self,
        initial_state: Mapping[str, JsonValue] | StateT | None = None,
        *,
        session_id: str | None = None,
        invocation_id: str | None = None,
        correlation_id: str | None = None,
        resume_invocation: str | None = None,
        signal_payload: JsonValue = None,
        observers: Observers = (),
        metadata: Metadata | None = None,
    ) -> Outcome[Any]:
        """Run from the graph's entry, or go on with ``resume_invocation`` (:class:`handraise.Runner`).

        ``observers`` and ``metadata`` are the engine's own, for this run. They are not stored: give them again when
        you resume. The state of an outcome is that of the graph which holds the node that suspended.

        Raises what the engine raises for a node that fails; the errors of :mod:`handraise.suspension.errors`, as they
        are; ``ValueError`` or ``TypeError`` for arguments that can't be any.
        """
        given = {"invocation_id": invocation_id, "correlation_id": correlation_id, "session_id": session_id}
        check_ids(**given, resume_invocation=resume_invocation)
        if resume_invocation is not None:
            loaded = await self._paused.load(resume_invocation)
            loaded.paused.check_same(**given)
            return await self._go_on(loaded, signal_payload, observers, metadata)
        if signal_payload is not None:
            raise ValueError("signal_payload belongs to resume_invocation")
        if invocation_id is not None:
            await self._paused.check_unused(invocation_id)
        begun = _Invocation(invocation_id or str(uuid.uuid4()), correlation_id or str(uuid.uuid4()), session_id)
        saved = await load_session(self._sessions, session_id)
        state = first_state(self._graph.state_cls, saved, initial_state)
        return await self._run(begun, self._graph, state, observers, metadata)

    async def resume(
        self, resumed: Resumed, *, observers: Observers = (), metadata: Metadata | None = None
    ) -> Outcome[Any]:
        """Go on with the invocation that a callback is about; raises as :meth:`invoke`.

        In a :class:`handraise.ResumeReceiver`'s handler, let through what this raises.
        """
        if resumed.invocation_id is None:
            raise SuspensionRecordInvalid("unknown", "The question belongs to no invocation.")
        loaded = await self._paused.load(resumed.invocation_id, resumed.suspension_id)
        return await self._go_on(loaded, resumed.signal_payload, observers, metadata)

    async def _go_on(
        self, loaded: LoadedInvocation, signal_payload: JsonValue, observers: Observers, metadata: Metadata | None
    ) -> Outcome[Any]:
        paused = loaded.paused
        models = states_of(self._graph, paused.namespace)
        around = _read_path(paused, models)
        if (ended := loaded.ended(models[-1])) is not None:
            return ended
        states = [*around, loaded.merged(models[-1], signal_payload)]
        async with self._paused.going_on(loaded) as lease:
            invocation = _Invocation(
                paused.invocation_id, paused.correlation_id, paused.session_id, resumes=loaded, lease=lease
            )
            graph = reentered(self._graph, paused.namespace, states, after=paused.mark_node_completed)
            outcome = await self._run(invocation, graph, states[0], observers, metadata)
            if isinstance(outcome, CompletedOutcome):
                await self._paused.complete(loaded)
            return outcome

    async def _run(
        self,
        invocation: _Invocation,
        graph: CompiledGraph[Any] | None,
        state: Any,
        observers: Observers,
        metadata: Metadata | None,
    ) -> Outcome[Any]:
        """The graph from its entry; without one, nothing is left to run."""
        if graph is not None:
            final = await self._engine(invocation, graph, state, observers, metadata)
            if isinstance(final, SuspendedOutcome):
                return final
            state = final
        await save_session(self._sessions, invocation.session_id, state)
        return CompletedOutcome(invocation.invocation_id, invocation.correlation_id, state)

    async def _engine(
        self,
        invocation: _Invocation,
        graph: CompiledGraph[Any],
        state: Any,
        observers: Observers,
        metadata: Metadata | None,
    ) -> Any:
        """The final state, or the suspended outcome. Once a question is open, only that counts, and not the
        exception."""

        async def store(pause: PausePoint, *, question: str, options: Options) -> SuspendedOutcome[Any]:
            return await self._store(invocation, pause, question, options)

        run = Run(invocation.invocation_id, store, invocation.check)
        failure: Exception | None = None
        try:
            final = await in_run(
                run,
                lambda: graph.invoke(
                    state,
                    observers,
                    correlation_id=invocation.correlation_id,
                    invocation_id=invocation.invocation_id,
                    metadata=metadata,
                ),
            )
        except InvocationPaused:
            pass
        except Exception as raised:  # noqa: BLE001 - raised below, unless a question is open
            failure = raised
        if run.paused is not None:
            return run.paused
        if failure is not None:
            raise _unwrapped(failure)
        return final

    async def _store(
        self, invocation: _Invocation, pause: PausePoint, question: str, options: Options
    ) -> SuspendedOutcome[Any]:
        step = pause.steps[-1]
        paused = _paused(invocation, pause)
        await save_suspended(self._sessions, invocation.session_id, pause.steps[0].state)
        intent = None if invocation.resumes is None else invocation.resumes.intent_id
        model = type(step.state)
        suspended = await self._paused.store(paused, pause.descriptor, model, question, options, intent)
        return SuspendedOutcome(
            invocation.invocation_id,
            invocation.correlation_id,
            step.state,
            pause.descriptor,
            step.path[-1],
            step.path,
            suspended,
        )


def _paused(invocation: _Invocation, pause: PausePoint) -> PausedInvocation:
    """The value to store. Raises :class:`handraise.SuspensionPersistenceFailed` for a state without a form in JSON."""
    try:
        states = [written(step.state) for step in pause.steps]
    except ValueError as failure:
        raise SuspensionPersistenceFailed("The state has no form in JSON.") from failure
    descriptor, step, before = pause.descriptor, pause.steps[-1], invocation.resumes
    path = StoredPath(states=tuple(states[:-1]), schema_versions=tuple(map(_version, pause.steps)))
    return PausedInvocation(
        runner=RUNNER,
        invocation_id=invocation.invocation_id,
        correlation_id=invocation.correlation_id,
        session_id=invocation.session_id,
        makes_intent=before is None or before.paused.makes_intent,
        suspends=0 if before is None else before.paused.suspends + 1,
        node_name=step.path[-1],
        namespace=step.path,
        mark_node_completed=pause.mark_node_completed,
        descriptor=StoredDescriptor(signal_id=descriptor.signal_id, metadata=descriptor.metadata_json()),
        state=states[-1],
        engine=path.model_dump(mode="json"),
    )


def _version(step: NodeStep) -> str:
    return str(getattr(step.state, "schema_version", ""))


def _read_path(paused: PausedInvocation, models: list[type[Any]]) -> list[Any]:
    """The states of the graphs around the one that holds the node."""
    try:
        path = StoredPath.model_validate(paused.engine)
        around = [read(model, state) for model, state in zip(models[:-1], path.states, strict=True)]
    except ValueError:
        path, around = None, []
    # Outside the handler, so that no traceback carries a state along.
    if path is None:
        raise SuspensionRecordInvalid("foreign", "What is stored does not fit the states of this graph.")
    now = tuple(model.schema_version for model in models)
    if path.schema_versions != now:
        raise SuspensionRecordInvalid("foreign", f"States were {path.schema_versions} when it was paused, now {now}.")
    return around


def _unwrapped(raised: Exception) -> Exception:
    """The suspension's own error inside the engine's errors."""
    cause: BaseException | None = raised
    while isinstance(cause, RuntimeGraphError):
        cause = cause.__cause__
    return cause if isinstance(cause, SuspensionError) else raised
