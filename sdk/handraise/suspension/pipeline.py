"""A pipeline: plain async functions, one after the other, that may stop at a person's decision.

No engine is needed, and none is imitated: there are no edges, reducers or observers. Each node gets the state and
returns what it changes. A node that calls ``suspend()`` ends the run; :meth:`Pipeline.invoke` or
:meth:`Pipeline.resume`, in this process or another one, goes on.

Source: OpenArmature suspension §3, §6, §7, §8.6, as far as they need no engine.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from pydantic import BaseModel, JsonValue

from handraise.callbacks import Resumed
from handraise.client import Handraise
from handraise.questions import Options
from handraise.suspension.descriptor import SignalDescriptor, check_ids
from handraise.suspension.errors import SuspensionPersistenceFailed, SuspensionRecordInvalid
from handraise.suspension.invocation_lease import InvocationLease
from handraise.suspension.merging import StateModel, valid, written
from handraise.suspension.outcomes import CompletedOutcome, Outcome, SuspendedOutcome
from handraise.suspension.paused import LoadedInvocation, PausedInvocation, PausedInvocations, StoredDescriptor
from handraise.suspension.sessions import SessionStore, first_state, load_session, save_session, save_suspended
from handraise.suspension.suspending import InvocationPaused, check_options, run_body

Node = Callable[[StateModel], Awaitable[Mapping[str, Any] | StateModel | None]]
"""Gets a copy of the state. Returns the fields that it changes, or the whole new state, or nothing."""


@dataclass(frozen=True, slots=True)
class _Invocation:
    """The constant part of an invocation, over all its suspensions. ``intent_id`` is the intent that it has been
    suspended with, ``suspends`` how often."""

    invocation_id: str
    correlation_id: str
    session_id: str | None = None
    intent_id: str | None = None
    makes_intent: bool = True
    suspends: int = 0


class Pipeline(Generic[StateModel]):
    """Runs ``nodes`` one after the other over a state that is a ``state`` (a pydantic model).

    A node is named after its function. ``client`` asks the questions; ``asking`` are the defaults of each, such as
    ``responders`` and ``resume={"callback_url": …}``. With ``sessions``, runs that name a session load and save it.

    Raises ``TypeError`` or ``ValueError`` for nodes, or defaults, that can't be any.
    """

    def __init__(
        self,
        state: type[StateModel],
        nodes: Sequence[Node[StateModel]],
        client: Handraise,
        *,
        sessions: SessionStore | None = None,
        asking: Options | None = None,
    ) -> None:
        if not (isinstance(state, type) and issubclass(state, BaseModel)):
            raise TypeError("state is a pydantic model, the class itself")
        self._model = state
        self._nodes = _named(nodes)
        self._names = list(self._nodes)
        self._sessions = sessions
        check_options(asking or {})
        self._paused = PausedInvocations(client, "pipeline", asking or {})

    async def invoke(
        self,
        initial_state: Mapping[str, JsonValue] | StateModel | None = None,
        *,
        session_id: str | None = None,
        invocation_id: str | None = None,
        correlation_id: str | None = None,
        resume_invocation: str | None = None,
        signal_payload: JsonValue = None,
    ) -> Outcome[StateModel]:
        """Run from the first node, or go on with ``resume_invocation`` (:class:`handraise.Runner`).

        A run that begins has the session's state, if there is one, and over it the fields of ``initial_state``. One
        that is resumed has the state of its record, and over that the recorded answer.

        Raises what a node raises; :class:`SuspensionRecordInvalid` and :class:`SuspensionResumePayloadInvalid` for
        what can't be resumed; :class:`SessionLoadFailed` and :class:`SessionSaveFailed`. Raises ``ValueError`` or
        ``TypeError`` for arguments that can't be any, and has run nothing then.
        """
        given = {"invocation_id": invocation_id, "correlation_id": correlation_id, "session_id": session_id}
        check_ids(**given, resume_invocation=resume_invocation)
        if resume_invocation is not None:
            loaded = await self._paused.load(resume_invocation)
            loaded.paused.check_same(**given)
            return await self._go_on(loaded, signal_payload)
        if signal_payload is not None:
            raise ValueError("signal_payload belongs to resume_invocation")
        if invocation_id is not None:
            await self._paused.check_unused(invocation_id)
        begun = _Invocation(invocation_id or str(uuid.uuid4()), correlation_id or str(uuid.uuid4()), session_id)
        saved = await load_session(self._sessions, session_id)
        return await self._run(begun, first_state(self._model, saved, initial_state), 0)

    async def resume(self, resumed: Resumed) -> Outcome[StateModel]:
        """Go on with the invocation that a callback is about.

        In a :class:`handraise.ResumeReceiver`'s handler, let through what this raises: the server then tries again
        while another process goes on with it, and stops once it has gone on.

        Raises as :meth:`invoke`, and :class:`SuspensionRecordInvalid` for a question that is no invocation's.
        """
        if resumed.invocation_id is None:
            raise SuspensionRecordInvalid("unknown", "The question belongs to no invocation.")
        loaded = await self._paused.load(resumed.invocation_id, resumed.suspension_id)
        return await self._go_on(loaded, resumed.signal_payload)

    async def _go_on(self, loaded: LoadedInvocation, signal_payload: JsonValue) -> Outcome[StateModel]:
        paused = loaded.paused
        if paused.node_name not in self._nodes:
            raise SuspensionRecordInvalid("foreign", f"This pipeline has no node {paused.node_name}.")
        if (ended := loaded.ended(self._model)) is not None:
            return ended
        state = loaded.merged(self._model, signal_payload)
        invocation = _Invocation(
            paused.invocation_id,
            paused.correlation_id,
            paused.session_id,
            loaded.intent_id,
            paused.makes_intent,
            paused.suspends + 1,
        )
        first = self._names.index(paused.node_name) + paused.mark_node_completed
        async with self._paused.going_on(loaded) as lease:
            outcome = await self._run(invocation, state, first, lease)
            if isinstance(outcome, CompletedOutcome):
                await self._paused.complete(loaded)
            return outcome

    async def _run(
        self, invocation: _Invocation, state: StateModel, first: int, lease: InvocationLease | None = None
    ) -> Outcome[StateModel]:
        """Every node from number ``first`` on."""
        for name in self._names[first:]:
            if lease is not None:
                lease.check()
            body = _Body(self, invocation, name, state, lease)
            try:
                changed = await run_body(body, partial(self._nodes[name], state.model_copy(deep=True)))
            except InvocationPaused as paused:
                return paused.outcome
            state = self._changed(state, changed, name)
        await save_session(self._sessions, invocation.session_id, state)
        return CompletedOutcome(invocation.invocation_id, invocation.correlation_id, state)

    async def _pause(
        self, body: _Body[StateModel], descriptor: SignalDescriptor, completed: bool, question: str, options: Options
    ) -> SuspendedOutcome[StateModel]:
        invocation, namespace = body.invocation, (body.node_name,)
        stored = StoredDescriptor(signal_id=descriptor.signal_id, metadata=descriptor.metadata_json())
        try:
            state = written(body.state)
        except ValueError as failure:
            raise SuspensionPersistenceFailed("The state has no form in JSON.") from failure
        paused = PausedInvocation(
            runner="pipeline",
            invocation_id=invocation.invocation_id,
            correlation_id=invocation.correlation_id,
            session_id=invocation.session_id,
            makes_intent=invocation.makes_intent,
            suspends=invocation.suspends,
            node_name=body.node_name,
            namespace=namespace,
            mark_node_completed=completed,
            descriptor=stored,
            state=state,
        )
        await save_suspended(self._sessions, invocation.session_id, body.state)
        suspended = await self._paused.store(paused, descriptor, self._model, question, options, invocation.intent_id)
        return SuspendedOutcome(
            invocation.invocation_id,
            invocation.correlation_id,
            body.state,
            descriptor,
            body.node_name,
            namespace,
            suspended,
        )

    def _changed(self, state: StateModel, changed: Any, name: str) -> StateModel:
        if changed is None:
            return state
        if isinstance(changed, self._model):
            return changed
        if not isinstance(changed, Mapping):
            raise TypeError(f"{name} returns the fields that it changes, a {self._model.__name__} or None")
        unknown = changed.keys() - self._model.model_fields.keys()
        if unknown and self._model.model_config.get("extra") != "allow":
            raise ValueError(f"{name} changes what the state does not have: {', '.join(sorted(map(str, unknown)))}")
        return valid(self._model, {**dict(state), **changed}, f"The state after {name}")


@dataclass(frozen=True, slots=True)
class _Body(Generic[StateModel]):
    """One run of a node, to ``suspend()`` (:class:`handraise.suspension.suspending.RunningBody`)."""

    pipeline: Pipeline[StateModel]
    invocation: _Invocation
    node_name: str
    state: StateModel
    lease: InvocationLease | None

    @property
    def invocation_id(self) -> str:
        return self.invocation.invocation_id

    async def admit(self) -> None:
        """A pipeline's body may always suspend: nothing runs beside it."""

    async def pause(
        self, descriptor: SignalDescriptor, *, mark_node_completed: bool, question: str, options: Options
    ) -> SuspendedOutcome[StateModel]:
        if self.lease is not None:
            self.lease.check()
        return await self.pipeline._pause(self, descriptor, mark_node_completed, question, options)


def _named(nodes: Sequence[Node[StateModel]]) -> dict[str, Node[StateModel]]:
    named: dict[str, Node[StateModel]] = {}
    for node in nodes:
        name = getattr(node, "__name__", None)
        if name is None or not inspect.iscoroutinefunction(node):
            raise TypeError("A node is an async function with a name.")
        if name in named:
            raise ValueError(f"Two nodes are named {name}.")
        named[name] = node
    if not named:
        raise ValueError("A pipeline has at least one node.")
    return named
