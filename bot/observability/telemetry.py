"""Telemetry: sets up logs and metrics, filters what a log line may not hold, and defines every metric.

Questions, context, answers, tokens and addresses are not logged. Our code does not log them; the filters here are the
second defence, also against libraries. An exception is logged by its kind and place, causes included, and never by its
message: messages contain values (pydantic's has the whole input, a driver's the parameters).

Source: HOUSE.md, "Logs and metrics"; prometheus.io/docs/practices/naming (base units, no ids in labels).
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from math import nan
from typing import Any, Final, TextIO

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from structlog.typing import ExcInfo

from bot.config.catalogue import names
from bot.config.settings import LogFormat, LogLevel
from bot.vendors.installed import vendors
from core.domain.suspension import CLOSED

_CAUSE = "The direct cause of the following was:"
_CONTEXT = "While that was handled, this happened:"


def without_messages(exc_info: ExcInfo) -> str:
    """Python's own traceback, oldest cause first, with only the names of the exceptions."""
    return "\n".join(_lines(exc_info[1], set()))


def _lines(error: BaseException, told: set[int]) -> Iterator[str]:
    told.add(id(error))
    if error.__cause__ is not None and id(error.__cause__) not in told:
        yield from (*_lines(error.__cause__, told), _CAUSE)
    elif error.__context__ is not None and not error.__suppress_context__ and id(error.__context__) not in told:
        yield from (*_lines(error.__context__, told), _CONTEXT)
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    kind = type(error)
    yield f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _lines(inner, told)


# --- Logs ---------------------------------------------------------------------------------------------------------

HIDDEN = "[hidden]"

_FORBIDDEN = frozenset(
    {"question", "context", "choices", "answer", "value", "reply", "text", "subject", "body", "payload", "headers"}
    | {"address", "mailbox", "email", "sender", "recipient", "recipients", "to", "suspension_id"}
    | {"token", "key", "api_key", "secret_key", "routing_key", "secret", "password", "authorization", "signature"}
)
_FORBIDDEN_ENDINGS = ("_token", "_secret", "_secrets", "_password")

_MASKS = (
    (re.compile(r"(/(?:a|signin)/)[^\s/?\"']+"), rf"\1{HIDDEN}"),  # links that answer or sign in for somebody
    (re.compile(r"\?[^\s\"]+(?= HTTP/)"), f"?{HIDDEN}"),  # searches and sign-in links, in access logs
    (re.compile(r"\b(?:xox[a-z]-|xapp-|whsec_|hr_)[A-Za-z0-9+/=_-]+"), HIDDEN),  # Slack's tokens and our own keys
    (re.compile(r"[^\s@<>\"'(=]+@[^\s@<>\"'),;]+"), HIDDEN),  # mail addresses, and URLs with a password
)

_SUSPECT = re.compile(r"[@?]|/a/|/signin/|xox|xapp-|whsec_|hr_")
"""What any of the masks needs. Nearly no text has it, and looking once is cheaper than four times."""

_LIBRARIES: Final[Mapping[str, int]] = {
    "aiohttp": logging.WARNING,
    "aiosqlite": logging.WARNING,
    "alembic": logging.WARNING,
    "apscheduler": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,  # the URL of every request, at INFO
    "mail": logging.WARNING,  # aiosmtpd's: envelopes, at INFO
    "multipart": logging.WARNING,
    "opentelemetry": logging.WARNING,
    "procrastinate": logging.CRITICAL,  # every job at INFO; what fails is logged where the worker is run
    "psycopg": logging.ERROR,  # every try of its pool to reach a database that is away, at WARNING
    "python_multipart": logging.WARNING,
    "slack_bolt": logging.ERROR,  # the body of a badly signed request at INFO, of an unhandled one at WARNING
    "slack_sdk": logging.WARNING,  # what it posts, at DEBUG
    "sqlalchemy": logging.WARNING,  # the values of every statement, at INFO
    "urllib3": logging.WARNING,
}
"""The least that a library's line must weigh, whatever our own level is: below it are things that people wrote."""


