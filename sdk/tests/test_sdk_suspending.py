"""``suspend()`` inside and outside a node body, and what a body can't do about it (OpenArmature suspension §3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import handraise
import pytest
from handraise import (
    SignalDescriptor,
    Suspended,
    SuspendedOutcome,
    SuspensionError,
    SuspensionInUnsupportedContext,
    SuspensionPersistenceFailed,
    current_invocation_id,
    suspend,
)
from handraise.suspension import suspending
from handraise.suspension.suspending import InvocationPaused, run_body

GATE = SignalDescriptor("refund-1")


@dataclass
class Runner:
    """Runs bodies and keeps what they ask for. ``stored`` is set to let a pause end, ``refusal`` what befalls it.

    Unless ``may_suspend``, a body is never admitted.
    """

    invocation_id: str = "inv-1"
    asked: list[dict[str, Any]] = field(default_factory=list)
    stored: asyncio.Event = field(default_factory=asyncio.Event)
    refusal: Exception | None = None
    may_suspend: bool = True

    def __post_init__(self) -> None:
        self.stored.set()

    async def admit(self) -> None:
        if not self.may_suspend:
            await asyncio.Event().wait()

    async def pause(self, descriptor: SignalDescriptor, **asked: Any) -> SuspendedOutcome[None]:
        self.asked.append({"descriptor": descriptor, **asked})
        await self.stored.wait()
        if self.refusal is not None:
            raise self.refusal
        record = {"id": "susp-1", "question": "Go on?"}
        told = {"status": "suspended_awaiting_input", "intent_id": "i", "suspension_id": "susp-1", "suspension": record}
        suspended = Suspended.model_validate(told)
        return SuspendedOutcome(self.invocation_id, "corr-1", None, descriptor, "gate", ("gate",), suspended)

    async def outcome_of(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """What the run ends with: the outcome, or what the body returned."""
        try:
            return await run_body(self, body)
        except InvocationPaused as paused:
            return paused.outcome


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.mark.parametrize("mark_node_completed", [True, False])
async def test_a_body_that_suspends_ends_there_with_the_stored_outcome(
    runner: Runner, mark_node_completed: bool
) -> None:
    ran = []

    async def body() -> None:
        ran.append("before")
        await suspend(GATE, mark_node_completed)
        ran.append("after")

    outcome = await runner.outcome_of(body)
    assert (outcome.outcome, outcome.descriptor, ran) == ("suspended", GATE, ["before"])


async def test_what_the_call_says_reaches_whoever_runs_the_body(runner: Runner) -> None:
    async def body() -> None:
        await suspend(GATE, False, question="Refund?", choices=["yes", "no"], responders=["group:finance"])

    await runner.outcome_of(body)
    assert runner.asked == [
        {
            "descriptor": GATE,
            "mark_node_completed": False,
            "question": "Refund?",
            "options": {"choices": ["yes", "no"], "responders": ["group:finance"]},
        }
    ]


@pytest.mark.parametrize(
    ("descriptor", "question"),
    [
        (SignalDescriptor("s-1", {"description": "Refund order 12345?"}), "Refund order 12345?"),
        (SignalDescriptor("s-1", {"description": " "}), "Signal s-1"),
        (SignalDescriptor("s-1", {"description": 5}), "Signal s-1"),
        (SignalDescriptor("s-1"), "Signal s-1"),
    ],
)
async def test_the_question_defaults_to_the_description_and_else_to_the_signal(
    runner: Runner, descriptor: SignalDescriptor, question: str
) -> None:
    async def body() -> None:
        await suspend(descriptor)

    await runner.outcome_of(body)
    assert runner.asked[0]["question"] == question


async def test_outside_a_body_it_is_refused() -> None:
    with pytest.raises(SuspensionInUnsupportedContext) as refused:
        await suspend(GATE)
    assert refused.value.category == "suspension_in_unsupported_context"
    with pytest.raises(SuspensionInUnsupportedContext):
        current_invocation_id()


async def test_a_task_that_outlives_its_body_can_t_suspend(runner: Runner) -> None:
    left: list[asyncio.Task[None]] = []
    over = asyncio.Event()

    async def straggler() -> None:
        await over.wait()
        await suspend(GATE)

    async def body() -> str:
        left.append(asyncio.create_task(straggler()))
        return "done"

    assert await runner.outcome_of(body) == "done"
    over.set()
    with pytest.raises(SuspensionInUnsupportedContext):
        await left[0]
    assert runner.asked == []


async def test_around_a_body_it_is_refused_before_and_after(runner: Runner) -> None:
    """As in middleware, which calls ``next()`` and stands outside the body."""

    async def body() -> None:
        return None

    for order in (False, True):
        with pytest.raises(SuspensionInUnsupportedContext):
            if order:
                await run_body(runner, body)
            await suspend(GATE)
    assert runner.asked == []


async def test_a_run_inside_a_run_suspends_for_itself_alone(runner: Runner) -> None:
    inner = Runner("inv-2")

    async def innermost() -> None:
        await suspend(GATE)

    async def body() -> tuple[str, str]:
        paused = await inner.outcome_of(innermost)
        return paused.invocation_id, current_invocation_id()

    assert await runner.outcome_of(body) == ("inv-2", "inv-1")
    assert runner.asked == []


# --- What a body may do with it ---------------------------------------------------------------------------------------


async def test_except_exception_does_not_swallow_it(runner: Runner) -> None:
    caught = []

    async def body() -> str:
        try:
            await suspend(GATE)
        except Exception as problem:  # noqa: BLE001 (as an author may)
            caught.append(problem)
        return "went on"

    assert (await runner.outcome_of(body)).outcome == "suspended"
    assert caught == []


@pytest.mark.parametrize("then", ["return", "raise"])
async def test_a_bare_except_does_not_get_past_the_gate(runner: Runner, then: str) -> None:
    async def body() -> str:
        try:
            await suspend(GATE)
        except BaseException:  # noqa: BLE001 (as no author may)
            if then == "raise":
                raise ValueError("something else") from None
        return "went on"

    assert (await runner.outcome_of(body)).outcome == "suspended"


async def test_a_second_one_in_the_same_run_asks_nothing(runner: Runner) -> None:
    async def body() -> None:
        try:
            await suspend(GATE)
        except BaseException:  # noqa: BLE001 (as no author may)
            await suspend(SignalDescriptor("refund-2"))

    outcome = await runner.outcome_of(body)
    assert (outcome.descriptor, len(runner.asked)) == (GATE, 1)


async def test_of_two_at_once_the_first_counts(runner: Runner) -> None:
    runner.stored.clear()

    async def body() -> None:
        first = asyncio.create_task(suspend(GATE))
        while not runner.asked:
            await asyncio.sleep(0)
        with pytest.raises(SuspensionInUnsupportedContext):
            await suspend(SignalDescriptor("refund-2"))
        runner.stored.set()
        await first

    outcome = await runner.outcome_of(body)
    assert (outcome.descriptor, len(runner.asked)) == (GATE, 1)


async def test_a_body_that_does_not_wait_for_it_is_waited_for(runner: Runner) -> None:
    left = []

    async def body() -> str:
        left.append(asyncio.create_task(suspend(GATE)))
        while not runner.asked:
            await asyncio.sleep(0)
        return "went on"

    runner.stored.clear()
    running = asyncio.create_task(runner.outcome_of(body))
    while not runner.asked:
        await asyncio.sleep(0)
    runner.stored.set()
    assert (await running).outcome == "suspended"
    with pytest.raises(InvocationPaused):
        await left[0]


async def test_a_body_that_gives_up_waiting_does_not_go_on_beside_an_open_question(runner: Runner) -> None:
    runner.stored.clear()
    seen = []

    async def body() -> str:
        asking = asyncio.create_task(suspend(GATE))
        while not runner.asked:
            await asyncio.sleep(0)
        asking.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        told_early = asking.done()  # before it is known whether it is stored
        runner.stored.set()
        await asyncio.wait({asking})
        seen.append((asking.cancelled(), told_early))
        return "went on"

    assert (await runner.outcome_of(body)).outcome == "suspended"
    assert seen == [(True, False)]


async def test_a_run_that_is_cancelled_while_it_stores_is_cancelled(runner: Runner) -> None:
    runner.stored.clear()

    async def body() -> None:
        await suspend(GATE)

    running = asyncio.create_task(runner.outcome_of(body))
    while not runner.asked:
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.sleep(0)
    assert not running.done()  # it is not known yet whether it is stored
    runner.stored.set()
    with pytest.raises(asyncio.CancelledError):
        await running


# --- Failures ---------------------------------------------------------------------------------------------------------


async def test_a_failure_to_store_is_an_ordinary_error_in_the_body(runner: Runner) -> None:
    runner.refusal = SuspensionPersistenceFailed("No.")

    async def body() -> str:
        try:
            await suspend(GATE)
        except SuspensionPersistenceFailed as failed:
            return failed.category

    assert await runner.outcome_of(body) == "suspension_persistence_failed"


async def test_after_a_failure_to_store_the_body_may_try_again(runner: Runner) -> None:
    runner.refusal = SuspensionPersistenceFailed("No.")

    async def body() -> None:
        try:
            await suspend(GATE)
        except SuspensionPersistenceFailed:
            runner.refusal = None
        await suspend(GATE)

    assert (await runner.outcome_of(body)).outcome == "suspended"
    assert len(runner.asked) == 2


async def test_a_failure_to_store_that_nobody_catches_ends_the_run(runner: Runner) -> None:
    runner.refusal = SuspensionPersistenceFailed("No.")

    async def body() -> None:
        await suspend(GATE)

    with pytest.raises(SuspensionPersistenceFailed):
        await runner.outcome_of(body)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"idempotency_key": "k"}, "idempotency_key"),
        ({"resume": {"invocation_id": "inv-2"}}, "resume.invocation_id"),
        ({"resume": {"correlation_id": "c"}}, "resume.correlation_id"),
        ({"resume": {"signal_id": "s"}}, "resume.signal_id"),
        ({"resume": {"signal_metadata": {}}}, "resume.signal_metadata"),
        ({"resume": handraise.ResumeTarget(state={"cart": 7})}, "resume.state"),
    ],
)
async def test_what_suspend_sets_itself_can_t_be_given(runner: Runner, options: Any, named: str) -> None:
    async def body() -> None:
        await suspend(GATE, **options)

    with pytest.raises(ValueError, match=named):
        await runner.outcome_of(body)
    assert runner.asked == []


async def test_a_descriptor_is_a_descriptor(runner: Runner) -> None:
    async def body() -> None:
        await suspend("refund-1")

    with pytest.raises(TypeError, match="descriptor"):
        await runner.outcome_of(body)


def test_the_four_categories_are_the_specification_s() -> None:
    assert {one.category for one in SuspensionError.__subclasses__()} == {
        "suspension_persistence_failed",
        "suspension_record_invalid",
        "suspension_resume_payload_invalid",
        "suspension_in_unsupported_context",
    }


def test_the_mechanism_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "suspension.md").read_text()
    assert "leaves your function by a private `BaseException`" in page
    assert "Never put a bare `except:` or `except BaseException:` around it" in page
    for said in (handraise.suspension.__doc__, suspending.__doc__):
        assert "``BaseException``" in said


def test_the_exception_that_leaves_a_body_is_not_public() -> None:
    public = {*handraise.__all__, *handraise.suspension.__all__}
    assert InvocationPaused.__name__ not in public
    assert not issubclass(InvocationPaused, Exception)


async def test_a_body_that_is_cancelled_before_it_may_suspend_stores_nothing(runner: Runner) -> None:
    runner.may_suspend = False
    waits = asyncio.create_task(runner.outcome_of(lambda: suspend(GATE)))
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert runner.asked == []
