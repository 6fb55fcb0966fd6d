"""The wire of Slack's Web API: bodies in, ``{"ok": …}`` out, and the faults in between.

Source: https://docs.slack.dev/apis/web-api.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.sandbox.slack.faults import Faults
from bot.sandbox.slack.methods import Method
from bot.sandbox.slack.socket import SocketMode
from bot.sandbox.slack.world import SlackRefusal, Workspace
from bot.sandbox.vendor import JsonObject

OPEN_SOCKET = "apps.connections.open"
"""The one method of the app-level token, which it takes in the header alone."""

STRUCTURED = frozenset({"blocks", "metadata", "view", "attachments"})
"""Arguments that are JSON even inside a form."""


class WebApi:
    """The endpoint behind ``/api/{method}``."""

    def __init__(
        self, workspace: Workspace, faults: Faults, sockets: SocketMode, methods: Mapping[str, Method]
    ) -> None:
        self.workspace = workspace
        self.faults = faults
        self._sockets = sockets
        self._methods = methods
        self.url = ""
        """Where this sandbox is reached, learned from the first request."""
        self.unsaid: list[JsonObject] = []
        """What was done without the caller having been told so, or not in time: its answers as they would have been."""

    async def endpoint(self, request: Request) -> Response:
        method = request.path_params["method"]
        self.url = str(request.base_url).rstrip("/")
        fault = self.faults.take(method)
        if fault is None:
            return self._answered(await self._perform(method, request))

        async def perform() -> JsonObject:
            said = await self._perform(method, request)
            self.unsaid.append(said)
            return said

        return await fault.meet(request, perform)

    def _answered(self, said: JsonObject) -> Response:
        if "retry_after" in said:
            return JSONResponse(said, 429, {"Retry-After": str(said["retry_after"])})
        return JSONResponse(said, headers={"X-OAuth-Scopes": ",".join(sorted(self.workspace.scopes))})

    async def _perform(self, method: str, request: Request) -> JsonObject:
        try:
            if method == OPEN_SOCKET:
                return {"ok": True, **await self._sockets.connections_open(_bearer(request))}
            known = self._methods.get(method)
            if known is None:
                return _no("unknown_method")
            arguments = await read_arguments(request)
            self._authorise(request, arguments)
            scope = known.needs(self.workspace, arguments)
            if scope is not None and scope not in self.workspace.scopes:
                provided = ",".join(sorted(self.workspace.scopes))
                raise SlackRefusal("missing_scope", needed=scope, provided=provided)
            return {"ok": True, **known.perform(self.workspace, arguments)}
        except SlackRefusal as refusal:
            return _no(refusal.code, **refusal.details)
        finally:
            self.workspace.touch()

    def _authorise(self, request: Request, arguments: Mapping[str, Any]) -> None:
        token = _bearer(request) or str(arguments.get("token", ""))
        if not token:
            raise SlackRefusal("not_authed")
        if token != self.workspace.bot_token:
            raise SlackRefusal("invalid_auth")
        if self.workspace.token_trouble is not None:
            raise SlackRefusal(self.workspace.token_trouble)


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


async def read_arguments(request: Request) -> JsonObject:
    """Query, form and JSON alike; JSON inside a form is parsed."""
    arguments: JsonObject = dict(request.query_params)
    body = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        given = _parsed(body, "invalid_json")
        if not isinstance(given, dict):
            raise SlackRefusal("json_not_object")
        arguments |= given
    else:
        arguments |= dict(parse_qsl(body.decode(), keep_blank_values=True))
    for name in STRUCTURED & arguments.keys():
        if isinstance(arguments[name], str):
            arguments[name] = _parsed(arguments[name], f"invalid_{name}_format")
    return arguments


def _parsed(text: str | bytes, refusal: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise SlackRefusal(refusal) from None


def _no(code: str, **details: Any) -> JsonObject:
    return {"ok": False, "error": code, **details}
