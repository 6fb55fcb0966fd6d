"""The pytest plugin for those who write agents, used as they use it: agents on the SDK, over HTTP."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from handraise import (
    Handraise,
    HandraiseSync,
    InputTimeoutError,
    RequestRefused,
    Resumed,
    ResumeTarget,
    verify_callback,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import loopback_client, serving

if TYPE_CHECKING:
    from handraise_testing import Attempt, HandraiseServer, Humans

HOUR = timedelta(hours=1)
LADDER = [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}]


async def ask(question: str = "Refund order 7?", **options: Any) -> Any:
    async with Handraise() as people:
        return await people.request_input(question, **{"choices": ["approve", "deny"], **options})


async def ask_patiently(question: str = "Refund order 7?", **options: Any) -> Any:
    """Three attempts, an hour apart."""
    policy: Any = {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": LADDER}
    fallback: Any = {"timeout_seconds": 3600, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    return await ask(question, retry_policy=policy, responders=["group:finance"], **fallback, **options)


def ladder(attempts: Sequence[Attempt]) -> list[tuple[str, timedelta]]:
    return [(one.channel, one.after) for one in attempts]


async def test_silence_climbs_the_ladder_to_the_fallback(handraise: HandraiseServer, humans: Humans) -> None:
    humans.stay_silent()
    assert await ask_patiently() == "deny"
    [asked] = handraise.questions
    assert ladder(asked.attempts) == [("slack", 0 * HOUR), ("email", HOUR), ("pagerduty", 2 * HOUR)]
    assert (asked.resolution, asked.ended_after, asked.continued_with) == ("expired", 3 * HOUR, "deny")
    assert (asked.answer, asked.answered_by) == (None, None)
    asking = [one for one in handraise.messages if one.text == "Input needed: Refund order 7?"]
    assert {(one.channel, one.to) for one in asking} == {("slack", "alice@example.com"), ("slack", "bob@example.com")}


async def test_an_answer_comes_at_its_time_by_who_was_asked(handraise: HandraiseServer, humans: Humans) -> None:
    humans.answer("approve", after="90m", reason="He is right.")
    assert await ask_patiently() == "approve"
    [asked] = humans.asked
    assert ladder(asked.attempts) == [("slack", 0 * HOUR), ("email", HOUR)]
    assert (asked.ended_after, asked.answered_by, asked.reason) == (1.5 * HOUR, "alice@example.com", "He is right.")


async def test_an_answer_after_the_end_changes_nothing(handraise: HandraiseServer, humans: Humans) -> None:
    humans.answer("approve", after="4h")
    assert await ask_patiently() == "deny"
    await handraise.clock.advance("2h")
    assert handraise.questions[0].answer is None


async def test_at_one_instant_the_service_comes_first(handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve(after="1h")
    assert await ask_patiently() == "approve"
    assert ladder(handraise.questions[0].attempts) == [("slack", 0 * HOUR), ("email", HOUR)]


async def test_an_answer_at_the_very_end_is_late(humans: Humans) -> None:
    humans.answer("approve", after="3h")
    assert await ask_patiently() == "deny"


def test_a_synchronous_test_with_an_agent_of_its_own_loop(humans: Humans) -> None:
    humans.deny()
    assert asyncio.run(ask()) == "deny"


def test_a_synchronous_agent(handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve(after="3h")
    with HandraiseSync() as people:
        assert people.request_input("Refund order 7?", choices=["approve", "deny"]) == "approve"
        with pytest.raises(InputTimeoutError):
            people.request_input("Refund order 8?", choices=["approve", "deny"], timeout_seconds=3600)
    assert [one.ended_after for one in handraise.questions] == [3 * HOUR, HOUR]


def test_an_agent_without_the_sdk_moves_the_clock_by_waiting(handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve(after="3d")
    with httpx.Client(headers={"X-API-Key": handraise.api_key}, trust_env=False) as http:
        asked = http.post(
            f"{handraise.url}/v1/suspensions", json={"question": "Go?", "response_type": "confirm"}
        ).json()
        ended = http.get(f"{handraise.url}/api/v1/suspensions/{asked['suspension_id']}/wait").json()
    assert (ended["response"], handraise.clock.now().day) == ("yes", 27)


async def test_an_agent_that_listens_to_events_moves_the_clock_too(handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve(after="2h")
    async with Handraise() as people, loopback_client(timeout=30) as http:
        asked = await people.suspend("Go?", response_type="confirm")
        path = f"{handraise.url}/v1/intents/{asked.intent_id}/subscribe"
        async with http.stream("GET", path, headers={"X-API-Key": handraise.api_key}) as events:
            async for line in events.aiter_lines():
                if line == "event: intent.resumed":
                    break
    assert handraise.questions[0].ended_after == 2 * HOUR


async def test_plans_find_their_questions(handraise: HandraiseServer, humans: Humans) -> None:
    humans.deny(to=r"order \d$", after="20m")
    humans.approve(to=lambda question: "12" in question, after="1h", by="bob@example.com")
    assert await ask("Refund order 12?") == "approve"
    assert await ask("Cancel order 7") == "deny"
    assert [one.answered_by for one in handraise.questions] == ["bob@example.com", "alice@example.com"]


async def test_plans_are_used_once_and_in_order(humans: Humans) -> None:
    humans.approve()
    humans.stay_silent()
    humans.deny()
    assert await ask() == "approve"
    with pytest.raises(InputTimeoutError):
        await ask(timeout_seconds=60)
    assert await ask() == "deny"


async def test_a_claim_holds_the_next_attempt_and_the_same_person_answers(
    handraise: HandraiseServer, humans: Humans
) -> None:
    humans.claim(after="50m", lasts="30m", by="bob@example.com")
    humans.approve(after="100m", by="bob@example.com")
    assert await ask_patiently() == "approve"
    assert ladder(handraise.questions[0].attempts) == [("slack", 0 * HOUR), ("email", timedelta(minutes=80))]


async def test_a_question_for_two_takes_two_plans(handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve(after="1h")
    humans.approve(after="2h")
    assert await ask(answers_required=2, responders=["group:finance"]) == "approve"
    assert (handraise.questions[0].ended_after, handraise.questions[0].answered_by) == (2 * HOUR, "bob@example.com")


async def test_handed_over_and_asked_back(handraise: HandraiseServer, humans: Humans) -> None:
    humans.hand_over("supervisor@example.com", after="10m")
    humans.approve(after="20m", by="supervisor@example.com")
    assert await ask(responders=["alice@example.com"]) == "approve"
    assert [one.recipients for one in handraise.questions[0].attempts] == [
        ("alice@example.com",),
        ("supervisor@example.com",),
    ]


async def test_a_question_back_holds_the_clock(handraise: HandraiseServer, humans: Humans) -> None:
    humans.ask_back("Which card?", after="30m")
    async with Handraise() as people:
        asked = await people.suspend(
            "Refund?", choices=["approve", "deny"], timeout_seconds=3600, responders=["group:finance"]
        )
        await handraise.clock.advance("45m")
        await people.clarification(asked.suspension_id, "The blue one.")
        assert (await people.wait(asked.suspension_id)).answer is None
    assert handraise.questions[0].ended_after == timedelta(minutes=75)


async def test_a_veto_and_a_window_that_nobody_could_object_to(handraise: HandraiseServer, humans: Humans) -> None:
    humans.deny(after="5m")
    window: Any = {"kind": "veto", "timeout_seconds": 600, "responders": ["group:finance"]}
    async with Handraise() as people:
        assert await people.request_input("Refunding.", **window) == "veto"
        assert await people.request_input("Refunding.", **window) == "authorize"
        handraise.refuse("slack")
        with pytest.raises(InputTimeoutError, match="notice_undelivered"):
            await people.request_input("Refunding.", **window)


async def test_a_refused_attempt_brings_the_next_at_once(handraise: HandraiseServer, humans: Humans) -> None:
    handraise.refuse("slack")
    humans.approve(after="1m")
    await ask_patiently()
    assert ladder(handraise.questions[0].attempts) == [("slack", 0 * HOUR), ("email", 0 * HOUR)]


def test_a_channel_that_is_none(handraise: HandraiseServer) -> None:
    with pytest.raises(ValueError, match="'sms' is no channel: it is one of slack, email, pagerduty"):
        handraise.refuse("sms")


async def test_a_stopped_clock_moves_by_hand_alone(handraise: HandraiseServer, humans: Humans) -> None:
    handraise.clock.stop()
    agent = asyncio.create_task(ask_patiently())
    while not handraise.questions:
        await asyncio.sleep(0.001)
    began = handraise.clock.now()
    for step, channels in (("59m", 1), ("1m", 2), ("1h", 3)):
        await handraise.clock.advance(step)
        assert len(handraise.questions[0].attempts) == channels
    assert handraise.clock.now() - began == 2 * HOUR
    humans.answer("approve", after="10m")
    handraise.clock.start()
    assert await agent == "approve"
    assert handraise.questions[0].ended_after == 2 * HOUR + timedelta(minutes=10)


async def test_a_long_step_stops_at_all_that_is_due(handraise: HandraiseServer, humans: Humans) -> None:
    handraise.clock.stop()
    agent = asyncio.create_task(ask_patiently())
    while not handraise.questions:
        await asyncio.sleep(0.001)
    humans.approve(after="130m")
    await handraise.clock.advance("1d")
    assert await agent == "approve"
    [asked] = handraise.questions
    assert ladder(asked.attempts) == [("slack", 0 * HOUR), ("email", HOUR), ("pagerduty", 2 * HOUR)]
    assert asked.ended_after == timedelta(minutes=130)


def test_a_synchronous_test_moves_the_clock(handraise: HandraiseServer) -> None:
    async def suspend() -> None:
        async with Handraise() as people:
            await people.suspend("Deploy?", response_type="confirm", timeout_seconds=3600)

    asyncio.run(suspend())
    handraise.clock.advance("59m 59s")
    assert handraise.questions[0].is_open
    handraise.clock.advance(1)
    assert handraise.questions[0].resolution == "expired"


async def test_an_agent_that_is_called_back_goes_on_with_the_answer(handraise: HandraiseServer, humans: Humans) -> None:
    resumed: list[Resumed] = []

    async def resume(request: Request) -> Response:
        resumed.append(verify_callback(request.headers, await request.body(), [handraise.webhook_secret]))
        return Response(status_code=204)

    humans.approve(after="26h")
    async with serving(Starlette(routes=[Route("/resume", resume, methods=["POST"])])) as url, Handraise() as people:
        target = ResumeTarget(callback_url=f"{url}/resume", state={"order": 7})
        await people.suspend("Refund?", choices=["approve", "deny"], resume=target)
        await handraise.clock.finish()
    assert [(one.value, one.state) for one in resumed] == [("approve", {"order": 7})]


async def test_time_stands_while_an_agent_works(handraise: HandraiseServer, humans: Humans) -> None:
    """Three agents ask twice each. What one asks next it asks at the time of its answer, whoever else waits."""
    for number in range(3):
        humans.approve(after=f"{number}h", to=f"First of {number}")

    async def agent(number: int) -> None:
        async with Handraise() as people:
            for question in (f"First of {number}", f"Second of {number}"):
                await people.request_input(
                    question,
                    choices=["approve", "deny"],
                    timeout_seconds=36_000,
                    fallback_policy="complete_with_fallback",
                    fallback_value="deny",
                )

    await asyncio.gather(*map(agent, range(3)))
    began = handraise.questions[0].asked_at
    asked = {one.text: one.asked_at - began for one in handraise.questions}
    assert asked == {f"First of {number}": 0 * HOUR for number in range(3)} | {
        f"Second of {number}": number * HOUR for number in range(3)
    }


async def test_one_after_the_other_is_waited_for(humans: Humans) -> None:
    humans.answer("approve", after="5m")
    humans.answer("deny", after="2m")
    async with Handraise() as people:
        asked = [await people.suspend(name, choices=["approve", "deny"]) for name in ("First?", "Second?")]
        assert [(await people.wait(one.suspension_id)).result() for one in asked] == ["approve", "deny"]


async def test_an_agent_that_gives_up_waiting_does_not_move_the_clock(
    handraise: HandraiseServer, humans: Humans
) -> None:
    handraise.clock.stop()
    waiting = asyncio.create_task(ask_patiently())
    while not handraise._server.gate.waited_for:
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.wait([waiting])
    before = handraise.clock.now()
    async with Handraise() as people:
        asked = await people.suspend("Cancelled?", response_type="confirm")  # and the server has seen who has gone
        await people.cancel(asked.suspension_id)
    handraise.clock.start()
    for _ in range(5):
        humans.approve(after="1m", to="Go")
        assert await ask("Go?") == "approve"
    assert handraise.clock.now() - before == timedelta(minutes=5)
    assert handraise.questions[0].is_open


async def test_a_person_answers_over_http_with_their_own_key(handraise: HandraiseServer) -> None:
    handraise.clock.stop()
    async with Handraise() as people, loopback_client(timeout=30) as http:
        asked = await people.suspend("Refund?", choices=["approve", "deny"], responders=["bob@example.com"])
        answer = {"suspension_id": asked.suspension_id, "value": "approve"}
        path = f"{handraise.url}/v1/intents/{asked.intent_id}/suspend/respond"
        said = [
            (await http.post(path, json=answer, headers={"X-API-Key": handraise.key_of(person)})).status_code
            for person in ("alice@example.com", "bob@example.com")
        ]
    assert said == [403, 200]
    assert handraise.questions[0].answered_by == "bob@example.com"


def test_tests_do_not_see_each_others_questions(handraise: HandraiseServer) -> None:
    assert handraise.questions == []
    assert handraise.messages == []
    assert handraise.clock.now().isoformat() == "2026-03-24T10:00:00+00:00"


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        patch.setenv("no_proxy", "intranet.example")
        yield


def test_a_proxy_is_passed_by(proxied: None, handraise: HandraiseServer, humans: Humans) -> None:
    humans.approve()
    assert asyncio.run(ask()) == "approve"


def test_agents_in_threads(humans: Humans) -> None:
    humans.approve(to="in a thread", after="1h")
    humans.deny(to="in another", after="2h")
    found: dict[str, Any] = {}

    def agent(question: str) -> None:
        found[question] = asyncio.run(ask(question))

    threads = [threading.Thread(target=agent, args=(name,)) for name in ("in a thread", "in another")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"in a thread": "approve", "in another": "deny"}


@pytest.fixture
def left_behind() -> Iterator[list[threading.Thread]]:
    """Threads that have to end by themselves once the server of their test has gone."""
    threads: list[threading.Thread] = []
    yield threads
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_an_agent_that_is_left_waiting_ends_with_its_test(
    left_behind: list[threading.Thread], handraise: HandraiseServer
) -> None:
    def agent() -> None:
        with pytest.raises(RequestRefused, match=r"test_failed: The test is over\."):
            asyncio.run(ask())

    handraise.clock.stop()
    left_behind.append(threading.Thread(target=agent, daemon=True))
    left_behind[0].start()
    while not handraise._server.gate.waited_for:
        time.sleep(0.001)
