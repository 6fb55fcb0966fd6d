"""Bodies of our calls to agents, for the OpenAPI document: the ``webhooks`` of OpenAPI 3.1.

``core/domain/callback.py``, and ``retrying.py`` and ``follower.py`` in ``core/openintent/intents``, write these bodies;
``bot/callbacks/agents.py`` signs them; a test compares.

Source: API.md §5; RFC-0006; RFC-0010; github.com/standard-webhooks/standard-webhooks/blob/main/spec.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Literal

from pydantic import JsonValue

from bot.web.api.intent_replies import EventReply
from core.domain.callback import ASKED_BACK
from core.domain.intent import IntentStatus
from core.domain.vocabulary import CANCELLED, EXPIRED, RESUMED
from core.domain.wire import ClarificationReply, Instant, JsonObject, Open, Resolution
from core.openintent.domain.retry import FALLBACK_TRIGGERED, TakeoverReason

Part = dict[str, Any]

AUTHORIZED, VETOED = "intent_authorized", "intent_vetoed"
EVENT = "event"


class CallbackData(Open):
    """How a question ended, or what somebody wants to know first."""

    event: Literal["intent_authorized", "intent_vetoed"] | None
    """How a veto window ended; `null` for any other callback."""
    intent_id: str
    """The intent that waited."""
    suspension_id: str
    """The question."""
    session_id: str | None
    """Your session, as you sent it."""
    invocation_id: str | None
    """Your invocation, as you sent it."""
    correlation_id: str | None
    """Your correlation id, as you sent it."""
    signal_id: str | None
    """Your signal's name, as you sent it."""
    resolution: Resolution | None
    """How the question ended; `null` while it is open."""
    value: JsonValue
    """What to go on with: the answer, or the fallback value. `null` if there is nothing."""
    choice_label: str | None
    """The label of the choice that `value` is; `null` if it is none."""
    choice_description: str | None
    """The description of that choice; `null` if it has none."""
    responded_by: str | None
    """Who answered; `null` after silence."""
    responded_at: Instant | None
    """When it was answered; `null` after silence."""
    channel: str | None
    """How the answer came in; `null` after silence."""
    reason: str | None
    """Why, in the words of whoever ended it."""
    metadata: JsonObject
    """What came with the answer."""
    error: str | None
    """Why there is no value, such as `input_timeout`; `null` if there is one."""
    signal_payload: JsonValue
    """The form's object, else `{"response", "reason"}`; `null` if there is nothing to go on with."""
    state: JsonValue
    """What you sent as `resume.state`."""
    action_digest: str | None
    """`sha256:` and the digest of the action that was asked about; `null` without an action."""
    receipt: str | None
    """The signed proof of the answer, for `POST /receipts/verify`; `null` if there is none."""
    suspended_at: Instant
    """When the question was put."""
    signal_metadata: JsonObject
    """What you sent as `resume.signal_metadata`."""


class CallbackBody(Open):
    """What the agent is told of its question (Standard Webhooks: type, timestamp, data)."""

    type: str
    """What happened; the webhook's name."""
    timestamp: Instant
    """When it happened."""
    data: CallbackData
    """How the question ended."""


class AskedBackData(CallbackData):
    """The question, which is still open, and what somebody wants to know first."""

    clarification: ClarificationReply
    """What to answer by `POST /suspensions/{suspension_id}/clarification`."""


class AskedBackBody(Open):
    """Somebody wants to know more before they answer."""

    type: Literal["clarification_requested"]
    """Always `clarification_requested`."""
    timestamp: Instant
    """When they asked."""
    data: AskedBackData
    """What they want to know, and the question that it is about."""


class HandedLease(Open):
    """A lease that the fallback agent holds now."""

    id: str
    """The lease's id."""
    scope: str
    """Which part of the intent."""
    expires_at: Instant
    """When it ends by itself."""


class TakeoverData(Open):
    """Which intent the agent has taken over, and why."""

    intent_id: str
    """The intent."""
    status: IntentStatus
    """Where it stands."""
    suspension_id: str | None
    """Its open question; `null` for none."""
    task_id: str | None
    """The task that failed; `null` for the intent as a whole."""
    from_agent_id: str
    """The agent that failed."""
    to_agent_id: str
    """The agent that takes over: yours."""
    reason: TakeoverReason
    """Why."""
    failure_id: str
    """The failure that led to it."""
    attempt_number: int
    """Which try of the other agent failed, from 1."""
    error_code: str | None
    """What failed; `null` if nothing was said."""
    leases: list[HandedLease]
    """The leases that your agent holds now."""


