"""Lost callbacks: who hears that an agent was not told how its question ended.

Its callback was refused (410), or given up. Whoever decided hears that once, where they decided if that is a place of
their own; the operators hear it at ``alerts.notify``; messages that can be edited say so.

Source: API.md §3, "The end", and §5; docs/decisions/0093.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from core.delivery import alerts
from core.domain.copies import replace
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.domain.quorum import same_value
from core.domain.suspension import Status, Suspension, Via
from core.engine.recipients import personal_address
from core.engine.transitions import Transitions
from core.engine.withdrawals import ITS_PAGE, message_id
from core.store import outbox
from core.store.database import Tx
from core.store.outbox import Row, RowKind, RowStatus, tell_row


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
    transitions.dispatch(tx, _to_whoever_decided(transitions, tx, suspension, now))
    lost = alerts.callback_refused if row.status is RowStatus.REFUSED else alerts.callback_died
    lost(transitions, tx, agent, reason, ref, now)


def correct(transitions: Transitions, tx: Tx, row: Row, now: datetime) -> None:
    """The callback ``row`` is settled: messages that said that the agent will be told say what has come of it."""
    if row.suspension_id is not None:
        transitions.dispatch(tx, transitions.withdrawals.corrections(tx, row.suspension_id, now))


def _to_whoever_decided(transitions: Transitions, tx: Tx, suspension: Suspension, now: datetime) -> list[Row]:
    """A message each, once for a question; it says at each send how things are then."""
    message, rows = Message(Purpose.UNTOLD, "", "", ref=suspension.ask.ref, link_to=ITS_PAGE), list[Row]()
    for by, via in _decisions(suspension):
        identity = transitions.responders.identity_of(by)
        one = message_id(suspension, Purpose.UNTOLD, identity)
        to = _place_of(transitions, tx, suspension, identity, via)
        if to is not None and outbox.get(tx.conn, one) is None:
            rows.append(replace(tell_row(message, to, now, suspension.id), id=one))
    transitions.keep_tokens(tx, [(suspension.id, row.to) for row in rows])
    return rows


def _decisions(suspension: Suspension) -> Iterator[tuple[str, Via]]:
    """Everybody who has given the answer that counts, and how; nobody after silence or a cancellation."""
    ended = suspension.ended
    if ended is None or suspension.status is not Status.RESPONDED:
        return
    if suspension.answers:
        given = [one for one in suspension.answers if same_value(one.value, ended.value)]
        yield from ((one.by, one.via or Via(one.channel)) for one in given)
    elif ended.by is not None:
        yield ended.by, ended.via or Via(ended.channel or "")


def _place_of(transitions: Transitions, tx: Tx, suspension: Suspension, identity: str, via: Via) -> Address | None:
    """Where they decided, if that reaches them alone; whoever decided on a page, where its link was sent to; else where
    they are reached first. A note on the incident calls nobody, and is for whoever is reached nowhere else."""
    asked = None if via.delivery_id is None else outbox.get(tx.conn, via.delivery_id)
    preferred = via.channel if via.channel in transitions.channels or asked is None else asked.channel
    found = personal_address(transitions.responders, transitions.channels, identity, preferred)
    if found is not None or via.channel not in transitions.channels:
        return found
    rows = outbox.of_suspension(tx.conn, suspension.id)
    there = [row for row in rows if row.kind is RowKind.NOTIFY and row.channel == via.channel and row.receipt]
    return replace(there[-1].to, person=None) if there else None
