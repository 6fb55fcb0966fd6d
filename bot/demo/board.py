"""The board: the page's strip of agents, one card for each question. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.demo.samples import ON_THE_PAGE, Sample


@dataclass(slots=True)
class Card:
    """One agent with one question, and its progress."""

    number: int
    sample: Sample
    asked: Mapping[str, Any] | None = None
    resumed: Mapping[str, Any] | None = None
    result: str | None = None


@dataclass(slots=True)
class Board:
    """The cards, in the order in which the agents began."""

    cards: list[Card] = field(default_factory=list)
    _attempts: dict[str, int] = field(default_factory=dict)
    _claimed: dict[str, str] = field(default_factory=dict)
    _moved: dict[str, timedelta] = field(default_factory=dict)

    def add(self, sample: Sample) -> Card:
        card = Card(len(self.cards) + 1, sample)
        self.cards.append(card)
        return card

    def note(self, event: Mapping[str, Any]) -> None:
        """Apply an event of the service's log: the attempt, who is on it, and when the rest is due."""
        intent, payload = event["intent_id"], event["payload"]
        match event["event_type"]:
            case "intent.suspended" | "intent.suspension_renotified":
                self._attempts[intent] = payload["attempt"]
            case "intent.suspension_claimed":
                self._claimed[intent] = payload["claimed_by"]
            case "intent.suspension_released":
                self._claimed.pop(intent, None)
            case "intent.suspension_rescheduled":
                moved = self._moved.get(intent, timedelta())
                self._moved[intent] = moved + timedelta(seconds=payload["shift_seconds"])

    def as_json(self, names: Mapping[str, str]) -> dict[str, Any]:
        """The body for the sandbox's ``PUT /board``; ``names`` are the people by their identity."""
        samples = [{"name": one.name, "label": one.button, "question": one.question} for one in ON_THE_PAGE]
        return {"samples": samples, "agents": [self._card(card, names) for card in reversed(self.cards)]}

    def _card(self, card: Card, names: Mapping[str, str]) -> dict[str, Any]:
        asked = card.asked or {"ref": None, "intent_id": None, "ladder": []}
        intent = asked["intent_id"]
        attempt, claimed = self._attempts.get(intent, 1), self._claimed.get(intent)
        moved = self._moved.get(intent, timedelta())
        state = "resumed" if card.resumed else "waiting" if card.asked else "asking"
        return {
            "number": card.number,
            "agent": card.sample.agent,
            "question": card.sample.question,
            "ref": asked["ref"],
            "state": state,
            "ladder": [_rung(rung, attempt, moved) for rung in asked["ladder"]],
            "on_it": names.get(claimed, claimed) if claimed else None,
            "result": card.result,
            "got": card.resumed,
        }


def _rung(rung: Mapping[str, Any], attempt: int, moved: timedelta) -> dict[str, Any]:
    """One rung of the ladder at ``attempt``; future ones are due ``moved`` later than agreed."""
    asked = rung["attempt"] <= attempt
    due_at = datetime.fromisoformat(rung["due_at"]) + (timedelta() if asked else moved)
    return {**rung, "asked": asked, "due_at": due_at.isoformat()}
