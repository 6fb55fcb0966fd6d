"""How a veto window ended: authorized or vetoed, by whom and why.

Source: issue 186; API.md §2, §5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pydantic import JsonValue

from handraise.callbacks import Resumed
from handraise.records import SuspensionRecord

VetoEvent = Literal["intent_authorized", "intent_vetoed"]
_EVENTS: Mapping[str, VetoEvent] = {event: event for event in get_args(VetoEvent)}


@dataclass(frozen=True, slots=True)
class VetoOutcome:
    """``event`` is ``intent_authorized`` or ``intent_vetoed``; ``reason`` what the person gave as theirs.

    ``responded_by`` is ``None`` if the window ended in silence, which authorizes. ``receipt`` is for
    :meth:`Handraise.execute_once` with ``when=value`` (and ``allow_silence=True`` if silence is to count).
    """

    event: VetoEvent
    intent_id: str
    value: JsonValue
    reason: str | None = None
    responded_by: str | None = None
    receipt: str | None = field(default=None, repr=False)

    @property
    def authorized(self) -> bool:
        return self.event == "intent_authorized"


def outcome_of_record(ended: SuspensionRecord) -> VetoOutcome:
    """Raises :class:`InputTimeoutError` and :class:`InputCancelledError` if it was neither, ``ValueError`` while it is
    open, and for a question that is no veto window."""
    if ended.kind != "veto":
        raise ValueError("The question is no veto window.")
    value = ended.result()
    vetoes = {choice.value for choice in ended.choices if (choice.metadata or {}).get("veto") is True}
    event: VetoEvent = "intent_vetoed" if value in vetoes else "intent_authorized"
    return VetoOutcome(event, ended.intent_id or "", value, ended.reason, ended.responded_by, ended.receipt)


def outcome_of_callback(resumed: Resumed) -> VetoOutcome | None:
    """``None`` if the callback is about something else."""
    event = _EVENTS.get(resumed.event or "")
    if event is None:
        return None
    return VetoOutcome(event, resumed.intent_id, resumed.value, resumed.reason, resumed.responded_by, resumed.receipt)
