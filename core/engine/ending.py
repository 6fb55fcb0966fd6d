"""Ending by time: what is due first ends a question, its own expiry or the deadline of a portfolio.

Time comes before people: whoever has to do with a question asks here first, so that no answer beats an end that has
passed and that the clock has not come to yet. An intent that is in no portfolio pays one comparison.

Source: RFC-0026 §2 rule 5; docs/decisions/0060.
"""

from __future__ import annotations

from datetime import datetime

from core.database.database import Tx
from core.domain.intent import Intent
from core.domain.intent_links import Link
from core.domain.suspension import Kind, Suspension
from core.domain.vocabulary import AttemptDue, DeadlineReached
from core.engine.transitions import Transitions
from core.openintent.domain.portfolio import deadline_came_first
from core.openintent.store import portfolios
from core.store import suspensions


def due_signal(tx: Tx, intent: Intent, suspension: Suspension, now: datetime) -> AttemptDue | DeadlineReached:
    """What the clock says to an open suspension. ``intent`` must be locked in this transaction."""
    if intent.links & Link.PORTFOLIOS:
        deadline = portfolios.first_deadline(tx.conn, intent.id, suspension.ask.suspended_at)
        if deadline_came_first(deadline, suspension.expires_at, now):
            return DeadlineReached()
    if suspension.ask.kind is not Kind.VETO:
        return AttemptDue()
    return AttemptDue(delivered=suspensions.any_notice_delivered(tx.conn, suspension.id))


def ended_in_time(
    tx: Tx, intent: Intent, suspension: Suspension, transitions: Transitions, now: datetime
) -> Suspension:
    """An open suspension, ended if its end has passed. ``intent`` must be locked in this transaction."""
    expired = suspension.expires_at is not None and now >= suspension.expires_at
    if not (expired or intent.links & Link.PORTFOLIOS):
        return suspension
    signal = due_signal(tx, intent, suspension, now)
    if isinstance(signal, DeadlineReached) or expired:
        return transitions.move(tx, suspension, signal, intent, now).suspension
    return suspension
