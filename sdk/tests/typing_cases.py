"""Right and wrong calls, for type checkers alone: nothing runs this. A line that ends with `# wrong` has to be refused,
every other one accepted (`test_sdk_typing.py`)."""

from __future__ import annotations

from typing import Literal, assert_type

from handraise import (
    CompletedOutcome,
    EscalationRung,
    Handraise,
    HandraiseSync,
    HumanRetryPolicy,
    MemorySessionStore,
    Options,
    Outcome,
    Pipeline,
    ResponseType,
    Resumed,
    ResumeReceiver,
    Runner,
    SignalDescriptor,
    SuspensionChoice,
    Turn,
    VetoOutcome,
    needs_approval,
    suspend,
)
from pydantic import BaseModel, JsonValue


class Refund(BaseModel):
    amount: int


async def what_comes_back(people: Handraise) -> None:
    assert_type(await people.request_input("?", choices=["approve", "deny"]), str)
    assert_type(
        await people.request_input("?", choices=[SuspensionChoice(value="a", label="A")], fallback_value="a"), str
    )
    assert_type(await people.request_input("?", response_type="confirm"), Literal["yes", "no"])
    assert_type(await people.request_input("?", response_type="text", fallback_value="none"), str)
    assert_type(await people.request_input("?", response_type="form", context={"name": None}), dict[str, JsonValue])
    assert_type(await people.request_input("?", response_model=Refund), Refund)
    assert_type(await people.request_input("?", response_model=Refund, fallback_value=Refund(amount=1)), Refund)
    assert_type(await people.request_input("?", kind="veto", timeout_seconds=600), str)
    assert_type((await people.wait("id")).result(), JsonValue)
    assert_type((await people.wait("id")).result(Refund), Refund)


def what_comes_back_without_asyncio(people: HandraiseSync) -> None:
    assert_type(people.request_input("?", choices=["approve", "deny"]), str)
    assert_type(people.request_input("?", response_type="confirm"), Literal["yes", "no"])
    assert_type(people.request_input("?", response_type="form"), dict[str, JsonValue])
    assert_type(people.request_input("?", response_model=Refund), Refund)
    assert_type([record.ref for record in people.list(status="open")], list[str | None])


async def closed_sets(people: Handraise, kind: ResponseType, word: str) -> None:
    await people.suspend("?", response_type=kind, choices=["a"], fallback_policy="fail", kind="input")
    await people.suspend("?", response_type=word)  # wrong
    await people.suspend("?", choices=["a"], fallback_policy="deny")  # wrong
    await people.suspend("?", choices=["a"], kind="vote")  # wrong
    await people.suspend("?", chioces=["a"])  # wrong
    SuspensionChoice(value="a", label="A", style="danger")
    SuspensionChoice(value="a", label="A", style="red")  # wrong
    HumanRetryPolicy(strategy="backoff")  # wrong
    HumanRetryPolicy(final_fallback_policy="deny")  # wrong
    HumanRetryPolicy(escalation_ladder=[EscalationRung(attempt=2, channel_hint="email")], strategy="fixed")
    EscalationRung(attempt=3, channel_hint="pagerduty", severity="critical")
    EscalationRung(attempt=3, channel_hint="pagerduty", severity="high")  # wrong
    [record async for record in people.list(status="done")]  # wrong


async def what_belongs_together(people: Handraise) -> None:
    await people.request_input("?")  # wrong
    await people.request_input("?", choices="approve", response_type="text")  # wrong
    await people.request_input("?", response_type="confirm", fallback_value="maybe")  # wrong
    await people.request_input("?", response_type="text", choices=["a"])  # wrong
    await people.request_input("?", response_model=Refund, choices=["a"])  # wrong
    await people.request_input("?", response_model=Refund, response_type="confirm")  # wrong
    await people.request_input("?", response_model=Refund(amount=1))  # wrong
    await people.request_input("?", kind="veto")  # wrong
    await people.request_input("?", kind="veto", timeout_seconds=60, fallback_policy="fail")  # wrong
    await people.request_input("?", choices=["a"], timeout_seconds="60")  # wrong
    people.execute_once("receipt", {"tool": "refund"})  # wrong
    await people.request_veto("?")  # wrong
    assert_type(await people.request_veto("?", timeout_seconds=600), VetoOutcome)


@needs_approval(question="Refund {amount}?", responders=["alice@example.com"])
async def refund(order_id: str, amount: int = 5) -> str:
    return order_id


@needs_approval(timeout_seconds=60, allow_silence=True)
def delete(name: str) -> bool:
    return bool(name)


@needs_approval(denied="return")
async def count(name: str) -> int:
    return len(name)


@needs_approval(denied="return")
def count_now(name: str) -> int:
    return len(name)


async def what_is_decorated_stays_what_it_is() -> None:
    assert_type(await refund("12345"), str)
    assert_type(delete("x"), bool)
    assert_type(await count("x"), int | str)
    assert_type(count_now("x"), int | str)
    await refund(12345)  # wrong
    delete()  # wrong
    await count(5)  # wrong
    needs_approval(denied="ignore")  # wrong
    needs_approval(fallback_value="approve")  # wrong


def go_on(turn: Turn[list[str]]) -> None:
    assert_type(turn.session, list[str])


async def go_on_alone(turn: Turn[None]) -> None: ...


def load(session_id: str) -> list[str] | None: ...


ResumeReceiver("whsec_", go_on, load_session=load)
ResumeReceiver("whsec_", go_on_alone)
ResumeReceiver("whsec_", go_on)  # wrong
ResumeReceiver("whsec_", go_on_alone, load_session=load)  # wrong


class Cart(BaseModel):
    approved: bool = False


async def gate(cart: Cart) -> None:
    await suspend(SignalDescriptor("cart-1", {"kind": "approval"}), False, question="Pay?", response_model=Refund)


async def pay(cart: Cart) -> dict[str, bool]:
    return {"approved": not cart.approved}


async def whole(cart: Cart) -> Cart:
    return cart


def no_coroutine(cart: Cart) -> None: ...


async def what_a_pipeline_is_made_of(people: Handraise, resumed: Resumed) -> None:
    asking: Options = {"responders": ["group:finance"]}
    pipeline = Pipeline(Cart, [gate, pay, whole], people, asking=asking, sessions=MemorySessionStore())
    outcome = await pipeline.invoke({"approved": False}, session_id="sess-1")
    if outcome.outcome == "completed":
        assert_type(outcome, CompletedOutcome[Cart])
        assert_type(outcome.state, Cart)
    if outcome.outcome == "suspended":
        assert_type(outcome.namespace, tuple[str, ...])
    assert_type(await pipeline.resume(resumed), Outcome[Cart])
    runner: Runner[Cart] = pipeline
    await runner.invoke(resume_invocation="inv-1", signal_payload={"approved": True})
    Pipeline(Cart, [no_coroutine], people)  # wrong
    Pipeline(Refund, [gate], people)  # wrong
    Pipeline(Cart, [gate], people, asking={"responder": ["a"]})  # wrong
    await pipeline.invoke(resume_invocation=5)  # wrong


async def a_descriptor_is_no_string() -> None:
    await suspend("cart-1")  # wrong


async def a_question_has_known_options() -> None:
    await suspend(SignalDescriptor("cart-1"), questions="Pay?")  # wrong


SignalDescriptor(5)  # wrong
