"""Outcomes of a run: completed, suspended, or ended with its question; and the interface of runners.

A run that fails raises. Source: OpenArmature suspension §5, and §12 for what it leaves to the runtime: a question that
time or a cancellation has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import JsonValue

from handraise.records import Suspended
from handraise.suspension.descriptor import SignalDescriptor

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class CompletedOutcome(Generic[StateT]):
    """Every node has run. ``state`` is the final one."""

    invocation_id: str
    correlation_id: str
    state: StateT = field(repr=False)
    outcome: Literal["completed"] = "completed"


@dataclass(frozen=True, slots=True)
class SuspendedOutcome(Generic[StateT]):
    """The run waits for its signal, and the process may end.

    ``state`` is that at the suspension. ``node_name`` is the node that has suspended, as the graph that holds it
    directly calls it. ``namespace`` is the path of node names from the outermost graph to it. ``suspended`` is what the
    server has stored: its ``ref``, ``suspension_id``, ``expires_at`` and ladder.
    """

    invocation_id: str
    correlation_id: str
    state: StateT = field(repr=False)
    descriptor: SignalDescriptor = field(repr=False)
    node_name: str
    namespace: tuple[str, ...]
    suspended: Suspended = field(repr=False)
    outcome: Literal["suspended"] = "suspended"


@dataclass(frozen=True, slots=True)
class ExpiredOutcome(Generic[StateT]):
    """Nobody answered in time and the policy was to fail: no further node has run, and nobody has decided anything.

    ``reason`` is the server's code: ``input_timeout``, ``notice_undelivered`` or ``portfolio_deadline_exceeded``.
    ``state`` is that at the suspension. If the policy had a fallback value, the run goes on with that instead.
    """

    invocation_id: str
    correlation_id: str
    state: StateT = field(repr=False)
    descriptor: SignalDescriptor = field(repr=False)
    node_name: str
    namespace: tuple[str, ...]
    reason: str
    outcome: Literal["expired"] = "expired"


@dataclass(frozen=True, slots=True)
class CancelledOutcome(Generic[StateT]):
    """The question was taken back: no further node has run. ``reason`` is the given one, or ``None``."""

    invocation_id: str
    correlation_id: str
    state: StateT = field(repr=False)
    descriptor: SignalDescriptor = field(repr=False)
    node_name: str
    namespace: tuple[str, ...]
    reason: str | None = field(repr=False)
    outcome: Literal["cancelled"] = "cancelled"


Outcome: TypeAlias = (
    CompletedOutcome[StateT] | SuspendedOutcome[StateT] | ExpiredOutcome[StateT] | CancelledOutcome[StateT]
)
"""Told apart by ``outcome``. The specification's third word, ``errored``, is an exception."""


class Runner(Protocol[StateT]):
    """What runs and resumes: a :class:`handraise.Pipeline`, or a graph of an engine."""

    async def invoke(
        self,
        initial_state: Mapping[str, JsonValue] | StateT | None = None,
        *,
        session_id: str | None = None,
        invocation_id: str | None = None,
        correlation_id: str | None = None,
        resume_invocation: str | None = None,
        signal_payload: JsonValue = None,
    ) -> Outcome[StateT]:
        """Run from the beginning, or go on with ``resume_invocation``.

        ``session_id`` names the session to load and save. ``invocation_id`` and ``correlation_id`` are made up if you
        give none, and stay the same over all suspensions. A resume takes them, the session and the state from the
        record; ``signal_payload`` may be left out, since the recorded answer is what counts.

        Raises whatever a node raises, and the errors of :mod:`handraise.suspension.errors`.
        """
        ...
