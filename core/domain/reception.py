"""Reception: what became of an answer. Decided once, by ``Engine.respond``; each way in puts it into its own words.

Every case holds the suspension as it now stands. Every refusal holds its ``error`` too: its code, its sentence for a
person, and what the JSON API raises.

Source: API.md §4.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.suspension import Suspension
from core.errors import (
    AlreadyAnswered,
    ClaimedByAnother,
    IdentityMismatch,
    InvalidAnswer,
    NotAResponder,
    NotFound,
    NotShownWhole,
    NotSuspended,
    ResumePayloadInvalid,
    SelfResponseForbidden,
    SuspensionEnded,
    SuspensionMismatch,
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """It ended the question."""

    suspension: Suspension


@dataclass(frozen=True, slots=True)
class Counted:
    """It is kept, the first of this person or in place of their last, and more are needed: the question stays open."""

    suspension: Suspension


@dataclass(frozen=True, slots=True)
class AlreadyYours:
    """The same answer by the same person, once more. The question has ended, or waits for the answers of others."""

    suspension: Suspension
    error: AlreadyAnswered


@dataclass(frozen=True, slots=True)
class TooLate:
    """The question had ended before: answered, cancelled or expired."""

    suspension: Suspension
    error: AlreadyAnswered | SuspensionEnded


@dataclass(frozen=True, slots=True)
class NotYours:
    """This person may not answer this question, which is open."""

    suspension: Suspension
    error: NotAResponder | SelfResponseForbidden | IdentityMismatch


@dataclass(frozen=True, slots=True)
class NotAnAnswer:
    """Nothing that this question takes, and it stays open: the value does not fit, or the whole question was not shown
    if it was answered. ``suspension`` is ``None`` if the id names no question that waits under that intent."""

    suspension: Suspension | None
    error: InvalidAnswer | ResumePayloadInvalid | NotShownWhole | NotFound | NotSuspended | SuspensionMismatch


@dataclass(frozen=True, slots=True)
class HeldByAnother:
    """Somebody else has said that they are on it. The question can be answered all the same."""

    suspension: Suspension
    error: ClaimedByAnother


Unrecorded = AlreadyYours | TooLate | NotYours | NotAnAnswer
Reception = Recorded | Counted | Unrecorded
Unclaimed = HeldByAnother | TooLate | NotYours | NotAnAnswer
"""Why a claim was not made."""


def accepted(reception: Reception) -> Suspension:
    """The suspension that it counts for; raises a refusal's error."""
    if isinstance(reception, Recorded | Counted):
        return reception.suspension
    raise reception.error
