"""``kill -9`` where a mail is half taken: one answer, one confirmation, and nothing lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from channels.email.imap import KEYWORD
from channels.email.lmtp_server import TAKEN
from tests.bot.mail_talk import talking
from tests.mail_servers import MailServers
from tests.ports import free_port
from tests.process import ServiceProcess, service_process
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail, Mailbox
from tests.world import KEYS, config

ALICE = "alice@example.com"
PATIENCE = 90

STUCK = """
import asyncio, pathlib, time

reached = pathlib.Path({reached!r})
{imports}
told = {place}

{definition}
    if not reached.exists() {condition}:
        reached.touch()
        {wait}
    return {call}told(self, *args)

{place} = stuck
"""
"""Read by the interpreter as it starts: what is called there never returns the first time, and the file says when."""

BEFORE_250 = {
    "imports": "from channels.email.lmtp_server import MailSession",
    "place": "MailSession.push",
    "definition": "async def stuck(self, *args):",
    "condition": "and args[0].startswith('250 2.0.0 Taken')",
    "wait": "await asyncio.Event().wait()",
    "call": "await ",
}
BEFORE_THE_FLAG = {
    "imports": "from channels.email.imap import ImapSession",
    "place": "ImapSession.done",
    "definition": "def stuck(self, *args):",
    "condition": "",
    "wait": "time.sleep(600)",
    "call": "",
}
BEFORE_THE_COMMIT = {
    "imports": "from bot.inbound.mail.inbox import MailInbox",
    "place": "MailInbox.take",
    "definition": "async def stuck(self, *args):",
    "condition": "",
    "wait": "await asyncio.Event().wait()",
    "call": "await ",
}


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    mailbox = Mailbox()
    await mailbox.start()
    yield mailbox
    await mailbox.stop()


@asynccontextmanager
async def stuck_at(
    place: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> AsyncIterator[tuple[ServiceProcess, Path]]:
    """A service that gets stuck there once, and the file that says when."""
    reached, hooks = tmp_path / "reached", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(STUCK.format(reached=str(reached), **place))
    monkeypatch.setenv("PYTHONPATH", str(hooks))
    async with service_process(tmp_path / "service", settings) as service:
        await service.start()
        yield service, reached


def settings_of(tmp_path: Path, mailbox: Mailbox, **mail: Any) -> dict[str, Any]:
    section = {"smtp_url": mailbox.smtp_url, "from": "handraise@handraise.example", **mail}
    chosen = config(f"sqlite+aiosqlite:///{tmp_path / 'handraise.db'}", {"email": section})
    return chosen | {"suspension": {"default_channel": "email"}, "work": {"beat_seconds": 1, "silent_seconds": 3}}


async def ask(service: ServiceProcess, mailbox: Mailbox) -> Mail:
    body = {"question": "Go on?", "response_type": "confirm", "responders": [ALICE], "notify_to": ALICE}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        response = await http.post(f"{service.url}/v1/suspensions", json=body, headers={"X-API-Key": KEYS["agent"]})
    assert response.status_code == 201, response.text
    return await mailbox.expect(to=ALICE, subject=response.json()["ref"], seconds=PATIENCE)


def yes(mail: Mail) -> bytes:
    verdict = mail_replies.passing("handraise.example", ALICE)
    return mail_replies.reply(mail, "Yes", sender=ALICE, at=datetime.now(UTC), authentication=verdict)


def statuses(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "handraise.db")) as database:
        return [status for (status,) in database.execute("SELECT status FROM suspensions")]


async def settled(folder: Path) -> None:
    """Nothing is on its way: of what was sent when a process is killed nobody knows, and it is sent again."""
    async with asyncio.timeout(PATIENCE):
        while unsettled(folder):
            await asyncio.sleep(0.01)


def unsettled(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "handraise.db")) as database:
        [(rows,)] = database.execute("SELECT count(*) FROM outbox WHERE status IN ('pending', 'sending')")
        return int(rows)


def confirmations(mailbox: Mailbox) -> int:
    return sum("Recorded" in mail.text for mail in mailbox.of(ALICE))


async def recorded(mailbox: Mailbox, times: int = 1) -> None:
    await mailbox.expect(where=lambda _: confirmations(mailbox) >= times, seconds=PATIENCE)


async def until(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not file.exists():
            await asyncio.sleep(0.01)


@pytest.mark.kills
async def test_between_the_commit_and_250_the_mail_comes_again_and_answers_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mailbox: Mailbox
) -> None:
    port = free_port()
    settings = settings_of(tmp_path, mailbox, listen=f"lmtp://127.0.0.1:{port}")
    async with stuck_at(BEFORE_250, tmp_path, monkeypatch, settings) as (service, reached):
        mail = await ask(service, mailbox)
        raw = yes(mail)
        async with talking(port) as talk:
            await talk.begin(mail.answers_to)
            talk.send(b"DATA\r\n" + raw + b".\r\n")
            await until(reached)
            assert statuses(tmp_path) == ["responded"]
            await settled(tmp_path)
            await service.kill()
            assert (await talk.hear()).startswith("354 ")
            assert await talk.hear() == "", "nobody has acknowledged it"
        await service.start()
        for _ in range(2):  # a mail server that has heard nothing brings it again
            async with talking(port) as talk:
                await talk.begin(mail.answers_to)
                assert await talk.bring(raw) == [TAKEN]
        await recorded(mailbox)
        assert await service.terminate() == 0
        assert confirmations(mailbox) == 1


@pytest.mark.mailservers
@pytest.mark.parametrize(
    ("place", "before"), [(BEFORE_THE_COMMIT, ["open"]), (BEFORE_THE_FLAG, ["responded"])], ids=["commit", "flag"]
)
async def test_between_the_fetch_and_the_flag_nothing_is_lost_and_one_answer_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mailbox: Mailbox,
    mx: MailServers,
    place: dict[str, str],
    before: list[str],
) -> None:
    settings = settings_of(tmp_path, mailbox, imap_url=mx.imap_url("answers"), reply_to="answers@imap.example")
    async with stuck_at(place, tmp_path, monkeypatch, settings) as (service, reached):
        mail = await ask(service, mailbox)
        lay(mx, yes(mail))
        await until(reached)
        assert statuses(tmp_path) == before
        await service.kill()
        assert flags(mx) == [set()]

        await service.start()

        await recorded(mailbox)
        async with asyncio.timeout(PATIENCE):
            while flags(mx) != [{"\\Seen", KEYWORD}]:
                await asyncio.sleep(0.1)
        assert statuses(tmp_path) == ["responded"]
        assert await service.terminate() == 0
        assert confirmations(mailbox) == 1


@pytest.mark.mailservers
async def test_of_two_replicas_one_looks_and_the_other_takes_over_when_it_is_killed(
    tmp_path: Path, mailbox: Mailbox, mx: MailServers, postgres_url: str
) -> None:
    mail_in = {"imap_url": mx.imap_url("answers"), "reply_to": "answers@imap.example"}
    settings = settings_of(tmp_path, mailbox, **mail_in) | {"database_url": postgres_url}
    async with (
        service_process(tmp_path / "api", settings, "api,worker") as api,
        service_process(tmp_path / "one", settings, "mail") as one,
        service_process(tmp_path / "two", settings, "mail") as two,
    ):
        await api.start()
        await one.start()
        await standing(one, "connected")
        await two.start()
        await standing(two, "standby")
        first = await ask(api, mailbox)
        lay(mx, yes(first))
        await recorded(mailbox)

        await one.kill()
        second = await ask(api, mailbox)
        lay(mx, yes(second))
        await standing(two, "connected")

        await recorded(mailbox, 2)
        async with asyncio.timeout(PATIENCE):
            while flags(mx) != [{"\\Seen", KEYWORD}] * 2:
                await asyncio.sleep(0.1)
        assert confirmations(mailbox) == 2
        async with asyncio.timeout(90):
            assert await two.terminate() == 0, "though a thread of it waits in IDLE"


async def standing(service: ServiceProcess, wanted: str) -> None:
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient(trust_env=False, timeout=30) as http:
        while (await http.get(f"{service.url}/readyz")).json()["mail_poller"] != wanted:
            await asyncio.sleep(0.05)


def lay(mx: MailServers, raw: bytes) -> None:
    with mx.opened("answers") as box:
        box.append(raw, "INBOX", flag_set=())


def flags(mx: MailServers) -> list[set[str]]:
    with mx.opened("answers") as box:
        return [set(mail.flags) - {"\\Recent"} for mail in box.fetch(mark_seen=False)]
