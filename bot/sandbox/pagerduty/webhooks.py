"""PagerDuty's V3 webhooks: the envelope, what is in it, and its signatures.

How they go out is in ``subscription``.

Source: https://developer.pagerduty.com/docs/webhooks-overview, …/webhook-signatures and …/webhooks-behavior.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.sandbox.pagerduty.world import Incident, JsonObject, Note, Service, User

BODY_BYTES = 55 * 1024
"""What PagerDuty guarantees to deliver; a note that would not fit is cut and marked ``trimmed``."""

_ENVELOPE_BYTES = 4 * 1024


@dataclass
class Delivery:
    """One webhook on its way. ``webhook_id`` stays the same however often it is delivered."""

    webhook_id: str
    event: JsonObject
    raw: bytes
    made_at: datetime | None = None
    statuses: list[int] = field(default_factory=list)


def envelope(event_type: str, data: JsonObject, agent: User | None, now: datetime) -> JsonObject:
    return {
        "event": {
            "id": uuid.uuid4().hex[:26].upper(),
            "event_type": event_type,
            "resource_type": "incident",
            "occurred_at": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "agent": reference(agent) if agent else None,
            "client": None,
            "data": data,
        }
    }


def incident_data(incident: Incident) -> JsonObject:
    """An incident as webhooks and the REST API show it: without ``incident_key`` if it has child alerts."""
    key = {} if incident.incident_key is None else {"incident_key": incident.incident_key}
    return key | {
        "id": incident.id,
        "type": "incident",
        "number": incident.number,
        "status": incident.status.value,
        "created_at": incident.created_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "title": incident.title,
        "service": reference(incident.service),
        "assignees": [reference(user) for user in incident.assignees],
        "urgency": "high" if incident.payload["severity"] in {"critical", "error"} else "low",
        "resolve_reason": _resolve_reason(incident),
    }


def _resolve_reason(incident: Incident) -> JsonObject | None:
    if incident.merged_into is None:
        return None
    return {
        "type": "merge_resolve_reason",
        "incident": {"id": incident.merged_into, "type": "incident_reference"},
    }


def _incident_reference(incident: Incident) -> JsonObject:
    return {"id": incident.id, "type": "incident_reference", "summary": incident.title[:200]}


def note_data(incident: Incident, note: Note) -> JsonObject:
    fits = _cut(note.content, BODY_BYTES - _ENVELOPE_BYTES)
    return {
        "id": note.id,
        "type": "incident_note",
        "incident": _incident_reference(incident),
        "content": fits,
        "trimmed": fits != note.content,
    }


def responder_data(incident: Incident, user: User, message: str, state: str) -> JsonObject:
    """``state`` is ``pending``, ``joined`` or ``declined``."""
    return {
        "type": "incident_responder",
        "incident": _incident_reference(incident),
        "user": reference(user),
        "message": message,
        "state": state,
    }


def fields_data(incident: Incident, changed: Sequence[str]) -> JsonObject:
    """The custom fields' values, and those that have just changed; the incident's title is not said here."""
    return {
        "type": "incident_field_values",
        "incident": {"id": incident.id, "type": "incident_reference", "summary": None},
        "custom_fields": [field_value(name, value) for name, value in incident.fields.items()],
        "changed_custom_fields": [field_value(name, incident.fields[name]) for name in changed],
    }


def field_value(name: str, value: object) -> JsonObject:
    return {
        "id": f"PF{hashlib.sha256(name.encode()).hexdigest()[:5].upper()}",
        "type": "field_value",
        "name": name,
        "data_type": "string",
        "field_type": "single_value_fixed",
        "value": value,
    }


def reference(thing: User | Service) -> JsonObject:
    kind = "user" if isinstance(thing, User) else "service"
    return {"id": thing.id, "type": f"{kind}_reference", "summary": thing.name}


def signature(raw: bytes, secrets: Sequence[str]) -> str:
    """One ``v1=`` per secret: there are several while one is being replaced."""
    return ",".join(f"v1={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}" for secret in secrets)


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
