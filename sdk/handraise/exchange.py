"""One exchange with the server, without the sending: the meaning of a reply, and when to try again.

Both clients share it, the asynchronous and the synchronous one. Imported only when a client is made: httpx takes longer
to import than all the rest.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue, ValidationError

from handraise.errors import FieldProblem, Refusal, ServerUnavailable, UnexpectedResponse, refused
from handraise.records import Received, SuspensionRecord

log = logging.getLogger("handraise")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
LONGEST_TURN = 10.0
"""Seconds for which one of several questions is waited for, before the others are looked at again."""
WINDOW_SECONDS = 55
"""The longest that one ``wait`` may be asked to take (API.md §2)."""

SHORT_POLL_SECONDS = 1.0
"""A poll that came back empty this soon was cut short: pause before the next, so that none spins."""

# Below uvicorn's 5 s, so that the server seldom closes a connection that is just being used again.
KEEPALIVE_SECONDS = 4.0

PASSING = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)

Record = TypeVar("Record", bound=Received)


class Unreachable(Exception):
    """This try failed; another one may not."""

    @classmethod
    def because(cls, failure: Exception) -> Unreachable:
        return cls(f"{type(failure).__name__}: {failure}".rstrip(": "))


def client_options(url: str, api_key: str) -> dict[str, Any]:
    """The options of httpx, for either kind of client."""
    return {
        "base_url": f"{url.rstrip('/')}/v1/",
        "headers": {"X-API-Key": api_key, "User-Agent": f"handraise-python/{version('handraise')}"},
        "timeout": httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        # Every waiting question holds a connection; a limit would let them starve a new one.
        "limits": httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_SECONDS),
        # Loading whom TLS believes takes longer than asking a server on this machine, and plain HTTP has no use for it.
        "verify": urlsplit(url).scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
    }


def pauses() -> Iterator[float]:
    """Doubling, with jitter so that agents don't come back in step."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1)  # noqa: S311 (no secret depends on it)
        pause = min(pause * 2, LONGEST_PAUSE)


@dataclass
class Patience:
    """The tries of one call while the server is away: logged once, with ever longer pauses, given up after
    ``seconds``, or never if that is ``None``."""

    origin: str
    seconds: float | None
    _pauses: Iterator[float] = field(default_factory=pauses)
    _since: float | None = None
    _started: float = field(default_factory=time.monotonic)

    def pause_after(self, failure: Unreachable) -> float:
        """How long to wait before the next try. Raises :class:`ServerUnavailable` once patience is over."""
        pause = next(self._pauses)
        if self.seconds is not None and time.monotonic() + pause > self._started + self.seconds:
            message = f"No answer from {self.origin} for {self.seconds:g} s: {failure}."
            raise ServerUnavailable(message) from failure.__cause__
        if self._since is None:
            self._since = time.monotonic()
            bound = "" if self.seconds is None else f" for up to {self.seconds:g} s"
            log.warning(
                "The Handraise server at %s can't be reached (%s); trying again%s.", self.origin, failure, bound
            )
        return pause

    def over(self) -> None:
        """The server has answered."""
        if self._since is not None:
            log.info("The Handraise server at %s is back after %.0f s.", self.origin, time.monotonic() - self._since)
            self._since = None

    def pause_after_empty(self, was_cut_short: bool) -> float:
        """The server has nothing to tell yet. A poll that was cut short is not repeated at once, so that none spins."""
        self.over()
        if was_cut_short:
            return next(self._pauses)
        self._pauses = pauses()
        return 0.0


@dataclass
class WaitLimit:
    """How much longer to wait for an answer: for ever, or ``seconds`` from now."""

    seconds: float | None
    _started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        return None if self.seconds is None else self._started + self.seconds - time.monotonic()

    def poll(self) -> tuple[int, httpx.Timeout]:
        """The seconds for which the server should wait, and the client's timeout. Raises ``TimeoutError`` if no time
        is left."""
        left = self.left
        if left is None:
            return WINDOW_SECONDS, httpx.Timeout(WINDOW_SECONDS + READ_SECONDS, connect=CONNECT_SECONDS)
        if left <= 0:
            raise self._over()
        asked = min(WINDOW_SECONDS, max(1, int(left)))
        return asked, httpx.Timeout(min(asked + READ_SECONDS, left), connect=min(CONNECT_SECONDS, left))

    def check(self) -> None:
        """Raises ``TimeoutError`` if no time is left."""
        if self.is_over:
            raise self._over()

    def _over(self) -> TimeoutError:
        return TimeoutError(f"No answer within {self.seconds:g} s; the question stays open.")

    @property
    def is_over(self) -> bool:
        left = self.left
        return left is not None and left <= 0

    def bounded(self, pause: float) -> float:
        left = self.left
        return pause if left is None else max(0.0, min(pause, left))


class SessionWait:
    """The wait for all questions of a session, or for any: which question to wait for next, and for how long."""

    def __init__(self, mode: Literal["all", "any"], seconds: float | None) -> None:
        if mode not in {"all", "any"}:
            raise ValueError('mode is "all" or "any"')
        self.limit = WaitLimit(seconds)
        self._is_any = mode == "any"
        self._turn = 0

    def is_over(self, asked: Sequence[SuspensionRecord]) -> bool:
        ended = sum(not one.is_open for one in asked)
        return ended == len(asked) or (self._is_any and ended > 0)

    def next_wait(self, asked: Sequence[SuspensionRecord]) -> tuple[str, WaitLimit]:
        """An open question of ``asked``. For *any* each has its turn, for one second and then ever longer."""
        waiting = [one for one in asked if one.is_open]
        if not self._is_any:
            return waiting[-1].id, self.limit
        turn, self._turn = self._turn, self._turn + 1
        seconds = min(LONGEST_TURN, 1.0 + turn)
        return waiting[turn % len(waiting)].id, WaitLimit(self.limit.bounded(seconds))


def accepted(response: httpx.Response) -> httpx.Response:
    """``response``, if it is a success. Raises :class:`Unreachable` for a passing failure, :class:`RequestRefused`
    for a refusal, :class:`UnexpectedResponse` for a reply that is not Handraise's."""
    # 500 as well: uvicorn answers so to the requests that a shutdown cuts off.
    if response.is_server_error:
        raise Unreachable(f"HTTP {response.status_code}")
    if response.is_client_error:
        raise refused(_refusal(response))
    if not response.is_success:
        message = f"{origin(response.request.url)} answered {response.status_code}: that is not the Handraise API."
        raise UnexpectedResponse(message)
    return response


def origin(url: httpx.URL) -> str:
    """The server's address, without the parts of a URL that may be secret (a password)."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def parsed(kind: type[Record], content: bytes) -> Record:
    """The parsed reply. Raises :class:`UnexpectedResponse`, which names the invalid fields."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as problem:
        wrong = ", ".join(sorted({".".join(map(str, error["loc"])) or "JSON" for error in problem.errors()}))
    # Outside the handler, so that no traceback carries the question along.
    raise UnexpectedResponse(f"The server's answer can't be read as a {kind.__name__} ({wrong}).")


def _refusal(response: httpx.Response) -> Refusal:
    """The envelope of API.md §1, or the bare status if a proxy answered."""
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
        if isinstance(problem, Mapping):
            yield FieldProblem(str(problem.get("path", "")), str(problem.get("message", "")))
