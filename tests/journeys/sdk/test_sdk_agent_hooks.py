"""The SDK's agents at work: hooks, restarts, and an end that loses nothing. RFC-0025 §9's own programs are in
tests/conformance."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from handraise import (
    Agent,
    BaseAgent,
    InputResponse,
    Intent,
    RequestRefused,
    SuspensionRecord,
    on_input_received,
    on_input_requested,
)

from tests.conformance.watching import soon, watching
from tests.middle_box import middle_box
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

YES_OR_NO: dict[str, Any] = {"response_type": "confirm"}


class Told(BaseAgent):
    """``told``: what its hooks were called with, in order."""

    def __init__(self, url: str, api_key: str = KEYS["agent"]) -> None:
        super().__init__(url, api_key)
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    @on_input_requested
    async def requested(self, intent: Intent, suspension: SuspensionRecord) -> None:
        await self.told.put((intent.id, suspension.context["_attempt"]))

    @on_input_received
    async def received(self, intent: Intent, response: InputResponse) -> None:
        await self.told.put((intent.id, response.value))


def ask(agent: BaseAgent, intent: dict[str, Any], **options: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(agent.request_input(intent["id"], "Go on?", **{**YES_OR_NO, **options}))


# --- Whose hooks are called, and when -------------------------------------------------------------------------------


async def test_the_first_question_starts_an_agent_that_nobody_has_started(room: World) -> None:
    intent, agent = await room.active_intent(), Told(room.url)
    async with watching(room) as watch:
        working = ask(agent, intent)
        await room.answer(await watch.asked(), "yes")
        assert await soon(working) == "yes"
        assert [await soon(agent.told) for _ in range(2)] == [(intent["id"], 1), (intent["id"], "yes")]
    await agent.aclose()


async def test_a_key_that_may_read_everything_hears_of_its_own_intents_alone(room: World) -> None:
    theirs, own = await room.active_intent(), await room.active_intent(role="admin")
    async with Told(room.url, KEYS["admin"]) as agent, Told(room.url) as other, watching(room) as watch:
        first = ask(other, theirs)
        await room.answer(await watch.asked(), "no")
        await soon(first)
        second = ask(agent, own)
        await room.answer(await watch.asked(), "yes")
        await soon(second)
        assert [await soon(agent.told) for _ in range(2)] == [(own["id"], 1), (own["id"], "yes")]
        assert [await soon(other.told) for _ in range(2)] == [(theirs["id"], 1), (theirs["id"], "no")]
    assert agent.told.empty()
    assert other.told.empty()


async def test_two_processes_of_an_agent_are_both_told(room: World) -> None:
    intent = await room.active_intent()
    async with Told(room.url) as one, Told(room.url) as two, watching(room) as watch:
        working = ask(one, intent)
        await room.answer(await watch.asked(), "yes")
        await soon(working)
        for agent in (one, two):
            assert [await soon(agent.told) for _ in range(2)] == [(intent["id"], 1), (intent["id"], "yes")]


async def test_each_hook_is_called_once_though_the_connection_is_lost_between(room: World) -> None:
    intent = await room.active_intent()
    policy = {"max_attempts": 3, "interval_seconds": 3600}
    async with middle_box(room.url) as (box, url), Told(url) as agent, watching(room) as watch:
        working = ask(agent, intent, retry_policy=policy)
        asked = await watch.asked()
        assert await soon(agent.told) == (intent["id"], 1)
        for attempt in (2, 3):
            box.closed = True
            box.cut()
            await room.advance(hours=1)
            box.closed = False
            assert await soon(agent.told) == (intent["id"], attempt)
        await room.answer(asked, "yes")
        assert await soon(working) == "yes"
        assert await soon(agent.told) == (intent["id"], "yes")
    assert agent.told.empty()


# --- Hooks that take their time, or fail ----------------------------------------------------------------------------


async def test_a_hook_that_hangs_holds_back_neither_the_answer_nor_another_questions_hooks(room: World) -> None:
    go_on, blocked = threading.Event(), threading.Event()

    class Slow(Told):
        @on_input_requested
        def hang(self, intent: Intent, suspension: SuspensionRecord) -> None:
            if intent.id == slow["id"]:
                blocked.set()
                go_on.wait(60)

    slow, quick = await room.active_intent(), await room.active_intent()
    async with Slow(room.url) as agent, watching(room) as watch:
        first = ask(agent, slow)
        asked = await watch.asked()
        assert await asyncio.to_thread(blocked.wait, 30)
        assert await soon(agent.told) == (slow["id"], 1)
        second = ask(agent, quick)
        await room.answer(await watch.asked(), "no")
        assert await soon(second) == "no"
        assert [await soon(agent.told) for _ in range(2)] == [(quick["id"], 1), (quick["id"], "no")]
        await room.answer(asked, "yes")
        assert await soon(first) == "yes"
        assert agent.told.empty(), "the hooks of one question keep their order"
        go_on.set()
        assert await soon(agent.told) == (slow["id"], "yes")


async def test_a_hook_that_fails_stops_neither_the_agent_nor_the_other_hooks(
    room: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Told):
        @on_input_requested
        @on_input_received
        def broken(self, intent: Intent, about: Any) -> None:
            raise ValueError(str(about))

    intent = await room.active_intent()
    async with Broken(room.url) as agent, watching(room) as watch:
        for _ in range(2):
            working = ask(agent, intent, fallback_value="no", context={"card": "of Eve"})
            await room.answer(await watch.asked(), "yes")
            assert await soon(working) == "yes"
            assert [await soon(agent.told) for _ in range(2)] == [(intent["id"], 1), (intent["id"], "yes")]
    failures = [record.getMessage() for record in caplog.records if "broken has failed" in record.getMessage()]
    assert len(failures) == 4
    assert "Go on?" not in caplog.text and "of Eve" not in caplog.text


async def test_a_hook_may_ask_about_the_same_intent(room: World) -> None:
    class Asking(BaseAgent):
        answers: asyncio.Queue[Any] = asyncio.Queue()

        @on_input_received
        async def sure(self, intent: Intent, response: InputResponse) -> None:
            if response.value == "yes":
                await self.answers.put(await self.request_input(intent.id, "Sure?", response_type="confirm"))

    intent = await room.active_intent()
    async with Asking(room.url, KEYS["agent"]) as agent, watching(room) as watch:
        working = ask(agent, intent)
        await room.answer(await watch.asked(), "yes")
        await soon(working)
        await room.answer(await watch.asked(), "no")
        assert await soon(agent.answers) == "no"


# --- Start, end, restart --------------------------------------------------------------------------------------------


async def test_the_hooks_of_what_has_ended_are_called_before_the_agent_is_closed(room: World) -> None:
    for value in ("yes", "no", "yes"):
        intent = await room.active_intent()
        async with watching(room) as watch:
            async with Told(room.url) as agent:
                working = ask(agent, intent)
                await room.answer(await watch.asked(), value)
                await soon(working)
            assert [agent.told.get_nowait() for _ in range(2)] == [(intent["id"], 1), (intent["id"], value)]


async def test_an_agent_that_was_restarted_waits_for_the_same_question(room: World) -> None:
    intent = await room.active_intent()
    async with watching(room) as watch:
        async with Told(room.url) as agent:
            working = ask(agent, intent, idempotency_key=f"go-on-{intent['id']}")
            asked = await watch.asked()
            working.cancel()
        async with Told(room.url) as agent:
            working = ask(agent, intent, idempotency_key=f"go-on-{intent['id']}")
            await room.answer(asked, "yes")
            assert await soon(working) == "yes"
    assert (await room.event_types(asked)).count("intent.suspended") == 1


async def test_a_key_that_is_not_valid_is_told_at_the_start(room: World) -> None:
    agent = Told(room.url, "nobody's")
    for _ in range(2):
        with pytest.raises(RequestRefused) as refused:
            await agent.start()
        assert refused.value.status == 401
    await agent.aclose()


async def test_a_closed_agent_says_so(room: World) -> None:
    async with Told(room.url) as agent:
        await agent.start()
    await agent.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await agent.request_input(None, "Go on?", response_type="confirm")


async def test_a_question_without_an_intent_gets_one(room: World) -> None:
    async with Told(room.url) as agent, watching(room) as watch:
        working = asyncio.create_task(agent.request_input(None, "Go on?", response_type="confirm"))
        await room.answer(await watch.asked(), "yes")
        assert await soon(working) == "yes"


# --- run(), and @Agent ---


async def test_run_inside_a_loop_says_what_to_do_instead(room: World) -> None:
    with pytest.raises(RuntimeError, match="async with agent"):
        Told(room.url).run()


async def test_any_class_becomes_an_agent_and_keeps_its_name_its_init_and_its_super(room: World) -> None:
    class Base:
        def __init__(self, threshold: int = 1) -> None:
            super().__init__()
            self.threshold = threshold

    @Agent("refund-agent")
    class Refunds(Base):
        """Refunds."""

        async def go_on(self, intent_id: str) -> Any:
            return await self.request_input(intent_id, "Go on?", response_type="confirm")  # type: ignore[attr-defined]

    assert (Refunds.__name__, Refunds.__doc__, Refunds.__module__) == ("Refunds", "Refunds.", __name__)
    assert issubclass(Refunds, BaseAgent) and issubclass(Refunds, Base)
    intent = await room.active_intent()
    async with Refunds(room.url, KEYS["agent"], threshold=5) as agent, watching(room) as watch:
        assert (agent.agent_id, agent.threshold) == ("refund-agent", 5)
        working = asyncio.create_task(agent.go_on(intent["id"]))
        await room.answer(await watch.asked(), "yes")
        assert await soon(working) == "yes"


async def test_a_base_agent_stays_the_class_that_it_is(room: World) -> None:
    decorated = Agent("refund-agent")(Told)
    assert decorated is Told
    assert Told(room.url).agent_id == "refund-agent"
    assert BaseAgent.agent_id is None


async def test_a_decorator_without_a_name_says_what_it_takes() -> None:
    with pytest.raises(TypeError, match='@Agent\\("my-agent"\\)'):

        @Agent  # type: ignore[arg-type]
        class Refunds:
            pass
