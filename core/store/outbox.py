"""The outbox: every message that leaves, as a row written in the transition's own transaction.

    pending ──claim──▶ sending ──settle──▶ delivered | refused | dropped | dead
       ▲                  │
       └── postponed ─────┘      (deferred, ambiguous, or its process died)

A row may be *born* ``sending``: written with the lease of the process that sends it right after the commit, which saves
a claim. The lease of a process that has died is void; such a row may have been sent, and says so (``ambiguous``). Only
the holder of the lease says what became of a row (``core/delivery/leases.py``).

:func:`overdue` says whether anything is late that nobody has dealt with. A deferred message is due later and is not
late; one that is held by a pause is not due at all.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import VALUES, listed
from core.domain.callback import ASKED_BACK
from core.domain.notice import DEFAULT_LANGUAGE, Message, Purpose
from core.domain.people import Address
from core.domain.wording import AgentTold
from core.store.tables import is_notice, newest_first, outbox, outbox_kind, suspensions, workers


class RowKind(StrEnum):
    NOTIFY = "notify"
    WITHDRAW = "withdraw"
    RESUME = "resume"
    TELL = "tell"
    EVENT = "event"


class RowStatus(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    REFUSED = "refused"
    DROPPED = "dropped"
    DEAD = "dead"


AGENTS = "agents"
"""The ``channel`` of rows that call an agent back."""

SUBSCRIBERS = "subscribers"
"""The ``channel`` of rows that bring events to subscriptions. An older process leaves it alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """One message on its way. ``id`` is the delivery id, the ``webhook-id`` of a callback; ``lane`` the place that it
    takes turns with (``core/delivery/turns.py``)."""

    kind: RowKind
    channel: str
    created_at: datetime
    due_at: datetime
    suspension_id: str | None = None
    attempt: int | None = None
    address: str | None = None
    person: str | None = None
    body: Mapping[str, JsonValue] | None = None
    status: RowStatus = RowStatus.PENDING
    tries: int = 0
    ambiguous: bool = False
    receipt: Mapping[str, str] | None = None
    reason: str | None = None
    settled_at: datetime | None = None
    lease_until: datetime | None = None
    lane: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def to(self) -> Address:
        """Where a message goes; a callback has its URL in the body."""
        return Address(self.channel, self.address or "", self.person)


def notice(
    suspension_id: str, attempt: int | None, to: Address, now: datetime, *, due_at: datetime | None = None
) -> Row:
    """A notice of this attempt to one address, due now if nothing else is said."""
    return Row(RowKind.NOTIFY, to.channel, now, due_at or now, suspension_id, attempt, to.value, to.person)


def withdrawal(of: Row, body: Mapping[str, JsonValue], now: datetime) -> Row:
    """A change to the message that ``of`` has left there: a notice, or an earlier change."""
    return Row(RowKind.WITHDRAW, of.channel, now, now, of.suspension_id, of.attempt, body=body, lane=of.lane)


def tell_row(message: Message, to: Address, now: datetime, suspension_id: str | None = None) -> Row:
    """A short message on its way to one address. It holds no link: that is made when it is sent."""
    if message.link is not None:
        raise ValueError("a row holds no link: say which one it is by link_to")
    body: dict[str, JsonValue] = {
        "purpose": message.purpose.value,
        "subject": message.subject,
        "text": message.text,
        "ref": message.ref,
    }
    if message.link_to is not None:
        body["link_to"] = message.link_to.kept()
    if message.purpose is Purpose.CLARIFICATION or message.proposal is not None:
        body["proposal"] = None if message.proposal is None else message.proposal.kept()
    if message.language != DEFAULT_LANGUAGE:
        body["language"] = message.language
    return Row(
        RowKind.TELL, to.channel, now, now, suspension_id=suspension_id, address=to.value, person=to.person, body=body
    )


_COLUMNS = tuple(outbox.c[field.name] for field in fields(Row))


def insert(tx: Tx, rows: Sequence[Row], owner: str) -> None:
    """Write ``rows``; those whose status is ``sending`` are leased to ``owner``."""
    if rows:
        _INSERT.run(tx.conn, *(_values(row, owner) for row in rows))


_INSERT = Prepared(outbox.insert())


def _values(row: Row, owner: str) -> dict[str, Any]:
    values = {column.name: getattr(row, column.name) for column in _COLUMNS}
    values["kind"], values["status"] = row.kind.value, row.status.value
    values["body"] = None if row.body is None else dict(row.body)
    values["lease_owner"] = owner if row.status is RowStatus.SENDING else None
    return values


