"""A real service process to measure, and the world around it in this process: mail sink, agent's receiver, clients."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.ports import free_port

AGENT_KEY, OPERATOR_KEY, ADMIN_KEY = "bench-agent-key", "bench-operator-key", "bench-admin-key"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def write_config(
    folder: Path, database_url: str, smtp_port: int, name: str = "handraise", **more: Any
) -> tuple[Path, str]:
    """A configuration that notifies by mail alone, with what is ``more``; returns the file and the service's URL.

    Replicas have a file of their own ``name`` each, with a port of its own and one secret key.
    """
    port = free_port()
    settings = {
        "database_url": database_url,
        "http": {"port": port},
        "secret_key": "the-secret-key-of-the-bench-alone",
        "api_keys": [
            {"name": "bench-agent", "key": AGENT_KEY, "roles": ["agent"], "webhook_secrets": [SECRET]},
            {"name": "bench-operator", "key": OPERATOR_KEY, "roles": ["operator"]},
            {"name": "bench-admin", "key": ADMIN_KEY, "roles": ["admin"]},
        ],
        "recipients": {"allow": ["*@example.com"]},
        "email": {"smtp_url": f"smtp://127.0.0.1:{smtp_port}", "from": "handraise@handraise.example"},
        "resume": {"allow_networks": ["127.0.0.0/8"]},
        "log": {"level": "warning"},
        **more,
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(settings))
    return file, f"http://127.0.0.1:{port}"


@contextmanager
def serving(config: Path, role: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """``handraise serve`` as a process of its own."""
    process = start(config, role)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()  # does nothing to one that has ended


def start(config: Path, role: str | None = None) -> subprocess.Popen[bytes]:
    """As :func:`serving`, for one that is ended otherwise."""
    command = [sys.executable, "-m", "handraise", "serve", "--config", str(config), *(["--role", role] if role else [])]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[2], env={**os.environ})


@dataclass
class Around:
    """What the service talks to. Arrivals are looked for by mailbox (one a client) and by suspension."""

    smtp_port: int = 0
    last_mail: float = 0  # by the host's clock
    last_content: bytes = b""
    callback_url: str = ""
    mails: dict[str, asyncio.Queue[float]] = field(default_factory=dict)
    callbacks: dict[str, asyncio.Future[float]] = field(default_factory=dict)
    webhook_ids: dict[str, list[str]] = field(default_factory=dict)
    message_ids: dict[str, list[str]] = field(default_factory=dict)

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        now, self.last_mail = time.monotonic(), time.time()
        self.last_content = envelope.original_content or b""
        for recipient in envelope.rcpt_tos:
            self.mails.setdefault(recipient, asyncio.Queue()).put_nowait(now)
            self.message_ids.setdefault(recipient, []).append(_message_id(envelope))
        return "250 OK"

    async def receive(self, request: web.Request) -> web.Response:
        now = time.monotonic()
        body = await request.read()
        found = re.search(rb'"suspension_id":\s?"([^"]+)"', body)
        assert found is not None
        suspension_id = found[1].decode()
        self.webhook_ids.setdefault(suspension_id, []).append(request.headers["webhook-id"])
        arrived = self.callback(suspension_id)
        if not arrived.done():  # after a crash it may come again, under the same id
            arrived.set_result(now)
        return web.Response()

    async def hang(self, _request: web.Request) -> web.Response:
        """A session behind the same origin that takes what it is sent and says nothing."""
        await asyncio.Event().wait()
        raise AssertionError

    def callback(self, suspension_id: str) -> asyncio.Future[float]:
        """When the callback of this suspension arrived."""
        if suspension_id not in self.callbacks:
            self.callbacks[suspension_id] = asyncio.get_running_loop().create_future()
        return self.callbacks[suspension_id]

    async def mail_to(self, mailbox: str) -> float:
        return await self.mails.setdefault(mailbox, asyncio.Queue()).get()

    async def mails_arrived(self, mailboxes: int, patience: float, still: float = 1.0) -> dict[str, int]:
        """How many unread mails each mailbox has, once so many mailboxes have one or ``patience`` (seconds) ends.

        It goes on looking for ``still`` seconds, for what should not come.
        """
        end = time.monotonic() + patience
        while len(found := self._unread()) < mailboxes and time.monotonic() < end:
            await asyncio.sleep(0.05)
        await asyncio.sleep(still)
        return self._unread() or found

    def _unread(self) -> dict[str, int]:
        return {mailbox: queue.qsize() for mailbox, queue in self.mails.items() if queue.qsize()}


def _message_id(envelope: Envelope) -> str:
    content = envelope.content or b""
    found = re.search(rb"(?im)^message-id:\s*(\S+)", content if isinstance(content, bytes) else content.encode())
    return found[1].decode() if found else ""


@asynccontextmanager
async def around() -> AsyncIterator[Around]:
    """The sink and the receiver, listening on loopback."""
    here = Around()
    loop = asyncio.get_running_loop()
    smtp = await loop.create_server(lambda: SMTP(here, hostname="sink.example"), "127.0.0.1", 0)
    here.smtp_port = smtp.sockets[0].getsockname()[1]
    app = web.Application()
    app.router.add_post("/resume", here.receive)
    app.router.add_post("/hanging/{session}", here.hang)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", free_port())
    await site.start()
    here.callback_url = f"{site.name}/resume"
    try:
        yield here
    finally:
        await runner.cleanup()
        smtp.close()


def question(callback_url: str, mailbox: str) -> dict[str, Any]:
    """The body that asks."""
    return {
        "question": "Refund order 12345?",
        "choices": [{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny refund"}],
        "context": {"order_id": "12345", "amount": 499.99},
        "notify_to": mailbox,
        "timeout_seconds": 3600,
        "resume": {"callback_url": callback_url},
    }


def approval(asked: Any) -> dict[str, Any]:
    """The body that answers."""
    return {"suspension_id": asked["suspension_id"], "value": "approve"}


class Caller:
    """A client of the API; ``await`` each call's parsed body."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = url

    async def ask(
        self, callback_url: str, mailbox: str, headers: Mapping[str, str] | None = None, **fields: Any
    ) -> Any:
        """Suspend; ``fields`` are added to the body."""
        body = {**question(callback_url, mailbox), **fields}
        return await self._call("POST", "/v1/suspensions", AGENT_KEY, body, headers)

    async def answer(self, asked: Any, headers: Mapping[str, str] | None = None) -> Any:
        path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
        return await self._call("POST", path, OPERATOR_KEY, approval(asked), headers)

    async def wait(self, asked: Any, seconds: int = 30) -> Any:
        """The ended suspension, ``None`` where it is still open after ``seconds``."""
        path = f"/v1/suspensions/{asked['suspension_id']}/wait?timeout_seconds={seconds}"
        return await self._call("GET", path, AGENT_KEY, None)

    async def listed(self, status: str) -> Any:
        return await self._call("GET", f"/v1/suspensions?status={status}&limit=50", OPERATOR_KEY, None)

    async def send(self, method: str, path: str, body: Any = None, version: int | None = None) -> Any:
        """A call of the agent's; ``version`` is what it was made for."""
        headers = None if version is None else {"If-Match": str(version)}
        return await self._call(method, f"/v1{path}", AGENT_KEY, body, headers)

    async def ready(self) -> bool:
        try:
            async with self._http.get(self._url + "/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def _call(self, method: str, path: str, key: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        given = {"X-API-Key": key, **(headers or {})}
        async with self._http.request(method, self._url + path, json=body, headers=given) as response:
            if response.status >= 500:
                raise aiohttp.ClientConnectionError(f"{method} {path}: {response.status}")
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {await response.text()}")
            return None if response.status == 204 else await response.json()
