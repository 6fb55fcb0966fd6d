"""Ending by time: the earlier of a question's own expiry and a deadline around its intent ends it.

Time comes before people: code that changes a question asks here first, so that no answer beats an end that has passed
and that the clock has not processed yet. An intent without a deadline around it costs one comparison.

Source: RFC-0026 §2 rule 5; docs/decisions/0060.
"""

from __future__ import annotations

from datetime import datetime

from core.database.database import Tx
from core.domain.intent import Intent
from core.domain.suspension import Kind, Suspension
from core.domain.vocabulary import AttemptDue, DeadlineReached
from core.engine.transitions import Transitions
from core.store import event_log, suspensions


def deadline_came_first(deadline: datetime | None, expires_at: datetime | None, now: datetime) -> bool:
    """Whether a suspension that expires then has been ended by a deadline around it: what is due first counts, and the
    deadline if both are due at once (RFC-0026 §2 rule 5)."""
    return deadline is not None and deadline <= now and (expires_at is None or deadline <= expires_at)


def due_signal(
    tx: Tx, intent: Intent, suspension: Suspension, transitions: Transitions, now: datetime
) -> AttemptDue | DeadlineReached:
    """What the clock says to an open suspension. ``intent`` must be locked in this transaction."""
    deadline = transitions.surroundings.must_end_by(tx, intent, suspension.ask.suspended_at)
    ends_at = suspension.expires_at if suspension.undoable is None else suspension.undoable.until
    if deadline_came_first(deadline, ends_at, now):
        return DeadlineReached()
    if suspension.ask.kind is not Kind.VETO:
        return AttemptDue()
    return AttemptDue(delivered=_has_reached_anybody(tx, suspension, transitions))


def _has_reached_anybody(tx: Tx, suspension: Suspension, transitions: Transitions) -> bool:
    """Whether somebody could have objected. What a one-way channel accepts may reach nobody, so that it counts once
    somebody who may answer has opened the page."""
    one_way = [name for name, one in transitions.channels.items() if one.one_way]
    if suspensions.any_notice_delivered(tx.conn, suspension.id, apart_from=one_way):
        return True
    return bool(event_log.opened_by(tx.conn, suspension))


def ended_in_time(
    tx: Tx, intent: Intent, suspension: Suspension, transitions: Transitions, now: datetime
) -> Suspension:
    """An open suspension, ended if its end has passed, or the time in which its answer could be undone. ``intent`` must
    be locked in this transaction."""
    signal = due_signal(tx, intent, suspension, transitions, now)
    expired = suspension.expires_at is not None and now >= suspension.expires_at
    answered = suspension.undoable is not None and now >= suspension.undoable.until
    if isinstance(signal, DeadlineReached) or expired or answered:
        return transitions.move(tx, suspension, signal, intent, now).suspension
    return suspension
