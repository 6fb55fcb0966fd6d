"""What agents, people and mails have written reaches no terminal as an order to it: each command shows it as signs that
can be seen (docs/decisions/0044)."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cli import Ran, at_terminal, handraise
from tests.world import World, running

EVIL = "\x1b]0;owned\x07\x1b[2A\x1b[2Kpaid\x9b31m \u202e00005\u2066 \b\x7f\u200b\U000e0041\r\nHR-FAKE  responded"
"""It sets a title, goes up two lines, deletes one, turns an amount round, hides a tag, and forges a line."""
ESCAPED = "\\u001b]0;owned"
LADDER = {"max_attempts": 1, "interval_seconds": 3_600}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Evil:
    """A service to which everybody has written the worst. ``mail`` is the digest of one that could not be read."""

    world: World
    folder: Path
    asked: dict[str, Any]
    spare: dict[str, Any]
    answered: dict[str, Any]
    text: dict[str, Any]
    mail: str

    @property
    def config(self) -> str:
        return str(self.folder / "handraise.yaml")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def evil(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Evil]:
    folder = tmp_path_factory.mktemp("evil")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        fields = {
            "choices": [
                {"value": f"ok{EVIL}", "label": f"Yes{EVIL}", "description": EVIL},
                {"value": "no", "label": "No"},
            ],
            "context": {f"key{EVIL}": EVIL, "deep": {"list": [EVIL]}},
            "action": {"tool": EVIL},
            "decision_record": {"risk": EVIL},
            "responders": ["alice@example.com", "bob@example.com"],
            "retry_policy": LADDER,
        }
        resume = {"callback_url": f"{world.agent.url}/\u202e00005\u2066"}
        world.agent.answers[:] = [410] * 3
        answered = await world.ask(f"Refund?{EVIL}", answers_required=2, resume=resume, **fields)
        for role in ("operator", "second_operator"):
            given = await world.answer(answered, f"ok{EVIL}", role, metadata={"reason": EVIL})
            assert given.status_code in {200, 202}
        text = await world.ask(f"Say?{EVIL}", response_type="text", responders=["alice@example.com"])
        assert (await world.answer(text, f"said{EVIL}")).status_code == 200
        asked = await world.ask(f"Refund?{EVIL}", **fields)
        path = f"/v1/suspensions/{asked['suspension_id']}"
        assert (await world.call("POST", f"{path}/clarify", "operator", json={"question": EVIL})).status_code == 200
        assert (await world.call("POST", f"{path}/clarification", json={"text": EVIL})).status_code == 200
        spare = await world.ask(f"Refund?{EVIL}", **fields)
        nested = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n"
        await world.mailbox.post(
            b"From: a@b.c\r\nSubject: " + EVIL.encode().replace(b"\r\n", b" ") + b"\r\n" + nested * 100
        )
        mail = (await world.call("GET", "/v1/mail/quarantine", "admin")).json()["items"][0]["digest"]
        await world.call("POST", "/v1/pause", "admin", json={"reason": EVIL})
        yield Evil(world, folder, asked, spare, answered, text, mail)


def commands() -> Mapping[str, list[str]]:
    """What each command is called with. ``ASKED`` and such stand for what the fixture has made."""
    return {
        "ask": ["ask", EVIL, "--choice", f"a={EVIL}", "--choice", "b", "--deadline", "60", "--fallback", "a"],
        "answer": ["answer", "ASKED", EVIL, "--reason", EVIL],
        "assign": ["assign", "SPARE", EVIL],
        "clarify": ["clarify", "SPARE", EVIL],
        "list": ["list", "--status", "all"],
        "show": ["show", "ANSWERED"],
        "timeline": ["timeline", "ANSWERED"],
        "stats": ["stats", "--since", EVIL],
        "cancel": ["cancel", "ANSWERED", "--reason", EVIL],
        "claim": ["claim", "SPARE"],
        "release": ["release", "SPARE"],
        "pause": ["pause", "--reason", EVIL],
        "unpause": ["unpause"],
        "callbacks": ["callbacks", "--status", "all"],
        "redrive": ["redrive", "ANSWERED"],
        "export": ["export"],
        "audit verify": ["audit", "verify"],
        "mail quarantine": ["mail", "quarantine"],
        "mail quarantine show": ["mail", "quarantine", "show", "MAIL"],
        "mail preview": ["mail", "preview", f"FOLDER/previews {EVIL}", "--config", "CONFIG"],
        "keys create": ["keys", "create", EVIL, "--role", "agent", "--config", "CONFIG"],
        "keys rotate": ["keys", "rotate", EVIL, "--config", "CONFIG"],
        "keys revoke": ["keys", "revoke", EVIL, "--config", "CONFIG"],
        "keys list": ["keys", "list", "--config", "BAD"],
        "keys hash": ["keys", "hash", "--config", "BAD"],
        "serve": ["serve", "--config", "BAD"],
        "migrate": ["migrate", "--config", "BAD"],
        "init": ["init", f"FOLDER/none {EVIL}/handraise.yaml", "--person", f"{EVIL} <a@example.com>"],
        "check": ["check", "--config", "BAD"],
        "doctor": ["doctor", "--config", "BAD"],
        "backup": ["backup", f"FOLDER/none {EVIL}/backup", "--config", "CONFIG"],
        "restore": ["restore", f"FOLDER/none {EVIL}", "--config", "FREE"],
        "reload": ["reload"],
        "report": ["report", "ANSWERED", "failed", EVIL, "--url", EVIL],
        "signin-link": ["signin-link", EVIL],
        "slack manifest": ["slack", "manifest", "--http", EVIL],
        "run": ["run", "--question", EVIL, "--channel", EVIL, "--", "true"],
        "dev": ["dev", "--as", EVIL],
        "mcp": ["mcp", "--http", "--host", EVIL],
        "hook install": ["hook", "install", EVIL],
        "hook doctor": ["hook", "doctor", EVIL],
        "hook login": ["hook", "login", "--url", EVIL],
    }


_HOOKS = {f"hook {name}" for name in ("claude-code", "codex", "gemini", "list", "resume")}
SAYS_NOTHING_OF_OTHERS = {"demo", "whoami", *_HOOKS}
"""What the demo prints of others is its own agents' and its page's: ``tests/journeys/service/test_demo.py``. What a
hook says goes to its program, as JSON; the list and the runs to resume are the user's own."""
REPEATS = {"ask", "list", "show", "callbacks", "export", "mail quarantine show", "mail preview", "backup", "restore"}
"""Commands that show some of it, whatever they are refused for."""


