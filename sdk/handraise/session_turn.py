"""A new turn of an agent's session: the argument of a callback's handler.

Source: issue 186, "same session, new turn".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import JsonValue

from handraise.callbacks import Resumed
from handraise.veto import VetoOutcome, outcome_of_callback

Session = TypeVar("Session")

ASKED_BACK = "clarification_requested"

_STALE = "This conversation was interrupted a long time ago: check that it still holds before you act."
_MEANS = {
    "intent.resumed": "The question has ended with this value: go on with it.",
    "intent.suspension_expired": "Nobody answered in time. Nobody has approved anything: do not act, and say so.",
    "intent.suspension_cancelled": "The question was taken back: do not act.",
    "intent_authorized": "It may go ahead: do exactly what you asked about, and nothing else.",
    "intent_vetoed": "A person has objected: do not act. Acknowledge it, tell the user why, and adjust your approach.",
    ASKED_BACK: "A person asks back before they answer; nothing is decided yet. Reply to their question.",
}
ENDINGS = frozenset(_MEANS) - {ASKED_BACK}
"""The types of the callbacks after which a question has ended (API.md §5)."""


@dataclass(frozen=True, slots=True)
class Turn(Generic[Session]):
    """One callback, and the session that goes on with it.

    ``stale``: the question was asked longer ago than the receiver's ``context_stale_after``. ``resumed`` is the whole
    callback, including its ``receipt`` and your ``state``; only :meth:`message` is for a model.
    """

    session: Session = field(repr=False)
    resumed: Resumed = field(repr=False)
    stale: bool = False

    @property
    def event(self) -> str:
        """``intent_authorized`` or ``intent_vetoed`` for a veto window, else the callback's type."""
        return self.resumed.event or self.resumed.type

    @property
    def veto(self) -> VetoOutcome | None:
        """How a veto window ended; ``None`` for anything else."""
        return outcome_of_callback(self.resumed)

    @property
    def reason(self) -> str | None:
        """The person's reason."""
        return self.resumed.reason

    def message(self) -> dict[str, JsonValue]:
        """The event to put before the model as its new turn: JSON, with no secret in it.

        ``event``, ``intent_id``, ``instruction`` (one or two sentences) and, if there are such, ``resolution``,
        ``value``, ``choice_label``, ``reason``, ``responded_by``, ``error``, ``question`` (what a person asks back) and
        ``stale``.
        """
        resumed = self.resumed
        told: dict[str, JsonValue] = {
            "event": self.event,
            "intent_id": resumed.intent_id,
            "resolution": resumed.resolution,
            "value": resumed.value,
            "choice_label": resumed.choice_label,
            "reason": resumed.reason,
            "responded_by": resumed.responded_by,
            "error": resumed.error,
            "question": resumed.clarification.question if resumed.clarification else None,
            "stale": self.stale or None,
            "instruction": " ".join([_MEANS[resumed.type], *([_STALE] if self.stale else [])]),
        }
        return {name: value for name, value in told.items() if value is not None}
