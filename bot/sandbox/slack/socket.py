"""Socket Mode of the pretend Slack: its sockets, and the envelopes over them.

A socket is requested with ``apps.connections.open`` and lives on a port of its own, as Slack's are on hosts of their
own. Each payload goes to one socket, in turn, and is acknowledged on that one.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode; facts on channels §A3.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import WSMsgType, web

from bot.sandbox.slack.world import SlackRefusal, Workspace
from bot.sandbox.vendor import JsonObject

APP_TOKEN = "xapp-1-A0SANDBOX-sandbox"
MOST_SOCKETS = 10
"""Source: https://docs.slack.dev/apis/events-api/using-socket-mode (up to 10 open connections per app)."""

ACK_WITHIN = 3.0
"""Seconds that Slack waits for an answer to an interaction."""

PING_EVERY = 10.0

REFRESHED, WARNED, DISABLED, TOO_MANY = "refresh_requested", "warning", "link_disabled", "too_many_websockets"
"""What a ``disconnect`` may say. After ``warning`` the socket lives on for some seconds, else it ends at once."""


class ServerSocket:
    """One connection of the app. ``silent`` ones stay open, deliver nothing and answer nothing, not even a ping;
    ``pings``: Slack goes on pinging there."""

    def __init__(self, ws: web.WebSocketResponse, request: web.Request) -> None:
        self.ws = ws
        self._request = request
        self.silent = False
        self.pings = True
        self.waiting: dict[str, asyncio.Future[JsonObject]] = {}
        """Envelopes that went out here and are not acknowledged yet."""

    async def say(self, message: Mapping[str, Any]) -> None:
        if not self.silent and not self.ws.closed:
            await self.ws.send_str(json.dumps(message))

    def lose(self) -> None:
        """Nothing can be acknowledged here any more."""
        for answer in self.waiting.values():
            if not answer.done():
                answer.set_exception(TimeoutError())
        self.waiting.clear()

    def cut(self) -> None:
        """The connection dies without a word."""
        if self._request.transport is not None:
            self._request.transport.abort()


class SocketFault(Protocol):
    """A fault of one envelope after it was sent to ``socket``."""

    async def spoil(self, sockets: SocketMode, socket: ServerSocket, envelope: JsonObject) -> None: ...


