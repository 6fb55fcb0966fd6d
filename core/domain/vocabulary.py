"""Signals, events, effects and outcomes: the machine's vocabulary.

A signal is what happened, an event what is recorded, an effect what must be done. An outcome has all of them.

Source: RFC-0025 §3; RFC-0026 §4.4; API.md §3, §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import JsonValue

from core.domain.suspension import ActionStatus, Suspension, Via

# --- Signals: what happened ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttemptDue:
    """The clock looked. ``delivered`` tells whether any notice so far was accepted by its channel."""

    delivered: bool = True


@dataclass(frozen=True, slots=True)
class AttemptRefused:
    """``attempt`` has reached nobody: every recipient was refused for good, or there was none. ``reasons`` are
    stable codes, each once."""

    attempt: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """A valid answer by a person who may give it; both were checked before."""

    value: JsonValue
    by: str
    channel: str
    reason: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    via: Via | None = None
    silent: int | None = None
    """How many others may answer by now and have not; ``None`` if nobody has counted."""
    undo: timedelta = timedelta(0)
    """How long whoever gave it can undo it before it ends the question."""

    @property
    def evidence(self) -> Via:
        """Where to find the answer: the channel, if nothing more is known."""
        return self.via or Via(self.channel)


@dataclass(frozen=True, slots=True)
class Undone:
    """Whoever gave the answer that is about to end the question takes it back, on ``channel``."""

    by: str
    channel: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A person is on it until ``until`` at the latest."""

    by: str
    until: datetime
    channel: str


@dataclass(frozen=True, slots=True)
class Released:
    """The claim is given back."""

    by: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The creator (or an admin) no longer asks."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Abandoned:
    """An admin has given the whole intent up (API.md §7)."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """All remaining times move by ``by``, for a ``reason`` that is a stable code (``outage``: one of ours)."""

    by: timedelta
    reason: str = "outage"


@dataclass(frozen=True, slots=True)
class DeadlineReached:
    """A portfolio's deadline came first (RFC-0026 §2, rule 5)."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The question is handed over ``to`` a person, who is to be asked on ``channel``."""

    to: str
    by: str
    channel: str


@dataclass(frozen=True, slots=True)
class AskedBack:
    """A responder wants to know more from the agent first."""

    question: str
    by: str


@dataclass(frozen=True, slots=True)
class Clarified:
    """The agent has said more."""

    text: str
    by: str


@dataclass(frozen=True, slots=True)
class Reported:
    """The agent reports the result of its action."""

    status: ActionStatus
    text: str | None
    url: str | None
    by: str


Signal = (
    AttemptDue
    | AttemptRefused
    | AnswerGiven
    | Undone
    | Claimed
    | Released
    | Cancelled
    | Abandoned
    | Rescheduled
    | DeadlineReached
    | Assigned
    | AskedBack
    | Clarified
    | Reported
)

# --- Events: what is recorded -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the intent's log. ``type`` is the RFC's string."""

    type: str
    payload: Mapping[str, JsonValue]
    actor: str = "handraise"


STATUS_CHANGED = "status_changed"
SUSPENDED = "intent.suspended"
RESUMED = "intent.resumed"
EXPIRED = "intent.suspension_expired"
CANCELLED = "intent.suspension_cancelled"
RENOTIFIED = "intent.suspension_renotified"
ESCALATED = "intent.suspension_escalated"
CLAIMED = "intent.suspension_claimed"
RELEASED = "intent.suspension_released"
ATTEMPT_HELD = "intent.suspension_attempt_held"
REACHED_NOBODY = "intent.suspension_reached_nobody"
RESCHEDULED = "intent.suspension_rescheduled"
ANSWER_RECORDED = "intent.suspension_answer_recorded"
ANSWER_CHANGED = "intent.suspension_answer_changed"
ANSWER_PENDING = "intent.suspension_answer_pending"
"""Somebody has given the answer that ends the question, and can undo it for some seconds; not which answer."""
ANSWER_UNDONE = "intent.suspension_answer_undone"
ASSIGNED = "intent.suspension_assigned"
CLARIFICATION_REQUESTED = "intent.suspension_clarification_requested"
CLARIFICATION_LAPSED = "intent.suspension_clarification_lapsed"
CLARIFIED = "intent.suspension_clarified"
ANSWER_REFUSED = "intent.suspension_answer_refused"
MESSAGE_RECEIVED = "intent.suspension_message_received"
"""Something came in about the question that answered nothing: a doubt, a bounce, an out-of-office note."""
ENGAGEMENT = "engagement.decision"
OPENED = "notice.opened"
"""Somebody who may answer has opened a veto's page, signed in: they could have objected."""
REVEALED = "notice.revealed"
"""Somebody has looked at what redaction hides; not at what."""
SIGNATURE_CALLED = "notice.signature_called"
"""Somebody has called lines around a reply of theirs their signature; how many, and never a word of them."""
REPORTED = "action.reported"
"""The agent has said what came of it."""

# --- Effects: what must be done -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notify:
    """Ask every recipient of this attempt."""

    attempt: int


@dataclass(frozen=True, slots=True)
class NotifyPerson:
    """Ask one person now, on ``channel``, under the number of the attempt that is out."""

    attempt: int
    person: str
    channel: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Show every place where it was asked how it ended."""


@dataclass(frozen=True, slots=True)
class ResumeAgent:
    """Call the agent back. ``type`` is the callback's; ``event`` is set for veto windows only."""

    type: str
    event: str | None = None


@dataclass(frozen=True, slots=True)
class AskAgentBack:
    """Call the agent: it has to clarify."""


@dataclass(frozen=True, slots=True)
class TellClarification:
    """Tell the person who asked back what the agent said."""


@dataclass(frozen=True, slots=True)
class ShowReport:
    """Show the agent's report at every message that shows the end."""


@dataclass(frozen=True, slots=True)
class TellFailure:
    """Tell the person who decided that the action failed."""


@dataclass(frozen=True, slots=True)
class ReactivateIntent:
    """The intent goes on: ``active`` again."""


@dataclass(frozen=True, slots=True)
class AbandonIntent:
    """The intent ends here, for this ``reason``."""

    reason: str


@dataclass(frozen=True, slots=True)
class AlertOperators:
    """Alert the people who run this service; ``reason`` is a stable code."""

    reason: str


Effect = (
    Notify
    | NotifyPerson
    | Withdraw
    | ResumeAgent
    | AskAgentBack
    | TellClarification
    | ShowReport
    | TellFailure
    | ReactivateIntent
    | AbandonIntent
    | AlertOperators
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The next record, the events to log and the effects to perform, in order. If all are empty, nothing changed."""

    suspension: Suspension
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()
