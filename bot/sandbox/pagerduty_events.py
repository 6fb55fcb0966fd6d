"""What PagerDuty's Events API v2 says about an event: accepted, or what is wrong with it.

First its published schema (``pagerduty_schema``), then the limits that the schema forgets.

Source: https://developer.pagerduty.com/docs/send-alert-event and …/events-api-v2-overview.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from typing import Any

import jsonschema_rs

from bot.sandbox.pagerduty_schema import ACTIONS, EVENT, SEVERITIES

ROUTING_KEY_LENGTH = 32
SUMMARY_LENGTH = 1024
DEDUP_KEY_LENGTH = 255
EVENT_BYTES = 512 * 1024

_SCHEMA = jsonschema_rs.Draft202012Validator(EVENT, validate_formats=True)
_IN_ITS_WORDS = {
    "event_action": "'event_action' is invalid (must be one of the following: 'trigger', 'acknowledge' or 'resolve')",
    "payload.severity": f"'payload.severity' is invalid (must be one of the following: {', '.join(SEVERITIES)})",
}


def read_event(raw: bytes) -> dict[str, Any] | None:
    """The event in a request's body; ``None`` where it is no JSON object."""
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def problems(event: dict[str, Any], routing_keys: Container[str]) -> list[str]:
    """Everything that is wrong with ``event``, in PagerDuty's manner; empty where it is accepted."""
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
