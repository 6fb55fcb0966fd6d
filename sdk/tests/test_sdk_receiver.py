"""The receiver: a callback that is ours, once, into a new turn of its session; nothing else gets near the handler."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from handraise import (
    ConfigurationError,
    MemoryCallbackStore,
    ReceiverReply,
    ResumeReceiver,
    SessionEnded,
    SqliteCallbackStore,
    SuspensionRecordInvalid,
    Turn,
)
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.routing import Mount

from bot.sandbox.serving import loopback_client, serving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEXT_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = datetime(2026, 3, 23, 10, 1, 1, tzinfo=UTC)
LIMIT = 30
MEBIBYTE = 1024 * 1024
KEPT_BACK = ("susp-1", "the-receipt", "cart")


def body(kind: str = "intent.resumed", **data: Any) -> bytes:
    told = {
        "event": kind if kind.startswith("intent_") else None,
        "intent_id": "intent-1",
        "suspension_id": "susp-1",
        "session_id": "sess-1",
        "resolution": "responded",
        "value": "approve",
        "choice_label": "Approve refund",
        "responded_by": "alice@example.com",
        "responded_at": "2026-03-23T10:01:00Z",
        "state": {"cart": 7},
        "receipt": "the-receipt",
        "suspended_at": "2026-03-23T09:00:00Z",
        **data,
    }
    return json.dumps({"type": kind, "timestamp": "2026-03-23T10:01:00Z", "data": told}).encode()


def signed(body: bytes, webhook_id: str = "msg_1", *, secret: str = SECRET, at: datetime = NOW) -> dict[str, str]:
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(webhook_id, at, body.decode()),
    }


class Agent:
    """A handler that notes its turns, and a loader with one session."""

    def __init__(self) -> None:
        self.turns: list[Turn[str]] = []
        self.sessions: dict[str, str] = {"sess-1": "the conversation", "sess-2": "another one"}
        self.troubles: list[Exception] = []
        self.entered = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.ended = asyncio.Event()

    async def go_on(self, turn: Turn[str]) -> None:
        self.turns.append(turn)
        self.entered.set()
        await asyncio.wait_for(self.may_go_on.wait(), LIMIT)
        if self.troubles:
            raise self.troubles.pop()
        self.ended.set()

    async def load(self, session_id: str) -> str | None:
        return self.sessions.get(session_id)

    def receiver(self, **options: Any) -> ResumeReceiver[str]:
        options = {"load_session": self.load, "now": lambda: NOW, **options}
        return ResumeReceiver([SECRET, NEXT_SECRET], self.go_on, **options)


@pytest.fixture
async def agent() -> Agent:
    return Agent()


async def post(receiver: Any, content: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
    """One POST through a real server."""
    async with serving(receiver) as url, loopback_client(timeout=LIMIT) as http:
        return await http.post(url, content=content, headers=signed(content) if headers is None else headers)


async def test_a_callback_is_a_new_turn_of_the_session_that_asked(agent: Agent) -> None:
    reply = await post(agent.receiver(), body())
    assert (reply.status_code, reply.content) == (204, b"")
    [turn] = agent.turns
    assert (turn.session, turn.event, turn.stale) == ("the conversation", "intent.resumed", False)
    assert (turn.resumed.value, turn.resumed.state, turn.resumed.receipt) == ("approve", {"cart": 7}, "the-receipt")


@pytest.mark.parametrize(
    ("kind", "data", "means"),
    [
        ("intent.resumed", {}, "go on with it"),
        ("intent.suspension_expired", {"resolution": "expired", "error": "input_timeout"}, "Nobody has approved"),
        ("intent.suspension_cancelled", {"resolution": "cancelled"}, "do not act"),
        ("intent_authorized", {"value": "authorize"}, "do exactly what you asked about"),
        ("intent_vetoed", {"value": "veto", "reason": "wrong customer"}, "A person has objected"),
    ],
)
async def test_the_model_is_told_how_it_ended_and_no_secret(
    agent: Agent, kind: str, data: dict[str, Any], means: str
) -> None:
    assert (await post(agent.receiver(), body(kind, **data))).status_code == 204
    [turn] = agent.turns
    told = turn.message()
    assert (told["event"], told["intent_id"], told.get("reason")) == (kind, "intent-1", data.get("reason"))
    assert means in str(told["instruction"])
    assert turn.reason == data.get("reason")
    assert not any(secret in json.dumps(told) + repr(turn) for secret in KEPT_BACK)


def without(headers: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key != name}


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        pytest.param(signed(body(), secret="whsec_c2VjcmV0"), "wrong_signature", id="another secret"),
        pytest.param(signed(body(value="deny")), "wrong_signature", id="another body"),
        pytest.param(signed(body()) | {"webhook-id": "msg_2"}, "wrong_signature", id="another id"),
        pytest.param(signed(body(), at=NOW - timedelta(seconds=301)), "stale", id="old"),
        pytest.param(signed(body(), at=NOW + timedelta(seconds=301)), "from_the_future", id="not yet"),
        pytest.param(signed(body()) | {"webhook-timestamp": "soon"}, "malformed_timestamp", id="no time"),
        pytest.param(without(signed(body()), "webhook-signature"), "missing_header", id="unsigned"),
        pytest.param({}, "missing_header", id="no headers"),
    ],
)
async def test_what_is_not_signed_by_us_just_now_never_reaches_the_handler(
    agent: Agent, headers: dict[str, str], reason: str
) -> None:
    reply = await post(agent.receiver(), body(), headers)
    assert (reply.status_code, reply.json()) == (401, {"error": reason})
    assert agent.turns == []


async def test_while_a_secret_is_replaced_both_are_believed(agent: Agent) -> None:
    assert (await post(agent.receiver(), body(), signed(body(), secret=NEXT_SECRET))).status_code == 204


@pytest.mark.parametrize("content", [b"", b"no", b"[]", b'{"type": 7}', b'{"type": "intent.resumed", "data": {}}'])
async def test_a_signed_body_that_can_not_be_read_is_said_to_be_so(agent: Agent, content: bytes) -> None:
    reply = await post(agent.receiver(), content)
    assert (reply.status_code, reply.json()) == (400, {"error": "malformed_body"})


@pytest.mark.parametrize("content", [body("intent.rescheduled"), b'{"type": "news", "data": {"mood": "calm"}}'])
async def test_a_type_of_a_newer_server_is_accepted_and_ignored(agent: Agent, content: bytes) -> None:
    assert (await post(agent.receiver(), content)).status_code == 202
    assert agent.turns == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_anything_but_a_post_is_not_allowed(agent: Agent, method: str) -> None:
    async with serving(agent.receiver()) as url, loopback_client(timeout=LIMIT) as http:
        reply = await http.request(method, url, headers=signed(body()))
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


async def test_the_longest_body_is_taken_and_one_byte_more_is_not(agent: Agent) -> None:
    longest = body(padding="")
    longest = body(padding="x" * (4 * MEBIBYTE - len(longest)))
    assert len(longest) == 4 * MEBIBYTE
    assert (await post(agent.receiver(), longest)).status_code == 204
    longer = body(padding="x" * (4 * MEBIBYTE - len(body(padding="")) + 1))
    reply = await agent.receiver().receive(signed(longer), longer)
    assert (reply.status, json.loads(reply.body)) == (413, {"error": "too_long"})
    assert len(agent.turns) == 1


def raw(url: str, *parts: bytes, endless: bytes = b"") -> tuple[bytes, int]:
    """Say ``parts``, then ``endless`` again and again; the reply, and how many bytes the other side took.

    On a socket of its own: what a library does that is cut off while it writes is another story.
    """
    taken = 0
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=LIMIT) as connection:
        for part in parts:
            connection.sendall(part)
        with contextlib.suppress(ConnectionError):
            while endless and taken < 64 * MEBIBYTE:
                connection.sendall(endless)
                taken += len(endless)
        reply = b""
        while b"\r\n\r\n" not in reply and (part := connection.recv(65536)):
            reply += part
    return reply, taken


async def test_a_body_that_is_announced_as_too_long_is_not_read(agent: Agent) -> None:
    async with serving(agent.receiver()) as url:
        for length in (str(4 * MEBIBYTE + 1), "9" * 400):
            head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
            reply, _ = await asyncio.to_thread(raw, url, head)  # not a byte of it follows
            assert reply.split(b" ")[1] in (b"413", b"400")
    assert agent.turns == []


async def test_a_body_without_an_end_is_given_up_at_the_limit(agent: Agent) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    async with serving(agent.receiver()) as url:
        reply, taken = await asyncio.to_thread(raw, url, head, endless=chunk)
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in reply.lower()
    assert taken < 64 * MEBIBYTE
    assert agent.turns == []


async def test_a_body_that_is_longer_than_announced_is_cut_there_and_so_not_believed(agent: Agent) -> None:
    content = body()
    fields = "".join(f"{name}: {value}\r\n" for name, value in signed(content).items())
    head = f"POST / HTTP/1.1\r\nHost: x\r\n{fields}Content-Length: {len(content) - 9}\r\n\r\n".encode()
    async with serving(agent.receiver()) as url:
        reply, _ = await asyncio.to_thread(raw, url, head, content)
    assert reply.split(b" ")[1] in (b"401", b"400")
    assert agent.turns == []


async def test_a_sender_that_leaves_in_the_middle_of_its_body_is_forgotten(agent: Agent) -> None:
    """Also if what has come so far could be a whole one."""
    messages = iter([{"type": "http.request", "body": body(), "more_body": True}, {"type": "http.disconnect"}])
    headers = [(name.encode(), value.encode()) for name, value in signed(body()).items()]
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    await agent.receiver()({"type": "http", "method": "POST", "headers": headers}, receive, send)
    assert (sent, agent.turns) == ([], [])


async def test_a_handler_that_raises_is_called_again_and_after_that_no_more(agent: Agent, caplog: Any) -> None:
    agent.troubles.append(RuntimeError(f"no model for {KEPT_BACK[0]}"))
    async with serving(agent.receiver()) as url, loopback_client(timeout=LIMIT) as http:
        replies = [await http.post(url, content=body(), headers=signed(body())) for _ in range(4)]
    assert [reply.status_code for reply in replies] == [500, 204, 204, 204]
    assert replies[0].json() == {"error": "handler_failed"}
    assert len(agent.turns) == 2
    assert "could not be handled (RuntimeError)" in caplog.text
    assert "test_sdk_receiver.py" in caplog.text, "where it has failed"
    assert not any(secret in caplog.text for secret in KEPT_BACK)


async def test_an_invocation_that_another_process_goes_on_with_is_asked_for_again(agent: Agent) -> None:
    receiver = agent.receiver()
    agent.troubles = [SuspensionRecordInvalid("running", "Another process goes on with it.")]
    reply = await receiver.receive(signed(body()), body())
    assert (reply.status, json.loads(reply.body)) == (503, {"error": "running"})
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 2


async def test_an_invocation_that_has_gone_on_already_is_done(agent: Agent) -> None:
    receiver = agent.receiver()
    agent.troubles = [SuspensionRecordInvalid("resumed", "It has gone on already.")]
    for _ in range(2):
        assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1


@pytest.mark.parametrize("reason", ["unknown", "open", "over", "foreign"])
async def test_any_other_invocation_that_can_t_be_resumed_is_a_failure(agent: Agent, reason: Any) -> None:
    receiver = agent.receiver()
    agent.troubles = [SuspensionRecordInvalid(reason, "No.")]
    assert (await receiver.receive(signed(body()), body())).status == 500


async def test_the_same_callback_is_known_by_its_id_also_if_its_receipt_is_a_newer_one(agent: Agent) -> None:
    receiver = agent.receiver()
    newer = body(receipt="the-receipt of another try")
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert (await receiver.receive(signed(newer), newer)).status == 204
    assert len(agent.turns) == 1


async def test_of_two_copies_at_once_one_runs_and_the_other_is_to_come_again(agent: Agent) -> None:
    agent.may_go_on.clear()
    async with serving(agent.receiver()) as url, loopback_client(timeout=LIMIT) as http:
        first = asyncio.create_task(http.post(url, content=body(), headers=signed(body())))
        await asyncio.wait_for(agent.entered.wait(), LIMIT)
        second = await http.post(url, content=body(), headers=signed(body()))
        assert (second.status_code, second.json()) == (503, {"error": "running"})
        assert int(second.headers["retry-after"]) >= 1
        agent.may_go_on.set()
        assert (await first).status_code == 204
        assert (await http.post(url, content=body(), headers=signed(body()))).status_code == 204
    assert len(agent.turns) == 1


async def test_a_session_has_one_turn_at_a_time_and_holds_up_no_other(agent: Agent) -> None:
    agent.may_go_on.clear()
    receiver, other = agent.receiver(), body(session_id="sess-2")
    first = asyncio.create_task(receiver.receive(signed(body()), body()))
    await asyncio.wait_for(agent.entered.wait(), LIMIT)
    assert (await receiver.receive(signed(body(), "msg_2"), body())).status == 503
    agent.entered.clear()
    beside = asyncio.create_task(receiver.receive(signed(other, "msg_3"), other))
    await asyncio.wait_for(agent.entered.wait(), LIMIT)
    agent.may_go_on.set()
    assert [(await first).status, (await beside).status] == [204, 204]
    assert (await receiver.receive(signed(body(), "msg_2"), body())).status == 204
    assert [turn.session for turn in agent.turns] == ["the conversation", "another one", "the conversation"]


async def test_a_server_that_hangs_up_does_not_end_the_turn(agent: Agent) -> None:
    agent.may_go_on.clear()
    receiver = agent.receiver()
    waiting = asyncio.create_task(receiver.receive(signed(body()), body()))
    await asyncio.wait_for(agent.entered.wait(), LIMIT)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    agent.may_go_on.set()
    await asyncio.wait_for(agent.ended.wait(), LIMIT)
    await receiver.aclose()
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1


async def test_the_lifespan_is_answered_and_its_end_waits_for_the_turn_that_is_running(agent: Agent) -> None:
    agent.may_go_on.clear()
    receiver, inbox, sent = agent.receiver(), asyncio.Queue[dict[str, str]](), asyncio.Queue[str]()

    async def send(message: Any) -> None:
        await sent.put(message["type"])

    living = asyncio.create_task(receiver({"type": "lifespan"}, inbox.get, send))
    async with asyncio.timeout(LIMIT):
        await inbox.put({"type": "lifespan.startup"})
        assert await sent.get() == "lifespan.startup.complete"
        asked = asyncio.create_task(receiver.receive(signed(body()), body()))
        await agent.entered.wait()
        await inbox.put({"type": "lifespan.shutdown"})
        for _ in range(20):
            await asyncio.sleep(0)
        assert sent.empty()
        agent.may_go_on.set()
        assert await sent.get() == "lifespan.shutdown.complete"
        await living
    assert (await asked).status == 204


async def test_a_session_that_is_not_there_yet_is_waited_for(agent: Agent) -> None:
    receiver, session = agent.receiver(), agent.sessions.pop("sess-1")
    reply = await receiver.receive(signed(body()), body())
    assert (reply.status, json.loads(reply.body), agent.turns) == (503, {"error": "no_session"}, [])
    agent.sessions["sess-1"] = session
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1


async def test_a_session_that_has_ended_is_not_called_again(agent: Agent) -> None:
    def load(session_id: str) -> str:
        raise SessionEnded(session_id)

    reply = await agent.receiver(load_session=load).receive(signed(body()), body())
    assert (reply.status, json.loads(reply.body), agent.turns) == (410, {"error": "session_ended"}, [])


async def test_a_handler_may_say_that_it_will_never_go_on() -> None:
    called = []

    def handle(turn: Turn[None]) -> None:
        called.append(turn)
        raise SessionEnded("never")

    receiver = ResumeReceiver(SECRET, handle, now=lambda: NOW)
    for _ in range(2):
        reply = await receiver.receive(signed(body()), body())
        assert (reply.status, json.loads(reply.body)) == (410, {"error": "session_ended"})
    assert len(called) == 2


async def test_a_question_without_a_session_has_none_to_go_on_in(agent: Agent) -> None:
    content = body(session_id=None)
    reply = await agent.receiver().receive(signed(content), content)
    assert (reply.status, json.loads(reply.body), agent.turns) == (410, {"error": "no_session_id"}, [])
    alone = agent.receiver(load_session=None)
    assert (await alone.receive(signed(content), content)).status == 204
    assert [turn.session for turn in agent.turns] == [None]


async def test_a_store_of_sessions_that_is_away_loses_nothing(agent: Agent) -> None:
    troubles: list[Exception] = [OSError("the disk is away")]

    async def load(session_id: str) -> str | None:
        if troubles:
            raise troubles.pop()
        return await agent.load(session_id)

    receiver = agent.receiver(load_session=load)
    assert (await receiver.receive(signed(body()), body())).status == 500
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1


@pytest.mark.parametrize(
    ("suspended_at", "stale"),
    [("2026-03-22T10:01:01Z", False), ("2026-03-22T10:01:00Z", True), (None, True)],
)
async def test_a_session_that_has_waited_too_long_is_called_stale(
    agent: Agent, suspended_at: str | None, stale: bool
) -> None:
    content = body(suspended_at=suspended_at)
    receiver = agent.receiver(context_stale_after=timedelta(hours=24))
    assert (await receiver.receive(signed(content), content)).status == 204
    [turn] = agent.turns
    assert (turn.stale, turn.message().get("stale")) == (stale, stale or None)
    assert ("check that it still holds" in str(turn.message()["instruction"])) == stale


ASKED_BACK = body(
    "clarification_requested",
    resolution=None,
    value=None,
    clarification={"question": "Which card?", "asked_by": "alice@example.com"},
)


async def test_a_person_who_asks_back_has_a_handler_of_their_own(agent: Agent) -> None:
    asked: list[Turn[str]] = []
    receiver = agent.receiver(on_clarification=asked.append)
    assert [(await receiver.receive(signed(ASKED_BACK), ASKED_BACK)).status for _ in range(2)] == [204, 204]
    assert [(turn.event, turn.message()["question"]) for turn in asked] == [("clarification_requested", "Which card?")]
    assert agent.turns == []


async def test_without_one_nothing_happens(agent: Agent) -> None:
    assert (await agent.receiver().receive(signed(ASKED_BACK), ASKED_BACK)).status == 202
    assert agent.turns == []


async def test_a_plain_function_may_wait_without_holding_up_the_loop(agent: Agent) -> None:
    """Two handlers that wait for each other: on the loop's own thread neither would ever end."""
    both = threading.Barrier(2, timeout=LIMIT)
    seen: list[str] = []

    def go_on(turn: Turn[str]) -> None:
        both.wait()
        seen.append(turn.session)

    receiver = ResumeReceiver(SECRET, go_on, load_session=agent.sessions.get, now=lambda: NOW)
    other = body(session_id="sess-2")
    replies = await asyncio.gather(
        receiver.receive(signed(body()), body()), receiver.receive(signed(other, "msg_2"), other)
    )
    assert ([reply.status for reply in replies], sorted(seen)) == ([204, 204], ["another one", "the conversation"])


