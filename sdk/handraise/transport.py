"""HTTP to the server: patient with what passes (a restart, a lost connection), plain about what does not.

Imported only when a client is made: httpx takes longer to import than all the rest.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version

import httpx
from pydantic import JsonValue

from handraise.errors import FieldProblem, Refusal, RequestRefused, ServerUnavailable, UnexpectedResponse

log = logging.getLogger("handraise")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
SHORT_POLL_SECONDS = 1.0
"""A poll that came back empty this soon was cut short: pause before the next, so that none spins."""

# Below uvicorn's 5 s, so that the server seldom closes a connection that is just being used again.
KEEPALIVE_SECONDS = 4.0

_PASSING = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)


class _Unreachable(Exception):
    """This try came to nothing; another one may not."""


class Transport:
    """One server, spoken to with one key."""

    def __init__(self, url: str, api_key: str, patience_seconds: float) -> None:
        self._patience = patience_seconds
        self._http = httpx.AsyncClient(
            base_url=f"{url.rstrip('/')}/v1/",
            headers={"X-API-Key": api_key, "User-Agent": f"handraise-python/{version('handraise')}"},
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            # Every waiting question holds a connection; a limit would let them starve a new one.
            limits=httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_SECONDS),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def call(
        self, method: str, path: str, body: bytes | None = None, idempotency_key: str | None = None
    ) -> bytes:
        """The response's body. Repeats what may pass; raises :class:`ServerUnavailable` once patience is over.

        A POST is repeated too: the ``idempotency_key`` keeps it from happening twice.
        """
        headers = {} if body is None else {"Content-Type": "application/json"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        until = time.monotonic() + self._patience
        pauses = _pauses()
        while True:
            try:
                return (await self._try(method, path, content=body, headers=headers)).content
            except _Unreachable as failure:
                pause = next(pauses)
                if time.monotonic() + pause > until:
                    message = f"No answer from {_origin(self._http)} for {self._patience:g} s: {failure}."
                    raise ServerUnavailable(message) from failure.__cause__
                log.info("The Handraise server can't be reached (%s); trying again.", failure)
            await asyncio.sleep(pause)

    async def poll(self, path: str, window_seconds: int) -> bytes:
        """Ask again and again until there is something to tell; a server that is away is waited for without limit."""
        timeout = httpx.Timeout(window_seconds + READ_SECONDS, connect=CONNECT_SECONDS)
        params = {"timeout_seconds": window_seconds}
        pauses = _pauses()
        away = False
        while True:
            asked = time.monotonic()
            try:
                response = await self._try("GET", path, params=params, timeout=timeout)
            except _Unreachable as failure:
                if not away:
                    log.warning("The Handraise server can't be reached (%s); the question stays open.", failure)
                away = True
            else:
                if response.status_code != httpx.codes.NO_CONTENT:
                    return response.content
                away = False
                if time.monotonic() - asked >= SHORT_POLL_SECONDS:
                    pauses = _pauses()
                    continue
            await asyncio.sleep(next(pauses))

    async def _try(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, int] | None = None,
        timeout: httpx.Timeout | None = None,  # noqa: ASYNC109 (httpx's own, per phase)
    ) -> httpx.Response:
        try:
            response = await self._http.request(
                method,
                path,
                content=content,
                headers=headers,
                params=params,
                timeout=self._http.timeout if timeout is None else timeout,
            )
        except _PASSING as failure:
            raise _Unreachable(f"{type(failure).__name__}: {failure}".rstrip(": ")) from failure
        # 500 as well: uvicorn answers so to the requests that a shutdown cuts off.
        if response.is_server_error:
            raise _Unreachable(f"HTTP {response.status_code}")
        if response.is_client_error:
            raise RequestRefused(_refusal(response))
        if not response.is_success:
            message = f"{_origin(self._http)} answered {response.status_code}: that is not the Handraise API."
            raise UnexpectedResponse(message)
        return response


def _pauses() -> Iterator[float]:
    """Doubling, with jitter so that agents don't come back in step."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1)  # noqa: S311 (no secret depends on it)
        pause = min(pause * 2, LONGEST_PAUSE)


def _origin(http: httpx.AsyncClient) -> str:
    """Where we talk to, without what a URL may carry along (a password)."""
    url = http.base_url
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _refusal(response: httpx.Response) -> Refusal:
    """The envelope of API.md §1, or the bare status where something in between answered."""
    status = response.status_code
    try:
        detail = json.loads(response.content)["detail"]
        code, message = str(detail["error"]), str(detail.get("message", ""))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Refusal(status, f"http_{status}", response.reason_phrase)
    known = {"error", "message", "fields"}
    details = {name: value for name, value in detail.items() if name not in known}
    return Refusal(status, code, message, tuple(_problems(detail.get("fields"))), details)


def _problems(fields: JsonValue) -> Iterator[FieldProblem]:
    for problem in fields if isinstance(fields, list) else []:
        if isinstance(problem, dict):
            yield FieldProblem(str(problem.get("path", "")), str(problem.get("message", "")))
