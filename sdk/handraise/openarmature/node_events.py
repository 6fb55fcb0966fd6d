"""Observers' events of a suspension. The engine has no such event; this one goes through its own queue.

Source: OpenArmature suspension §3, step 3; graph-engine §6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from openarmature.observability import (
    current_attempt_index,
    current_correlation_id,
    current_dispatch,
    current_fan_out_index,
    current_invocation_id,
)
from openarmature.observability.correlation import current_branch_name
from pydantic import BaseModel

from handraise.suspension import SignalDescriptor


@dataclass(frozen=True)
class SuspendedEvent:
    """A node has suspended: it had a ``started`` event and will have no ``completed`` one.

    A fan-out and parallel branches that suspend with one of their instances have an event of their own, after that of
    the node inside. ``is_last`` marks the last one: that of the node which the outcome names. Every observer gets the
    event, whatever phases it has asked for: the engine knows no such phase.
    """

    node_name: str
    namespace: tuple[str, ...]
    descriptor: SignalDescriptor
    pre_state: BaseModel = field(repr=False)
    invocation_id: str | None
    correlation_id: str | None
    attempt_index: int
    fan_out_index: int | None
    branch_name: str | None
    is_last: bool
    phase: Literal["suspended"] = "suspended"


def tell_suspended(
    node_name: str, namespace: tuple[str, ...], state: BaseModel, descriptor: SignalDescriptor, *, is_last: bool
) -> None:
    """Queue the event for the observers of the step that this is called in."""
    dispatch = current_dispatch()
    if dispatch is None:
        return
    event: Any = SuspendedEvent(  # none of the engine's own events, which is what the queue is declared to take
        node_name=node_name,
        namespace=namespace,
        descriptor=descriptor,
        pre_state=state,
        invocation_id=current_invocation_id(),
        correlation_id=current_correlation_id(),
        attempt_index=current_attempt_index(),
        fan_out_index=current_fan_out_index(),
        branch_name=current_branch_name(),
        is_last=is_last,
    )
    dispatch(event)
