"""What the log says of a whole story, and what it never says (HOUSE.md, "Logs and metrics")."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog

from bot.observability.telemetry import set_up_logging
from bot.sandbox.slack.faults import RateLimited
from tests.world import INBOUND_SECRET, KEYS, ROUTING_KEY, WEBHOOK_SECRET, World, running

Line = dict[str, Any]


class Log:
    """Every line of the process, down to the least."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        set_up_logging("debug", "json", self._stream)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.text.splitlines()]

    def of(self, asked: Mapping[str, Any], *fields: str) -> list[tuple[Any, ...]]:
        """Each event of one question, with those of its fields."""
        mine = [line for line in self.lines if line.get("suspension") == asked["ref"]]
        return [(line["event"], *(line.get(field) for field in fields)) for line in mine]


@pytest.fixture
def log() -> Iterator[Log]:
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    yield Log()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**before)


LADDER = [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}]
POLICY = {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": LADDER}


async def test_each_event_of_a_question_is_a_line_with_its_own_name(log: Log, world: World) -> None:
    asked = await world.ask(retry_policy=POLICY, responders=["alice@example.com"])
    await world.advance(hours=1)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator", json={"seconds": 600})
    await world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    await world.answer(asked, "approve")
    await world.settle()
    assert log.of(asked, "attempt", "channel", "resolution") == [
        ("suspension.opened", 1, "slack", None),
        ("suspension.renotified", 2, "email", None),
        ("suspension.escalated", 2, "email", None),
        ("suspension.claimed", 2, "api", None),
        ("suspension.released", 2, None, None),
        ("suspension.responded", 2, "api", "responded"),
    ]


async def test_an_end_without_an_answer_says_which(log: Log, world: World) -> None:
    silent, dropped = await world.ask(timeout_seconds=60), await world.ask()
    await world.call("POST", f"/v1/suspensions/{dropped['suspension_id']}/cancel", json={"reason": "hunter2"})
    await world.advance(minutes=2)
    assert log.of(silent, "resolution", "error")[-1] == ("suspension.expired", "expired", "input_timeout")
    assert log.of(dropped, "resolution", "error")[-1] == ("suspension.cancelled", "cancelled", None)


async def test_a_callback_that_is_given_up_is_a_warning(log: Log, tmp_path: Path, sqlite_url: str) -> None:
    retry = {"base_delay_ms": 1000, "give_up_after_seconds": 10}
    async with running(tmp_path, sqlite_url, resume__retry=retry) as world:
        world.agent.answers += [500] * 20
        asked = await world.ask()
        await world.answer(asked, "approve")
        await world.advance(minutes=1)
    assert log.of(asked, "level", "reason")[-1] == ("callback.died", "warning", "http_500")


async def test_a_send_that_has_to_wait_is_a_warning(log: Log, world: World) -> None:
    world.slack.fail_next(RateLimited(60), "chat.postMessage")
    await world.ask()
    await world.advance(minutes=2)
    tried = [(line["level"], line["outcome"], line["reason"]) for line in log.lines if line["event"] == "relay.tried"]
    assert tried == [("warning", "deferred", "ratelimited"), ("info", "delivered", None)]


async def test_what_was_refused_is_no_event(log: Log, world: World) -> None:
    asked = await world.ask()
    await world.answer(asked, "approve")
    before = len(log.of(asked))
    assert (await world.answer(asked, "deny", "second_operator")).status_code == 409
    assert len(log.of(asked)) == before


async def signed_in_by_links(world: World) -> list[str]:
    """The tokens of a link from Slack and of one that an admin made; each was opened and used."""
    await world.press("U0ALICE", world.slack.workspace.posted()[0], "Open")
    private = await world.slack.expect_private("U0ALICE", "/signin/")
    made = await world.call("POST", "/v1/signin-links", "admin", json={"email": "bob@example.com"})
    tokens = re.findall(r"/signin/([\w.-]+)", private.text + made.text)
    assert len(tokens) == 2
    for token in tokens:
        page = await world.call("GET", f"/signin/{token}", None)
        form = re.search(r'name="form_token" value="([^"]+)"', page.text)
        assert form is not None
        used = await world.call("POST", f"/signin/{token}", None, data={"form_token": form[1]})
        assert used.status_code == 303
    return tokens


async def test_a_whole_story_leaves_no_secret_in_the_log(
    log: Log, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over every channel and way in, with wrong keys, wrong bodies, wire errors and bugs of ours."""
    words = {"context": {"iban": "iban-hunter2"}, "responders": ["alice@example.com"], "retry_policy": POLICY}
    resume = {"state": {"cart": "state-hunter2"}, "session_id": "session-hunter2", "signal_id": "signal-hunter2"}
    first = await world.ask("Refund question-hunter2?", resume=resume, **words)
    await world.press("U0ALICE", world.slack.workspace.posted()[0], "I'm on it")
    signing_in = await signed_in_by_links(world)
    await world.advance(hours=1)
    mail = await world.mailbox.expect(to="alice@example.com", subject=first["ref"])
    await world.mailbox.reply(mail, "approve\n\nReason: because reason-hunter2")
    await world.advance(minutes=1)
    page = await world.ask("Page question-hunter2?", channel_hint="email", notify_to="alice@example.com")
    asked_by = await world.mailbox.expect(to="alice@example.com", subject=page["ref"])
    link = next(link for link in asked_by.links if "/a/" in link)
    token = link.rpartition("/a/")[2]
    await world.call("GET", f"/a/{token}", None)
    await world.call("GET", f"/v1/suspensions?q=search-hunter2&api_key={KEYS['admin']}", "agent")
    await world.call("POST", "/v1/suspensions", None, headers={"X-API-Key": "key-hunter2"}, json={})
    await world.call("POST", "/v1/suspensions", json={"question": "question-hunter2", "wrong-hunter2": 1})
    await world.call("POST", "/email/inbound", None, content=b"From: hunter2@example.com\r\n\r\nmail-hunter2")
    engine = world.service.engine
    wrong = "-".join(("answer", "hunter2"))  # a traceback shows source lines

    async def fail(*_: Any) -> None:
        raise ValueError(wrong, page["suspension_id"], token)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "respond_once", fail)
        assert (await world.answer(page, wrong)).status_code == 500
    await world.answer(page, "deny", metadata={"reason": "reason-hunter2"})
    await world.advance(hours=4)
    assert (await world.show(first))["status"] != "open"

    secrets = {"hunter2", first["suspension_id"], page["suspension_id"], token, mail.answers_to.partition("@")[0]}
    secrets |= {part for token in signing_in for part in token.split(".") if part}
    secrets |= {"example.com", "@", INBOUND_SECRET, ROUTING_KEY, WEBHOOK_SECRET, *KEYS.values(), "the-secret-key"}
    secrets |= {world.slack.workspace.bot_token, world.slack.signing_secret, "Approve refund", "12345"}
    assert [secret for secret in secrets if secret in log.text] == []
    [bug] = [line for line in log.lines if line["event"] == "web.failed"]
    assert (bug["path"], bug["error"]) == ("/intents/{intent_id}/suspend/respond", "ValueError")
