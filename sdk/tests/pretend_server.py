"""A loopback server that does what API.md §1 and §2 promise, and can go away and come back."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "agent-key-1"
LIMIT = 30
REASONS = {200: "OK", 201: "Created", 204: "No Content", 307: "Temporary Redirect", 403: "Forbidden", 503: "Away"}


@dataclass
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class PretendServer:
    """Suspensions, waits and cancellations on one port that can go away and come back.

    ``windows`` is how long the next waits last before their 204; ``faults`` is what befalls the next requests:
    ``"cut"`` does the work and closes the connection without a word, ``"lose"`` closes it before, ``None`` is none,
    anything else is a raw ``(status, body)``.
    """

    port: int = 0
    seen: list[Asked] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    remembered: dict[str, tuple[bytes, int, bytes]] = field(default_factory=dict)
    faults: deque[str | tuple[int, bytes] | None] = field(default_factory=deque)
    windows: deque[float] = field(default_factory=deque)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    connections: set[asyncio.StreamWriter] = field(default_factory=set)
    server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def only(self) -> dict[str, Any]:
        (record,) = self.records.values()
        return record

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """As a kill does: every connection is reset in the middle of whatever it was doing."""
        assert self.server is not None
        self.server.close()
        for connection in list(self.connections):
            connection.transport.abort()

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(LIMIT), self.changed:
            await self.changed.wait_for(condition)

    async def waits(self, number: int) -> None:
        """Until that many polls have come in."""
        await self.until(lambda: len([asked for asked in self.seen if asked.path.endswith("/wait")]) >= number)

    async def end(self, **ending: Any) -> None:
        async with self.changed:
            self.only.update(ending)
            self.changed.notify_all()

    async def end_each(self, number: int, **ending: Any) -> None:
        """Every question, once there are so many."""
        await self.until(lambda: len(self.records) == number)
        async with self.changed:
            for record in self.records.values():
                record.update(ending)
            self.changed.notify_all()

    async def answer(self, value: Any, by: str = "alice@example.com", number: int = 1) -> None:
        await self.end_each(
            number,
            resolution="responded",
            response=value,
            responded_by=by,
            responded_at="2026-03-23T10:01:00Z",
            channel="slack",
            receipt="a-receipt",
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether another may follow on this connection."""
        asked = await _read(reader)
        async with self.changed:
            self.seen.append(asked)
            self.changed.notify_all()
        fault = self.faults.popleft() if self.faults else None
        if fault == "lose":
            return False
        status, content = fault if isinstance(fault, tuple) else await self._answer(asked)
        if fault == "cut":
            return False
        writer.write(_written(status, content))
        await writer.drain()
        return True

    async def _answer(self, asked: Asked) -> tuple[int, bytes]:
        if asked.headers.get("x-api-key") != KEY:
            return _refused(401, "unauthorized", "No key, or none that we know.")
        key = asked.headers.get("idempotency-key")
        if key in self.remembered:
            body, status, content = self.remembered[key]
            return (status, content) if body == asked.body else _refused(409, "idempotency_conflict", "Another body.")
        status, content = await self._route(asked)
        if key is not None:
            self.remembered[key] = (asked.body, status, content)
        return status, content

    async def _route(self, asked: Asked) -> tuple[int, bytes]:
        match asked.method, asked.path.split("/")[1:]:
            case "POST", ["v1", "suspensions"]:
                return self._suspend(asked.json, f"intent-{len(self.records) + 1}")
            case "POST", ["v1", "intents", intent, "suspend"]:
                return self._suspend(asked.json, intent)
            case "GET", ["v1", "suspensions"]:
                page = {"items": [*self.records.values()][::-1], "next_cursor": None}
                return 200, json.dumps(page).encode()
            case "GET", ["v1", "suspensions", name] if name in self.records:
                return 200, json.dumps(self.records[name]).encode()
            case "GET", ["v1", "suspensions", name, "wait"] if name in self.records:
                return await self._wait(name, int(asked.query["timeout_seconds"]))
            case "POST", ["v1", "suspensions", name, "cancel"] if name in self.records:
                if self.records[name]["resolution"] is not None:
                    by = self.records[name]["responded_by"]
                    return _refused(409, "already_answered", f"{by} has already answered.", responded_by=by)
                await self.end(resolution="cancelled", reason=asked.json.get("reason"))
                return 200, json.dumps(self.records[name]).encode()
            case "POST", ["v1", "receipts", "verify"]:
                return 200, b'{"valid": true}'
        return _refused(404, "not_found", "There is no such thing.")

    def _suspend(self, ask: dict[str, Any], intent: str) -> tuple[int, bytes]:
        values = [choice["value"] for choice in ask.get("choices") or []]
        if len(set(values)) < len(values):
            problem = {"path": "choices", "message": "Two choices have the same value."}
            return _refused(422, "invalid_request", "Two choices have the same value.", fields=[problem])
        name, ref = f"susp-{len(self.records) + 1}", f"HR-7F3{len(self.records)}"
        record = {
            "id": name,
            "ref": ref,
            "intent_id": intent,
            "question": ask["question"],
            "kind": ask.get("kind", "input"),
            "response_type": ask.get("response_type", "choice"),
            "choices": ask.get("choices") or [],
            "context": ask.get("context") or {},
            "suspended_at": "2026-03-23T10:00:00Z",
            "expires_at": None,
            "retry_policy": None,
            "resolution": None,
            "response": None,
            "metadata": {},
            "error": None,
            "continued_with": None,
            "a_field_of_next_year": 1,
        }
        self.records[name] = record
        outcome = {
            "outcome": "suspended",
            "status": "pending_veto" if ask.get("kind") == "veto" else "suspended_awaiting_input",
            "intent_id": intent,
            "suspension_id": name,
            "ref": ref,
            "session_id": (ask.get("resume") or {}).get("session_id"),
            "invocation_id": None,
            "correlation_id": None,
            "descriptor": {"signal_id": None, "metadata": {}},
            "suspended_at": "2026-03-23T10:00:00Z",
            "expires_at": None,
            "ladder": [
                {
                    "attempt": 1,
                    "due_at": "2026-03-23T10:00:00Z",
                    "channel": "slack",
                    "notify_to": None,
                    "recipients": ["group:finance"],
                }
            ],
            "suspension": record,
        }
        return 201, json.dumps(outcome).encode()

    async def _wait(self, name: str, seconds: int) -> tuple[int, bytes]:
        if not 1 <= seconds <= 55:
            return _refused(422, "invalid_request", "timeout_seconds is 1 to 55.")
        ended = lambda: self.records[name]["resolution"] is not None  # noqa: E731
        async with self.changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.windows.popleft() if self.windows else seconds):
                    await self.changed.wait_for(ended)
        return (200, json.dumps(self.records[name]).encode()) if ended() else (204, b"")


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    parts = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, parts.path, query, headers, body)


def _written(status: int, content: bytes) -> bytes:
    length = "" if status == 204 else f"Content-Length: {len(content)}\r\n"
    return f"HTTP/1.1 {status} {REASONS.get(status, 'No')}\r\n{length}\r\n".encode() + content


def _refused(status: int, code: str, message: str, **details: Any) -> tuple[int, bytes]:
    return status, json.dumps({"detail": {"error": code, "message": message, **details}}).encode()
