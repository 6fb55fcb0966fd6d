"""What a server that falls silent leaves of a suspension: nothing, or what the next try finds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from handraise import Handraise, Pipeline, SignalDescriptor, SuspensionPersistenceFailed, suspend
from pydantic import BaseModel

from sdk.tests.pretend_server import KEY, PretendServer


@pytest.fixture
async def server() -> AsyncIterator[PretendServer]:
    server = PretendServer()
    await server.start()
    yield server
    await server.stop()


class Order(BaseModel):
    sent: bool = False


async def gate(state: Order) -> None:
    """Tries twice."""
    try:
        await suspend(SignalDescriptor("refund-1"))
    except SuspensionPersistenceFailed:
        await suspend(SignalDescriptor("refund-1"))


@pytest.mark.parametrize("fault", ["cut", "lose"])
async def test_a_question_whose_reply_was_lost_is_found_by_the_next_try(server: PretendServer, fault: str) -> None:
    server.faults.append(fault)
    async with Handraise(server.url, KEY, patience_seconds=0) as people:
        outcome = await Pipeline(Order, [gate], people).invoke()
    assert outcome.outcome == "suspended"
    assert [one.method for one in server.seen] == ["POST", "POST"]
    assert list(server.records) == [outcome.suspended.suspension_id]


async def test_while_the_client_is_patient_the_node_notices_nothing(server: PretendServer) -> None:
    server.faults.extend(["cut", (503, b""), "lose"])
    async with Handraise(server.url, KEY) as people:
        outcome = await Pipeline(Order, [gate], people).invoke()
    assert list(server.records) == [outcome.suspended.suspension_id]
