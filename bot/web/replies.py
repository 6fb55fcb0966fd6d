"""How suspensions, intents, events and callbacks are written in responses; ``shapes.py`` has their schemas."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from core.books import Story
from core.containers.changes import Shown
from core.domain.machine import next_attempt_at
from core.domain.quorum import received
from core.domain.suspension import Kind, Suspension
from core.domain.wire import JsonObject, instant, ladder_json, record_json
from core.store.keeping import Session
from core.store.log import Logged
from core.store.outbox import Row, RowKind


def reply(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``body`` as compact JSON."""
    return Response(write(body), status, headers, media_type="application/json")


def write(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def suspension_json(suspension: Suspension) -> JsonObject:
    """Every field of RFC-0025 §5, and where the ladder stands."""
    return record_json(suspension, next_attempt_at(suspension))


def suspended_outcome(suspension: Suspension) -> JsonObject:
    """The *suspended outcome* of API.md §2. A veto window shows ``pending_veto`` (issue 186)."""
    ask = suspension.ask
    veto = ask.kind is Kind.VETO
    return {
        "outcome": "suspended",
        "status": "pending_veto" if veto else "suspended_awaiting_input",
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "ref": ask.ref,
        "session_id": ask.resume.session_id,
        "invocation_id": ask.resume.invocation_id,
        "correlation_id": ask.resume.correlation_id,
        "descriptor": {"signal_id": ask.resume.signal_id, "metadata": dict(ask.resume.signal_metadata)},
        "suspended_at": instant(ask.suspended_at),
        "expires_at": instant(suspension.expires_at),
        "ladder": ladder_json(ask),
        "suspension": suspension_json(suspension),
    }


def answer_json(suspension: Suspension) -> JsonObject:
    """RFC-0025 §8's success response."""
    ask, ended = suspension.ask, suspension.ended
    assert ended is not None  # noqa: S101 (an answer ends it)
    written: JsonObject = {
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "resolution": suspension.status.value,
        "value": ended.value,
        "responded_by": ended.by,
        "responded_at": instant(ended.at),
        "channel": ended.channel,
        "metadata": dict(ended.metadata),
    }
    choice = ask.choice(ended.value)
    if choice is not None:
        written["choice_label"] = choice.label
        written["choice_description"] = choice.description
    return written


def answered(suspension: Suspension) -> tuple[int, str]:
    """The reply to an answer: 202 while more of them are needed."""
    if not suspension.is_open:
        return 200, write(answer_json(suspension))
    return 202, write({"received": received(suspension), "required": suspension.ask.answers_required})


def claim_json(suspension: Suspension) -> JsonObject:
    claim = suspension.claim
    return {
        "suspension_id": suspension.id,
        "claimed_by": claim.by if claim else None,
        "claim_until": instant(claim.until) if claim else None,
    }


def intent_json(shown: Shown) -> JsonObject:
    """An intent as the published client reads it, both names of the parent included."""
    intent = shown.intent
    return {
        "id": intent.id,
        "title": intent.title,
        "description": intent.description,
        "created_by": intent.created_by,
        "parent_id": None,
        "parent_intent_id": None,
        "depends_on": [],
        "constraints": dict(intent.constraints),
        "state": shown.state,
        "status": intent.status.value,
        "confidence": intent.confidence,
        "version": intent.version,
        "governance_policy": None,
        "abandonment_reason": intent.abandonment_reason,
        "created_at": instant(intent.created_at),
        "updated_at": instant(intent.updated_at),
    }


def event_json(line: Logged) -> JsonObject:
    return {
        "id": line.id,
        "intent_id": line.intent_id,
        "event_type": line.type,
        "actor": line.actor,
        "payload": line.payload,
        "created_at": instant(line.created_at),
    }


def session_json(session: Session) -> JsonObject:
    return {
        "session_id": session.id,
        "owner": session.owner,
        "callback_url": session.callback_url,
        "metadata": dict(session.metadata),
        "created_at": instant(session.created_at),
        "updated_at": instant(session.updated_at),
    }


def callback_json(row: Row) -> JsonObject:
    """``status`` in the contract's words: a callback that is being sent is still pending."""
    body: Any = row.body or {}
    return {
        "id": row.id,
        "suspension_id": row.suspension_id,
        "status": _callback_status(row),
        "tries": row.tries,
        "url": body.get("url"),
        "type": body.get("body", {}).get("type"),
        "reason": row.reason,
        "created_at": instant(row.created_at),
        "next_try_at": instant(row.due_at) if row.settled_at is None else None,
        "settled_at": instant(row.settled_at),
    }


def _callback_status(row: Row) -> str:
    return "pending" if row.status.value in {"pending", "sending"} else row.status.value


def timeline_json(story: Story) -> JsonObject:
    """Events, attempts, deliveries with their tries and receipts, and callbacks: one ordered list (API.md §2)."""
    entries = [*map(_event_entry, story.events), *map(_row_entry, story.rows)]
    entries += [_attempt_entry(story, number) for number in sorted({row.attempt or 1 for row in _notices(story)})]
    order = {"event": 0, "attempt": 1, "delivery": 2, "withdrawal": 3, "message": 4, "callback": 5}
    entries.sort(key=lambda entry: (str(entry["at"]), order[str(entry["kind"])]))
    return {"items": list(entries)}


def _notices(story: Story) -> list[Row]:
    return [row for row in story.rows if row.kind is RowKind.NOTIFY]


def _event_entry(line: Logged) -> JsonObject:
    return {
        "kind": "event",
        "at": instant(line.created_at),
        "type": line.type,
        "actor": line.actor,
        "payload": line.payload,
    }


def _attempt_entry(story: Story, number: int) -> JsonObject:
    rows = [row for row in _notices(story) if row.attempt == number]
    step = story.suspension.ask.planned(number)
    return {
        "kind": "attempt",
        "at": instant(min(row.created_at for row in rows)),
        "attempt": step.number,
        "channel": step.channel,
        "notify_to": step.notify_to,
        "recipients": list(step.recipients),
        "deliveries": len(rows),
    }


_ENTRY = {
    RowKind.NOTIFY: "delivery",
    RowKind.WITHDRAW: "withdrawal",
    RowKind.TELL: "message",
    RowKind.RESUME: "callback",
}


def _row_entry(row: Row) -> JsonObject:
    callback = row.kind is RowKind.RESUME
    return {
        "kind": _ENTRY[row.kind],
        "at": instant(row.created_at),
        "id": row.id,
        "attempt": row.attempt,
        "channel": None if callback else row.channel,
        "recipient": row.person or row.address,
        "status": _callback_status(row),
        "tries": row.tries,
        "receipt": None if row.receipt is None else dict(row.receipt),
        "reason": row.reason,
        "settled_at": instant(row.settled_at),
    }
