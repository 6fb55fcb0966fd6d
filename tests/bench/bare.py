"""What a cycle takes at the very least: a service of its own that keeps one record of JSON by four small durable
commits, sends one mail by aiosmtplib and one signed POST, and nothing else.

It takes the calls of :class:`tests.bench.service.Caller`, so whatever is measured of Handraise can be measured of it.
Commits that come together are made together, as by anyone who knows SQLite.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import aiosmtplib
import uvicorn
import uvloop
from standardwebhooks.webhooks import Webhook
from starlette.types import Receive, Scope, Send

from tests.bench.service import SECRET
from tests.ports import free_port

CONNECTIONS = 4
"""``email.max_connections``, as it is by default."""
_MAIL = (
    "From: {sender}\r\nTo: {to}\r\nSubject: {question}\r\nMessage-ID: <{id}@handraise.example>\r\n\r\n{question}\r\n"
)
_SENDER = "handraise@handraise.example"


@contextmanager
def serving(folder: Path, smtp_port: int) -> Iterator[str]:
    """The service as a process of its own; yields its URL."""
    port = free_port()
    command = [sys.executable, "-m", __name__, str(folder / "bare.db"), str(port), str(smtp_port)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Rows:
    """One table, and the thread that writes it."""

    def __init__(self, path: str) -> None:
        self._waiting: queue.SimpleQueue[tuple[str, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._write, args=(path,), daemon=True).start()

    async def put(self, row: str) -> None:
        """Returns when it is durable."""
        done = self._loop.create_future()
        self._waiting.put((row, done))
        await done

    def _write(self, path: str) -> None:
        conn = sqlite3.connect(path, isolation_level=None)
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, text TEXT)")
        while True:
            some = [self._waiting.get()]
            while not self._waiting.empty():
                some.append(self._waiting.get())
            conn.execute("BEGIN IMMEDIATE")
            conn.executemany("INSERT INTO kept (text) VALUES (?)", [(row,) for row, _ in some])
            conn.execute("COMMIT")
            self._loop.call_soon_threadsafe(_tell, [done for _, done in some])


def _tell(some: list[asyncio.Future[None]]) -> None:
    for done in some:
        done.set_result(None)


class Service:
    """The application. Questions are in memory by their id; the table is only written."""

    def __init__(self, rows: Rows, http: aiohttp.ClientSession) -> None:
        self.mails: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._rows = rows
        self._http = http
        self._asked: dict[str, dict[str, Any]] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._telling: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, said = scope["path"], (await receive())["body"]
        if path == "/readyz":
            reply: Any = {}
        elif path == "/v1/suspensions":
            reply = await self._ask(json.loads(said))
        elif path.endswith("/wait"):
            reply = await self._wait(path.split("/")[3])
        else:
            reply = await self._answer(json.loads(said))
        body = json.dumps(reply).encode()
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        record = {**asked, "suspension_id": str(uuid.uuid4()), "intent_id": str(uuid.uuid4())}
        await self._rows.put(json.dumps(record))
        self._asked[record["suspension_id"]] = record
        self._ended[record["suspension_id"]] = asyncio.Event()
        self.mails.put_nowait(record)
        return record

    async def _wait(self, suspension_id: str) -> dict[str, Any]:
        await self._ended[suspension_id].wait()
        return self._asked[suspension_id]

    async def _answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        record = self._asked[answer["suspension_id"]]
        record["value"] = answer["value"]
        await self._rows.put(json.dumps(record))
        self._ended[record["suspension_id"]].set()
        task = asyncio.create_task(self._tell(record))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
        return record

    async def _tell(self, record: dict[str, Any]) -> None:
        body, now = json.dumps(record), datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "webhook-id": record["suspension_id"],
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign(record["suspension_id"], now, body),
        }
        async with self._http.post(record["resume"]["callback_url"], data=body, headers=headers) as response:
            await response.read()
        await self._rows.put("told")

    async def send_mails(self, port: int) -> None:
        """Over one connection, for good."""
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False) as client:
            while True:
                record = await self.mails.get()
                to, names = record["notify_to"], {"id": record["suspension_id"], "question": record["question"]}
                await client.sendmail(_SENDER, [to], _MAIL.format(sender=_SENDER, to=to, **names).encode())
                await self._rows.put("sent")


async def _serve(path: str, port: int, smtp_port: int) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        service = Service(Rows(path), http)
        config = uvicorn.Config(service, port=port, lifespan="off", log_level="warning", access_log=False)
        async with asyncio.TaskGroup() as running:
            for _ in range(CONNECTIONS):
                running.create_task(service.send_mails(smtp_port))
            running.create_task(uvicorn.Server(config).serve())


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