class TakeoverBody(Open):
    """Your agent has taken over as the fallback (RFC-0010)."""

    type: Literal["fallback_triggered"]
    """Always `fallback_triggered`."""
    timestamp: Instant
    """When it happened."""
    data: TakeoverData
    """Which intent, and why."""


class SubscribedEvent(Open):
    """One event of a subscription (RFC-0006)."""

    type: str
    """The event's type, such as `intent.resumed`."""
    timestamp: Instant
    """When it happened."""
    subscription_id: str
    """The subscription that brings it."""
    event: EventReply
    """The event, as `GET /intents/{intent_id}/events` shows it."""


BODIES: tuple[type, ...] = (CallbackBody, AskedBackBody, TakeoverBody, SubscribedEvent)

_SENT = """

Signed by Standard Webhooks. Check it with one of its libraries, or with the SDK's `ResumeReceiver`: the HMAC-SHA-256 of
`{webhook-id}.{webhook-timestamp}.{body}` under your key's `whsec_…` secret. Refuse a timestamp more than five minutes
away. The same `webhook-id` may come more than once: act on it once.

A 2xx ends it. A 410 ends it as refused. Anything else is sent again, and so is no answer within ten seconds: after one
second, then at doubling intervals up to an hour, for 72 hours. These are the defaults of `resume` in the configuration.
Redirects are not followed."""

_TOLD: dict[str, tuple[str, str, type]] = {
    RESUMED: (
        "The question was answered, or silence ended it with a fallback",
        "`resolution` is `responded` or `expired`. Go on with `value`. The intent is active again.",
        CallbackBody,
    ),
    EXPIRED: (
        "Nobody answered in time, and there is no fallback",
        "`error` is `input_timeout`, or `portfolio_deadline_exceeded` if the portfolio's deadline came first. A timeout"
        " is no denial. The intent is abandoned.",
        CallbackBody,
    ),
    CANCELLED: (
        "The question was taken back",
        "By your key, or by an admin. The intent is active again.",
        CallbackBody,
    ),
    AUTHORIZED: (
        "A veto window ended without a veto",
        "`resolution` is `responded` if somebody authorised it, `expired` if the time ran out. Go ahead.",
        CallbackBody,
    ),
    VETOED: ("Somebody has vetoed", "Do not go ahead. The intent is active again.", CallbackBody),
    ASKED_BACK: (
        "Somebody wants to know more first",
        "The question is still open, and its clock waits for you. What tells of an end is `null`.",
        AskedBackBody,
    ),
    FALLBACK_TRIGGERED: (
        "Your agent has taken over an intent",
        "Sent to the URL that `PUT /agents/{agent_id}/callback` has set, signed with your agent's own secret.",
        TakeoverBody,
    ),
    EVENT: (
        "An event that you subscribed to",
        "Sent to the subscription's `webhook_url`. After a 410 the subscription is no longer active.",
        SubscribedEvent,
    ),
}

_HEADERS: tuple[tuple[str, str, Part], ...] = (
    ("webhook-id", "The message's id, the same on every try.", {"type": "string"}),
    (
        "webhook-timestamp",
        "When this try was signed, in seconds since 1970.",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
    (
        "webhook-signature",
        "`v1,` and the signature in base64; several with blanks between them while a secret is being replaced.",
        {"type": "string", "pattern": r"^v1,\S+( v1,\S+)*$"},
    ),
)
_REPLIES: Part = {
    "2XX": {"description": "Taken. It is not sent again."},
    "410": {"description": "Never send it again. The callback is recorded as refused."},
    "default": {"description": "Not taken. It is sent again later."},
}


def described_webhooks(reference: str) -> Part:
    """What is sent, by its type. ``reference`` is what a schema's ``$ref`` begins with."""
    return {name: {"post": _operation(name, *told, reference)} for name, told in _TOLD.items()}


def _operation(name: str, summary: str, description: str, body: type, reference: str) -> Part:
    return {
        "tags": ["webhooks"],
        "operationId": f"webhook_{name.replace('.', '_')}",
        "summary": summary,
        "description": description + _SENT,
        "parameters": [
            {"name": header, "in": "header", "required": True, "description": text, "schema": dict(schema)}
            for header, text, schema in _HEADERS
        ],
        "requestBody": {
            "required": True,
            "description": "JSON in UTF-8. The signature is over these very bytes.",
            "content": {"application/json": {"schema": {"$ref": reference + body.__name__}}},
        },
        "responses": deepcopy(_REPLIES),
        "security": [],
    }
