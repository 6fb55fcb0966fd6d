"""The harness over a pipeline and the service itself: signals, their repetitions, callbacks, and what goes wrong
(OpenArmature harness §3.3, §5, §6, §7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from handraise import (
    CompletedOutcome,
    Handraise,
    Harness,
    HarnessMode,
    MemorySessionStore,
    Pipeline,
    ResumeReceiver,
    SessionEnded,
    SessionStore,
    SignalCoordinator,
    SignalDescriptor,
    SuspensionRecordInvalid,
    Transmission,
    Turn,
    suspend,
)
from handraise.harness import CompletionResponse, ErrorResponse, Outbound
from pydantic import BaseModel, field_validator

from bot.sandbox.serving import serving
from tests.patience import PATIENCE
from tests.world import KEYS, WEBHOOK_SECRET, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONED, STATELESS = HarnessMode


class Order(BaseModel):
    order: str = "12345"
    approved: bool | None = None
    turns: int = 0
    sent: bool = False

    @field_validator("order")
    @classmethod
    def _is_no_other(cls, order: str) -> str:
        if order == "forbidden":
            raise ValueError("hunter2")
        return order


@pytest_asyncio.fixture(loop_scope="module")
async def agent(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["agent"]) as agent:
        yield agent


@pytest_asyncio.fixture(loop_scope="module")
async def alice(room: World) -> AsyncIterator[Handraise]:
    async with Handraise(room.url, KEYS["operator"]) as alice:
        yield alice


class Desk:
    """A pipeline ``gate``, ``send`` behind a harness. ``signal_id`` is the gate's; ``ran`` says which node has run.

    ``failures`` are raised by ``send``, one at each run. While ``holds`` is not set, ``send`` waits.
    """

    def __init__(
        self,
        agent: Handraise,
        signals: Handraise,
        signal_id: str,
        callback_url: str | None,
        mode: HarnessMode = SESSIONED,
        sessions: SessionStore | None = None,
        **options: Any,
    ) -> None:
        self.ran: list[str] = []
        self.failures: list[Exception] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.has_come = asyncio.Event()
        self.sessions = sessions or MemorySessionStore()
        self.signal_id = signal_id

        async def gate(order: Order) -> None:
            self.ran.append("gate")
            await suspend(SignalDescriptor(signal_id), **options)

        async def send(order: Order) -> dict[str, Any]:
            self.ran.append("send")
            self.has_come.set()
            await self.goes_on.wait()
            if self.failures:
                raise self.failures.pop(0)
            return {"sent": bool(order.approved), "turns": order.turns + 1}

        asking: Any = {"resume": {"callback_url": callback_url}} if callback_url else {}
        self.nodes = [gate, send]
        self.pipeline = Pipeline(Order, self.nodes, agent, sessions=self.sessions, asking=asking)
        self.coordinator = SignalCoordinator(agent, signals)
        self.harness: Harness[Order] = Harness(self.pipeline, mode, self.coordinator, initial_state=lambda _: {})

    async def begin(self, **payload: Any) -> dict[str, Any]:
        """A turn that is suspended at the gate: what its caller hears."""
        reply = await self.harness.receive(Transmission(payload))
        assert reply.shape == "suspended_acknowledgment", reply
        return reply.payload()

    async def signal(self, payload: Any = None, *, delivery_id: str | None = None, **named: Any) -> Outbound[Order]:
        named = named or {"signal_id": self.signal_id}
        given = {"approved": True} if payload is None else payload
        return await self.harness.receive(Transmission(named, "signal_resume", given, delivery_id))


@pytest.fixture
def desk(room: World, agent: Handraise, alice: Handraise, request: pytest.FixtureRequest) -> Desk:
    """Its callbacks are taken, and go nowhere."""
    return Desk(agent, alice, request.node.name[:200], room.agent.url)


def failed(reply: Outbound[Order]) -> tuple[str, str]:
    assert isinstance(reply, ErrorResponse), reply
    return reply.categorized.category, reply.bucket.value


async def question_of(agent: Handraise, told: dict[str, Any]) -> Any:
    [one] = [one async for one in agent.list(invocation_id=told["invocation_id"])]
    return one


# --- Signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("signal_id",), ("invocation_id",), ("signal_id", "invocation_id")])
async def test_a_signal_finds_its_invocation_by_either_name(desk: Desk, names: tuple[str, ...]) -> None:
    told = await desk.begin(session_id="sess-1")
    reply = await desk.signal(**{name: told[name] for name in names})
    assert isinstance(reply, CompletionResponse)
    assert reply.outcome == CompletedOutcome(
        told["invocation_id"], told["correlation_id"], Order(approved=True, sent=True, turns=1)
    )
    assert reply.payload() == {"order": "12345", "approved": True, "turns": 1, "sent": True}
    assert desk.ran == ["gate", "send"]


async def test_the_session_is_the_paused_records_whatever_the_signal_names(desk: Desk) -> None:
    told = await desk.begin(session_id="sess-ours")
    reply = await desk.signal(invocation_id=told["invocation_id"], session_id="sess-theirs")
    assert reply.shape == "completion_response"
    assert await desk.sessions.load("sess-ours") == reply.payload()
    assert await desk.sessions.load("sess-theirs") is None


async def test_a_signal_that_nothing_waits_for_is_not_kept(desk: Desk, agent: Handraise) -> None:
    reply = await desk.signal()
    assert failed(reply) == ("harness_signal_correlation_failed", "retryable_transient")
    assert reply.payload()["retry_safe"] is True
    told = await desk.begin()
    assert (await question_of(agent, told)).is_open
    assert (await desk.signal()).shape == "completion_response"


async def test_a_signal_for_another_invocation_answers_nothing(desk: Desk, agent: Handraise) -> None:
    told = await desk.begin()
    for named in (
        {"invocation_id": told["invocation_id"], "signal_id": "another"},
        {"invocation_id": "unknown", "signal_id": desk.signal_id},
        {"invocation_id": 7},
        {"kind": "signal_arrival"},
    ):
        assert failed(await desk.signal(**named))[0] == "harness_signal_correlation_failed"
    assert (await question_of(agent, told)).is_open


async def test_an_id_that_two_keys_have_open_is_ambiguous_and_each_harness_knows_its_own(
    room: World, desk: Desk, alice: Handraise
) -> None:
    async with Handraise(room.url, KEYS["other_agent"]) as other:
        theirs = await other.suspend("Theirs?", choices=["approve"], resume={"signal_id": desk.signal_id})
        told = await desk.begin()
        body = {"value": {"approved": True}}
        response = await room.call("POST", f"/v1/signals/{desk.signal_id}", "operator", json=body)
        assert (response.status_code, response.json()["detail"]["error"]) == (409, "signal_id_ambiguous")
        reply = await desk.signal()
        assert reply.shape == "completion_response"
        assert isinstance(reply, CompletionResponse)
        assert reply.outcome.invocation_id == told["invocation_id"]
        assert (await other.get(theirs.suspension_id)).is_open


async def test_an_agents_key_never_answers_itself(room: World, agent: Handraise) -> None:
    desk = Desk(agent, agent, "never-itself", room.agent.url)
    told = await desk.begin()
    assert failed(await desk.signal()) == ("forbidden", "user_correctable")
    assert (await question_of(agent, told)).is_open


async def test_an_invalid_payload_is_shown_and_the_person_answers_again(desk: Desk, agent: Handraise) -> None:
    told = await desk.begin()
    reply = await desk.signal({"approved": "perhaps"})
    assert failed(reply) == ("suspension_resume_payload_invalid", "user_correctable")
    assert reply.payload()["user_action_required"] is True
    assert 'approved: "perhaps" does not match' in str(reply.payload()["diagnostic_message"])
    assert isinstance(reply, ErrorResponse)
    assert "perhaps" not in str(reply.error)
    assert (await question_of(agent, told)).is_open
    assert (await desk.signal()).shape == "completion_response"


async def test_what_is_no_choice_is_an_invalid_payload_too(room: World, agent: Handraise, alice: Handraise) -> None:
    desk = Desk(agent, alice, "one-of-two", room.agent.url, choices=["approve", "deny"])
    told = await desk.begin()
    assert failed(await desk.signal("perhaps")) == ("suspension_resume_payload_invalid", "user_correctable")
    assert (await question_of(agent, told)).is_open
    assert (await desk.signal("approve")).shape == "completion_response"


async def test_what_only_the_model_refuses_is_user_correctable_too_and_says_no_value(desk: Desk) -> None:
    await desk.begin()
    reply = await desk.signal({"order": "forbidden"})
    assert failed(reply) == ("suspension_resume_payload_invalid", "user_correctable")
    assert "order" in str(reply.payload()["diagnostic_message"])
    assert "hunter2" not in str(reply.payload())
    assert desk.ran == ["gate"]


# --- Again ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "delivery_id"),
    [
        ("signal_id", None),
        ("signal_id", "delivery \ud800 1"),
        ("invocation_id", None),
        ("invocation_id", "delivery ä 2"),
    ],
)
async def test_a_signal_that_is_delivered_twice_is_acknowledged_and_runs_nothing_again(
    desk: Desk, name: str, delivery_id: str | None
) -> None:
    told = await desk.begin()
    assert (await desk.signal(delivery_id=delivery_id, **{name: told[name]})).shape == "completion_response"
    again = await desk.signal(delivery_id=delivery_id, **{name: told[name]})
    assert (again.shape, again.payload()) == (
        "resumed_acknowledgment",
        {"outcome": "resumed", "invocation_id": told["invocation_id"]},
    )
    assert desk.ran == ["gate", "send"]


async def test_a_signal_that_was_recorded_before_a_crash_resumes_when_it_comes_again(
    desk: Desk, alice: Handraise
) -> None:
    await desk.begin()
    await alice.signal(desk.signal_id, {"approved": True})
    assert (await desk.signal()).shape == "completion_response"
    assert desk.ran == ["gate", "send"]


async def test_a_signal_that_comes_after_another_answer_is_told_so_and_changes_nothing(
    desk: Desk, alice: Handraise
) -> None:
    told = await desk.begin()
    await alice.signal(desk.signal_id, {"approved": False})
    for named in ({"signal_id": desk.signal_id}, {"invocation_id": told["invocation_id"]}):
        assert failed(await desk.signal(**named)) == ("already_answered", "user_correctable")
    assert failed(await desk.signal({"approved": 0})) == ("already_answered", "user_correctable")
    assert desk.ran == ["gate"]


async def test_a_delivery_that_is_repeated_never_answers_the_next_question_with_its_signal(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    async def gate(order: Order) -> None:
        if not order.approved:
            await suspend(SignalDescriptor("loop-twice"), mark_node_completed=False)

    desk = Desk(agent, alice, "loop-twice", room.agent.url)
    looping = Pipeline(Order, [gate], agent, asking={"resume": {"callback_url": room.agent.url}})
    desk.harness = Harness(looping, SESSIONED, desk.coordinator, initial_state=lambda _: {})
    told = await desk.begin()
    assert (await desk.signal({"approved": False}, delivery_id="d-1")).shape == "suspended_acknowledgment"
    again = await desk.signal({"approved": False}, delivery_id="d-1")
    assert (again.shape, again.payload()["invocation_id"]) == ("resumed_acknowledgment", told["invocation_id"])
    waiting = [one.is_open async for one in agent.list(invocation_id=told["invocation_id"])]
    assert sorted(waiting) == [False, True]
    assert (await desk.signal(delivery_id="d-2")).shape == "completion_response"


@pytest.mark.parametrize(
    ("names", "delivery_id"), [({"signal_id", "invocation_id"}, None), ({"invocation_id"}, "delivery 3")]
)
async def test_a_delivery_that_is_repeated_never_answers_the_next_gate(
    room: World, agent: Handraise, alice: Handraise, names: set[str], delivery_id: str | None
) -> None:
    first, second = f"gate-1-{delivery_id}", f"gate-2-{delivery_id}"

    async def second_gate(order: Order) -> None:
        await suspend(SignalDescriptor(second))

    desk = Desk(agent, alice, first, room.agent.url)
    two = Pipeline(Order, [desk.nodes[0], second_gate], agent, asking={"resume": {"callback_url": room.agent.url}})
    desk.harness = Harness(two, SESSIONED, desk.coordinator, initial_state=lambda _: {})
    told = await desk.begin()
    named = {name: told[name] for name in names}
    assert (await desk.signal(delivery_id=delivery_id, **named)).payload()["signal_id"] == second
    assert (await desk.signal(delivery_id=delivery_id, **named)).shape == "resumed_acknowledgment"
    [waiting] = [one async for one in agent.list(signal_id=second)]
    assert waiting.is_open
    other = await desk.signal({"approved": False}, delivery_id=delivery_id, **named)
    assert failed(other)[0] in {"harness_signal_correlation_failed", "idempotency_conflict"}
    assert (await agent.get(waiting.id)).is_open


async def test_an_answer_that_is_not_enough_is_acknowledged_as_still_suspended(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    options: Any = {"answers_required": 2, "responders": ["alice@example.com", "bob@example.com"]}
    desk = Desk(agent, alice, "both-of-them", room.agent.url, **options)
    await desk.begin()
    for _ in range(2):
        reply = await desk.signal()
        assert (reply.shape, reply.payload()) == (
            "suspended_acknowledgment",
            {"outcome": "suspended", "received": 1, "required": 2},
        )
    assert desk.ran == ["gate"]
    async with Handraise(room.url, KEYS["second_operator"]) as bob:
        desk.harness = Harness(desk.pipeline, SESSIONED, SignalCoordinator(agent, bob), initial_state=lambda _: {})
        assert (await desk.signal()).shape == "completion_response"


# --- The way back -----------------------------------------------------------------------------------------------------


async def test_an_invocation_without_a_way_back_is_an_error_and_nobody_is_asked(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    desk = Desk(agent, alice, "no-way-back", None)
    reply = await desk.harness.receive(Transmission({"session_id": "sess-nowhere"}))
    assert failed(reply) == ("harness_signal_subscription_failed", "session_terminating")
    [one] = [one async for one in agent.list(signal_id="no-way-back")]
    assert (one.resolution, one.reason) == ("cancelled", "harness_signal_subscription_failed")


async def test_a_session_that_is_called_back_is_a_way_back(room: World, agent: Handraise, alice: Handraise) -> None:
    desk = Desk(agent, alice, "by-its-session", None)
    told = await room.call("PUT", "/v1/sessions/sess-called", json={"callback_url": room.agent.url})
    assert told.is_success
    assert (await desk.begin(session_id="sess-called"))["signal_id"] == "by-its-session"


async def test_a_question_that_another_key_has_asked_is_no_subscription(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    async with Handraise(room.url, KEYS["other_agent"]) as other:
        desk = Desk(agent, alice, "another-keys", room.agent.url)
        desk.harness = Harness(desk.pipeline, SESSIONED, SignalCoordinator(other, alice), initial_state=lambda _: {})
        reply = await desk.harness.receive(Transmission({}))
        assert failed(reply) == ("harness_signal_subscription_failed", "session_terminating")


# --- Callbacks --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def called_back(room: World, agent: Handraise, signals: Handraise, signal_id: str, **options: Any) -> Any:
    """A desk whose harness takes the callbacks of its questions."""
    handlers: list[Callable[..., Any]] = []

    async def resumed(turn: Any) -> None:
        await handlers[0](turn)

    receiver = ResumeReceiver(WEBHOOK_SECRET, resumed, now=room.clock.now)
    async with serving(receiver) as url:
        desk = Desk(agent, signals, signal_id, url, **options)
        handlers.append(desk.harness.resumed)
        yield desk


async def callbacks(room: World, told: dict[str, Any], agent: Handraise) -> list[str]:
    [one] = [one async for one in agent.list(signal_id=told["signal_id"])]
    response = await room.call("GET", "/v1/callbacks", "admin")
    return [each["status"] for each in response.json()["items"] if each["suspension_id"] == one.id]


async def test_a_persons_answer_comes_by_callback_and_the_invocation_goes_on(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    async with called_back(room, agent, alice, "by-callback") as desk:
        told = await desk.begin(session_id="sess-7")
        question = await question_of(agent, told)
        await alice.respond(question.intent_id, question.id, {"approved": True})
        await room.settle()
        assert desk.ran == ["gate", "send"]
        assert (await desk.sessions.load("sess-7"))["sent"] is True
        assert await callbacks(room, told, agent) == ["delivered"]


async def test_a_callback_and_a_signal_that_race_resume_once(room: World, agent: Handraise, alice: Handraise) -> None:
    async with called_back(room, agent, alice, "race") as desk:
        told = await desk.begin()
        desk.goes_on.clear()
        signal = asyncio.create_task(desk.signal())
        async with asyncio.timeout(PATIENCE):
            await desk.has_come.wait()
        again = asyncio.create_task(desk.signal())
        desk.goes_on.set()
        shapes = {(await signal).shape, (await again).shape}
        await room.advance(seconds=10)
        assert desk.ran == ["gate", "send"]
        assert shapes <= {"completion_response", "resumed_acknowledgment"}
        assert await callbacks(room, told, agent) == ["delivered"]


async def turn_of(room: World, agent: Handraise, told: dict[str, Any]) -> Turn[None]:
    """The callback about the end of this question, as a receiver hands it over."""
    await room.settle()
    [one] = [one async for one in agent.list(signal_id=told["signal_id"])]
    return Turn(None, next(each for each in room.agent.resumed if each.suspension_id == one.id))


async def test_a_callback_that_comes_while_its_invocation_goes_on_comes_again(
    desk: Desk, room: World, agent: Handraise
) -> None:
    told = await desk.begin()
    desk.goes_on.clear()
    signal = asyncio.create_task(desk.signal())
    async with asyncio.timeout(PATIENCE):
        await desk.has_come.wait()
    turn = await turn_of(room, agent, told)
    with pytest.raises(SuspensionRecordInvalid) as refusal:
        await desk.harness.resumed(turn)
    assert refusal.value.reason == "running"
    assert (await desk.signal()).shape == "resumed_acknowledgment"
    desk.goes_on.set()
    assert (await signal).shape == "completion_response"
    assert (await desk.harness.resumed(turn)).shape == "resumed_acknowledgment"
    assert desk.ran == ["gate", "send"]


async def test_a_callback_of_an_earlier_question_runs_nothing(room: World, agent: Handraise, alice: Handraise) -> None:
    async def second_gate(order: Order) -> None:
        await suspend(SignalDescriptor("earlier-2"))

    desk = Desk(agent, alice, "earlier-1", room.agent.url)
    two = [desk.nodes[0], second_gate, desk.nodes[1]]
    runner = Pipeline(Order, two, agent, asking={"resume": {"callback_url": room.agent.url}})
    desk.harness = Harness(runner, SESSIONED, desk.coordinator, initial_state=lambda _: {})
    told = await desk.begin()
    assert (await desk.signal()).payload()["signal_id"] == "earlier-2"
    turn = await turn_of(room, agent, told)
    assert (await desk.harness.resumed(turn)).shape == "resumed_acknowledgment"
    assert (await desk.signal()).shape == "resumed_acknowledgment"
    [waiting] = [one async for one in agent.list(signal_id="earlier-2")]
    assert waiting.is_open
    await alice.signal("earlier-2", {"approved": True})
    assert (await desk.harness.resumed(turn)).shape == "resumed_acknowledgment"
    assert desk.ran == ["gate"]


async def test_a_question_that_is_no_invocations_ends_its_callback(room: World, desk: Desk, agent: Handraise) -> None:
    asked = await agent.suspend("Else?", choices=["yes"], resume={"callback_url": room.agent.url, "signal_id": "else"})
    await agent.cancel(asked.suspension_id)
    with pytest.raises(SessionEnded):
        await desk.harness.resumed(await turn_of(room, agent, {"signal_id": "else"}))


class Category(Exception):
    def __init__(self, category: str) -> None:
        super().__init__("hunter2")
        self.category = category


@pytest.mark.parametrize("failure", [Category("provider_unavailable"), ValueError("hunter2"), Category("unheard_of")])
async def test_a_resume_that_fails_is_tried_again_by_the_server(
    room: World, agent: Handraise, alice: Handraise, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with called_back(room, agent, alice, f"fails-{type(failure).__name__}-{failure.__dict__}") as desk:
        told = await desk.begin()
        desk.failures.append(failure)
        await alice.signal(desk.signal_id, {"approved": True})
        await room.settle()
        assert (desk.ran, await callbacks(room, told, agent)) == (["gate", "send"], ["pending"])
        await room.advance(seconds=10)
        assert (desk.ran, await callbacks(room, told, agent)) == (["gate", "send", "send"], ["delivered"])
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("category", ["session_load_failed", "provider_invalid_request"])
async def test_a_resume_that_can_not_succeed_is_not_tried_again_and_is_a_failure_of_its_intent(
    room: World, agent: Handraise, alice: Handraise, category: str
) -> None:
    async with called_back(room, agent, alice, f"stays-{category}") as desk:
        told = await desk.begin()
        question = await question_of(agent, told)
        desk.failures.append(Category(category))
        await alice.signal(desk.signal_id, {"approved": True})
        await room.advance(seconds=10)
        assert desk.ran == ["gate", "send"]
        assert await callbacks(room, told, agent) == ["refused"]
        response = await room.call("GET", f"/v1/intents/{question.intent_id}/failures", "admin")
        assert [one["error_code"] for one in response.json()["failures"]] == ["CALLBACK_REFUSED"]


# --- Silence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "reason"), [("expired", "input_timeout"), ("cancelled", "no longer wanted")])
async def test_a_question_that_nobody_answers_ends_the_invocation_and_no_node_runs(
    room: World, agent: Handraise, alice: Handraise, how: str, reason: str
) -> None:
    options: Any = {"timeout_seconds": 60} if how == "expired" else {}
    desk = Desk(agent, alice, f"silence-{how}", room.agent.url, **options)
    told = await desk.begin()
    wake_up = Transmission({"invocation_id": told["invocation_id"]}, "signal_resume")
    assert failed(await desk.harness.receive(wake_up)) == ("suspension_record_invalid", "retryable_transient")
    if how == "expired":
        await room.advance(seconds=60)
    else:
        await agent.cancel((await question_of(agent, told)).id, reason)
    reply = await desk.harness.receive(wake_up)
    assert reply.shape == "not_answered_response"
    assert reply.payload() == {
        "outcome": how,
        "invocation_id": told["invocation_id"],
        "signal_id": desk.signal_id,
        "reason": reason,
    }
    late = "suspension_ended"
    assert failed(await desk.signal()) == (late, "user_correctable")
    assert desk.ran == ["gate"]


# --- Modes, and what goes wrong ---------------------------------------------------------------------------------------


class Untouched:
    """A store of sessions that nobody may use."""

    async def load(self, session_id: str) -> Any:
        raise AssertionError("loaded")

    async def save(self, session_id: str, state: Any) -> None:
        raise AssertionError("saved")


async def test_a_stateless_harness_suspends_and_resumes_without_any_session(
    room: World, agent: Handraise, alice: Handraise
) -> None:
    desk = Desk(agent, alice, "stateless", room.agent.url, STATELESS, Untouched())
    told = await desk.begin(session_id="sess-unused")
    assert (await question_of(agent, told)).session_id is None
    reply = await desk.signal()
    assert (reply.shape, reply.path) == ("completion_response", "3.0")


async def test_a_harness_that_has_no_session_store_of_its_own_leaves_sessions_to_its_runner(desk: Desk) -> None:
    """H-10, from the other side: with a session the runner loads and saves it, and nobody else."""
    await desk.begin(session_id="sess-loaded")
    assert (await desk.sessions.load("sess-loaded"))["sent"] is False
    await desk.signal()
    assert (await desk.sessions.load("sess-loaded"))["sent"] is True


async def test_other_turns_are_served_while_one_waits(desk: Desk) -> None:
    waits = await desk.begin(session_id="sess-waits")
    quick: Pipeline[Order] = Pipeline(Order, [desk.nodes[1]], desk.coordinator._agent, sessions=desk.sessions)
    desk.harness = Harness(quick, SESSIONED, desk.coordinator, initial_state=lambda _: {"approved": True})
    replies = [await desk.harness.receive(Transmission({"session_id": "sess-other"})) for _ in range(2)]
    assert [reply.payload()["turns"] for reply in replies] == [1, 2]
    assert waits["invocation_id"] not in str([reply.payload() for reply in replies])


@pytest.mark.parametrize("broken", ["initial_state", "resolve_session", "node"])
async def test_whatever_goes_wrong_is_an_error_response_that_quotes_nothing(
    desk: Desk, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Any) -> Any:
        raise ValueError("hunter2")

    given: dict[str, Any] = {"initial_state": lambda _: {}}
    if broken == "node":
        desk.failures.append(ValueError("hunter2"))
        runner = Pipeline(Order, [desk.nodes[1]], desk.coordinator._agent)
    else:
        runner = desk.pipeline
        given[broken] = fail
    harness: Harness[Order] = Harness(runner, SESSIONED, desk.coordinator, **given)
    with caplog.at_level(logging.DEBUG):
        reply = await harness.receive(Transmission({}))
    assert failed(reply) == ("node_exception", "session_terminating")
    assert reply.payload() == {
        "category": "node_exception",
        "bucket": "session_terminating",
        "intervention_required": True,
    }
    assert "hunter2" not in caplog.text + repr(reply)


@pytest.mark.parametrize("category", ["session_load_failed", "provider_unavailable", "provider_invalid_request"])
async def test_a_turn_that_fails_is_run_once(desk: Desk, category: str) -> None:
    desk.failures.append(Category(category))
    runner = Pipeline(Order, [desk.nodes[1]], desk.coordinator._agent)
    harness: Harness[Order] = Harness(runner, SESSIONED, desk.coordinator, initial_state=lambda _: {})
    assert failed(await harness.receive(Transmission({})))[0] == category
    assert desk.ran == ["send"]


async def test_a_transmission_that_could_take_two_paths_runs_nothing(desk: Desk) -> None:
    reply = await desk.harness.receive(Transmission({"session_id": "sess-1", "signal_id": "x"}))
    assert failed(reply) == ("harness_path_classification_ambiguous", "user_correctable")
    assert reply.path is None
    reply = await desk.harness.receive(Transmission({}, "existing_session"))
    assert failed(reply) == ("harness_session_id_unresolved", "session_terminating")
    assert desk.ran == []


async def test_a_server_that_is_away_is_retryable(tmp_path: Any, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url) as world:
        agent = Handraise(world.url, KEYS["agent"], patience_seconds=0.1)
        alice = Handraise(world.url, KEYS["operator"], patience_seconds=0.1)
        desk = Desk(agent, alice, "away", world.agent.url)
        await desk.begin()
    reply = await desk.signal()
    assert failed(reply) == ("server_unavailable", "retryable_transient")
    await agent.aclose()
    await alice.aclose()
