"""A paused invocation goes on with what was recorded, and with nothing else (OpenArmature suspension §6, §7)."""

from __future__ import annotations

from typing import Any

import pytest
from handraise import (
    CancelledOutcome,
    ExpiredOutcome,
    Handraise,
    Pipeline,
    RequestRefused,
    SignalDescriptor,
    SuspensionResumePayloadInvalid,
    suspend,
)
from pydantic import BaseModel, create_model

from tests.journeys.sdk.pipelines import Nodes, Order, alice, people, refusal, suspended
from tests.world import KEYS, World

__all__ = ["alice", "people"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