async def test_where_there_is_no_event_loop_it_is_a_plain_function(agent: Agent) -> None:
    seen: list[str] = []
    receiver = ResumeReceiver(
        SECRET, lambda turn: seen.append(turn.session), load_session=agent.sessions.get, now=lambda: NOW
    )
    replies: list[ReceiverReply] = []
    threads = [
        threading.Thread(target=lambda: replies.append(receiver.receive_sync(signed(body()), body()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert {reply.status for reply in replies} <= {204, 503}
    assert seen == ["the conversation"]
    with pytest.raises(RuntimeError, match="await receive"):
        receiver.receive_sync(signed(body()), body())


async def test_it_can_be_mounted_beside_other_things(agent: Agent) -> None:
    app = Starlette(routes=[Mount("/resume", agent.receiver())])
    async with serving(app) as url, loopback_client(timeout=LIMIT) as http:
        reply = await http.post(f"{url}/resume/", content=body(), headers=signed(body()))
        assert reply.status_code == 204
        assert (await http.post(f"{url}/other", content=body(), headers=signed(body()))).status_code == 404
    assert len(agent.turns) == 1


async def test_a_websocket_is_closed(agent: Agent) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await agent.receiver()({"type": "websocket"}, receive, send)
    assert sent == ["websocket.close"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ResumeReceiver([], print),
        lambda: ResumeReceiver("whsec_***", print),
        lambda: ResumeReceiver(SECRET, print, context_stale_after=timedelta(0)),
    ],
)
def test_what_can_not_work_is_said_at_once(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        make()
    assert "***" not in str(raised.value)


async def test_a_handler_that_works_for_long_keeps_its_callback(agent: Agent, tmp_path: Any) -> None:
    file = tmp_path / "callbacks.db"

    def held_until() -> float:
        with closing(sqlite3.connect(file)) as connection:
            return float(connection.execute("SELECT held_until FROM handraise_callbacks").fetchone()[0])

    agent.may_go_on.clear()
    receiver = agent.receiver(store=SqliteCallbackStore(file, lease=timedelta(seconds=1)))
    first = asyncio.create_task(receiver.receive(signed(body()), body()))
    await asyncio.wait_for(agent.entered.wait(), LIMIT)
    begun = held_until()
    async with asyncio.timeout(LIMIT):
        while held_until() < begun + 1:  # so that without the renewals it would have lapsed
            await asyncio.sleep(0.02)
    assert (await receiver.receive(signed(body()), body())).status == 503
    agent.may_go_on.set()
    assert (await first).status == 204
    assert len(agent.turns) == 1


async def test_a_store_that_fails_loses_nothing(agent: Agent, tmp_path: Any) -> None:
    folder = tmp_path / "later"
    receiver = agent.receiver(store=SqliteCallbackStore(folder / "callbacks.db"))
    assert (await receiver.receive(signed(body()), body())).status == 500
    folder.mkdir()
    assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1


async def test_another_process_knows_what_this_one_has_done(agent: Agent, tmp_path: Any) -> None:
    for _ in range(2):
        receiver = agent.receiver(store=SqliteCallbackStore(tmp_path / "callbacks.db"))
        assert (await receiver.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 1
    alone = agent.receiver(store=MemoryCallbackStore())
    assert (await alone.receive(signed(body()), body())).status == 204
    assert len(agent.turns) == 2
