"""Incidents: records an event of an incident in one transaction: its id, the move, and the resulting claims.

An incident is a place outside at which several questions may be asked at once; ``channel`` is its vendor.

Source: API.md §3 (claims); facts on channels §C2, §C5; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from core.database.database import Database, Tx
from core.delivery.lost_withdrawals import Sighting, sighted
from core.delivery.on_call import again
from core.domain.incident_claims import TAKES, Move, let_go, standing, with_move
from core.domain.intent import Intent
from core.domain.people import Actor
from core.domain.suspension import Suspension
from core.domain.vocabulary import Claimed, Released
from core.engine.outages import locked
from core.engine.permissions import Permissions
from core.engine.transitions import Transitions
from core.inbound.correspondence import HOUR, MOST_ECHOES
from core.ports import Clock
from core.store import incidents, markers, outbox
from core.store.incidents import Parked
from core.store.markers import Marker
from core.store.outbox import Row, RowKind, RowStatus

Also = Callable[[Tx, Suspension], Sequence[Row]]
"""Further rows about a question that is still open after the move."""


def nothing(_tx: Tx, _suspension: Suspension) -> Sequence[Row]:
    return ()


@dataclass(frozen=True, slots=True)
class Heard:
    """A move as it arrived: its ``ids`` recognise a repeat. ``questions`` are suspension ids; ``assignees`` are the
    vendor's user ids, ``None`` if unknown."""

    incident: str
    ids: Sequence[str]
    questions: Sequence[str]
    move: Move
    actor: Actor | None = None
    assignees: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a move. ``refused`` has a code for the ref of each question that the actor may not answer."""

    repeated: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Saying:
    """A message on an incident: always sent, or ``once`` within some days (what and about whom), or at most
    :data:`MOST_ECHOES` times an hour about a question to a person (``echoed``)."""

    rows: Sequence[Row]
    once: tuple[Marker, str] | None = None
    echoed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Incidents:
    """``hold`` is how long a claim lasts."""

    database: Database
    permissions: Permissions
    transitions: Transitions
    clock: Clock
    channel: str
    hold: timedelta

    async def moved(self, heard: Heard, also: Also = nothing) -> Done:
        """Put the move at its place in time, and set each open question's claim to the result of all moves."""

        def job(tx: Tx) -> Done:
            now = self.clock.now()
            if self._is_known(tx, heard.ids, now):
                return Done(repeated=True)
            incident = incidents.lock(tx, heard.incident, now)
            waiting = [found for one in sorted(heard.questions) if (found := self._open(tx, one, now)) is not None]
            refused = self._refused(heard, [suspension for _, suspension in waiting])
            may = tuple(one.ask.ref for _, one in waiting if heard.actor is not None and one.ask.ref not in refused)
            moves = self._without_stale(incident.moves, [suspension for _, suspension in waiting], now)
            moves = with_move(moves, replace(heard.move, may=may))
            incidents.keep_moves(tx, heard.incident, moves, now)
            if heard.assignees is not None:
                incidents.keep_assignees(tx, incident, heard.assignees, heard.move.at, now)
            for intent, suspension in waiting:
                self._stand(tx, suspension, intent, moves, now)
                self.transitions.dispatch(tx, also(tx, suspension))
            return Done(refused=refused)

        return await self.database.write(job)

    async def assigned(self, incident_id: str, ids: Sequence[str], users: Sequence[str], at: datetime) -> None:
        """Store the incident's current assignees, unless newer ones are known."""

        def job(tx: Tx) -> None:
            now = self.clock.now()
            if not self._is_known(tx, ids, now):
                incidents.keep_assignees(tx, incidents.lock(tx, incident_id, now), users, at, now)

        await self.database.write(job)

    async def merged(self, ids: Sequence[str], incident_ids: Sequence[str]) -> None:
        """Forget which questions these incidents are about: their alerts have moved, so PagerDuty is asked again."""

        def job(tx: Tx) -> None:
            if not self._is_known(tx, ids, self.clock.now()):
                incidents.forget_mapping(tx, incident_ids)

        await self.database.write(job)

    async def sighted(self, sighting: Sighting) -> None:
        """Record whether the ended questions are still asked there."""
        if sighting.questions:
            await sighted(self.database, self.transitions, self.clock, self.channel, sighting)

    async def remember(self, ids: Sequence[str], *sayings: Saying) -> None:
        """Record the event as done, and send the first of ``sayings`` that was not sent lately."""

        def job(tx: Tx) -> None:
            if self._is_known(tx, ids, self.clock.now()):
                return
            said = next((one for one in sayings if self._may_say(tx, one, ids[0])), None)
            if said is not None:
                self.transitions.dispatch(tx, said.rows)

        await self.database.write(job)

    async def park(self, ids: Sequence[str], parked: Parked) -> None:
        """Store an event that can't be understood yet; the clock looks at it again."""

        def job(tx: Tx) -> None:
            if not self._is_known(tx, ids, self.clock.now()):
                incidents.park(tx, parked)
                self.transitions.alarm.within(tx, parked.look_at)

        await self.database.write(job)

    def _may_say(self, tx: Tx, saying: Saying, key: str) -> bool:
        if saying.echoed is not None:
            now = self.clock.now()
            return markers.may_write_back(tx, "echo", *saying.echoed, key, now, most=MOST_ECHOES, span=HOUR)
        return saying.once is None or self.once(tx, *saying.once)

    def once(self, tx: Tx, what: Marker, key: str) -> bool:
        """Whether this is the first time within some days."""
        return markers.first_time(tx, what, key, self.clock.now())

    def page_again(self, tx: Tx, suspension: Suspension) -> Sequence[Row]:
        """The question's latest page at each place there, as a new row. It opens a new alert if the old one is
        closed, and pages nobody if that is open."""
        rows = outbox.of_suspension(tx.conn, suspension.id)
        pages = [one for one in rows if one.kind is RowKind.NOTIFY and one.channel == self.channel]
        if any(one.status in {RowStatus.PENDING, RowStatus.SENDING} for one in pages):
            return ()
        now = self.clock.now()
        latest = {one.address: one for one in pages if one.status is RowStatus.DELIVERED}
        return [
            replace(outbox.notice(suspension.id, one.attempt, one.to, now), body=again(one.body))
            for one in latest.values()
        ]

    def _is_known(self, tx: Tx, ids: Sequence[str], now: datetime) -> bool:
        return any([markers.note_seen(tx, self.channel, one, now) for one in ids])  # noqa: C419 (all are noted)

    def _open(self, tx: Tx, suspension_id: str, now: datetime) -> tuple[Intent, Suspension] | None:
        intent, suspension = locked(tx, suspension_id, self.transitions, now)
        if intent is None or suspension is None or not suspension.is_open:
            return None
        over = suspension.expires_at is not None and now >= suspension.expires_at
        return None if over else (intent, suspension)

    def _refused(self, heard: Heard, waiting: Sequence[Suspension]) -> dict[str, str]:
        if heard.actor is None or heard.move.did not in TAKES:
            return {}
        codes = {one.ask.ref: self.permissions.refusal(one, heard.actor) for one in waiting}
        return {ref: code for ref, code in codes.items() if code is not None}

    def _without_stale(self, moves: Sequence[Move], waiting: Sequence[Suspension], now: datetime) -> Sequence[Move]:
        """Drops claims that were given back elsewhere: claimed by these moves, but not in the record."""
        for suspension in waiting:
            before, claim = standing(moves, suspension.ask.ref, self.hold, now), suspension.claim
            if before is not None and (claim is None or claim.until <= now):
                moves = with_move(moves, let_go(moves, suspension.ask.ref, before.by))
        return moves

    def _stand(self, tx: Tx, suspension: Suspension, intent: Intent, moves: Sequence[Move], now: datetime) -> None:
        """Claim or release, so that the question matches the moves. A claim made elsewhere stays."""
        wanted, claim = standing(moves, suspension.ask.ref, self.hold, now), suspension.claim
        held = claim if claim is not None and now < claim.until else None
        ours = held is not None and held.channel == self.channel and any(one.by == held.by for one in moves)
        if wanted is None:
            if held is not None and ours:
                self.transitions.move(tx, suspension, Released(held.by), intent, now)
            return
        end = suspension.expires_at
        until = wanted.until if end is None else min(wanted.until, end)
        if held is not None and not ours and held.by != wanted.by:
            return
        if held is not None and held.by == wanted.by and (held.until == until or (not ours and held.until > until)):
            return
        self.transitions.move(tx, suspension, Claimed(wanted.by, until, self.channel), intent, now)
