"""The transcript at the terminal: one line for each event. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handraise.cli.terminal import visible
from pydantic import JsonValue

CHANNELS = {"slack": "on Slack", "email": "by mail", "pagerduty": "on the pager"}
_LONGEST_VALUE = 120


@dataclass(slots=True)
class Transcript:
    """``names`` are the people by their identity. Remembers the agent of each intent."""

    names: Mapping[str, str]
    _agents: dict[str, str] = field(default_factory=dict)

    def event(self, event: Mapping[str, Any]) -> tuple[str, str] | None:
        """The agent and what happened, for an event of the service's log; ``None`` if it needs no line."""
        intent, payload = event["intent_id"], event["payload"]
        if event["event_type"] == "intent.suspended":
            self._agents[intent] = event["actor"]
        agent = self._agents.get(intent)
        said = self._said(event["event_type"], payload, event["actor"])
        return None if agent is None or said is None else (agent, said)

    def _said(self, kind: str, payload: Mapping[str, Any], actor: str) -> str | None:
        said = None
        match kind:
            case "intent.suspended":
                said = f"asks “{payload['question']}” {_attempt(payload)}"
            case "intent.suspension_renotified":
                said = f"asks again, {_attempt(payload)}"
            case "intent.suspension_rescheduled" if payload["shift_seconds"] < 0:
                said = f"{duration(-payload['shift_seconds'])} pass, and nobody has answered"
            case "intent.suspension_claimed":
                until = _clock(payload["claim_until"])
                said = f"{self.name(payload['claimed_by'])} took it: no reminders until {until}"
            case "intent.suspension_released":
                said = f"{self.name(actor)} gave it back"
            case "intent.suspension_attempt_held":
                said = f"attempt {payload['attempt']} waits for {self.name(payload['claimed_by'])}"
            case "intent.resumed":
                value = shown(payload["value"])
                said = f"{self.name(payload['responded_by'])} answered {value} via {payload['channel']}"
            case "intent.suspension_expired":
                said = "nobody answered in time"
            case "intent.suspension_cancelled":
                said = "took the question back"
        return said

    def resumed(self, told: Mapping[str, Any]) -> str:
        """The agent's own words after its callback: its result, from whom, and after how long."""
        after = duration(told["seconds"])
        if told["resolution"] == "responded":
            return (
                f"agent resumed with {shown(told['value'])} by {self.name(told['responded_by'])} "
                f"via {told['channel']}, {after}"
            )
        if told["error"] is None:
            return f"agent resumed with {shown(told['value'])} as nobody answered, {after}"
        return f"agent resumed without an answer ({told['error']}), {after}"

    def name(self, identity: str) -> str:
        return self.names.get(identity, identity)


def shown(value: JsonValue) -> str:
    """A value on one line, safe for a terminal."""
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def duration(seconds: float) -> str:
    """``7 s``, ``2 min 5 s``."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _attempt(payload: Mapping[str, Any]) -> str:
    where = CHANNELS.get(payload["channel_hint"], payload["channel_hint"])
    number, most, following = payload["attempt"], payload["max_attempts"], payload["next_attempt_at"]
    then = f", again at {_clock(following)}" if following else ""
    return f"{where} ({number} of {most}{then})"


def _clock(instant: str) -> str:
    return f"{datetime.fromisoformat(instant).astimezone():%H:%M:%S}"
