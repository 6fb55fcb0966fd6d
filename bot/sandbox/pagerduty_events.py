"""What PagerDuty's Events API v2 says about an event: accepted, or what is wrong with it.

Source: https://developer.pagerduty.com/docs/send-alert-event and …/events-api-v2-overview.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

ROUTING_KEY_LENGTH = 32
SUMMARY_LENGTH = 1024
DEDUP_KEY_LENGTH = 255
EVENT_BYTES = 512 * 1024
SEVERITIES = ("critical", "error", "warning", "info")
ACTIONS = ("trigger", "acknowledge", "resolve")


def read_event(raw: bytes) -> dict[str, Any] | None:
    """The event in a request's body; ``None`` where it is no JSON object."""
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def problems(event: dict[str, Any], routing_keys: Container[str]) -> list[str]:
    """Everything that is wrong with ``event``, in PagerDuty's manner; empty where it is accepted."""
    found = []
    routing_key = event.get("routing_key")
    if not isinstance(routing_key, str) or len(routing_key) != ROUTING_KEY_LENGTH:
        found.append(f"Length of 'routing_key' is incorrect (should be {ROUTING_KEY_LENGTH} characters)")
    elif routing_key not in routing_keys:
        found.append("Invalid routing key")
    action = event.get("event_action")
    if action not in ACTIONS:
        found.append("'event_action' is invalid (must be one of the following: 'trigger', 'acknowledge' or 'resolve')")
    dedup_key = event.get("dedup_key")
    if dedup_key is not None and (not isinstance(dedup_key, str) or len(dedup_key) > DEDUP_KEY_LENGTH):
        found.append(f"'dedup_key' is too long (maximum is {DEDUP_KEY_LENGTH} characters)")
    if action in {"acknowledge", "resolve"} and not dedup_key:
        found.append(f"'dedup_key' is missing or blank (required to {action})")
    return found + (_trigger_problems(event) if action == "trigger" else [])


def _trigger_problems(event: dict[str, Any]) -> list[str]:
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return ["'payload' is missing or blank"]
    found = [
        f"'payload.{name}' is missing or blank"
        for name in ("summary", "source", "severity")
        if not isinstance(payload.get(name), str) or not payload[name].strip()
    ]
    if len(str(payload.get("summary", ""))) > SUMMARY_LENGTH:
        found.append(f"'payload.summary' is too long (maximum is {SUMMARY_LENGTH} characters)")
    if payload.get("severity") and payload["severity"] not in SEVERITIES:
        found.append("'payload.severity' is invalid (must be one of: 'critical', 'warning', 'error' or 'info')")
    if not isinstance(payload.get("custom_details", {}), dict):
        found.append("'payload.custom_details' must be an object")
    links = event.get("links", [])
    if not isinstance(links, list) or not all(isinstance(link, dict) and link.get("href") for link in links):
        found.append("'links' must be a list of objects with 'href'")
    return found
