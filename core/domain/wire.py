"""JSON of the domain: instants, durations, choices, policies, ladders and the whole record.

Source: API.md §1, §2; RFC-0025 §4.2, §5; RFC-0026 §4.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, TypeVar, Union, cast, get_args, get_origin, overload

from pydantic import ConfigDict, Field, JsonValue, with_config
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict, get_type_hints, is_typeddict

from core.domain.suspension import (
    ActionStatus,
    Ask,
    FallbackPolicy,
    HumanRetryPolicy,
    PagerSeverity,
    PartialAnswer,
    Status,
    Style,
    Suspension,
    Via,
)

JsonObject = dict[str, JsonValue]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Resolution = Literal[Status.RESPONDED, Status.EXPIRED, Status.CANCELLED]
Quiet = Annotated[bool, Field(json_schema_extra={"default": False})]


_COMPACT = json.JSONEncoder(separators=(",", ":"))
"""``json.dumps`` would make one anew for each value."""


def json_text(value: object) -> str:
    """``value`` as compact JSON, in a fifth of the time that :mod:`json` takes."""
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except PydanticSerializationError:  # too deep, or a lone surrogate, which an older version has let in
        return _COMPACT.encode(value)


@with_config(ConfigDict(extra="allow"))
class Open(TypedDict):
    """What a response holds: the OpenAPI document shows these fields, and :func:`reply_of` writes them.

    Responses may gain fields; clients ignore those they do not know.
    """


def plain(reply: Open) -> JsonObject:
    """The same object, for whoever takes any JSON."""
    return cast(JsonObject, reply)


@overload
def instant(value: datetime) -> str: ...
@overload
def instant(value: None) -> None: ...
@overload
def instant(value: datetime | None) -> str | None: ...
def instant(value: datetime | None) -> str | None:
    """``2026-03-24T11:00:00Z``, with microseconds where there are any."""
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def as_utc(value: datetime) -> datetime:
    """Naive instants are read as UTC."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def seconds(value: timedelta | None) -> int | None:
    """A whole number of seconds, as every ``_seconds`` field is."""
    return None if value is None else int(value.total_seconds())


Reply = TypeVar("Reply")
_Field = tuple[str, str, bool, Callable[[Any], Any] | None]
_JSON_OF: Mapping[type, Callable[[Any], Any]] = {datetime: instant, timedelta: seconds, tuple: list}


def reply_of(reply: type[Reply], of: object, /, **given: object) -> Reply:
    """``of`` in the shape of ``reply``, a kind of :class:`Open`: each field is what is ``given`` for it, or else the
    attribute of that name. ``interval_seconds`` is the attribute ``interval``, a length of time.

    Records inside are written in the shape that their field says. A field that may be absent is absent if the attribute
    is missing, ``None``, ``False`` or ``{}``. Raises ``AttributeError`` for any other field that ``of`` does not have.
    """
    made: dict[str, Any] = {}
    for name, attribute, may_be_absent, inside in _fields(cast(Any, reply)):
        if name in given:
            value = given[name]
        elif not may_be_absent:
            value = getattr(of, attribute)
        elif (value := getattr(of, attribute, None)) is None or value is False or value == {}:
            continue
        if value is not None and (convert := inside or _JSON_OF.get(type(value))) is not None:
            value = convert(value)
        made[name] = value
    return cast(Reply, made)


@cache
def _fields(reply: Any) -> tuple[_Field, ...]:
    """Of each field: its name, the attribute it is read from, whether it may be absent, and how a record inside it is
    written."""
    hints: dict[str, Any] = get_type_hints(reply, include_extras=True)
    absent: Any = NotRequired
    return tuple(
        (name, name.removesuffix("_seconds"), get_origin(hint) == absent, _inside(hint)) for name, hint in hints.items()
    )


def _inside(hint: Any) -> Callable[[Any], Any] | None:
    if is_typeddict(hint):
        return lambda value: value if isinstance(value, dict) else reply_of(hint, value)
    if get_origin(hint) is list and is_typeddict(one := get_args(hint)[0]):
        return lambda values: [value if isinstance(value, dict) else reply_of(one, value) for value in values]
    if get_origin(hint) in {NotRequired, Annotated, Union, UnionType}:
        return next((found for each in get_args(hint) if (found := _inside(each)) is not None), None)
    return None


class ChoiceReply(Open):
    """One choice, as the agent gave it (RFC-0025 §4.2)."""

    value: str
    """What an answer holds."""
    label: str
    """What people read."""
    description: NotRequired[str | None]
    """More about it; absent if the agent gave none."""
    style: NotRequired[Style | None]
    """How it should look; absent if the agent gave none."""
    metadata: NotRequired[JsonObject | None]
    """What the agent attached; absent if there is nothing."""
    answers_required: NotRequired[int | None]
    """How many people have to give it; absent if the agent left that to the question."""


