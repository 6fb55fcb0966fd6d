"""``suspend()``, and the node body that it is called in.

``suspend()`` stores the paused invocation and only then leaves the body, by a ``BaseException`` that is no part of the
public API. What runs the body catches it: a :class:`handraise.Pipeline`, or the adapter of an engine. A failure to
store is an ordinary exception, raised in the body, and then nothing is stored.

A body can't get past its own gate. Once the paused invocation is stored, :func:`run_body` leaves by that exception,
whatever the body does with it: swallow it, return, or raise something else.

Source: OpenArmature suspension §3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeVar, Unpack

from handraise.questions import Options
from handraise.suspension.descriptor import SignalDescriptor
from handraise.suspension.errors import SuspensionInUnsupportedContext
from handraise.suspension.outcomes import SuspendedOutcome

Result = TypeVar("Result")

_SET_BY_SUSPEND = ("invocation_id", "correlation_id", "signal_id", "signal_metadata", "state")


class RunningBody(Protocol):
    """A running node body, as ``suspend()`` sees it: the runner's own object, a new one for each run of a body."""

    @property
    def invocation_id(self) -> str: ...

    async def admit(self) -> None:
        """Return when the body may suspend. Nothing is stored yet, and cancelling the body ends the wait.

        Raises :class:`handraise.SuspensionInUnsupportedContext` for a body that may not.
        """
        ...

    def pause(
        self, descriptor: SignalDescriptor, *, mark_node_completed: bool, question: str, options: Options
    ) -> Coroutine[Any, Any, SuspendedOutcome[Any]]:
        """Store the paused invocation, and return the run's outcome. ``options`` are only those of the call.

        Raises :class:`handraise.SuspensionPersistenceFailed` if nothing could be stored.
        """
        ...


class InvocationPaused(BaseException):
    """How ``suspend()`` leaves the body. Private: nothing but a runner catches it (S-12, S-13)."""

    def __init__(self, outcome: SuspendedOutcome[Any]) -> None:
        super().__init__("The invocation is suspended.")
        self.outcome = outcome


@dataclass
class _Gate:
    """One run of a body, and the progress of its ``suspend()``."""

    body: RunningBody
    is_over: bool = False
    pausing: asyncio.Task[SuspendedOutcome[Any]] | None = field(default=None, repr=False)
    paused: SuspendedOutcome[Any] | None = field(default=None, repr=False)

    async def store(self, pausing: Coroutine[Any, Any, SuspendedOutcome[Any]]) -> SuspendedOutcome[Any]:
        """What ``pausing`` returns. It is waited for even if the caller is cancelled meanwhile: a body that gives up
        waiting must not go on beside an open question."""
        self.pausing = asyncio.create_task(pausing)
        await self.settle()
        return self.pausing.result()

    async def settle(self) -> None:
        """Return when it is known whether the paused invocation is stored. Raises ``CancelledError`` then, if the
        caller was cancelled meanwhile."""
        if self.pausing is None:
            return
        cancelled: asyncio.CancelledError | None = None
        while not self.pausing.done():
            try:
                await asyncio.wait({self.pausing})
            except asyncio.CancelledError as asked:
                cancelled = asked
        if not self.pausing.cancelled() and self.pausing.exception() is None:
            self.paused = self.pausing.result()
        if cancelled is not None:
            raise cancelled

    @property
    def is_used(self) -> bool:
        """Whether a ``suspend()`` is under way or stored. After one that has failed, the body may try again."""
        return self.paused is not None or (self.pausing is not None and not self.pausing.done())


_GATE: ContextVar[_Gate | None] = ContextVar("handraise_running_body", default=None)


async def suspend(
    descriptor: SignalDescriptor,
    mark_node_completed: bool = True,  # the specification's own parameter
    *,
    question: str | None = None,
    **options: Unpack[Options],
) -> NoReturn:
    """Ask a person and end this run of the node; the invocation goes on when ``descriptor``'s signal arrives.

    With ``mark_node_completed`` it goes on with the next node. Without, this body runs again from its top, and its
    state then has the answer in it: what it did before must bear being done twice.

    ``question`` defaults to the metadata's ``description``. ``options`` are those of any question
    (:class:`handraise.Options`), but for ``idempotency_key``. ``response_type`` is ``form`` unless you give choices or
    say otherwise. In ``resume`` you may set ``callback_url``, ``session_id`` and ``payload_schema``.

    Never returns. Raises :class:`SuspensionInUnsupportedContext` outside a node body, and
    :class:`SuspensionPersistenceFailed` if nothing could be stored. Raises ``TypeError`` or ``ValueError`` for an
    argument that can't be one. Catch these if you like, with ``except Exception``; never use a bare ``except``.
    """
    gate = _open_gate()
    if not isinstance(descriptor, SignalDescriptor):
        raise TypeError("descriptor is a SignalDescriptor")
    check_options(options)
    await gate.body.admit()
    gate = _open_gate()  # meanwhile the body may have ended without this task of it
    asked = question or descriptor.description() or f"Signal {descriptor.signal_id}"
    pausing = gate.body.pause(descriptor, mark_node_completed=mark_node_completed, question=asked, options=options)
    raise InvocationPaused(await gate.store(pausing))


def current_invocation_id() -> str:
    """The id of the invocation whose node body calls this: the same however often it is suspended and resumed.

    With the node's name it makes a key for what must happen once. Raises :class:`SuspensionInUnsupportedContext`
    outside a node body.
    """
    return _inside_a_body().body.invocation_id


async def run_body(body: RunningBody, call: Callable[[], Awaitable[Result]]) -> Result:
    """What ``call()`` returns, with ``suspend()`` allowed inside it. For whoever runs node bodies.

    Raises :class:`InvocationPaused` if it has suspended, and else what it raises. Wrap the node's own function and
    nothing around it, so that middleware stays outside.
    """
    gate = _Gate(body)
    token = _GATE.set(gate)
    try:
        result = await call()
    except BaseException as raised:
        gate.is_over = True
        await gate.settle()
        if gate.paused is None or _ends_the_run(raised):
            raise
    else:
        gate.is_over = True
        await gate.settle()
        if gate.paused is None:
            return result
    finally:
        gate.is_over = True
        _GATE.reset(token)
    raise InvocationPaused(gate.paused)


def _ends_the_run(raised: BaseException) -> bool:
    """Whether the whole run is being ended, and not only the body's exception misused."""
    if isinstance(raised, KeyboardInterrupt | SystemExit):
        return True
    task = asyncio.current_task()
    return isinstance(raised, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _inside_a_body() -> _Gate:
    gate = _GATE.get()
    if gate is None:
        raise SuspensionInUnsupportedContext("suspend() belongs in a node body, and none is running here.")
    if gate.is_over:
        raise SuspensionInUnsupportedContext("The node body that this belongs to has ended.")
    return gate


def _open_gate() -> _Gate:
    gate = _inside_a_body()
    if gate.is_used:
        raise SuspensionInUnsupportedContext("This run of the node body has called suspend() already.")
    return gate


def check_options(options: Options) -> None:
    """Raises ``ValueError``, naming it, for an option that the author must not give."""
    if options.get("idempotency_key") is not None:
        raise ValueError("idempotency_key: suspend() makes its own, of the invocation and the node")
    resume = options.get("resume")
    given = {} if resume is None else dict(resume)
    for name in _SET_BY_SUSPEND:
        if given.get(name) is not None:
            raise ValueError(f"resume.{name} is set by suspend() itself")
