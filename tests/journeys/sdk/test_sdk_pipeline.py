"""A pipeline that stops at a person's decision, against the service itself (OpenArmature suspension §3, §4)."""

from __future__ import annotations

from typing import Any

import pytest
from handraise import (
    CompletedOutcome,
    Handraise,
    Pipeline,
    RequestRefused,
    SignalDescriptor,
    SuspensionPersistenceFailed,
    suspend,
)
from pydantic import BaseModel

from tests.journeys.sdk.pipelines import Nodes, Order, alice, asked_by, nothing_is_open, people, refusal, suspended
from tests.world import KEYS, World

__all__ = ["alice", "people"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_run_stops_at_its_gate_and_another_pipeline_goes_on_behind_it(
    people: Handraise, alice: Handraise
) -> None:
    nodes = Nodes("refund-1", {"kind": "approval", "description": "Refund order 12345?"})
    outcome = suspended(await Pipeline(Order, nodes.all, people).invoke({"order": "7"}, correlation_id="corr-7"))
    assert nodes.ran == ["draft", "gate"]
    assert (outcome.state, outcome.node_name, outcome.namespace) == (
        Order(order="7", notes=["drafted"]),
        "gate",
        ("gate",),
    )
    assert outcome.descriptor == SignalDescriptor(
        "refund-1", {"kind": "approval", "description": "Refund order 12345?"}
    )
    record = await asked_by(people, outcome)
    assert (record.question, record.response_type, record.signal_id) == ("Refund order 12345?", "form", "refund-1")
    assert (record.invocation_id, record.correlation_id) == (outcome.invocation_id, "corr-7")

    await alice.signal("refund-1", {"approved": True})
    later = Nodes("refund-1")
    completed = await Pipeline(Order, later.all, people).invoke(resume_invocation=outcome.invocation_id)
    assert completed == CompletedOutcome(
        outcome.invocation_id, "corr-7", Order(order="7", approved=True, sent=True, notes=["drafted"])
    )
    assert later.ran == ["send"]
    assert nodes.ids | later.ids == {outcome.invocation_id}
    assert (await people.intent(record.intent_id)).status == "completed"
    assert (
        await refusal(Pipeline(Order, later.all, people).invoke(resume_invocation=outcome.invocation_id)) == "resumed"
    )
    assert later.ran == ["send"]


async def test_a_node_that_is_not_marked_completed_runs_again_with_the_answer(
    people: Handraise, alice: Handraise
) -> None:
    nodes = Nodes("again-1", mark_node_completed=False)
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("again-1", {"approved": True})
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert nodes.ran == ["draft", "gate", "gate", "send"]
    assert completed.state == Order(approved=True, sent=True, notes=["drafted", "decided"])


async def test_one_node_may_suspend_again_and_again(people: Handraise, alice: Handraise) -> None:
    async def gate(state: Order) -> dict[str, Any]:
        if not state.approved:
            await suspend(SignalDescriptor("loop-1"), False, question=f"Try {state.tries}?")
        return {"notes": ["done"]}

    pipeline = Pipeline(Order, [gate], people)
    outcome = suspended(await pipeline.invoke())
    seen = [(outcome.suspended.intent_id, outcome.suspended.suspension.question)]
    for tries in range(1, 6):  # all of the same instant, which is the hard case
        await alice.signal("loop-1", {"approved": False, "tries": tries})
        outcome = suspended(await pipeline.invoke(resume_invocation=outcome.invocation_id))
        seen.append((outcome.suspended.intent_id, outcome.suspended.suspension.question))
    intent_id = outcome.suspended.intent_id
    assert seen == [(intent_id, f"Try {tries}?") for tries in range(6)]
    await alice.signal("loop-1", {"approved": True})
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert (completed.outcome, completed.state.notes) == ("completed", ["done"])
    assert [one.resolution async for one in people.list(invocation_id=outcome.invocation_id)] == ["responded"] * 6


async def test_an_entry_node_may_suspend(people: Handraise, alice: Handraise) -> None:
    async def gate(state: Order) -> None:
        await suspend(SignalDescriptor("entry-1"))

    async def send(state: Order) -> Order:
        return state.model_copy(update={"sent": True})

    pipeline = Pipeline(Order, [gate, send], people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("entry-1", {})
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert completed.state == Order(sent=True)


async def test_what_a_node_does_to_its_copy_is_not_stored(people: Handraise) -> None:
    async def gate(state: Order) -> None:
        state.notes.append("half done")
        await suspend(SignalDescriptor("copy-1"))

    outcome = suspended(await Pipeline(Order, [gate], people).invoke())
    record = await asked_by(people, outcome)
    assert (outcome.state.notes, record.resume.state["state"]["notes"]) == ([], [])


async def test_the_same_invocation_asked_again_is_the_same_question(people: Handraise, alice: Handraise) -> None:
    """As if the process had died before it could say so."""
    first, second = [
        suspended(await Pipeline(Order, Nodes("same-1").all, people).invoke(invocation_id="same", correlation_id="c"))
        for _ in range(2)
    ]
    assert first.suspended.suspension_id == second.suspended.suspension_id
    assert len([one async for one in people.list(invocation_id="same")]) == 1
    await alice.signal("same-1", {"approved": True})
    assert await refusal(Pipeline(Order, Nodes("same-1").all, people).invoke(invocation_id="same")) == "used"
    completed = await Pipeline(Order, Nodes("same-1").all, people).invoke(resume_invocation="same")
    assert completed.state.sent


async def test_an_intent_that_was_given_is_suspended_and_left_to_its_owner(people: Handraise, alice: Handraise) -> None:
    intent = await people.create_intent("Refunds of today", state={"ours": 1})
    nodes = Nodes("given-1", intent_id=intent.id)
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke(invocation_id="a/b~c"))
    assert outcome.suspended.intent_id == intent.id
    await alice.signal("given-1", {"approved": True})
    assert (await pipeline.invoke(resume_invocation="a/b~c")).outcome == "completed"
    after = await people.intent(intent.id)
    assert (after.status, after.state["ours"]) == ("active", 1)
    assert await refusal(pipeline.invoke(resume_invocation="a/b~c")) == "resumed"
    assert nodes.ran == ["draft", "gate", "send"]


async def test_the_defaults_of_a_pipeline_are_those_of_each_question(people: Handraise, room: World) -> None:
    asking: Any = {"responders": ["group:finance"], "choices": ["yes"], "resume": {"callback_url": room.agent.url}}
    pipeline = Pipeline(Order, Nodes("asking-1").all, people, asking=asking)
    record = await asked_by(people, suspended(await pipeline.invoke(session_id="sess-9")))
    assert (record.response_type, record.responders) == ("choice", ("group:finance",))
    assert (record.resume.callback_url, record.resume.session_id) == (room.agent.url, "sess-9")
    own = Pipeline(
        Order, Nodes("asking-2", response_type="text", responders=["bob@example.com"]).all, people, asking=asking
    )
    record = await asked_by(people, suspended(await own.invoke()))
    assert (record.response_type, record.choices, record.responders) == ("text", (), ("bob@example.com",))


async def test_metadata_may_be_a_model_and_comes_back(people: Handraise, room: World) -> None:
    class Kind(BaseModel):
        kind: str
        tags: list[str] = ["ä", "☂"]

    asking: Any = {"resume": {"callback_url": room.agent.url}}
    outcome = suspended(
        await Pipeline(Order, Nodes("meta-1", Kind(kind="approval")).all, people, asking=asking).invoke()
    )
    await people.cancel(outcome.suspended.suspension_id)
    told = await room.told({"suspension_id": outcome.suspended.suspension_id})
    assert told["data"]["signal_metadata"] == {"kind": "approval", "tags": ["ä", "☂"]}
    assert outcome.descriptor.metadata == Kind(kind="approval")


async def test_a_suspended_run_ends_as_one_that_was_never_suspended(people: Handraise, alice: Handraise) -> None:
    answer = {"approved": True, "tries": 3, "notes": ["by Alice"]}

    async def decided(state: Order) -> dict[str, Any]:
        return answer

    draft, gate, send = Nodes("same-end-1").all
    straight = await Pipeline(Order, [draft, decided, send], people).invoke({"order": "ä"})
    stopping = Pipeline(Order, [draft, gate, send], people)
    outcome = suspended(await stopping.invoke({"order": "ä"}))
    await alice.signal("same-end-1", answer)
    assert (await stopping.invoke(resume_invocation=outcome.invocation_id)).state == straight.state


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"responders": ["somebody@elsewhere.example"]}, "recipient_not_allowed"),
        ({"resume": {"callback_url": "ftp://agent.example"}}, "callback_not_allowed"),
        ({"intent_id": "nobody's"}, "not_found"),
    ],
)
async def test_a_question_that_the_server_refuses_is_a_failure_that_the_node_may_catch(
    people: Handraise, options: dict[str, Any], code: str
) -> None:
    caught = []

    async def gate(state: Order) -> dict[str, Any]:
        try:
            await suspend(SignalDescriptor("refused-1"), **options)
        except SuspensionPersistenceFailed as failed:
            caught.append(
                (failed.category, failed.__cause__.code if isinstance(failed.__cause__, RequestRefused) else None)
            )
            return {"notes": ["went on without"]}

    completed = await Pipeline(Order, [gate], people).invoke(invocation_id=f"refused-{code}")
    assert caught == [("suspension_persistence_failed", code)]
    assert (completed.outcome, completed.state.notes) == ("completed", ["went on without"])
    assert await nothing_is_open(people, f"refused-{code}")


