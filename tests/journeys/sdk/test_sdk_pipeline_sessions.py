"""Sessions of a pipeline (OpenArmature suspension §8.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from handraise import (
    Handraise,
    MemorySessionStore,
    Pipeline,
    SessionLoadFailed,
    SessionSaveFailed,
    SuspensionPersistenceFailed,
)

from tests.journeys.sdk.pipelines import Nodes, Order, alice, nothing_is_open, people, suspended

__all__ = ["alice", "people"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


class FailingStore(MemorySessionStore):
    """Fails as long as it is told to."""

    failure: Exception | None = None

    async def load(self, session_id: str) -> Mapping[str, Any] | None:
        if self.failure is not None:
            raise self.failure
        return await super().load(session_id)

    async def save(self, session_id: str, state: Mapping[str, Any]) -> None:
        if self.failure is not None:
            raise self.failure
        await super().save(session_id, state)


async def test_a_session_is_saved_when_it_suspends_and_when_it_completes(people: Handraise, alice: Handraise) -> None:
    store = MemorySessionStore()
    pipeline = Pipeline(Order, Nodes("session-1").all, people, sessions=store)
    outcome = suspended(await pipeline.invoke(session_id="s-1"))
    assert await store.load("s-1") == outcome.state.model_dump()
    await alice.signal("session-1", {"approved": True})
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert await store.load("s-1") == completed.state.model_dump()
    again = suspended(await pipeline.invoke({"approved": None}, session_id="s-1"))
    assert again.state == Order(sent=True, notes=["drafted", "drafted"])


async def test_without_a_session_the_store_is_left_alone(people: Handraise) -> None:
    store = FailingStore()
    store.failure = AssertionError("touched")
    completed = await Pipeline(Order, Nodes("session-2").all[:1], people, sessions=store).invoke()
    assert completed.outcome == "completed"


async def test_a_session_that_can_t_be_saved_opens_no_question(people: Handraise, alice: Handraise) -> None:
    store = FailingStore()
    nodes = Nodes("session-3")

    async def broken(state: Order) -> None:
        store.failure = OSError("No space.")

    pipeline = Pipeline(Order, [broken, *nodes.all], people, sessions=store)
    with pytest.raises(SuspensionPersistenceFailed):
        await pipeline.invoke(session_id="s-3", invocation_id="session-3")
    assert await nothing_is_open(people, "session-3")


async def test_a_session_that_can_t_be_loaded_runs_nothing(people: Handraise) -> None:
    store, nodes = FailingStore(), Nodes("session-4")
    store.failure = OSError("No disk.")
    pipeline = Pipeline(Order, nodes.all, people, sessions=store)
    with pytest.raises(SessionLoadFailed) as failed:
        await pipeline.invoke(session_id="s-4")
    assert (failed.value.category, nodes.ran) == ("session_load_failed", [])
    store.failure = None
    await store.save("s-4", {"tries": "many"})
    with pytest.raises(SessionLoadFailed, match="tries"):
        await pipeline.invoke(session_id="s-4")


async def test_a_session_that_can_t_be_saved_at_the_end_leaves_the_invocation_to_be_resumed(
    people: Handraise, alice: Handraise
) -> None:
    store = FailingStore()
    pipeline = Pipeline(Order, Nodes("session-5").all, people, sessions=store)
    outcome = suspended(await pipeline.invoke(session_id="s-5"))
    await alice.signal("session-5", {"approved": True})
    store.failure = OSError("No space.")
    with pytest.raises(SessionSaveFailed) as failed:
        await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert failed.value.category == "session_save_failed"
    store.failure = None
    assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).state.sent
