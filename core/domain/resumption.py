"""What the agent is told when its question ends: the callback's body. Source: API.md §5; issue 186."""

from __future__ import annotations

from datetime import datetime

from core.domain.answers import signal_payload
from core.domain.suspension import Status, Suspension
from core.domain.vocabulary import ResumeAgent
from core.domain.wire import JsonObject, instant


def callback_body(suspension: Suspension, effect: ResumeAgent, now: datetime) -> JsonObject:
    """The whole JSON body, frozen at the end of the question. Raises ``ValueError`` while it is open."""
    ended = suspension.ended
    if ended is None:
        raise ValueError("the suspension is still open")
    ask, resume = suspension.ask, suspension.ask.resume
    answered = suspension.status is Status.RESPONDED
    choice = ask.choice(ended.value)
    return {
        "type": effect.type,
        "timestamp": instant(now),
        "data": {
            "event": effect.event,
            "intent_id": ask.intent_id,
            "suspension_id": ask.id,
            "session_id": resume.session_id,
            "invocation_id": resume.invocation_id,
            "correlation_id": resume.correlation_id,
            "signal_id": resume.signal_id,
            "resolution": suspension.status.value,
            "value": ended.value,
            "choice_label": choice.label if choice else None,
            "choice_description": choice.description if choice else None,
            "responded_by": ended.by if answered else None,
            "responded_at": instant(ended.at) if answered else None,
            "channel": ended.channel,
            "reason": ended.reason,
            "metadata": dict(ended.metadata),
            "error": ended.error,
            "signal_payload": signal_payload(ask, ended.value, ended.reason),
            "state": resume.state,
            "action_digest": ask.action_digest,
            "receipt": None,
        },
    }