class RungReply(Open):
    """One rung of the escalation ladder (RFC-0026 §4.1)."""

    attempt: int
    """The attempt that it is for, from 1."""
    channel_hint: str | None
    """The channel to ask on; `null` if the rung names none."""
    notify_to: str | None
    """Whom to ask; `null` if the rung names nobody."""
    quiet: NotRequired[Quiet]
    """Whether the attempt waits while everybody it asks is outside their working hours."""
    severity: NotRequired[PagerSeverity]
    """The severity of the attempt's incident in PagerDuty. Absent if the stated risk says it."""


class PolicyReply(Open):
    """The retry policy that counts, each field resolved (RFC-0026 §4.1, §5)."""

    max_attempts: int
    """How often people are asked, at most."""
    interval_seconds: int | None
    """Seconds between two attempts; `null` with a single attempt and no time limit."""
    strategy: Literal["fixed"]
    """Always `fixed`: every interval is as long as the one before."""
    escalation_ladder: list[RungReply]
    """Which attempt asks somebody else, or elsewhere."""
    final_fallback_policy: FallbackPolicy
    """What happens after the last attempt."""


def policy_json(policy: HumanRetryPolicy) -> PolicyReply:
    """A resolved ``HumanRetryPolicy``. There is one strategy."""
    return reply_of(PolicyReply, policy, strategy="fixed")


class LadderEntry(Open):
    """One attempt: when, where, whom."""

    attempt: int
    """The attempt's number, from 1."""
    due_at: Instant
    """When it is due. A claim or quiet hours may hold it back."""
    channel: str
    """The channel that asks."""
    notify_to: str | None
    """Whom the rung names; `null` if it names nobody."""
    recipients: list[str]
    """Whom the attempt asks."""
    quiet: NotRequired[Quiet]
    """Whether it waits for somebody's working hours."""


def ladder_json(ask: Ask) -> list[LadderEntry]:
    """What every attempt will do and when, as the suspended outcome and the preview show it."""
    return [reply_of(LadderEntry, step, attempt=step.number, due_at=ask.due_at(step.number)) for step in ask.attempts]


class GivenReply(Open):
    """One of several answers."""

    value: JsonValue
    """The answer."""
    responded_by: str
    """Who gave it."""
    responded_at: Instant
    """When it was recorded."""
    channel: str
    """How it came in."""
    reason: str | None
    """Why, in their words; `null` if they gave no reason."""


def via_json(via: Via) -> JsonObject:
    """The evidence of an answer, as its event has it: what is known of it."""
    names = ("channel", "account", "delivery_id", "message_id", "session", "sender")
    return {name: value for name in names if (value := getattr(via, name)) is not None}


def given_json(given: PartialAnswer) -> GivenReply:
    return reply_of(GivenReply, given, responded_by=given.by, responded_at=given.at)


class ClarificationReply(Open):
    """What the agent was asked back last; ``held_until`` is set while the clock waits for its ``text``."""

    question: str
    """What the responder wants to know."""
    asked_by: str
    """Who asked back."""
    asked_at: Instant
    """When."""
    text: str | None
    """What the agent said; `null` until it has."""
    held_until: Instant | None
    """Until when the clock waits for the agent; `null` if it does not wait."""


def clarification_json(suspension: Suspension) -> ClarificationReply | None:
    if not suspension.clarifications:
        return None
    latest, waits = suspension.clarifications[-1], suspension.asks_back is not None
    return reply_of(ClarificationReply, latest, asked_by=latest.by, held_until=latest.until if waits else None)


class ActionReportReply(Open):
    """What came of it, as the agent has reported it."""

    status: ActionStatus
    """`done` or `failed`."""
    text: str | None
    """The agent's words; `null` if it gave none."""
    url: str | None
    """Where there is more; `null` if the agent named nothing."""
    at: Instant
    """When the report came."""


class ResumeReply(Open):
    """How the agent goes on, as it said when it asked."""

    session_id: str | None
    """The agent's session."""
    callback_url: str | None
    """Where the agent is called back; `null` for its session's, or nowhere."""
    state: JsonValue
    """What the agent wants back with the answer. Any JSON, at most 512 KiB."""
    invocation_id: str | None
    """The agent's invocation."""
    correlation_id: str | None
    """The agent's correlation id."""
    signal_id: str | None
    """The name by which a signal can answer."""
    signal_metadata: JsonObject
    """What belongs to that signal."""
    payload_schema: JsonObject | None
    """JSON Schema that the resumed payload has to fit; `null` for any."""