async def run(evil: Evil, arguments: list[str]) -> Ran:
    bad = evil.folder / "bad.yaml"
    bad.write_text(json.dumps({f"key{EVIL}": EVIL}))
    free = evil.folder / "free.yaml"
    free.write_text(json.dumps({"database_url": f"sqlite+aiosqlite:///{evil.folder}/free.db"}))
    names = {
        "ASKED": evil.asked["ref"],
        "SPARE": evil.spare["suspension_id"],
        "ANSWERED": evil.answered["ref"],
        "MAIL": evil.mail,
        "CONFIG": evil.config,
        "BAD": str(bad),
        "FREE": str(free),
    }
    called = [names.get(one, one).replace("FOLDER", str(evil.folder)) for one in arguments]
    return await at_terminal(evil.world, *called)


def forbidden(text: str) -> list[str]:
    """The signs that a terminal would obey, or that hide or move others."""
    return [
        sign for sign in text if sign not in "\n\t" and unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]


@pytest.mark.parametrize("name", commands())
async def test_no_command_hands_a_terminal_what_it_would_obey(name: str, evil: Evil) -> None:
    ran = await run(evil, commands()[name])
    said = ran.out + ran.err
    assert said
    assert "Traceback" not in said
    assert forbidden(said) == []
    if name != "mail quarantine show":  # a mail has lines of its own
        assert not [line for line in said.splitlines() if line.startswith("HR-FAKE")]
    if name in REPEATS:
        assert ESCAPED in said or "\\u202e00005\\u2066" in said


@pytest.mark.parametrize("arguments", [["show"], ["answer", "yes"], ["assign", "a@b.c"], ["clarify", "?"], ["redrive"]])
async def test_a_name_that_there_is_not_is_refused_in_one_harmless_line(arguments: list[str], evil: Evil) -> None:
    for reference in (EVIL, f"HR-{EVIL}"):
        ran = await handraise(evil.world, arguments[0], reference, *arguments[1:])
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
        assert forbidden(ran.err) == []


async def test_what_a_program_reads_is_exactly_what_was_said(evil: Evil) -> None:
    piped, shown = [(await way(evil.world, "export")).out for way in (handraise, at_terminal)]
    assert [json.loads(line) for line in piped.splitlines()] == [json.loads(line) for line in shown.splitlines()]
    mail = await handraise(evil.world, "mail", "quarantine", "show", evil.mail)
    assert "\x1b]0;owned\x07" in mail.out


async def listed(world: World, question: str) -> list[dict[str, Any]]:
    found = await world.call("GET", "/v1/suspensions", "admin", params={"q": question})
    items: list[dict[str, Any]] = found.json()["items"]
    return items


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_an_answer_that_is_waited_for_is_data_unless_somebody_looks(is_terminal: bool, evil: Evil) -> None:
    question = f"Which, {is_terminal}?"
    way = at_terminal if is_terminal else handraise
    waiting = asyncio.create_task(way(evil.world, "ask", question, "--wait", role="agent"))
    async with asyncio.timeout(60):
        while not (found := await listed(evil.world, question)):
            await asyncio.sleep(0.05)
    asked = {"intent_id": found[0]["intent_id"], "suspension_id": found[0]["id"]}
    assert (await evil.world.answer(asked, f"first\n{EVIL}")).status_code == 200
    ran = await waiting
    assert ran.status == 0
    assert ran.out.startswith("first\n")
    assert (ESCAPED in ran.out) == is_terminal
    assert (forbidden(ran.out) == []) == is_terminal
