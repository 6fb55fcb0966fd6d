"""The callback's body: tells the agent that its question ended, or asks it to clarify.

Source: API.md §2, §5; issue 186.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from core.domain.answers import recorded_payload
from core.domain.suspension import Ended, Status, Suspension
from core.domain.vocabulary import ResumeAgent
from core.domain.wire import JsonObject, clarification_json, instant

ASKED_BACK = "clarification_requested"
"""The type of that callback (API.md §5)."""


def callback_body(suspension: Suspension, effect: ResumeAgent, now: datetime) -> JsonObject:
    """The whole JSON body, frozen at the end of the question. Raises ``ValueError`` while it is open."""
    ended = suspension.ended
    if ended is None:
        raise ValueError("the suspension is still open")
    data = {
        **_data(suspension, ended),
        "event": effect.event,
        "resolution": suspension.status.value,
        "signal_payload": recorded_payload(suspension),
    }
    return {"type": effect.type, "timestamp": instant(now), "data": data}


def asked_back_body(suspension: Suspension, now: datetime) -> JsonObject:
    """The callback that asks the agent to clarify. The question is still open: fields about its end are null."""
    data: dict[str, Any] = {**_data(suspension, Ended(now)), "clarification": clarification_json(suspension)}
    return {"type": ASKED_BACK, "timestamp": instant(now), "data": data}


def _data(suspension: Suspension, ended: Ended) -> JsonObject:
    ask, resume = suspension.ask, suspension.ask.resume
    answered = suspension.status is Status.RESPONDED
    choice = ask.choice(ended.value)
    return {
        "event": None,
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "session_id": resume.session_id,
        "invocation_id": resume.invocation_id,
        "correlation_id": resume.correlation_id,
        "signal_id": resume.signal_id,
        "resolution": None,
        "value": ended.value,
        "choice_label": choice.label if choice else None,
        "choice_description": choice.description if choice else None,
        "responded_by": ended.by if answered else None,
        "responded_at": instant(ended.at) if answered else None,
        "channel": ended.channel,
        "reason": ended.reason,
        "metadata": dict(ended.metadata),
        "error": ended.error,
        "signal_payload": None,
        "state": resume.state,
        "action_digest": ask.action_digest,
        "receipt": None,
        "suspended_at": instant(ask.suspended_at),
        "signal_metadata": dict(resume.signal_metadata),
    }


def lane_of_callback(key: str, url: str, session: str) -> str:
    """The lane of calls to ``url`` for ``key``: the session, question or subscription, at the URL's origin (scheme,
    host, port), in the group of the key."""
    waits = hashlib.sha256(session.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{key}\n{_origin(url)}\n{waits}"


def _origin(url: str) -> str:
    try:
        parsed = urlsplit(url)
        return f"{parsed.scheme}://{parsed.hostname}:{parsed.port or _PORTS.get(parsed.scheme)}"
    except ValueError:  # it is refused when it is called
        return ""


_PORTS = {"http": 80, "https": 443}
