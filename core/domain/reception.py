"""Reception: the result of an answer. ``Engine.respond`` decides it once; each way in puts it into its own words.

Every case holds the suspension as it now stands. Every refusal also holds its ``error``: its code, its sentence for a
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
    """The answer ended the question."""

    suspension: Suspension


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer is kept (this person's first, or in place of their last), and the question stays open: more are
    needed, or this person can undo it for some seconds (``Suspension.undoable``)."""

    suspension: Suspension


@dataclass(frozen=True, slots=True)
class AlreadyYours:
    """The same answer by the same person once more. The question has ended, or waits for the answers of others."""

    suspension: Suspension
    error: AlreadyAnswered


@dataclass(frozen=True, slots=True)
class TooLate:
    """The question had ended before: answered, cancelled or expired."""

    suspension: Suspension
    error: AlreadyAnswered | SuspensionEnded


@dataclass(frozen=True, slots=True)
class NotYours:
    """The question is open, and this person may not answer it."""

    suspension: Suspension
    error: NotAResponder | SelfResponseForbidden | IdentityMismatch


@dataclass(frozen=True, slots=True)
class NotAnAnswer:
    """Not a valid answer, and the question stays open: the value does not fit, or not enough of the question was
    shown. ``suspension`` is ``None`` if the id names no question that waits under that intent."""

    suspension: Suspension | None
    error: InvalidAnswer | ResumePayloadInvalid | NotShownWhole | NotFound | NotSuspended | SuspensionMismatch


@dataclass(frozen=True, slots=True)
class HeldByAnother:
    """Another person is on it. The question can still be answered."""

    suspension: Suspension
    error: ClaimedByAnother


Unrecorded = AlreadyYours | TooLate | NotYours | NotAnAnswer
Reception = Recorded | Counted | Unrecorded
Unclaimed = HeldByAnother | TooLate | NotYours | NotAnAnswer
"""Why a claim was not made."""


def accepted(reception: Reception) -> Suspension:
    """The suspension that the answer counts for; raises a refusal's error."""
    if isinstance(reception, Recorded | Counted):
        return reception.suspension
    raise reception.error