async def test_a_failure_that_the_node_does_not_catch_ends_the_run(people: Handraise) -> None:
    nodes = Nodes("refused-2", responders=["somebody@elsewhere.example"])
    with pytest.raises(SuspensionPersistenceFailed):
        await Pipeline(Order, nodes.all, people).invoke(invocation_id="refused-2")
    assert nodes.ran == ["draft", "gate"]
    assert await nothing_is_open(people, "refused-2")


async def test_a_signal_id_that_is_in_use_stores_nothing(people: Handraise) -> None:
    await Pipeline(Order, Nodes("taken-1").all, people).invoke()
    with pytest.raises(SuspensionPersistenceFailed, match="signal_id_in_use"):
        await Pipeline(Order, Nodes("taken-1").all, people).invoke(invocation_id="taken-2")
    assert await nothing_is_open(people, "taken-2")


async def test_a_state_that_is_too_large_stores_nothing(people: Handraise) -> None:
    with pytest.raises(SuspensionPersistenceFailed):
        await Pipeline(Order, Nodes("large-1").all, people).invoke({"notes": ["x" * 600_000]}, invocation_id="large")
    assert await nothing_is_open(people, "large")


async def test_a_server_that_is_away_stores_nothing() -> None:
    async with Handraise("http://127.0.0.1:9", KEYS["agent"], patience_seconds=0) as nobody:
        with pytest.raises(SuspensionPersistenceFailed, match="ServerUnavailable"):
            await Pipeline(Order, Nodes("away-1").all, nobody).invoke()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"initial_state": {"tries": "a secret"}}, "tries"),
        ({"invocation_id": ""}, "invocation_id"),
        ({"session_id": "x" * 256}, "session_id"),
        ({"signal_payload": {}}, "signal_payload"),
    ],
)
async def test_an_argument_that_can_t_be_one_is_refused_by_name(
    people: Handraise, arguments: dict[str, Any], named: str
) -> None:
    nodes = Nodes("arguments-1")
    with pytest.raises(ValueError, match=named) as refused:
        await Pipeline(Order, nodes.all, people).invoke(**arguments)
    assert (nodes.ran, "a secret" in str(refused.value)) == ([], False)


