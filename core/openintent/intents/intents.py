"""Intents: a client's operations: create, read, list, link, move, patch, and add events.

Source: RFC-0001; API.md §7 (as far as a suspension needs them).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.engagement import RFC_THRESHOLDS, EngagementDecision, EngagementSignals, EngagementThresholds, engage
from core.domain.intent import (
    RESERVED,
    EdgeKind,
    Intent,
    IntentLink,
    IntentStatus,
    Patch,
    apply_patches,
    check_move,
    check_version,
    replace_state,
)
from core.domain.machine import next_attempt_at
from core.domain.people import Actor
from core.domain.record import record_json
from core.domain.vocabulary import ENGAGEMENT, STATUS_CHANGED, Event
from core.domain.wire import JsonObject, plain
from core.errors import DependencyCycle, Forbidden, IntentNotActive, InvalidRequest
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.intent_lease import OVER
from core.openintent.domain.portfolio import Aggregate
from core.openintent.domain.propagation import ENDED
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_edges, intent_failures, intent_graph
from core.ports import Clock
from core.store import event_log, intents, suspensions
from core.store.event_log import Logged


def lock_named(tx: Tx, parent_id: str | None, depends_on: Sequence[str], by: Actor) -> None:
    """Lock the parent and the dependencies of an intent before it is made. These are the first locks of the
    transaction.

    Raises :class:`InvalidRequest`, which names the field, unless ``by`` may read all of them, :class:`IntentNotActive`
    for a parent that has ended, and :class:`DependencyCycle` if the parent would wait for itself: it is completed after
    its children.
    """
    named = [] if parent_id is None else [("parent_intent_id", parent_id)]
    named += [(f"depends_on.{number}", name) for number, name in enumerate(depends_on)]
    if not named:
        return
    if parent_id is not None and depends_on:
        intent_edges.hold_graph(tx)
    found = intents.lock_in_order(tx, (intent_id for _, intent_id in named))
    for path, intent_id in named:
        _check_readable(tx, found, intent_id, path, by)
    if parent_id is None:
        return
    parent = found[parent_id]
    if parent.status in ENDED:
        raise IntentNotActive(f"The parent has ended; it is {parent.status}.")
    if depends_on and intent_edges.waits_for(tx.conn, depends_on, parent_id):
        raise DependencyCycle("A child can't depend on its parent, or on what waits for that.", path="depends_on")


def linked(intent: Intent) -> Intent:
    """A new intent with its first links."""
    links = IntentLink.NONE
    if intent.parent_id is not None:
        links |= IntentLink.PARENT
    if intent.depends_on:
        links |= IntentLink.DEPENDENCIES
    return replace(intent, links=links)


def put_links(tx: Tx, intent: Intent) -> None:
    """Write the parent and the dependencies of a new intent at both ends, which are locked: one knows of the link by
    its edge, the other by its ``links`` (RFC-0002)."""
    if intent.parent_id is not None:
        intent_edges.put(tx, intent.parent_id, [intent.id], EdgeKind.CHILD)
        intents.link(tx, [intent.parent_id], IntentLink.CHILDREN)
    if intent.depends_on:
        intent_edges.put(tx, intent.id, intent.depends_on)
        intents.link(tx, intent.depends_on, IntentLink.DEPENDENTS)


def _check_readable(tx: Tx, found: Mapping[str, Intent], intent_id: str, path: str, by: Actor) -> None:
    if intent_id not in found or not access.may_read(tx.conn, intent_id, by):
        raise InvalidRequest("There is no such intent.", path=path)


@dataclass(frozen=True, slots=True)
class Shown:
    """An intent with its state as clients see it, the mirrored suspension record included. ``aggregate`` is that of
    its children, ``None`` without any."""

    intent: Intent
    state: JsonObject
    aggregate: Aggregate | None = None


def reader(by: Actor) -> str | None:
    """The key whose intents ``by`` may read: an agent's own, ``None`` for all."""
    return None if by.reads_all else by.key or by.identity


def shown(conn: sa.Connection, found: Sequence[Intent], by: Actor) -> list[Shown]:
    """Intents as ``by``, who may read them, sees them: the extra fields are computed for a whole page at once.

    The state includes the record of the latest suspension (RFC-0025 §5). An intent with children shows their progress
    (RFC-0002; RFC-0026 §2 rule 4); one without children costs nothing.
    """
    parents = [intent.id for intent in found if intent.links & IntentLink.CHILDREN]
    below = intent_graph.aggregates_of(conn, parents, reader(by)) if parents else {}
    asked = suspensions.those(conn, [intent.suspension_id for intent in found if intent.suspension_id is not None])
    several = []
    for intent in found:
        state = dict(intent.state)
        suspension = None if intent.suspension_id is None else asked.get(intent.suspension_id)
        if suspension is not None:
            state[RESERVED] = plain(record_json(suspension, next_attempt_at(suspension)))
        several.append(Shown(intent, state, below.get(intent.id)))
    return several


