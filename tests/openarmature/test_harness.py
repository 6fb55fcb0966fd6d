"""The harness over graphs of the published engine: a signal finds its graph, and the engine hides no category."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from handraise import Handraise, Harness, HarnessMode, MemorySessionStore, SignalCoordinator, Transmission
from handraise.harness import ErrorResponse
from handraise.openarmature import GraphRunner
from openarmature.graph import END, GraphBuilder
from openarmature.llm import ProviderUnavailable

from tests.openarmature.agent import Refund, line
from tests.openarmature.office import OPERATOR, Office

NOBODY = "http://127.0.0.1:9/resume"
"""Where callbacks go here; a signal is enough."""


@pytest.fixture
async def agent(place: Office) -> AsyncIterator[Handraise]:
    async with place.people() as agent:
        yield agent


@pytest.fixture
async def signals(place: Office) -> AsyncIterator[Handraise]:
    async with place.people(OPERATOR) as signals:
        yield signals


def signalled(transmission: Transmission) -> dict[str, Any]:
    return {"signal": transmission.payload["order"]}


async def test_a_signal_finds_the_graph_that_waits_for_it_and_is_taken_once(
    agent: Handraise, signals: Handraise
) -> None:
    sessions = MemorySessionStore()
    runner = GraphRunner(line(), agent, sessions=sessions, asking={"resume": {"callback_url": NOBODY}})
    harness = Harness(runner, HarnessMode.SESSIONED, SignalCoordinator(agent, signals), initial_state=signalled)
    told = await harness.receive(Transmission({"session_id": "talk-7", "order": "harness"}))
    assert (told.shape, told.payload()["signal_id"]) == ("suspended_acknowledgment", "harness-1")
    signal = Transmission({"signal_id": "harness-1"}, "signal_resume", {"approved": True})
    reply = await harness.receive(signal)
    assert (reply.shape, reply.payload()["log"]) == ("completion_response", ["draft", "send"])
    assert await sessions.load("talk-7") == reply.payload()
    assert (await harness.receive(signal)).shape == "resumed_acknowledgment"


@pytest.mark.parametrize(
    ("failure", "category", "bucket"),
    [
        (ProviderUnavailable("away"), "provider_unavailable", "retryable_transient"),
        (ValueError("hunter2"), "node_exception", "session_terminating"),
    ],
)
async def test_what_a_node_raises_keeps_its_category_within_the_engines(
    agent: Handraise, signals: Handraise, failure: Exception, category: str, bucket: str
) -> None:
    async def node(_: Refund) -> dict[str, Any]:
        raise failure

    graph = GraphBuilder(Refund).add_node("node", node).set_entry("node").add_edge("node", END).compile()
    coordinator = SignalCoordinator(agent, signals)
    harness = Harness(GraphRunner(graph, agent), HarnessMode.STATELESS, coordinator, initial_state=lambda _: {})
    reply = await harness.receive(Transmission({}))
    assert isinstance(reply, ErrorResponse)
    assert (reply.path, reply.payload()["category"], reply.payload()["bucket"]) == ("3.0", category, bucket)
    assert "hunter2" not in str(reply.payload())