async def test_a_resume_takes_its_ids_from_the_record(people: Handraise, alice: Handraise) -> None:
    nodes = Nodes("ids-1")
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke(session_id="s-ids"))
    await alice.signal("ids-1", {"approved": True})
    for other in ({"session_id": "another"}, {"correlation_id": "another"}, {"invocation_id": "another"}):
        with pytest.raises(ValueError, match=next(iter(other))):
            await pipeline.invoke(resume_invocation=outcome.invocation_id, **other)
    same = {"session_id": "s-ids", "correlation_id": outcome.correlation_id, "initial_state": Order(order="another")}
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id, **same)
    assert (completed.outcome, completed.state.order) == ("completed", "12345")


@pytest.mark.parametrize("changed", [{"unknown": 1}, {"tries": "many"}, "text", 5])
async def test_what_a_node_can_t_return_ends_the_run(people: Handraise, changed: Any) -> None:
    async def wrong(state: Order) -> Any:
        return changed

    with pytest.raises((TypeError, ValueError), match="wrong"):
        await Pipeline(Order, [wrong], people).invoke()


async def test_nodes_are_async_functions_with_names_of_their_own() -> None:
    people = Handraise("http://127.0.0.1:9", "key")
    nodes = Nodes("names").all
    for wrong in ([], [*nodes, nodes[0]], [lambda state: state], [print]):
        with pytest.raises((TypeError, ValueError)):
            Pipeline(Order, wrong, people)
    with pytest.raises(TypeError):
        Pipeline(dict, nodes, people)
    with pytest.raises(ValueError, match=r"resume\.state"):
        Pipeline(Order, nodes, people, asking={"resume": {"state": {}}})
