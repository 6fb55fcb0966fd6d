"""A pipeline that stops at a person's decision, against the service itself (OpenArmature suspension §3, §6, §7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from handraise import (
    CancelledOutcome,
    CompletedOutcome,
    ExpiredOutcome,
    Handraise,
    MemorySessionStore,
    Outcome,
    Pipeline,
    RequestRefused,
    ResumeReceiver,
    SessionLoadFailed,
    SessionSaveFailed,
    SignalDescriptor,
    SuspendedOutcome,
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
    SuspensionResumePayloadInvalid,
    Turn,
    current_invocation_id,
    suspend,
    verify_callback,
)
from handraise.suspension import invocation_lease
from pydantic import BaseModel, create_model

from tests.patience import PATIENCE
from tests.world import KEYS, WEBHOOK_SECRET, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


# --- Suspending -------------------------------------------------------------------------------------------------------


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


# --- From a callback --------------------------------------------------------------------------------------------------


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


# --- What can't be stored ---------------------------------------------------------------------------------------------


async def nothing_is_open(people: Handraise, invocation_id: str) -> bool:
    return [one async for one in people.list(invocation_id=invocation_id)] == []


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


# --- Resuming ---------------------------------------------------------------------------------------------------------


async def test_there_is_nothing_to_resume_before_an_answer_nor_under_an_unknown_id(people: Handraise) -> None:
    pipeline = Pipeline(Order, Nodes("early-1").all, people)
    outcome = suspended(await pipeline.invoke())
    assert await refusal(pipeline.invoke(resume_invocation=outcome.invocation_id)) == "open"
    assert await refusal(pipeline.invoke(resume_invocation="00000000-0000-4000-8000-000000000000")) == "unknown"
    completed = await Pipeline(Order, Nodes("early-2").all[:1], people).invoke()
    assert await refusal(pipeline.invoke(resume_invocation=completed.invocation_id)) == "unknown"


async def test_another_key_s_invocation_is_unknown_even_to_operators(
    people: Handraise, alice: Handraise, room: World
) -> None:
    pipeline = Pipeline(Order, Nodes("whose-1").all, people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("whose-1", {"approved": True})
    for role in ("other_agent", "admin"):
        async with Handraise(room.url, KEYS[role]) as other:
            theirs = Pipeline(Order, Nodes("whose-1").all, other)
            assert await refusal(theirs.invoke(resume_invocation=outcome.invocation_id)) == "unknown"


async def test_the_recorded_answer_counts_and_no_other(people: Handraise, alice: Handraise) -> None:
    nodes = Nodes("talk-1")
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("talk-1", {"approved": False})
    for said in ({"approved": True}, {"approved": 0}, {}, {"approved": False, "sent": True}):
        with pytest.raises(SuspensionResumePayloadInvalid) as refused:
            await pipeline.invoke(resume_invocation=outcome.invocation_id, signal_payload=said)
        assert refused.value.category == "suspension_resume_payload_invalid"
    assert nodes.ran == ["draft", "gate"]
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id, signal_payload={"approved": False})
    assert completed.state == Order(approved=False, notes=["drafted"])


async def test_an_answer_that_does_not_fit_the_state_is_refused_to_who_gives_it(
    people: Handraise, alice: Handraise
) -> None:
    pipeline = Pipeline(Order, Nodes("fit-1").all, people)
    outcome = suspended(await pipeline.invoke())
    with pytest.raises(RequestRefused) as refused:
        await alice.signal("fit-1", {"approved": "perhaps"})
    assert refused.value.code == "suspension_resume_payload_invalid"
    assert await refusal(pipeline.invoke(resume_invocation=outcome.invocation_id)) == "open"
    await alice.signal("fit-1", {"approved": True})
    assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).outcome == "completed"


FORM = {"type": "object", "properties": {"approved": {"type": "boolean"}}}


@pytest.mark.parametrize(
    "form", [{"response_model": create_model("Form", approved=(bool, ...))}, {"form_schema": FORM}]
)
async def test_whoever_fills_in_a_form_changes_no_other_field(
    people: Handraise, alice: Handraise, form: dict[str, Any]
) -> None:
    pipeline = Pipeline(Order, Nodes("form-1", **form).all, people)
    outcome = suspended(await pipeline.invoke())
    with pytest.raises(RequestRefused) as refused:
        await alice.signal("form-1", {"approved": True, "order": "another"})
    assert refused.value.code == "suspension_resume_payload_invalid"
    await alice.signal("form-1", {"approved": True})
    assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).state.order == "12345"


async def test_an_answer_that_fits_only_its_own_schema_is_refused_at_the_resume(
    people: Handraise, alice: Handraise
) -> None:
    nodes = Nodes("fit-2", resume={"payload_schema": {}})
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("fit-2", {"approved": "perhaps"})
    with pytest.raises(SuspensionResumePayloadInvalid, match="approved"):
        await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert nodes.ran == ["draft", "gate"]


async def test_a_choice_is_laid_over_as_response_and_reason(people: Handraise, alice: Handraise) -> None:
    class Decision(BaseModel):
        response: str | None = None
        reason: str | None = None

    async def gate(state: Decision) -> None:
        await suspend(SignalDescriptor("choice-1"), question="Go?", choices=["yes", "no"])

    pipeline = Pipeline(Decision, [gate], people)
    outcome = await pipeline.invoke()
    await alice.signal("choice-1", "yes", reason="Fine.")
    assert (await pipeline.invoke(resume_invocation=outcome.invocation_id)).state == Decision(
        response="yes", reason="Fine."
    )


async def test_silence_with_a_fallback_value_goes_on_with_that(people: Handraise, room: World) -> None:
    fallback: Any = {"fallback_policy": "complete_with_fallback", "fallback_value": {"approved": False}}
    nodes = Nodes("silence-1", timeout_seconds=60, **fallback)
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await room.advance(seconds=60)
    completed = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert completed.state == Order(approved=False, notes=["drafted"])


async def test_silence_without_one_ends_it_and_no_node_runs(people: Handraise, room: World) -> None:
    nodes = Nodes("silence-2", {"kind": "approval"}, timeout_seconds=60)
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await room.advance(seconds=60)
    for _ in range(2):
        ended = await pipeline.invoke(resume_invocation=outcome.invocation_id)
        assert ended == ExpiredOutcome(
            outcome.invocation_id,
            outcome.correlation_id,
            Order(notes=["drafted"]),
            SignalDescriptor("silence-2", {"kind": "approval"}),
            "gate",
            ("gate",),
            "input_timeout",
        )
    assert nodes.ran == ["draft", "gate"]


async def test_a_question_that_was_taken_back_ends_it_and_no_node_runs(people: Handraise) -> None:
    nodes = Nodes("taken-back")
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await people.cancel(outcome.suspended.suspension_id, "Order withdrawn.")
    ended = await pipeline.invoke(resume_invocation=outcome.invocation_id)
    assert isinstance(ended, CancelledOutcome)
    assert (ended.reason, ended.state, ended.outcome) == ("Order withdrawn.", Order(notes=["drafted"]), "cancelled")
    assert nodes.ran == ["draft", "gate"]


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


async def test_an_intent_that_is_over_is_not_gone_on_with(people: Handraise, alice: Handraise, room: World) -> None:
    nodes = Nodes("over-1")
    pipeline = Pipeline(Order, nodes.all, people)
    outcome = suspended(await pipeline.invoke())
    await alice.signal("over-1", {"approved": True})
    intent = await people.intent(outcome.suspended.intent_id)
    path, version = f"/v1/intents/{intent.id}/status", {"If-Match": str(intent.version)}
    done = await room.call("POST", path, json={"status": "abandoned"}, headers=version)
    assert done.is_success, done.text
    assert await refusal(pipeline.invoke(resume_invocation=outcome.invocation_id)) == "over"
    assert nodes.ran == ["draft", "gate"]


async def renewal() -> None:
    """Return when the lease of the run is given up for lost."""
    [renewing] = [task for task in asyncio.all_tasks() if "_renew_until_cancelled" in repr(task.get_coro())]
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


async def test_another_program_s_question_is_foreign(people: Handraise, alice: Handraise) -> None:
    await people.suspend("By hand?", choices=["yes"], resume={"invocation_id": "hand-1", "signal_id": "hand-1"})
    await alice.signal("hand-1", "yes")
    assert await refusal(Pipeline(Order, Nodes("x").all, people).invoke(resume_invocation="hand-1")) == "foreign"
    node = {"node_name": "gate", "namespace": ["gate"], "mark_node_completed": True, "state": {}}
    ids = {"invocation_id": "graph-1", "correlation_id": "c"}
    paused = {"runner": "graph", **ids, **node, "descriptor": {"signal_id": "graph-1"}}
    await people.suspend("By a graph?", response_type="form", resume={**ids, "signal_id": "graph-1", "state": paused})
    await alice.signal("graph-1", {})
    assert await refusal(Pipeline(Order, Nodes("x").all, people).invoke(resume_invocation="graph-1")) == "foreign"
    outcome = suspended(await Pipeline(Order, Nodes("foreign-1").all, people).invoke())
    await alice.signal("foreign-1", {})
    other = Pipeline(Order, Nodes("foreign-1").all[:1], people)
    assert await refusal(other.invoke(resume_invocation=outcome.invocation_id)) == "foreign"

    class Narrow(BaseModel):
        notes: int = 0

    async def gate(state: Narrow) -> None:
        return None

    narrow = Pipeline(Narrow, [gate], people)
    assert await refusal(narrow.invoke(resume_invocation=outcome.invocation_id)) == "foreign"


# --- Sessions ---------------------------------------------------------------------------------------------------------


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


# --- Arguments --------------------------------------------------------------------------------------------------------


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