def _weighs_enough(record: logging.LogRecord) -> bool:
    """A filter of the handler, because libraries set their loggers' levels themselves (slack_bolt does)."""
    return record.levelno >= _LIBRARIES.get(record.name.partition(".")[0], logging.NOTSET)


def hide(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that hides fields that may not be logged, and secrets and addresses within text."""
    return {key: HIDDEN if _is_forbidden(key) else _masked(value) for key, value in event.items()}


def _is_forbidden(key: str) -> bool:
    return key in _FORBIDDEN or key.endswith(_FORBIDDEN_ENDINGS)


def _masked(value: Any) -> Any:
    match value:
        case str() if _SUSPECT.search(value) is None:
            return value
        case str():
            for pattern, instead in _MASKS:
                value = pattern.sub(instead, value)
            return value
        case dict():
            return {key: HIDDEN if _is_forbidden(str(key)) else _masked(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_masked(inner) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _masked(str(value))


def _first_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A library's further lines have the data it was working on: asyncio's has the exception's own words."""
    event["event"] = str(event["event"]).strip().partition("\n")[0]
    return event


class _OurLines:
    """Writes our own lines, which are rendered by then: a record of ``logging`` for each would take as long again. If
    the stream takes no more, nobody's work fails for that."""

    def __init__(self, stream: TextIO, name: str = "") -> None:
        self.name = name
        self._stream = stream

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = msg


def set_up_logging(level: LogLevel, form: LogFormat, stream: TextIO | None = None) -> None:
    """Every log line of the process goes to ``stream`` (standard error), ours and the libraries' alike.

    Give uvicorn ``log_config=None``, or it takes its own back.
    """
    stream = stream or sys.stderr
    least = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(without_messages),
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        # The plain traceback, since the pretty one shows local variables.
        else structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        )
    )
    structlog.configure(
        processors=[*shared, hide, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=partial(_OurLines, stream),
    )
    handler = logging.StreamHandler(stream)
    handler.addFilter(_weighs_enough)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_first_line, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, hide, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(least)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


# --- Metrics ------------------------------------------------------------------------------------------------------

CHANNELS: Final = (*names(), "agents", "subscribers")
"""The relay's lanes. What is none of them counts as ``other``: a label never comes from outside."""


class HttpRefusal(StrEnum):
    """Why a connection is ended, or a request on it refused; the label of a metric."""

    CROWDED = "crowded"
    """There are as many as there may be, and nobody gives way."""
    GAVE_WAY = "gave_way"
    HEAD_TOO_LARGE = "head_too_large"
    TOO_SLOW = "too_slow"
    NO_ROOM = "no_room"
    """All that bodies may take is taken."""
    MALFORMED = "malformed"


OUTCOMES: Final = ("delivered", "deferred", "ambiguous", "refused", "dropped")
RESOLUTIONS: Final = tuple(sorted(status.value for status in CLOSED))
DOORS: Final = ("webhook", "lmtp", "smtp", "imap")
MAIL_KINDS: Final = ("reply", "unreadable", "bounce", "receipt", "complaint", "auto", "list", "loop")
UNREADABLE: Final = (
    *("head_too_long", "too_many_lines", "nested_too_deep", "too_many_parts", "too_many_fields", "field_too_long"),
    *("broken", "crashed"),
)
WAYS_IN: Final = tuple(way for one in vendors() for way in one.doors_standing)
"""Those that stand in ``/readyz``. A series is there if the way is set up."""
REFUSALS: Final = tuple(refusal.value for refusal in HttpRefusal)
OTHER: Final = "other"

_PEOPLE = (1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400)
_MACHINES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """All metrics. Each series is shown from the start, at zero."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self._open = gauge("suspensions_open", "Questions that wait for an answer")
        self._attempts = counter("suspension_attempts", "Attempts to ask people, by channel", ["channel"])
        self._resolutions = counter("suspension_resolutions", "Ended questions, by how they ended", ["resolution"])
        self._answer_seconds = histogram("suspension_answer_seconds", "Time from question to answer", buckets=_PEOPLE)
        self._tries = counter("relay_tries", "Tries to send, by channel and outcome", ["channel", "outcome"])
        self._relay_lag = histogram(
            "relay_lag_seconds", "How late a message was sent after it was due", buckets=_MACHINES
        )
        self._work_lag = histogram("work_lag_seconds", "How late a due question was looked at", buckets=_MACHINES)
        self._dead = counter("callbacks_dead", "Callbacks given up: their agents will not hear")
        self._paused = gauge("notices_paused", "1 while new notices are paused, else 0")
        self._ready = gauge("service_ready", "1 while /readyz says that this process can do its work, else 0")
        self._inbound = gauge(
            "inbound_connected", "1 while this process hears from Slack's sockets, the mailbox or a listener", ["way"]
        )
        self._database = gauge("database_connected", "1 while the database answers this process, else 0")
        self._disk = gauge("database_disk_free_bytes", "Free space where the SQLite file is; not a number elsewhere")
        self._disk.set(nan)
        self._mail = counter("mail_received", "Mails that came in, by door and kind", ["door", "kind"])
        self._quarantined = counter(
            "mail_quarantined", "Mails that could not be read and are kept, by reason", ["reason"]
        )
        self._refused = counter("http_refused", "Connections and requests that were turned away, by reason", ["reason"])

    def open(self, count: int | None) -> None:
        """How many questions are open; ``None`` if the database does not say."""
        self._open.set(nan if count is None else count)
        self._database.set(count is not None)

    def attempt(self, channel: str) -> None:
        """People are asked on ``channel``, for the first time or again."""
        self._attempts.labels(_one_of(CHANNELS, channel)).inc()

    def resolution(self, resolution: str, seconds: float) -> None:
        """A question ended ``seconds`` after it was asked. Only answers have an answer time."""
        self._resolutions.labels(_one_of(RESOLUTIONS, resolution)).inc()
        if resolution == "responded":
            self._answer_seconds.observe(seconds)

    def try_(self, channel: str, outcome: str) -> None:
        """The relay has tried to send something."""
        self._tries.labels(_one_of(CHANNELS, channel), _one_of(OUTCOMES, outcome)).inc()

    def relay_lag(self, seconds: float) -> None:
        self._relay_lag.observe(max(0.0, seconds))

    def work_lag(self, seconds: float) -> None:
        self._work_lag.observe(max(0.0, seconds))

    def pause(self, *, stands: bool) -> None:
        self._paused.set(stands)

    def ready(self, *, is_ready: bool) -> None:
        self._ready.set(is_ready)

    def inbound(self, way: str, *, is_connected: bool) -> None:
        """Whether this process is connected to a way in other than HTTP."""
        self._inbound.labels(_one_of(WAYS_IN, way)).set(is_connected)

    def disk(self, free: int) -> None:
        """Free bytes on the disk of the database's file."""
        self._disk.set(free)

    def callback_died(self) -> None:
        self._dead.inc()

    def mail_received(self, door: str, kind: str) -> None:
        self._mail.labels(_one_of(DOORS, door), _one_of(MAIL_KINDS, kind)).inc()

    def mail_quarantined(self, reason: str) -> None:
        """A mail could not be read, and is kept."""
        self._quarantined.labels(_one_of(UNREADABLE, reason)).inc()

    def request_refused(self, reason: str) -> None:
        """A connection was ended, or a request refused, for its use of resources (``bot/front/admission.py``)."""
        self._refused.labels(_one_of(REFUSALS, reason)).inc()

    def exposition(self) -> tuple[bytes, str]:
        """The reply to ``GET /metrics``: the body and its content type."""
        self._lay_down()
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _lay_down(self) -> None:
        """Create the uncounted series: they take longer than all else here, so only when asked for."""
        for refusal in REFUSALS:
            self._refused.labels(refusal)
        for door in DOORS:
            for kind in MAIL_KINDS:
                self._mail.labels(door, kind)
        for reason in UNREADABLE:
            self._quarantined.labels(reason)
        for channel in CHANNELS:
            self._attempts.labels(channel)
            for outcome in OUTCOMES:
                self._tries.labels(channel, outcome)
        for resolution in RESOLUTIONS:
            self._resolutions.labels(resolution)


def _one_of(known: tuple[str, ...], label: str) -> str:
    return label if label in known else OTHER