_ACKNOWLEDGED = {"intent.suspended", "intent.suspension_renotified", "intent.suspension_escalated"}
"""Events the published SDK posts about its own ladder. Acknowledged; the server's own event is the one that counts."""

_OURS = (
    *("intent.", "portfolio.", "task.", "coordinator.", "engagement.", "plan.", "workflow.", "lease."),
    *("action.", "notice.", "rule."),
)
"""How the types of events begin that the server alone writes, now or later."""
CREATED = "intent_created"
STATE_PATCHED = "state_patched"
_RFC_NAMES = frozenset(
    f"{CREATED} {STATE_PATCHED} {STATUS_CHANGED} agent_assigned agent_unassigned dependency_added dependency_removed"
    " lease_acquired lease_renewed lease_released lease_expired lease_revoked arbitration_requested decision_recorded"
    " portfolio_created added_to_portfolio removed_from_portfolio failure_recorded failure_resolved fallback_triggered"
    " retry_policy_set".split()
)
"""What the log says of an intent and what belongs to it (RFC-0001 to 0003, 0006, 0007, 0010), and so no client."""


@dataclass(frozen=True, slots=True)
class NewIntent:
    """A requested intent."""

    title: str
    description: str = ""
    state: Mapping[str, JsonValue] = field(default_factory=dict)
    constraints: Mapping[str, JsonValue] = field(default_factory=dict)
    confidence: float = 0.0
    active: bool = False
    parent_id: str | None = None
    depends_on: tuple[str, ...] = ()
    governance_policy: Mapping[str, JsonValue] | None = None


Change = Callable[[Tx, Intent], tuple[Intent, Event]]
"""What becomes of an intent, locked, and the line that says so."""


