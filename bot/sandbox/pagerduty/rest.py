"""PagerDuty's REST API: who may call it, how often, and what each call does is in ``rest_calls``.

Source: https://developer.pagerduty.com/docs/rest-api-rate-limits, …/docs/errors, …/docs/authentication.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty.rest_calls import Calls, error
from bot.sandbox.pagerduty.subscription import Webhooks
from bot.sandbox.pagerduty.world import Account
from bot.sandbox.slack.faults import CutOff

READ_ONLY_TOKEN = "sandbox-read-only-token"
CALLS_A_MINUTE = 960

_UNAUTHENTICATED = 2006
_ACCESS_DENIED = 2010
_RATE_LIMITED = 2020

Endpoint = Callable[[Request], Awaitable[Response]]


class RestApi:
    """``api.pagerduty.com`` for one account."""

    def __init__(self, account: Account, token: str, webhooks: Webhooks) -> None:
        self.account = account
        self.token = token
        self.read_only_token = READ_ONLY_TOKEN
        """Reads everything and changes nothing."""
        self.down_with: int | None = None
        """A status that every call gets instead of an answer."""
        self.answering = asyncio.Event()
        """While it is not set, calls get no answer at all."""
        self.answering.set()
        self.calls: list[str] = []
        """Every call, as ``METHOD /path``, oldest first."""
        self._limited = 0
        self._cut_off = False
        self._dropped = 0
        self._reset_seconds = 20
        self._calls = Calls(account, webhooks)

    def limit_next(self, calls: int = 1, reset_seconds: int = 20) -> None:
        """Refuse so many of the next calls, for they come too often."""
        self._limited, self._reset_seconds = calls, reset_seconds

    def cut_off_next(self) -> None:
        """The next change is made, and the connection dies before it is said."""
        self._cut_off = True

    def drop_next(self, calls: int = 1) -> None:
        """The connections of so many of the next calls die before anything is done or said."""
        self._dropped = calls

    def routes(self) -> list[Route]:
        table = self._calls.table()
        return [Route(path, self._guarded(call), methods=[method]) for (method, path), call in table.items()]

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            self.calls.append(f"{request.method} {request.url.path}")
            if self._dropped > 0:
                self._dropped -= 1
                return CutOff()
            await self.answering.wait()
            said = self._refusal(request) or await endpoint(request)
            if request.method != "GET" and self._cut_off:
                self._cut_off = False
                return CutOff()
            return said

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        if self.down_with is not None:
            return error(self.down_with, 2000, "An internal error has occurred.")
        given = request.headers.get("authorization")
        if given not in {f"Token token={self.token}", f"Token token={self.read_only_token}"}:
            return error(401, _UNAUTHENTICATED, "Authentication failed")
        if self._limited > 0:
            self._limited -= 1
            return self._too_often()
        if request.method != "GET" and given != f"Token token={self.token}":
            return error(403, _ACCESS_DENIED, "Access Denied")
        return None

    def _too_often(self) -> Response:
        headers = {
            "ratelimit-limit": str(CALLS_A_MINUTE),
            "ratelimit-remaining": "0",
            "ratelimit-reset": str(self._reset_seconds),
        }
        return JSONResponse({"error": {"message": "Rate Limit Exceeded", "code": _RATE_LIMITED}}, 429, headers)
