"""A paused invocation goes on once: callbacks, several processes at once, and one that has died or failed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from handraise import (
    Handraise,
    Outcome,
    Pipeline,
    ResumeReceiver,
    SignalDescriptor,
    SuspendedOutcome,
    SuspensionRecordInvalid,
    Turn,
    suspend,
    verify_callback,
)
from handraise.suspension import invocation_lease

from tests.journeys.sdk.pipelines import Nodes, Order, alice, people, refusal, suspended
from tests.patience import PATIENCE
from tests.world import WEBHOOK_SECRET, World

__all__ = ["alice", "people"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Receiver:
    """A :class:`handraise.ResumeReceiver` on loopback whose handler resumes, and its replies."""

    def __init__(self, room: World, pipeline: Pipeline[Order]) -> None:
        self.outcomes: list[Outcome[Order]] = []
        self._pipeline = pipeline
        self.app = ResumeReceiver(WEBHOOK_SECRET, self._go_on, now=room.clock.now)

    async def _go_on(self, turn: Turn[None]) -> None:
        self.outcomes.append(await self._pipeline.resume(turn.resumed))

    async def told(self, room: World, outcome: SuspendedOutcome[Order]) -> int:
        """The status that it answers to the callback of this suspension, sent again by hand."""
        [told, *_] = room.agent.told_of({"suspension_id": outcome.suspended.suspension_id})
        return (await self.app.receive(told.headers, told.body)).status


def calling_back(room: World) -> Any:
    return {"resume": {"callback_url": room.agent.url}}


async def test_a_callback_goes_on_with_its_invocation_once(room: World, people: Handraise, alice: Handraise) -> None:
    nodes = Nodes("callback-1", mark_node_completed=False, **calling_back(room))
    receiver = Receiver(room, Pipeline(Order, nodes.all, people))
    outcome = suspended(await Pipeline(Order, nodes.all, people).invoke())
    await alice.signal("callback-1", {"approved": True})
    await room.settle()
    assert [await receiver.told(room, outcome) for _ in range(2)] == [204, 204]
    another_process = Receiver(room, Pipeline(Order, nodes.all, people))
    assert await another_process.told(room, outcome) == 204  # it has gone on already
    assert [one.outcome for one in receiver.outcomes + another_process.outcomes] == ["completed"]
    assert nodes.ran == ["draft", "gate", "gate", "send"]


async def test_a_callback_of_an_earlier_question_is_done_and_moves_nothing(
    room: World, people: Handraise, alice: Handraise
) -> None:
    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("callback-2"), False, **calling_back(room))

    pipeline = Pipeline(Order, [gate], people)
    receiver = Receiver(room, pipeline)
    first = suspended(await pipeline.invoke())
    await alice.signal("callback-2", {"tries": 1})
    await room.settle()
    assert await receiver.told(room, first) == 204
    [second] = [suspended(one) for one in receiver.outcomes]
    await alice.signal("callback-2", {"tries": 2})
    another_process = Receiver(room, pipeline)
    assert await another_process.told(room, first) == 204
    assert another_process.outcomes == []
    with pytest.raises(SuspensionRecordInvalid) as refused:
        [told] = room.agent.told_of({"suspension_id": first.suspended.suspension_id})
        await pipeline.resume(verify_callback(told.headers, told.body, WEBHOOK_SECRET, now=room.clock.now()))
    assert refused.value.reason == "resumed"
    await room.settle()
    assert await another_process.told(room, second) == 204


async def test_while_another_process_goes_on_the_callback_is_to_come_again(
    room: World, people: Handraise, alice: Handraise
) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("callback-3"), **calling_back(room))

    async def send(state: Order) -> None:
        began.set()
        await go_on.wait()

    pipeline = Pipeline(Order, [gate, send], people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("callback-3", {})
    await room.settle()
    running = asyncio.create_task(Receiver(room, pipeline).told(room, outcome))
    await began.wait()
    another_process = Receiver(room, pipeline)
    assert await another_process.told(room, outcome) == 503
    go_on.set()
    assert await running == 204
    assert await another_process.told(room, outcome) == 204


async def test_a_process_that_died_keeps_its_invocation_for_a_minute(
    room: World, people: Handraise, alice: Handraise
) -> None:
    nodes = Nodes("callback-4", **calling_back(room))
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke(invocation_id="callback-4"))
    await alice.signal("callback-4", {"approved": True})
    await room.settle()
    scope = {"scope": "invocation:callback-4", "duration_seconds": 60}  # as the process has taken it
    leases = f"/v1/intents/{outcome.suspended.intent_id}/leases"
    assert (await room.call("POST", leases, json=scope)).is_success
    receiver = Receiver(room, pipeline)
    assert await receiver.told(room, outcome) == 503
    await room.advance(seconds=60)
    assert await receiver.told(room, outcome) == 204
    assert nodes.ran == ["draft", "gate", "send"]


async def test_a_callback_of_a_question_that_was_taken_back_ends_the_invocation(room: World, people: Handraise) -> None:
    nodes = Nodes("callback-5", **calling_back(room))
    receiver = Receiver(room, Pipeline(Order, nodes.all, people))
    outcome = suspended(await Pipeline(Order, nodes.all, people).invoke())
    await people.cancel(outcome.suspended.suspension_id)
    await room.settle()
    assert await receiver.told(room, outcome) == 204
    assert [one.outcome for one in receiver.outcomes] == ["cancelled"]
    assert nodes.ran == ["draft", "gate"]


async def test_a_callback_of_no_invocation_is_a_failure(room: World, people: Handraise) -> None:
    receiver = Receiver(room, Pipeline(Order, Nodes("callback-6").all, people))
    asked = await room.ask()
    await room.answer(asked, "approve")
    await room.settle()
    [told] = room.agent.told_of(asked)
    assert (await receiver.app.receive(told.headers, told.body)).status == 500


async def renewal() -> None:
    """Return when the lease of the run is given up for lost."""
    [renewing] = [task for task in asyncio.all_tasks() if "Renewal._run" in repr(task.get_coro())]
    done, _ = await asyncio.wait({renewing}, timeout=PATIENCE)
    assert done


@pytest.mark.parametrize("then", ["another node", "another question"])
async def test_a_run_whose_lease_is_taken_away_goes_no_further(
    people: Handraise, alice: Handraise, room: World, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    monkeypatch.setattr(invocation_lease, "DURATION", timedelta(seconds=1))
    ran: list[str] = []

    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor(f"lost {then}"))

    async def slow(state: Order) -> None:
        [lease, *_] = (await room.call("GET", leases)).json()["leases"]
        assert (await room.call("DELETE", f"{leases}/{lease['id']}")).is_success
        await renewal()
        ran.append("slow")
        if then == "another question":
            await suspend(SignalDescriptor(f"lost {then}"))

    async def send(state: Order) -> None:
        ran.append("send")

    pipeline = Pipeline(Order, [gate, slow, send], people)
    outcome = suspended(await pipeline.invoke())
    leases = f"/v1/intents/{outcome.suspended.intent_id}/leases"
    await alice.signal(f"lost {then}", {})
    assert await refusal(pipeline.invoke(resume_invocation=outcome.invocation_id)) == "running"
    assert ran == ["slow"]
    assert len([one async for one in people.list(invocation_id=outcome.invocation_id)]) == 1


async def test_a_lease_is_renewed_while_the_nodes_run(
    people: Handraise, alice: Handraise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocation_lease, "DURATION", timedelta(seconds=1))

    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("renewed-1"))

    async def slow(state: Order) -> None:
        while "lease_renewed" not in [one.event_type for one in await people.events(outcome.suspended.intent_id)]:
            await asyncio.sleep(0.01)

    pipeline = Pipeline(Order, [gate, slow], people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("renewed-1", {})
    async with asyncio.timeout(PATIENCE):
        assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).outcome == "completed"


async def test_two_at_once_go_on_once(people: Handraise, alice: Handraise) -> None:
    began, go_on, ran = asyncio.Event(), asyncio.Event(), []

    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("twice-1"))

    async def send(state: Order) -> dict[str, Any]:
        ran.append("send")
        began.set()
        await go_on.wait()
        return {"sent": True}

    pipeline = Pipeline(Order, [gate, send], people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("twice-1", {})
    running = asyncio.create_task(pipeline.invoke(resume_invocation=outcome.invocation_id))
    await began.wait()
    assert (
        await refusal(Pipeline(Order, [gate, send], people).invoke(resume_invocation=outcome.invocation_id))
        == "running"
    )
    go_on.set()
    assert (await running).state.sent
    assert await refusal(pipeline.invoke(resume_invocation=outcome.invocation_id)) == "resumed"
    assert ran == ["send"]


async def test_a_run_that_fails_after_its_resume_may_be_resumed_again(people: Handraise, alice: Handraise) -> None:
    ran = []

    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("fails-1"))

    async def send(state: Order) -> dict[str, Any]:
        ran.append("send")
        if len(ran) == 1:
            raise ConnectionError("No mail today.")
        return {"sent": True}

    pipeline = Pipeline(Order, [gate, send], people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("fails-1", {})
    with pytest.raises(ConnectionError):
        await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).state.sent
    assert ran == ["send", "send"]
