"""The consequences of an intent's move, all in one place and in the move's own transaction.

Source: RFC-0026 §2; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import Dependent, Intent, IntentHold, IntentLink, IntentStatus
from core.domain.vocabulary import Event
from core.openintent.domain.checkpoint import verdict_event
from core.openintent.domain.propagation import (
    ENDED,
    check_completion,
    check_ready,
    check_unblocked,
    member_event,
    settled,
)
from core.openintent.propagation.dependents import escalated, hold_by_sources, hold_or_free, input_hold, of_suspended
from core.openintent.propagation.tasks import check_given, mirrored
from core.openintent.store import intent_edges, plans, portfolios
from core.openintent.store.tables import portfolio_members
from core.store import event_log, intents, suspensions


class Announce(Protocol):
    def __call__(self, tx: Tx, *intent_ids: str) -> None:
        """Wake all who wait for news of these intents, once ``tx`` is committed."""
        ...


@dataclass(frozen=True, slots=True)
class Consequences:
    """Follows moves up. ``announce`` is told of the other intents that moved; ``key`` seals the lines of their logs."""

    announce: Announce
    key: bytes

    def follow(
        self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, suspension_id: str | None = None
    ) -> Intent:
        """``intent`` has moved from ``before``; it must be locked in this transaction (or made in it), and its move be
        in its log. Returns the intent to store: perhaps blocked, its log grown, its version unchanged.

        Raises :class:`BeginAgain` if another transaction holds one of those around it.
        """
        if not intent.links or before is intent.status:
            return intent
        events: list[Event] = []
        if intent.links & IntentLink.DEPENDENCIES:
            upstreams = intent_edges.unmet(tx.conn, intent.id)
            inputs = hold_by_sources(tx.conn, intent.id, now) if upstreams.suspends_inputs() else IntentHold.NONE
            after = settled(before, intent, upstreams, inputs)
            intent = after.intent
            events += [after.event] if after.event else []
        events += self._said(tx, before, intent, now, suspension_id)
        coordinators = of_suspended(tx, intent, now)
        events += escalated(intent, coordinators, suspension_id)
        intent = event_log.append(tx, intent, events, now, self.key)
        if intent.links & IntentLink.DEPENDENTS:
            self._keep(tx, hold_or_free(tx, intent, input_hold(coordinators), now), now)
        if intent.status in ENDED:
            intents.link(tx, [intent.id], IntentLink.OVER)
        return intent

    def _said(
        self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, suspension_id: str | None
    ) -> list[Event]:
        """The events about its tasks, checkpoints and portfolios, for its own log."""
        events: list[Event] = []
        if intent.links & IntentLink.TASKS:
            events += mirrored(tx, before, intent, now)
        if intent.links & IntentLink.CHECKPOINTS:
            events += _checkpoint_events(tx, before, suspension_id)
        if intent.links & IntentLink.PORTFOLIOS:
            events += _member_events(tx, before, intent, suspension_id)
        return events

    def _keep(self, tx: Tx, followed: Sequence[tuple[Dependent, Sequence[Event]]], now: datetime) -> None:
        """Store the others that have moved with it, and their logs."""
        if not followed:
            return
        grown = event_log.append_all(tx, followed, now, self.key)
        intents.advance_dependents(tx, grown, now)
        self.announce(tx, *(intent.id for intent in grown))

    def must_end_by(self, tx: Tx, intent: Intent, since: datetime) -> datetime | None:
        """The first portfolio deadline that ends a question of ``intent`` opened at ``since`` (RFC-0026 §2 rule 5)."""
        if not intent.links & IntentLink.PORTFOLIOS:
            return None
        return portfolios.first_deadline(tx.conn, intent.id, since)

    def check(self, tx: Tx, intent: Intent, wanted: IntentStatus) -> None:
        """Check that upstreams, children and the outputs of a phase let the locked ``intent`` go to ``wanted``.

        Raises :class:`DependenciesIncomplete`, :class:`MissingOutput` or :class:`OutputTypeMismatch`.
        """
        if wanted is IntentStatus.ACTIVE and intent.held:
            check_unblocked(intent, intent_edges.unmet(tx.conn, intent.id))
        gated = intent.status is IntentStatus.BLOCKED or intent.links & (IntentLink.DEPENDENCIES | IntentLink.CHILDREN)
        if wanted is IntentStatus.COMPLETED and gated:
            check_completion(intent, intent_edges.unmet(tx.conn, intent.id))
        if wanted is IntentStatus.COMPLETED and intent.links & IntentLink.PHASE:
            check_given(tx.conn, intent.id)

    def check_ready(self, tx: Tx, intent: Intent) -> None:
        """Raises :class:`DependenciesIncomplete` if a draft's dependencies are not completed."""
        if intent.links & IntentLink.DEPENDENCIES:
            check_ready(intent_edges.unmet(tx.conn, intent.id))


def _checkpoint_events(tx: Tx, before: IntentStatus, suspension_id: str | None) -> list[Event]:
    """The plan's log line for a checkpoint whose question ``suspension_id`` ended, by any way (RFC-0012)."""
    if before is not IntentStatus.SUSPENDED or suspension_id is None:
        return []
    checkpoint, asked = plans.checkpoint_of_suspension(tx.conn, suspension_id), suspensions.get(tx.conn, suspension_id)
    event = None if checkpoint is None or asked is None else verdict_event(checkpoint, asked)
    return [] if event is None else [event]


def _member_events(tx: Tx, before: IntentStatus, intent: Intent, suspension_id: str | None) -> list[Event]:
    """A line for each portfolio of the intent: its readers see it in the intent's own log (RFC-0026 §10)."""
    mine = sa.select(portfolio_members.c.portfolio_id).where(portfolio_members.c.intent_id == intent.id)
    found = tx.conn.scalars(mine.order_by(portfolio_members.c.portfolio_id))
    said = (member_event(before, intent, portfolio_id, suspension_id) for portfolio_id in found)
    return [event for event in said if event is not None]
