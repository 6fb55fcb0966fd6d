"""A good set-up to examine: a running service with every vendor's sandbox, behind TLS and under a name of its own.

Nothing of it is ours alone: the names and the authority that only this machine knows are what a DNS and a public
certificate are elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.config.loading import settings_of, without_nulls
from bot.config.settings import Settings
from bot.doctor.checks import CHECKS
from bot.doctor.examination import Examination, HostMachine
from bot.doctor.findings import Finding
from bot.doctor.network import Network
from bot.sandbox.pagerduty.world import User
from tests.channels.email.certificates import Authority
from tests.clock import ManualClock
from tests.imap_pretend import PretendImap, pretending
from tests.ports import free_port
from tests.published import renew_secrets
from tests.vendors.mail import Mailbox
from tests.vendors.smtp import Offers
from tests.world import World, running

HOST, HEARTBEAT_HOST = "handraise.example.com", "hc.example.com"
ALICE = User("PALICE", "Alice", "alice@example.com")


async def names(host: str, port: int) -> Sequence[str]:
    """The DNS as this machine knows it."""
    if host in {HOST, HEARTBEAT_HOST, "127.0.0.1"}:
        return ["127.0.0.1"]
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


@dataclass
class Ward:
    """``written`` is the configuration as its file has it."""

    folder: Path
    world: World
    imap: PretendImap
    authority: Authority
    written: dict[str, Any]
    around: HostMachine

    def settings(self, **overrides: Any) -> Settings:
        """With one key of a section (``email__authserv_id=…``) or a whole section in another way; ``None`` for one
        that is not there."""
        changed = json.loads(json.dumps(self.written))
        for name, value in overrides.items():
            section, _, key = name.partition("__")
            if key:
                changed[section][key] = value
            else:
                changed[section] = value
        return settings_of(without_nulls({k: v for k, v in changed.items() if v is not None}), None, {})

    async def examine(self, around: dict[str, Any] | None = None, **overrides: Any) -> list[Finding]:
        """What doctor finds; ``around`` is what lies differently around the service."""
        seen = replace(self.around, **(around or {}))
        return await Examination(self.settings(**overrides), self.folder, seen).run(CHECKS)


@asynccontextmanager
async def ward(folder: Path, database_url: str) -> AsyncIterator[Ward]:
    """Everything is well, as long as the block lasts and nobody changes it."""
    authority = Authority(folder)
    context = ssl.create_default_context(cafile=authority.file)
    async with AsyncExitStack() as stack:
        port = free_port()
        public_url = f"https://{HOST}:{port}"
        imap = await stack.enter_async_context(pretending(PretendImap()))
        mails = await stack.enter_async_context(_mails(Mailbox(offers=Offers(reports=True))))
        world = await stack.enter_async_context(
            running(folder, database_url, ManualClock(datetime.now(UTC)), secret_key=secrets.token_hex(32))
        )
        await stack.enter_async_context(front(port, authority.server(HOST, HEARTBEAT_HOST), world.url))
        await _use(world)
        written = json.loads((folder / "handraise.yaml").read_text())
        written["public_url"] = public_url
        renew_secrets(written)
        written["http"] = {"port": urlsplit(world.url).port}
        written["slack"]["app_token"] = world.slack.sockets.app_token
        written["email"] |= {
            "smtp_url": mails.smtp_url,
            "imap_url": f"imap://handraise:secret-of-imap@127.0.0.1:{imap.port}",
            "listen": f"lmtp://127.0.0.1:{free_port()}",
        }
        written["alerts"] = {"notify": ["alice@example.com"], "heartbeat_url": f"https://{HEARTBEAT_HOST}:{port}/uuid"}
        around = HostMachine(network=Network(names, lambda: context), free_bytes=lambda _: 2**40)
        yield Ward(folder, world, imap, authority, written, around)


async def _use(world: World) -> None:
    """Somebody has replied by mail, and acknowledged an incident."""
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    await world.mailbox.reply(mail, "approve")
    await world.settle()
    assert (await world.show(asked))["status"] == "responded"
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", responders=["alice@example.com"])
    await world.pager.acknowledge(await world.pager.expect_incident(asked["ref"]), ALICE)
    await world.settle()


@asynccontextmanager
async def _mails(mailbox: Mailbox) -> AsyncIterator[Mailbox]:
    await mailbox.start()
    try:
        yield mailbox
    finally:
        await mailbox.stop()


mails = _mails


@asynccontextmanager
async def front(port: int, certificate: ssl.SSLContext, url: str) -> AsyncIterator[None]:
    """A proxy that ends TLS before the service."""
    behind = urlsplit(url)

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(behind.hostname, behind.port)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    server = await asyncio.start_server(hand_on, "127.0.0.1", port, ssl=certificate)
    try:
        yield
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def ahead(by: timedelta) -> dict[str, Any]:
    """This machine's clock, so far ahead of everybody else's."""
    return {"now": lambda: datetime.now(UTC) + by}
