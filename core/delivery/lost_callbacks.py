"""Lost callbacks: who is told that an agent does not know how its question ended.

The callback was refused (410), or given up. The decider is told once, in the place where they decided if only they read
it; the operators are alerted at ``alerts.notify``; messages that can be edited say so.

Source: API.md §3, "The end", and §5; docs/decisions/0093.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from core.database.database import Tx
from core.delivery import alerts
from core.domain.notice import Purpose
from core.domain.suspension import Suspension
from core.engine.transitions import Transitions
from core.store import outbox
from core.store.outbox import Row, RowStatus


def tell(transitions: Transitions, tx: Tx, row: Row, suspension: Suspension | None, now: datetime) -> None:
    """Of the callback ``row``, which is settled as refused or dead; ``suspension`` is what it was about."""
    if suspension is None:
        if row.status is RowStatus.DEAD and row.address is not None:
            alerts.takeover_untold(transitions, tx, row.address, row.reason or "", now)
        return
    agent, reason, ref = suspension.ask.created_by, row.reason or "", suspension.ask.ref
    if row.status is RowStatus.DEAD:
        tx.after_commit(partial(transitions.observer.callback_died, ref, reason))
    if outbox.asks_back(row.body):
        if suspension.asks_back is not None:  # nobody waits for its word otherwise
            alerts.asking_back_failed(transitions, tx, agent, reason, ref, now)
        return
    correct(transitions, tx, row, now)
    transitions.dispatch(tx, transitions.to_deciders(tx, suspension, Purpose.UNTOLD, now))
    lost = alerts.callback_refused if row.status is RowStatus.REFUSED else alerts.callback_died
    lost(transitions, tx, agent, reason, ref, now)


def correct(transitions: Transitions, tx: Tx, row: Row, now: datetime) -> None:
    """The callback ``row`` is settled: messages that said that the agent will be told say what has come of it."""
    if row.suspension_id is not None:
        transitions.dispatch(tx, transitions.withdrawals.corrections(tx, row.suspension_id, now))
