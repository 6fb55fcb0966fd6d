"""Asking and waiting, against a loopback server that does what API.md §1 and §2 promise.

Each test runs twice: with the asynchronous client, and with the synchronous one in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from handraise import (
    ConfigurationError,
    EscalationRung,
    Handraise,
    HumanRetryPolicy,
    InputCancelledError,
    InputTimeoutError,
    NotAnswered,
    RequestRefused,
    ResumeTarget,
    ServerUnavailable,
    Suspended,
    SuspensionChoice,
    UnexpectedResponse,
)

from sdk.tests.in_thread import InThread
from sdk.tests.pretend_server import KEY, LIMIT, PretendServer


@pytest.fixture
async def server() -> AsyncIterator[PretendServer]:
    server = PretendServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture(params=[Handraise, InThread], ids=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return request.param


@pytest.fixture
async def client(server: PretendServer, connect: Callable[..., Any]) -> AsyncIterator[Any]:
    async with connect(server.url, KEY, patience_seconds=LIMIT) as client:
        yield client


def asking(client: Any, **options: Any) -> asyncio.Task[Any]:
    question = client.request_input("Refund order 12345?", **{"choices": ["approve", "deny"]} | options)
    return asyncio.create_task(asyncio.wait_for(question, LIMIT))


# --- What comes back ----------------------------------------------------------------------------------------------


async def test_the_answer_comes_back(server, client):
    task = asking(client)
    await server.waits(1)
    await server.answer("approve")
    assert await task == "approve"


async def test_an_empty_wait_is_followed_by_another_until_the_answer_is_there(server, client):
    server.windows.extend([0, 0])
    task = asking(client)
    await server.waits(3)
    await server.answer("deny")
    assert await task == "deny"
    assert {asked.query["timeout_seconds"] for asked in server.seen[1:]} == {"55"}


async def test_a_server_that_cuts_every_wait_short_is_not_stormed(server, client):
    server.windows.extend([0] * 1000)
    task = asking(client)
    await server.waits(5)
    task.cancel()
    waits = [asked.at for asked in server.seen if asked.path.endswith("/wait")]
    assert waits[4] - waits[0] > 0.5


async def test_a_form_comes_back_as_the_object_it_is(server, client):
    task = asking(client, choices=None, response_type="form", context={"amount": "How much?"})
    await server.waits(1)
    await server.answer({"amount": "12"})
    assert await task == {"amount": "12"}


async def test_a_fallback_is_returned_when_nobody_answered(server, client):
    task = asking(client, fallback_policy="complete_with_fallback", fallback_value="deny", timeout_seconds=60)
    await server.waits(1)
    await server.end(resolution="expired", continued_with="deny")
    assert await task == "deny"


async def test_silence_without_a_fallback_is_a_timeout_that_carries_the_record(server, client):
    task = asking(client, fallback_policy="fail", timeout_seconds=60)
    await server.waits(1)
    await server.end(resolution="expired", error="input_timeout")
    with pytest.raises(InputTimeoutError, match="HR-7F30") as raised:
        await task
    assert raised.value.reason == "input_timeout"
    assert raised.value.suspension.id == "susp-1"
    assert raised.value.suspension.answer is None


async def test_a_deadline_is_a_timeout_even_where_a_fallback_was_given(server, client):
    task = asking(client, fallback_policy="complete_with_fallback", fallback_value="approve", timeout_seconds=60)
    await server.waits(1)
    await server.end(resolution="expired", error="portfolio_deadline_exceeded", fallback_value="approve")
    with pytest.raises(InputTimeoutError, match="portfolio_deadline_exceeded"):
        await task


async def test_a_veto_window_that_nobody_saw_is_a_timeout_and_never_an_authorisation(server, client):
    task = asking(client, choices=None, kind="veto", timeout_seconds=60)
    await server.waits(1)
    await server.end(resolution="expired", error="notice_undelivered")
    with pytest.raises(InputTimeoutError) as raised:
        await task
    assert raised.value.reason == "notice_undelivered"


async def test_a_veto_window_that_passed_in_silence_authorises(server, client):
    task = asking(client, choices=None, kind="veto", timeout_seconds=60)
    await server.waits(1)
    await server.end(resolution="expired", continued_with="authorize")
    assert await task == "authorize"


async def test_a_cancelled_question_says_so_and_why(server, client):
    task = asking(client)
    await server.waits(1)
    cancelled = await client.cancel("susp-1", "The customer called back.")
    assert cancelled.resolution == "cancelled"
    with pytest.raises(InputCancelledError) as raised:
        await task
    assert raised.value.suspension.reason == "The customer called back."


async def test_an_ending_of_a_kind_not_known_yet_is_no_answer(server, client):
    task = asking(client)
    await server.waits(1)
    await server.end(resolution="superseded", continued_with="approve")
    with pytest.raises(NotAnswered, match="superseded"):
        await task


# --- Suspending without waiting -----------------------------------------------------------------------------------


async def test_suspend_tells_where_the_question_went_and_returns_at_once(server, client):
    suspended = await client.suspend("Deploy?", response_type="confirm", resume=ResumeTarget(session_id="sess-1"))
    assert isinstance(suspended, Suspended)
    assert (suspended.status, suspended.suspension_id, suspended.ref) == (
        "suspended_awaiting_input",
        "susp-1",
        "HR-7F30",
    )
    assert suspended.session_id == "sess-1"
    assert suspended.ladder[0].recipients == ("group:finance",)
    assert suspended.suspension.is_open


async def test_the_record_can_be_waited_for_later_and_has_the_whole_answer(server, client):
    choice = SuspensionChoice(value="approve", label="Approve refund", description="The full amount.")
    await client.suspend("Refund?", choices=[choice])
    assert (await client.get("susp-1")).is_open
    with pytest.raises(ValueError, match="open"):
        (await client.get("susp-1")).result()
    await server.answer("approve")
    answer = (await client.wait("susp-1")).answer
    assert answer is not None
    assert (answer.value, answer.choice_label, answer.choice_description, answer.responded_by) == (
        "approve",
        "Approve refund",
        "The full amount.",
        "alice@example.com",
    )
    assert answer.responded_at is not None
    assert answer.responded_at.isoformat() == "2026-03-23T10:01:00+00:00"


async def test_an_intent_of_ones_own_is_the_one_that_is_suspended(server, client):
    suspended = await client.suspend("Deploy?", intent_id="a b/c", choices=["yes"])
    assert server.seen[-1].path == "/v1/intents/a%20b%2Fc/suspend"
    assert suspended.intent_id == "a%20b%2Fc"


# --- What is sent -------------------------------------------------------------------------------------------------


async def test_only_what_was_given_is_sent_so_that_the_rest_is_inherited(server, client):
    await client.suspend(
        "Refund?",
        choices=["approve", {"value": "deny", "label": "Deny", "style": "danger"}],
        timeout_seconds=None,
        retry_policy=HumanRetryPolicy(
            max_attempts=2, escalation_ladder=(EscalationRung(attempt=2, channel_hint="email"),)
        ),
    )
    assert server.seen[-1].json == {
        "question": "Refund?",
        "choices": [
            {"value": "approve", "label": "approve"},
            {"value": "deny", "label": "Deny", "style": "danger"},
        ],
        "retry_policy": {"max_attempts": 2, "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}]},
    }


async def test_how_many_have_to_answer_and_by_when_is_sent_by_name(server, client):
    await client.suspend("Refund?", response_type="confirm", answers_required=2, deadline_seconds=600)
    asked = {"question": "Refund?", "response_type": "confirm", "answers_required": 2, "deadline_seconds": 600}
    assert server.seen[-1].json == asked


async def test_the_agents_own_state_travels_untouched_nulls_included(server, client):
    state = {"cart": None, "steps": [1, None]}
    await client.suspend("Go on?", response_type="confirm", context={"note": None}, resume=ResumeTarget(state=state))
    assert server.seen[-1].json["resume"] == {"state": state}
    assert server.seen[-1].json["context"] == {"note": None}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"chioces": ["approve"]}, "chioces"),
        ({"choices": "approve"}, "list"),
        ({"choices": ["approve"], "context": {"when": object()}}, "object"),
    ],
)
async def test_a_question_that_can_not_be_written_is_a_type_error_and_nothing_is_sent(server, client, options, problem):
    with pytest.raises(TypeError, match=problem):
        await asyncio.wait_for(client.request_input("Refund?", **options), LIMIT)
    assert server.seen == []


# --- When the server is away --------------------------------------------------------------------------------------


async def test_a_restart_in_the_middle_of_a_wait_goes_unnoticed_but_for_one_line_in_the_log(server, client, caplog):
    caplog.set_level(logging.WARNING)
    task = asking(client)
    await server.waits(1)
    await server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
    await server.start()
    await server.waits(2)
    await server.answer("approve")
    assert await task == "approve"
    assert len(server.records) == 1
    (line,) = [record for record in caplog.records if record.name == "handraise"]
    assert not [secret for secret in ("susp-1", "HR-7F30", KEY, "Refund", "approve") if secret in line.getMessage()]


async def test_a_server_that_is_down_is_logged_at_once_and_when_it_is_back(server, client, caplog):
    caplog.set_level(logging.INFO, "handraise")
    await server.stop()
    task = asyncio.create_task(client.suspend("Refund?", choices=["approve"]))
    while not caplog.records:
        await asyncio.sleep(0.001)
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert f"127.0.0.1:{server.port} can't be reached (ConnectError" in line.getMessage()
    assert not task.done()
    await server.start()
    await task
    assert "is back after" in caplog.records[-1].getMessage()
    assert len(caplog.records) == 2


async def test_waiting_is_given_up_when_it_is_said_and_the_question_stays_open(server, client):
    with pytest.raises(TimeoutError, match=r"0\.2 s; the question stays open"):
        await client.request_input("Refund?", choices=["approve"], give_up_after_seconds=0.2)
    assert (await client.get("susp-1")).is_open
    await server.answer("approve")
    assert (await client.wait("susp-1", give_up_after_seconds=LIMIT)).result() == "approve"


async def test_waiting_is_given_up_beside_a_server_that_is_away(server, client):
    await client.suspend("Refund?", choices=["approve"])
    await server.stop()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.wait("susp-1", give_up_after_seconds=0.2), LIMIT)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_gateway_that_lost_the_server_is_waited_out(server, client, status):
    server.windows.append(0)
    task = asking(client)
    await server.waits(1)
    server.faults.extend([(status, b"<html>away</html>")] * 2)
    await server.waits(4)
    await server.answer("approve")
    assert await task == "approve"


@pytest.mark.slow
async def test_each_outage_is_logged_once_however_long_it_lasts(server, client, caplog):
    caplog.set_level(logging.WARNING, "handraise")
    away = (503, b"")
    server.windows.extend([0, 0])
    server.faults.extend([None, None, away, away, None, away])
    task = asking(client)
    await server.waits(6)
    await server.answer("approve")
    assert await task == "approve"
    assert len(caplog.records) == 2


async def test_a_question_whose_acknowledgement_was_lost_is_asked_once(server, client):
    server.faults.extend(["cut", (503, b""), "lose"])
    suspended = await client.suspend("Refund?", choices=["approve"])
    posts = [asked for asked in server.seen if asked.method == "POST"]
    assert len(posts) == 4
    assert len({asked.headers["idempotency-key"] for asked in posts}) == 1
    assert len({asked.body for asked in posts}) == 1
    assert list(server.records) == [suspended.suspension_id]


async def test_two_questions_have_two_idempotency_keys(server, client):
    await client.suspend("Refund?", choices=["approve"])
    await client.suspend("Refund?", choices=["approve"])
    assert len(server.records) == 2


async def test_an_agent_that_died_and_asks_again_under_its_own_key_gets_the_answer_of_the_first_time(
    server, client, connect
):
    first = asking(client, idempotency_key="refund-12345")
    await server.waits(1)
    first.cancel()
    await server.answer("approve")
    async with connect(server.url, KEY) as reborn:
        assert await asking(reborn, idempotency_key="refund-12345") == "approve"
    assert len(server.records) == 1


async def test_a_server_that_stays_away_is_told_apart_from_a_refusal(server, connect):
    await server.stop()
    async with connect(server.url, KEY, patience_seconds=0.2) as client:
        with pytest.raises(ServerUnavailable, match=f"127.0.0.1:{server.port}.*ConnectError") as raised:
            await asyncio.wait_for(client.suspend("Refund?", choices=["approve"]), LIMIT)
    assert KEY not in str(raised.value)


async def test_a_server_whose_certificate_nobody_vouches_for_is_not_spoken_to(connect):
    tls, heard = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), []
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0, ssl=tls) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with connect(f"https://127.0.0.1:{port}", KEY, patience_seconds=0) as client:
            with pytest.raises(ServerUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                await asyncio.wait_for(client.suspend("Refund?", choices=["approve"]), LIMIT)
    assert b"".join(heard) == b""


# --- When the server says no --------------------------------------------------------------------------------------


async def test_a_refusal_names_its_code_and_the_field(server, client):
    with pytest.raises(RequestRefused) as raised:
        await client.request_input("Refund?", choices=["approve", "approve"])
    assert (raised.value.status, raised.value.code) == (422, "invalid_request")
    assert raised.value.fields[0].path == "choices"
    assert "choices: Two choices have the same value." in str(raised.value)
    assert len(server.seen) == 1


async def test_an_unknown_key_is_refused_without_being_repeated_in_the_message(server, connect):
    async with connect(server.url, "not-a-key") as client:
        with pytest.raises(RequestRefused) as raised:
            await client.get("susp-1")
    assert (raised.value.status, raised.value.code) == (401, "unauthorized")
    assert "not-a-key" not in f"{raised.value} {raised.value!r} {client!r}"


async def test_a_question_that_was_answered_is_not_cancelled_and_the_refusal_says_who_answered(server, client):
    await client.suspend("Refund?", choices=["approve"])
    await server.answer("approve")
    with pytest.raises(RequestRefused) as raised:
        await client.cancel("susp-1")
    assert raised.value.code == "already_answered"
    assert raised.value.details == {"responded_by": "alice@example.com"}


@pytest.mark.parametrize("page", [b"<html>no</html>", b"[]", b'{"detail": "no"}', b'{"detail": {"fields": 1}}', b""])
async def test_a_proxy_that_refuses_in_its_own_words_is_a_refusal_too(server, client, page):
    server.faults.append((403, page))
    with pytest.raises(RequestRefused) as raised:
        await client.suspend("Refund?", choices=["approve"])
    assert raised.value.code == "http_403"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, b"<html>It works!</html>"), "JSON"),
        ((200, b"[1]"), "Suspended"),
        ((200, b"{}"), "suspension_id"),
        ((307, b""), "307"),
    ],
)
async def test_another_service_at_that_address_is_recognised(server, client, answer, told):
    server.faults.append(answer)
    with pytest.raises(UnexpectedResponse, match=told):
        await client.suspend("Refund?", choices=["approve"])
    assert len(server.seen) == 1


# --- Setting up ---------------------------------------------------------------------------------------------------


async def test_url_and_key_come_from_the_environment(server, connect, monkeypatch):
    monkeypatch.setenv("HANDRAISE_URL", f"{server.url}/")
    monkeypatch.setenv("HANDRAISE_API_KEY", KEY)
    async with connect() as client:
        assert (await client.suspend("Refund?", choices=["approve"])).suspension_id == "susp-1"


@pytest.mark.parametrize(
    ("url", "key", "named"),
    [
        ("", KEY, "HANDRAISE_URL"),
        ("http://127.0.0.1:1", "", "HANDRAISE_API_KEY"),
        ("127.0.0.1:8080", KEY, "http://"),
        ("ftp://host", KEY, "http://"),
        ("http://127.0.0.1:1", "sécret", "header"),
        ("http://127.0.0.1:1", "sec\nret", "header"),
    ],
)
def test_what_is_missing_or_unusable_is_named_at_once_and_no_key_is_repeated(monkeypatch, connect, url, key, named):
    monkeypatch.delenv("HANDRAISE_URL", raising=False)
    monkeypatch.delenv("HANDRAISE_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match=named) as raised:
        connect(url, key)
    assert not key or key not in str(raised.value)


def test_importing_the_library_does_not_import_httpx():
    seen = "import sys, handraise; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", seen], check=False).returncode == 0


ROOT = Path(__file__).parents[2]
PROGRAMS = [
    pytest.param(program, id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", ROOT / "sdk" / "README.md", ROOT / "docs" / "how-to" / "agents.md")
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    if "asyncio.run(" in program or "HandraiseSync()" in program
]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_every_program_in_the_documentation_runs_as_it_stands(server, program):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        env={"HANDRAISE_URL": server.url, "HANDRAISE_API_KEY": KEY},
        stdout=asyncio.subprocess.PIPE,
    )
    await server.until(lambda: server.records)
    asked = server.records["susp-1"]
    form, choices = asked["response_type"] == "form", asked["choices"]
    value = {"amount": 5, "speed": "now"} if form else choices[0]["value"] if choices else "yes"
    await server.answer(value, number=3 if "wait_session" in program else 1)
    async with asyncio.timeout(LIMIT):
        printed, _ = await process.communicate()
    assert process.returncode == 0
    assert printed