def due(tx: Tx, channel: str, *, now: datetime, limit: int, lane: str | None = None) -> list[Row]:
    """Up to ``limit`` rows of ``channel`` that are due, the most overdue first; of one ``lane`` if it is given.
    Nobody else takes them before this transaction is over."""
    mine = [outbox.c.channel == channel] if lane is None else [outbox.c.channel == channel, outbox.c.lane == lane]
    wanted = (
        sa.select(*_COLUMNS)
        .where(outbox.c.status == sa.literal_column("'pending'"), *mine, outbox.c.due_at <= now)
        .order_by(outbox.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [_row(row) for row in tx.conn.execute(wanted)]


def lease(tx: Tx, rows: Sequence[Row], owner: str, until: datetime) -> None:
    """``rows``, as :func:`due` found them, are in the hands of ``owner``."""
    if rows:
        leased = {"status": RowStatus.SENDING.value, "lease_owner": owner, "lease_until": until}
        tx.conn.execute(outbox.update().where(outbox.c.id.in_([row.id for row in rows])).values(**leased))


def extend(tx: Tx, ids: Sequence[str], owner: str, until: datetime) -> set[str]:
    """Those of the rows ``ids`` that ``owner`` has in hand still; their leases end at ``until``."""
    mine = outbox.c.id.in_(ids) & (outbox.c.lease_owner == owner)
    extended = outbox.update().where(mine).values(lease_until=until).returning(outbox.c.id)
    return set(tx.conn.scalars(extended))


def heads(conn: sa.Connection, channel: str) -> list[tuple[str, datetime]]:
    """Each lane of ``channel`` with waiting rows, and when its next one is due. Two steps down an index for each lane,
    however many rows it has."""
    return [(head.lane, head.due_at) for head in _HEADS.all(conn, {"channel": channel})]


_ONE = sa.literal_column("1", sa.Integer)


def _heads() -> sa.Select[Any]:
    first, after, head = outbox.alias("first"), outbox.alias("after"), outbox.alias("head")

    def waiting(rows: sa.FromClause) -> sa.ColumnElement[bool]:
        return (rows.c.status == sa.literal_column("'pending'")) & (rows.c.channel == sa.bindparam("channel"))

    start = sa.select(first.c.lane).where(waiting(first)).order_by(first.c.lane).limit(_ONE).scalar_subquery()
    lanes = sa.select(start.label("lane")).cte("lanes", recursive=True)
    following = sa.select(after.c.lane).where(waiting(after), after.c.lane > lanes.c.lane)
    step = sa.select(following.order_by(after.c.lane).limit(_ONE).scalar_subquery()).where(lanes.c.lane.is_not(None))
    lanes = lanes.union_all(step)
    due_at = sa.select(head.c.due_at).where(waiting(head), head.c.lane == lanes.c.lane)
    soonest = due_at.order_by(head.c.due_at).limit(_ONE).scalar_subquery()
    return sa.select(lanes.c.lane, soonest.label("due_at")).where(lanes.c.lane.is_not(None))


_HEADS = Prepared(_heads())


def void_leases(tx: Tx, *, owner: str, now: datetime) -> int:
    """Give back what anybody but ``owner`` had in hand: due now, and perhaps sent already. How many."""
    return _void(tx, outbox.c.lease_owner != owner, now)


def take_back(tx: Tx, gone: Sequence[str], now: datetime) -> int:
    """Give back what the workers in ``gone`` had in hand. How many.

    A worker that lives keeps its rows, however long they wait for their turn. Who is no worker at all (forgotten, or
    of a version that does not beat) keeps them until the lease ends.
    """
    unknown = outbox.c.lease_owner.not_in(sa.select(workers.c.id)) & (outbox.c.lease_until < now)
    return _void(tx, outbox.c.lease_owner.in_(gone) | unknown, now)


def _void(tx: Tx, whose: sa.ColumnElement[bool], now: datetime) -> int:
    abandoned = (outbox.c.status == sa.literal_column("'sending'")) & whose
    again = {"status": RowStatus.PENDING.value, "ambiguous": True, "due_at": now, "reason": "interrupted"}
    return tx.conn.execute(outbox.update().where(abandoned).values(**again, lease_owner=None)).rowcount


_NO_LEASE = {"lease_owner": None, "lease_until": None}
_IN_NOBODYS_HANDS = {"status": RowStatus.PENDING.value, **_NO_LEASE}


def readdress(tx: Tx, row: Row, owner: str) -> bool:
    """Whom ``row`` is for, and through which reference, as it says now; False if ``owner`` has it no longer."""
    mine = (outbox.c.id == row.id) & (outbox.c.lease_owner == owner)
    to = {"address": row.address, "person": row.person, "body": None if row.body is None else dict(row.body)}
    return tx.conn.execute(outbox.update().where(mine).values(**to)).rowcount > 0


def give_back(tx: Tx, ids: Sequence[str], owner: str) -> None:
    """Rows that ``owner`` has in hand and has surely not sent: pending again."""
    if ids:
        mine = outbox.c.id.in_(ids) & (outbox.c.lease_owner == owner)
        tx.conn.execute(outbox.update().where(mine).values(**_IN_NOBODYS_HANDS))


def leased_before(conn: sa.Connection, owner: str, before: datetime) -> set[str]:
    """Ids of the rows that ``owner`` has in hand under leases that end before ``before``."""
    return set(conn.scalars(sa.select(outbox.c.id).where(_is_leased(owner, before))))


def give_back_mislaid(tx: Tx, ids: Collection[str], owner: str, before: datetime) -> int:
    """Those of ``ids`` that are still leased so are pending again: they were never handed to a sender. How many."""
    orphaned = outbox.c.id.in_(ids) & _is_leased(owner, before)
    return tx.conn.execute(outbox.update().where(orphaned).values(**_IN_NOBODYS_HANDS)).rowcount


def _is_leased(owner: str, before: datetime) -> sa.ColumnElement[bool]:
    sending = outbox.c.status == sa.literal_column("'sending'")
    return sending & (outbox.c.lease_owner == owner) & (outbox.c.lease_until < before)


_SETTLE = Prepared(
    outbox.update()
    .where(outbox.c.id == sa.bindparam("_id"), outbox.c.lease_owner == sa.bindparam("_owner"))
    .values({name: sa.bindparam(name) for name in ("status", "tries", "receipt", "reason", "settled_at")})
    .values(lease_owner=None, lease_until=None)
)
_FORGET = outbox.update().where(outbox.c.id == sa.bindparam("_id")).values(body=sa.bindparam("_left"))


def settle(
    tx: Tx,
    row: Row,
    status: RowStatus,
    now: datetime,
    owner: str,
    *,
    receipt: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> bool:
    """This row is done. What a short message said is forgotten, but for what it proposed: it may hold a sign-in link.

    False if ``owner`` has it in hand no longer; nothing is changed then.
    """
    settled = _SETTLE.count(
        tx.conn,
        {
            "_id": row.id,
            "_owner": owner,
            "status": status.value,
            "tries": row.tries,
            "receipt": None if receipt is None else dict(receipt),
            "reason": reason,
            "settled_at": now,
        },
    )
    if settled and row.kind is RowKind.TELL:
        tx.conn.execute(_FORGET, {"_id": row.id, "_left": _left_of(row)})
    return settled > 0


def _left_of(row: Row) -> Mapping[str, JsonValue] | None:
    """What stays of a short message: what was proposed, or that nothing was, and in which language. A bare yes that
    comes back means nothing without it."""
    body = row.body or {}
    return {name: body[name] for name in ("proposal", "language") if name in body} if "proposal" in body else None


def accept(tx: Tx, row: Row, now: datetime, receipt: Mapping[str, str]) -> bool:
    """A try that nobody waited for any more has got through: the row is delivered, unless somebody has it in hand
    again, or it is done."""
    waiting = (outbox.c.id == row.id) & (outbox.c.status == sa.literal_column("'pending'"))
    delivered = {"status": RowStatus.DELIVERED.value, "receipt": dict(receipt), "settled_at": now}
    forgotten = {"body": _left_of(row)} if row.kind is RowKind.TELL else {}
    return tx.conn.execute(outbox.update().where(waiting).values(**delivered, **forgotten)).rowcount > 0


def postpone(tx: Tx, row: Row, owner: str, *, due_at: datetime, reason: str) -> bool:
    """Another try at ``due_at``; ``row`` says how many there were and whether one may have got through.

    False if ``owner`` has it in hand no longer; nothing is changed then.
    """
    later = {
        "status": RowStatus.PENDING.value,
        "tries": row.tries,
        "ambiguous": row.ambiguous,
        "due_at": due_at,
        "reason": reason,
        **_NO_LEASE,
    }
    mine = (outbox.c.id == row.id) & (outbox.c.lease_owner == owner)
    return tx.conn.execute(outbox.update().where(mine).values(**later)).rowcount > 0


def hurry(tx: Tx, now: datetime) -> int:
    """Rows that wait for another try are due now: the clock that their delay was counted by was set back. How many."""
    waiting = (outbox.c.status == sa.literal_column("'pending'")) & (outbox.c.tries > 0) & (outbox.c.due_at > now)
    return tx.conn.execute(outbox.update().where(waiting).values(due_at=now)).rowcount


def next_due(conn: sa.Connection, channels: Sequence[str]) -> dict[str, datetime]:
    """When the next waiting row of each of ``channels`` is due; a channel with none is left out."""
    rows = _NEXT_DUE.all(conn, listed(channels))
    return {row.channel: row.due_at for row in rows if row.due_at is not None}


_asked = VALUES.subquery("asked")
_NEXT_DUE = Prepared(
    sa.select(
        _asked.c[0].label("channel"),
        sa.select(outbox.c.due_at)
        .where(outbox.c.status == sa.literal_column("'pending'"), outbox.c.channel == _asked.c[0])
        .order_by(outbox.c.due_at)
        .limit(_ONE)
        .scalar_subquery()
        .label("due_at"),
    )
)


_OF_SUSPENSION = Prepared(
    sa.select(*_COLUMNS)
    .where(outbox.c.suspension_id == sa.bindparam("suspension_id"))
    .order_by(outbox.c.created_at, outbox.c.id)
)


def of_suspension(conn: sa.Connection, suspension_id: str) -> list[Row]:
    """Everything that was or will be sent about one suspension, oldest first."""
    return [_row(row) for row in _OF_SUSPENSION.all(conn, {"suspension_id": suspension_id})]


def earlier_receipts(conn: sa.Connection, row: Row) -> list[Mapping[str, str]]:
    """Of the question's notices of earlier attempts that ``row``'s channel has accepted, oldest first. What belongs to
    no attempt comes after all of them."""
    rows = of_suspension(conn, row.suspension_id or "")
    return [
        one.receipt
        for one in rows
        if one.kind is RowKind.NOTIFY and one.channel == row.channel
        if row.attempt is None or (one.attempt or 0) < row.attempt
        if one.status is RowStatus.DELIVERED and one.receipt
    ]


def end_notices(tx: Tx, suspension_id: str, now: datetime, withdrawing: Collection[str]) -> list[Row]:
    """The question has ended: drop the notices that were surely not sent; returns those that one of the channels
    ``withdrawing`` has accepted, and those that may be there although nobody can say so.

    One that may have been sent stays: its next try finds out, and it is withdrawn then. Changes to messages that wait
    are dropped too, since what follows shows more. What else went out before is not read: it may be fifty mails.
    """
    rows = [_row(row) for row in _TO_END.all(tx.conn, _of(suspension_id, withdrawing))]
    waiting = [row.id for row in rows if row.status is RowStatus.PENDING]
    if waiting:
        gone = {"status": RowStatus.DROPPED.value, "reason": "question_ended", "settled_at": now}
        tx.conn.execute(outbox.update().where(outbox.c.id.in_(waiting)).values(**gone))
    return [row for row in rows if row.status is not RowStatus.PENDING]


def _of(suspension_id: str, channels: Collection[str]) -> Mapping[str, str]:
    return {"suspension_id": suspension_id, **listed(channels)}


_is_waiting = outbox.c.status == sa.literal_column("'pending'")
_is_unsent = _is_waiting & ((is_notice & ~outbox.c.ambiguous) | (outbox_kind == sa.literal_column("'withdraw'")))
_was_dropped = (outbox.c.status == sa.literal_column("'dropped'")) & outbox.c.receipt.is_not(None)
_may_be_there = is_notice & ((outbox.c.status == sa.literal_column("'delivered'")) | _was_dropped)
_TO_END = Prepared(
    sa.select(*_COLUMNS)
    .where(outbox.c.suspension_id == sa.bindparam("suspension_id"))
    .where(_is_unsent | (_may_be_there & outbox.c.channel.in_(VALUES)))
    .order_by(outbox.c.created_at, outbox.c.id)
)


RETURNED = "returned: "
"""How the ``reason`` of a notice begins that its channel had accepted, and that came back."""


def refuse_returned(tx: Tx, row_id: str, why: str, now: datetime) -> bool:
    """A notice has come back for good: it is refused, though its channel had accepted it, or was about to say so.

    False if nothing of the kind can have been sent, or if it was settled otherwise. Whoever has it in hand
    learns when they settle it (``core/delivery/leases.py``).
    """
    own = outbox.c
    tried = (own.status == sa.literal_column("'pending'")) & ((own.tries > 0) | own.ambiguous)
    may_be_out = own.status.in_((RowStatus.DELIVERED.value, RowStatus.SENDING.value)) | tried
    refused = {"status": RowStatus.REFUSED.value, "reason": f"{RETURNED}{why}", "settled_at": now, **_NO_LEASE}
    mine = (own.id == row_id) & (own.kind == RowKind.NOTIFY.value) & may_be_out
    return tx.conn.execute(outbox.update().where(mine).values(**refused)).rowcount > 0


def has_returned(row: Row) -> bool:
    return row.status is RowStatus.REFUSED and (row.reason or "").startswith(RETURNED)


def latest_to(conn: sa.Connection, suspension_id: str, address: str, channel: str) -> Row | None:
    """The notice that ``address`` was last sent on ``channel``."""
    rows = [one for one in of_suspension(conn, suspension_id) if one.kind is RowKind.NOTIFY]
    mine = [one for one in rows if (one.address, one.channel) == (address, channel)]
    return max(mine, key=lambda one: (one.attempt or 0, one.created_at), default=None)


def withdrawn_since(conn: sa.Connection, channel: str, since: datetime) -> list[str]:
    """The suspensions whose notices on ``channel`` were to be withdrawn since then."""
    withdrawals = (outbox.c.kind == RowKind.WITHDRAW.value) & (outbox.c.created_at >= since)
    wanted = sa.select(outbox.c.suspension_id).where(withdrawals, outbox.c.channel == channel).distinct()
    return [one for one in conn.scalars(wanted) if one is not None]


_WITHDRAWN = Prepared(
    sa.select(*_COLUMNS).where(
        outbox.c.suspension_id == sa.bindparam("suspension_id"),
        outbox_kind == sa.literal_column("'withdraw'"),
        outbox.c.status == sa.literal_column("'delivered'"),
        outbox.c.reason == sa.bindparam("reason"),
    )
)


def withdrawn(conn: sa.Connection, suspension_id: str, remark: str) -> list[Row]:
    """The edits at the question's end that got through with this ``remark``."""
    return [_row(row) for row in _WITHDRAWN.all(conn, {"suspension_id": suspension_id, "reason": remark})]


NOBODY_ON_CALL = "nobody_on_call"
"""The ``reason`` of a notice that waits until somebody is on call: it reaches nobody, and is no hope of its attempt."""


def why_nobody(conn: sa.Connection, suspension_id: str, attempt: int) -> tuple[str, ...] | None:
    """The reasons for which ``attempt`` reaches nobody, each once; ``None`` if one of its notices is not refused for
    good, and does not wait for somebody to come on call."""
    own = outbox.c
    notices = (own.suspension_id == suspension_id) & is_notice & (own.attempt == attempt)
    waits = own.status.in_((RowStatus.PENDING.value, RowStatus.SENDING.value))
    hopeful = (own.status != RowStatus.REFUSED.value) & ~(waits & own.reason.is_not_distinct_from(NOBODY_ON_CALL))
    if conn.scalar(sa.select(own.id).where(notices, hopeful).limit(1)) is not None:
        return None
    reasons = conn.scalars(sa.select(own.reason).where(notices, own.reason.is_not(None)).distinct())
    return tuple(sorted(reasons))


def get(conn: sa.Connection, row_id: str) -> Row | None:
    row = conn.execute(sa.select(*_COLUMNS).where(outbox.c.id == row_id)).first()
    return None if row is None else _row(row)


def callbacks(
    conn: sa.Connection, *, status: str | None, created_by: str | None, before: tuple[datetime, str] | None, limit: int
) -> list[Row]:
    """Callbacks to agents, newest first; if ``created_by`` is given, those about its suspensions and to itself."""
    statuses = {None: (None,), "pending": ("pending", "sending")}.get(status, (status,))
    found = [row for one in statuses for row in _callbacks(conn, one, created_by, before, limit)]
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)[:limit]


def _callbacks(
    conn: sa.Connection, status: str | None, created_by: str | None, before: tuple[datetime, str] | None, limit: int
) -> list[Row]:
    own = outbox.c
    statement = sa.select(*_COLUMNS).where(own.kind == sa.literal_column("'resume'"))
    if status is not None:
        statement = statement.where(own.status == status)
    if status not in {None, RowStatus.DELIVERED.value}:
        statement = statement.where(own.status != sa.literal_column("'delivered'"))  # as its index says
    if created_by is not None:
        asked = sa.exists().where(suspensions.c.id == own.suspension_id, suspensions.c.created_by == created_by)
        told = own.suspension_id.is_(None) & (own.address == created_by)
        statement = statement.where(asked | told)
    return [_row(row) for row in conn.execute(newest_first(statement, own.created_at, own.id, before, limit))]


_CALLBACKS_OF = (
    sa.select(outbox.c.status, outbox.c.body)
    .where(outbox.c.suspension_id == sa.bindparam("suspension_id"), outbox_kind == sa.literal_column("'resume'"))
    .order_by(outbox.c.created_at)
)
_CALLBACKS = Prepared(_CALLBACKS_OF)
_CALLBACKS_HELD = Prepared(_CALLBACKS_OF.with_for_update(read=True))
_AGENT_TOLD = {
    RowStatus.DELIVERED: AgentTold.TOLD,
    RowStatus.REFUSED: AgentTold.REFUSED,
    RowStatus.DEAD: AgentTold.GIVEN_UP,
}


def agent_told(conn: sa.Connection, suspension_id: str) -> AgentTold:
    """Whether the agent has been told how this question, which has ended, did."""
    return _told(_CALLBACKS.all(conn, {"suspension_id": suspension_id}))


def agent_told_by_now(tx: Tx, suspension_id: str) -> AgentTold:
    """As :func:`agent_told`. Whoever would settle the callback otherwise waits until this transaction is over."""
    return _told(_CALLBACKS_HELD.all(tx.conn, {"suspension_id": suspension_id}))


def _told(callbacks: Sequence[Any]) -> AgentTold:
    ends = [row.status for row in callbacks if not asks_back(row.body)]
    return _AGENT_TOLD.get(RowStatus(ends[-1]), AgentTold.NOT_YET) if ends else AgentTold.ASKS


def asks_back(body: Mapping[str, Any] | None) -> bool:
    """Whether a callback's row asks the agent to clarify, and tells it of no end."""
    told: Mapping[str, Any] = (body or {}).get("body") or {}
    return told.get("type") == ASKED_BACK


def redrive(tx: Tx, row_id: str, now: datetime) -> None:
    """Begin again with a dead or refused callback, under the same id, with the full time to give up."""
    again = {"status": RowStatus.PENDING.value, "tries": 0, "due_at": now, "created_at": now, "settled_at": None}
    tx.conn.execute(outbox.update().where(outbox.c.id == row_id).values(**again, reason="redriven"))


def remove_settled(tx: Tx, before: datetime, limit: int) -> int:
    """Remove rows that belong to no suspension and were done ``before`` then. How many."""
    old = sa.select(outbox.c.id).where(outbox.c.suspension_id.is_(sa.null()), outbox.c.settled_at < before)
    return tx.conn.execute(outbox.delete().where(outbox.c.id.in_(old.limit(limit)))).rowcount


def _row(row: Any) -> Row:
    values = row._asdict()
    values["kind"], values["status"] = RowKind(values["kind"]), RowStatus(values["status"])
    return Row(**values)


_IS_OURS = outbox.c.channel != SUBSCRIBERS
"""A subscriber that does not answer keeps its events waiting. That is nobody's fault here."""


def overdue(conn: sa.Connection, now: datetime, grace: timedelta) -> str | None:
    """``question``, ``message`` or ``sending`` where one of those has been due for longer than ``grace``, or has been
    in hand for longer than its lease; ``None`` if all is in time."""
    late = now - grace
    waiting = {
        "question": (suspensions.c.status == sa.literal_column("'open'")) & (suspensions.c.look_at < late),
        "message": (outbox.c.status == sa.literal_column("'pending'")) & (outbox.c.due_at < late) & _IS_OURS,
        "sending": (outbox.c.status == sa.literal_column("'sending'")) & (outbox.c.lease_until < now),
    }
    for what, condition in waiting.items():
        if conn.scalar(sa.select(sa.literal(1)).where(condition).limit(1)):
            return what
    return None
