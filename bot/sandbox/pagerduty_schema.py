"""The shape of an event as PagerDuty has published it, as JSON Schema.

It is laxer than PagerDuty itself: it knows no lengths, and lets a resolve pass that names nothing. What it forgets
stands in ``pagerduty_events``.

Source: github.com/PagerDuty/api-schema, reference/events-v2/openapiv3.json, "createV2Event".
"""

from __future__ import annotations

from typing import Any

ACTIONS = ("trigger", "acknowledge", "resolve")
SEVERITIES = ("critical", "warning", "error", "info")

_TEXT: dict[str, Any] = {"type": "string"}
_URL: dict[str, Any] = {"type": "string", "pattern": "^https?://."}


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


PAYLOAD = _object(
    ["summary", "source", "severity"],
    summary=_TEXT,
    timestamp={"type": "string", "format": "date-time"},
    severity={"enum": list(SEVERITIES)},
    source=_TEXT,
    component=_TEXT,
    group=_TEXT,
    **{"class": _TEXT},
    custom_details={"type": "object"},
)
LINKS = {"type": "array", "items": _object(["href"], href=_URL, text=_TEXT)}
IMAGES = {"type": "array", "items": _object(["src"], src=_URL, href=_URL, alt=_TEXT)}

EVENT = _object(
    ["routing_key", "event_action"],
    routing_key=_TEXT,
    event_action={"enum": list(ACTIONS)},
    dedup_key=_TEXT,
    payload=PAYLOAD,
    client=_TEXT,
    client_url=_URL,
    links=LINKS,
    images=IMAGES,
)