class SocketMode:
    """Every socket of the workspace's one app. ``scopes`` are those of its app-level token."""

    def __init__(self, workspace: Workspace, *, app_token: str = APP_TOKEN, ack_within: float = ACK_WITHIN) -> None:
        self.workspace = workspace
        self.app_token = app_token
        self.ack_within = ack_within
        self.scopes = {"connections:write"}
        self.token_trouble: str | None = None
        self.most = MOST_SOCKETS
        self.ping_every = PING_EVERY
        self.greets = True
        """Whether a new socket is said hello to."""
        self.sockets: list[ServerSocket] = []
        self.opened = 0
        """How many sockets there have been so far."""
        self.refused = 0
        """How many were one too many."""
        self._faults: deque[SocketFault] = deque()
        self._numbers = itertools.count(1)
        self._tickets: set[str] = set()
        self._runner: web.AppRunner | None = None
        self._beginning = asyncio.Lock()
        self._url = ""

    async def connections_open(self, token: str) -> JsonObject:
        """``apps.connections.open``: the address for the next socket, good once."""
        if not token:
            raise SlackRefusal("not_authed")
        if not token.startswith("xapp-"):
            raise SlackRefusal("not_allowed_token_type")
        if token != self.app_token:
            raise SlackRefusal("invalid_auth")
        if self.token_trouble is not None:
            raise SlackRefusal(self.token_trouble)
        if "connections:write" not in self.scopes:
            raise SlackRefusal("missing_scope", needed="connections:write", provided=",".join(sorted(self.scopes)))
        await self._serve()
        ticket = f"ticket-{next(self._numbers)}"
        self._tickets.add(ticket)
        return {"url": f"{self._url}/link/?ticket={ticket}&app_id={self.workspace.app_id}"}

    # --- what goes wrong ---

    def fail_next(self, fault: SocketFault) -> None:
        self._faults.append(fault)

    def drop(self) -> None:
        """Every connection dies without a word."""
        for socket in self.sockets:
            socket.cut()

    def silence(self) -> None:
        """Every socket that is open now stays so, and is dead."""
        for socket in self.sockets:
            socket.silent, socket.pings = True, False

    async def disconnect(self, *which: ServerSocket, reason: str = REFRESHED) -> None:
        """Ask for these sockets, or for all, to be reopened."""
        for socket in which or tuple(self.sockets):
            await self.let_go(socket, reason)

    # --- what goes over them ---

    async def deliver(self, kind: str, payload: JsonObject) -> JsonObject:
        """Send an envelope of ``kind`` (``interactive``, ``slash_commands``, ``events_api``) to one socket.

        Returns the payload of the acknowledgement; raises ``TimeoutError`` if none came in time, or if there is no
        socket: it is not sent again.
        """
        async with asyncio.timeout(self.ack_within):
            socket = self.one()
            fault = self._faults.popleft() if self._faults else None
            envelope_id = f"envelope-{next(self._numbers)}"
            answer = socket.waiting[envelope_id] = asyncio.get_running_loop().create_future()
            envelope = {
                "envelope_id": envelope_id,
                "type": kind,
                "payload": payload,
                "accepts_response_payload": kind != "events_api",
            }
            await socket.say(envelope)
            if fault is not None:
                await fault.spoil(self, socket, envelope)
            said: JsonObject = await answer
            return said

    def one(self) -> ServerSocket:
        """The socket whose turn it is."""
        if not self.sockets:
            raise TimeoutError
        socket = self.sockets.pop(0)
        self.sockets.append(socket)
        return socket

    # --- connections ---

    async def close(self) -> None:
        if self._runner is not None:
            for socket in list(self.sockets):
                socket.cut()
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self) -> None:
        async with self._beginning:
            if self._runner is not None:
                return
            app = web.Application()
            app.router.add_get("/link/", self._link)
            self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", 0).start()
            [address] = self._runner.addresses
            self._url = f"ws://127.0.0.1:{address[1]}"

    async def _link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=408)
        self._tickets.discard(ticket)
        ws = web.WebSocketResponse(autoping=False)
        await ws.prepare(request)
        socket = ServerSocket(ws, request)
        if len(self.sockets) >= self.most:
            self.refused += 1
            await self.let_go(socket, TOO_MANY)
            return ws
        if self.greets:
            await socket.say(self._hello())
        self.sockets.append(socket)
        self.opened += 1
        self.workspace.touch()
        pinging = asyncio.create_task(self._ping(socket))
        try:
            await self._listen(socket)
        finally:
            pinging.cancel()
            self._forget(socket)
            socket.lose()
        return ws

    def _hello(self) -> JsonObject:
        return {
            "type": "hello",
            "num_connections": len(self.sockets) + 1,
            "debug_info": {"host": "sandbox", "build_number": 1, "approximate_connection_time": 18060},
            "connection_info": {"app_id": self.workspace.app_id},
        }

    async def _listen(self, socket: ServerSocket) -> None:
        while True:
            message = await socket.ws.receive()
            if message.type in {WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR}:
                return
            if socket.silent:
                continue
            if message.type is WSMsgType.PING:
                await socket.ws.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledged(socket, json.loads(message.data))

    def _acknowledged(self, socket: ServerSocket, said: JsonObject) -> None:
        answer = socket.waiting.pop(str(said.get("envelope_id")), None)
        if answer is not None and not answer.done():
            payload = said.get("payload")
            answer.set_result(payload if isinstance(payload, dict) else {})

    async def _ping(self, socket: ServerSocket) -> None:
        while True:
            await asyncio.sleep(self.ping_every)
            if socket.pings and not socket.ws.closed:
                await socket.ws.ping(b"Ping from sandbox")

    async def let_go(self, socket: ServerSocket, reason: str) -> None:
        """Send the disconnect; delivered envelopes may still be acknowledged there, but nothing new goes that way."""
        await socket.say({"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}})
        self._forget(socket)
        if reason in {TOO_MANY, DISABLED}:
            await socket.ws.close()

    def _forget(self, socket: ServerSocket) -> None:
        if socket in self.sockets:
            self.sockets.remove(socket)
            self.workspace.touch()
