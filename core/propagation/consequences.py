"""The consequences of a move: everything that follows from it, in one place and in its own transaction.

Source: RFC-0026 §2; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.domain.intent import Intent, IntentStatus
from core.domain.intent_links import Hold, Link
from core.domain.propagation import ENDED, check_completion, check_ready, check_unblocked, settled
from core.domain.vocabulary import Event
from core.propagation.checkpoint_events import checkpoint_events
from core.propagation.coordinating import escalated, hold_by_sources, input_hold, of_suspended
from core.propagation.dependents import hold_or_free
from core.propagation.member_events import member_events
from core.propagation.mirror import mirrored
from core.propagation.phases import check_given
from core.store import event_log, intent_edges, intents
from core.store.database import Tx


class Announce(Protocol):
    def __call__(self, tx: Tx, *intent_ids: str) -> None:
        """Tell whoever waits for news of these intents, once ``tx`` is committed."""
        ...


@dataclass(frozen=True, slots=True)
class Consequences:
    """Follows moves up. ``announce`` hears of the others that have moved; ``key`` seals the lines of their logs."""

    announce: Announce
    key: bytes

    def follow(
        self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, suspension_id: str | None = None
    ) -> Intent:
        """``intent`` has come from ``before``; it must be locked in this transaction (or be made in it), and its move
        be in its log. Returns it as it is to be kept: perhaps blocked, its log grown, its version as it was.

        Raises :class:`BeginAgain` if another transaction holds one of those around it.
        """
        if not intent.links or before is intent.status:
            return intent
        events: list[Event] = []
        if intent.links & Link.DEPENDENCIES:
            upstreams = intent_edges.unmet(tx.conn, intent.id)
            inputs = hold_by_sources(tx.conn, intent.id, now) if upstreams.suspends_inputs() else Hold.NONE
            after = settled(before, intent, upstreams, inputs)
            intent = after.intent
            events += [after.event] if after.event else []
        events += self._said(tx, before, intent, now, suspension_id)
        coordinators = of_suspended(tx, intent, now)
        events += escalated(intent, coordinators, suspension_id)
        intent = event_log.append(tx, intent, events, now, self.key)
        if intent.links & Link.DEPENDENTS:
            self._keep(tx, hold_or_free(tx, intent, input_hold(coordinators), now), now)
        if intent.status in ENDED:
            intents.link(tx, [intent.id], Link.OVER)
        return intent

    def _said(
        self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, suspension_id: str | None
    ) -> list[Event]:
        """What its own log says of its tasks, checkpoints and portfolios."""
        events: list[Event] = []
        if intent.links & Link.TASKS:
            events += mirrored(tx, before, intent, now)
        if intent.links & Link.CHECKPOINTS:
            events += checkpoint_events(tx, before, suspension_id)
        if intent.links & Link.PORTFOLIOS:
            events += member_events(tx, before, intent, suspension_id)
        return events

    def _keep(self, tx: Tx, followed: Sequence[tuple[Intent, Sequence[Event]]], now: datetime) -> None:
        """Keep others that have moved with it, and their logs."""
        if not followed:
            return
        grown = event_log.append_all(tx, followed, now, self.key)
        intents.advance_all(tx, grown, now)
        self.announce(tx, *(intent.id for intent in grown))

    def check(self, tx: Tx, intent: Intent, wanted: IntentStatus) -> None:
        """Whether its upstreams and children, and what it owes as a phase, let ``intent``, locked, go to ``wanted``.

        Raises :class:`DependenciesIncomplete`, :class:`MissingOutput` or :class:`OutputTypeMismatch`.
        """
        if wanted is IntentStatus.ACTIVE and intent.held:
            check_unblocked(intent, intent_edges.unmet(tx.conn, intent.id))
        if wanted is IntentStatus.COMPLETED and intent.links & (Link.DEPENDENCIES | Link.CHILDREN):
            check_completion(intent_edges.unmet(tx.conn, intent.id))
        if wanted is IntentStatus.COMPLETED and intent.links & Link.PHASE:
            check_given(tx.conn, intent.id)

    def check_ready(self, tx: Tx, intent: Intent) -> None:
        """Whether a draft may be active: raises :class:`DependenciesIncomplete` if what it depends on is not
        completed."""
        if intent.links & Link.DEPENDENCIES:
            check_ready(intent_edges.unmet(tx.conn, intent.id))
