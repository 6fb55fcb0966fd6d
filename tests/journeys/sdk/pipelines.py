"""Pipelines in stories: three nodes, of which the second stops at a person's decision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from handraise import (
    Handraise,
    Outcome,
    SignalDescriptor,
    SuspendedOutcome,
    SuspensionRecordInvalid,
    current_invocation_id,
    suspend,
)
from pydantic import BaseModel

from tests.world import KEYS, World


class Order(BaseModel):
    order: str = "12345"
    approved: bool | None = None
    tries: int = 0
    sent: bool = False
    notes: list[str] = []


@pytest_asyncio.fixture(loop_scope="module")
async def people(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["agent"]) as people:
        yield people


@pytest_asyncio.fixture(loop_scope="module")
async def alice(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["operator"]) as alice:
        yield alice


class Nodes:
    """Three nodes, and which of them have run."""

    def __init__(self, signal_id: str, metadata: Any = None, mark_node_completed: bool = True, **options: Any) -> None:
        self.ran: list[str] = []
        self.ids: set[str] = set()

        async def draft(state: Order) -> dict[str, Any]:
            self._note("draft")
            return {"notes": [*state.notes, "drafted"]}

        async def gate(state: Order) -> dict[str, Any]:
            self._note("gate")
            if state.approved is None or mark_node_completed:
                await suspend(SignalDescriptor(signal_id, metadata), mark_node_completed, **options)
            return {"notes": [*state.notes, "decided"]}

        async def send(state: Order) -> dict[str, Any]:
            self._note("send")
            return {"sent": bool(state.approved)}

        self.all = [draft, gate, send]

    def _note(self, name: str) -> None:
        self.ran.append(name)
        self.ids.add(current_invocation_id())


def suspended(outcome: Outcome[Order]) -> SuspendedOutcome[Order]:
    assert isinstance(outcome, SuspendedOutcome), outcome
    return outcome


async def refusal(resuming: Any) -> str:
    with pytest.raises(SuspensionRecordInvalid) as refused:
        await resuming
    assert refused.value.category == "suspension_record_invalid"
    return refused.value.reason


async def asked_by(people: Handraise, outcome: SuspendedOutcome[Order]) -> Any:
    return await people.get(outcome.suspended.suspension_id)


async def nothing_is_open(people: Handraise, invocation_id: str) -> bool:
    return [one async for one in people.list(invocation_id=invocation_id)] == []
