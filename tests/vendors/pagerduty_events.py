"""PagerDuty's Events API v2: what is wrong with an event, if it is not accepted.

First comes the schema that PagerDuty has published, then the limits that it leaves out: it knows no lengths, and lets
a resolve pass that names nothing.

Source: https://developer.pagerduty.com/docs/send-alert-event and …/events-api-v2-overview; github.com/PagerDuty/
api-schema, reference/events-v2/openapiv3.json, "createV2Event".
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import jsonschema_rs

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


ROUTING_KEY_LENGTH = 32
SUMMARY_LENGTH = 1024
DEDUP_KEY_LENGTH = 255
EVENT_BYTES = 512 * 1024

_SCHEMA = jsonschema_rs.Draft202012Validator(EVENT, validate_formats=True)
_IN_ITS_WORDS = {
    "event_action": "'event_action' is invalid (must be one of the following: 'trigger', 'acknowledge' or 'resolve')",
    "payload.severity": f"'payload.severity' is invalid (must be one of the following: {', '.join(SEVERITIES)})",
}


def problems(event: dict[str, Any], routing_keys: Container[str]) -> list[str]:
    """Everything that is wrong with ``event``, in PagerDuty's manner; empty if it is accepted."""
    found = [*_against_the_schema(event), *_routing_key(event, routing_keys), *_dedup_key(event)]
    if event.get("event_action") == "trigger":
        found += _trigger(event)
    return list(dict.fromkeys(found))


def _against_the_schema(event: dict[str, Any]) -> Iterator[str]:
    for error in _SCHEMA.iter_errors(event):
        path = ".".join(str(step) for step in error.instance_path)
        yield _IN_ITS_WORDS.get(path, f"'{path or 'event'}': {error.message[:200]}")


def _routing_key(event: dict[str, Any], known: Container[str]) -> Iterator[str]:
    routing_key = event.get("routing_key")
    if not isinstance(routing_key, str) or len(routing_key) != ROUTING_KEY_LENGTH:
        yield f"Length of 'routing_key' is incorrect (should be {ROUTING_KEY_LENGTH} characters)"
    elif routing_key not in known:
        yield "Invalid routing key"


def _dedup_key(event: dict[str, Any]) -> Iterator[str]:
    dedup_key, action = event.get("dedup_key"), event.get("event_action")
    if isinstance(dedup_key, str) and len(dedup_key) > DEDUP_KEY_LENGTH:
        yield f"'dedup_key' is too long (maximum is {DEDUP_KEY_LENGTH} characters)"
    if action in ACTIONS[1:] and not dedup_key:
        yield f"'dedup_key' is missing or blank (required to {action})"


def _trigger(event: dict[str, Any]) -> Iterator[str]:
    payload = event.get("payload")
    if not isinstance(payload, dict):
        yield "'payload' is missing or blank"
        return
    for name in ("summary", "source", "severity"):
        if not isinstance(payload.get(name), str) or not payload[name].strip():
            yield f"'payload.{name}' is missing or blank"
    if len(str(payload.get("summary", ""))) > SUMMARY_LENGTH:
        yield f"'payload.summary' is too long (maximum is {SUMMARY_LENGTH} characters)"
    for image in _objects(event.get("images")):
        if not str(image.get("src", "")).startswith("https://"):
            yield "'images.src' must be served via HTTPS"


def _objects(value: object) -> Sequence[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