@dataclass(slots=True)
class Intents:
    """A client's operations on intents. An agent finds only those that it owns or is a member of. ``thresholds`` say
    where the modes of engagement begin and end."""

    database: Database
    log: IntentLog
    leases: IntentLeases
    clock: Clock
    thresholds: EngagementThresholds = RFC_THRESHOLDS

    async def create(self, wanted: NewIntent, by: Actor, once: IdempotentRequest | None = None) -> Shown | Replayed:
        """Raises :class:`InvalidRequest` for a parent or a dependency that ``by`` may not read."""
        now = self.clock.now()
        creator = by.key or by.identity
        made = intents.new(str(uuid.uuid4()), wanted.title, creator, now, IntentStatus.DRAFT)
        made = linked(
            replace(
                made,
                description=wanted.description,
                state=replace_state(wanted.state),
                constraints=wanted.constraints,
                confidence=wanted.confidence,
                status=IntentStatus.ACTIVE if wanted.active else IntentStatus.DRAFT,
                parent_id=wanted.parent_id,
                depends_on=tuple(dict.fromkeys(wanted.depends_on)),
                governance_policy=wanted.governance_policy,
            )
        )

        def insert(tx: Tx) -> Shown:
            lock_named(tx, wanted.parent_id, wanted.depends_on, by)
            intents.insert(tx, made)
            put_links(tx, made)
            payload: JsonObject = {"title": made.title, "status": made.status.value}
            kept = self.log.moved(tx, IntentStatus.DRAFT, made, now, Event(CREATED, payload, by.identity))
            return Shown(kept, dict(kept.state))

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: insert(tx)))

    async def get(self, intent_id: str, by: Actor) -> Shown:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""

        def job(conn: sa.Connection) -> Shown:
            return shown(conn, [access.read(conn, intent_id, by)], by)[0]

        return await self.database.read(job)

    async def check(self, intent_id: str, by: Actor) -> None:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        await self.database.read(lambda conn: access.read(conn, intent_id, by))

    async def page(self, by: Actor, *, status: str | None, limit: int, offset: int) -> list[Shown]:
        """Newest first."""
        agent = None if by.reads_all else by.key

        def job(conn: sa.Connection) -> list[Shown]:
            found = intents.page(conn, status=status, agent=agent, limit=limit, offset=offset)
            return shown(conn, found, by)

        return await self.database.read(job)

    async def change_status(
        self, intent_id: str, wanted: IntentStatus, by: Actor, version: int, *, reason: str | None = None
    ) -> Shown:
        """Raises :class:`VersionConflict` or :class:`InvalidTransition`."""

        def change(tx: Tx, intent: Intent) -> tuple[Intent, Event]:
            if intent.status is IntentStatus.BLOCKED and wanted is IntentStatus.COMPLETED:
                self.log.consequences.check(tx, intent, wanted)  # what it waits for, rather than that it does
            check_move(intent.status, wanted)
            self.log.consequences.check(tx, intent, wanted)
            payload: JsonObject = {"from": intent.status.value, "to": wanted.value, "reason": reason}
            return replace(intent, status=wanted), Event(STATUS_CHANGED, payload, by.identity)

        return await self._change(intent_id, by, Right.MOVE, version, change)

    async def patch_state(self, intent_id: str, patches: Sequence[Patch], by: Actor, version: int) -> Shown:
        def change(_tx: Tx, intent: Intent) -> tuple[Intent, Event]:
            changed = replace(intent, state=apply_patches(intent.state, patches))
            paths: list[JsonValue] = [patch.path for patch in patches]
            return changed, Event(STATE_PATCHED, {"paths": paths}, by.identity)

        return await self._change(intent_id, by, Right.WORK, version, change)

    async def replace_state(self, intent_id: str, wanted: Mapping[str, JsonValue], by: Actor, version: int) -> Shown:
        def change(_tx: Tx, intent: Intent) -> tuple[Intent, Event]:
            state = replace_state(wanted)
            return replace(intent, state=state), Event(STATE_PATCHED, {"paths": list(state)}, by.identity)

        return await self._change(intent_id, by, Right.WORK, version, change)

    async def _change(self, intent_id: str, by: Actor, right: Right, version: int, change: Change) -> Shown:
        def job(tx: Tx) -> Shown:
            now = self.clock.now()
            intent = access.lock(tx, intent_id, by, right, now)
            check_version(intent, version)
            changed, event = change(tx, intent)
            changed = replace(changed, version=version + 1, updated_at=now)
            intents.update(tx, changed)
            if changed.status is IntentStatus.COMPLETED:
                intent_failures.resolve_all(tx, intent_id, now)
            kept = self.log.moved(tx, intent.status, changed, now, event)
            if kept.status in OVER:
                kept = self.leases.release_all(tx, kept, by, now)
            return shown(tx.conn, [kept], by)[0]

        return await self.database.write(job)

    # --- Events ---------------------------------------------------------------------------------------------------

    async def events(
        self, intent_id: str, by: Actor, *, types: Sequence[str] | None, since: datetime | None, limit: int
    ) -> list[Logged]:
        """The newest ``limit`` events, oldest of them first."""

        def job(conn: sa.Connection) -> list[Logged]:
            access.read(conn, intent_id, by)
            return event_log.of_intent(conn, intent_id, types=types, since=since, limit=limit)

        return await self.database.read(job)

    async def post_event(self, intent_id: str, event: Event, by: Actor) -> Logged:
        """Add a client's own event. Raises :class:`Forbidden` for names that are the server's (API.md §7)."""
        if event.type not in _ACKNOWLEDGED | {ENGAGEMENT} and (
            event.type.startswith(_OURS) or event.type in _RFC_NAMES
        ):
            raise Forbidden(f"{event.type} is written by the server alone.")
        return await self._append(intent_id, replace(event, actor=by.identity), by)

    async def engage(self, intent_id: str, signals: EngagementSignals, by: Actor) -> tuple[EngagementDecision, Logged]:
        """Decide whether a person should be asked, and record it (RFC-0025 §7)."""
        decision = engage(signals, self.thresholds)
        payload: JsonObject = {
            "mode": decision.mode.value,
            "should_ask": decision.should_ask,
            "action": decision.action.value,
            "rationale": decision.rationale,
            "signals": {
                "confidence": signals.confidence,
                "risk": signals.risk,
                "reversibility": signals.reversibility,
                "context": dict(signals.context),
            },
        }
        return decision, await self._append(intent_id, Event(ENGAGEMENT, payload, by.identity), by)

    async def _append(self, intent_id: str, event: Event, by: Actor) -> Logged:
        def job(tx: Tx) -> Logged:
            intent = access.lock(tx, intent_id, by, Right.WORK)
            if event.type in _ACKNOWLEDGED:
                return _acknowledged(intent, event, self.clock.now())
            self.log.write(tx, intent, self.clock.now(), event)
            return event_log.of_intent(tx.conn, intent_id, limit=1)[0]

        return await self.database.write(job)


def _acknowledged(intent: Intent, event: Event, now: datetime) -> Logged:
    """The reply to an event that is accepted and not written."""
    return Logged(
        id=str(uuid.uuid4()),
        intent_id=intent.id,
        position=intent.log_length,
        type=event.type,
        actor=event.actor,
        payload=dict(event.payload),
        created_at=now,
        mac="",
        cursor=(0, 0),
    )
