"""Suspensions, to and from their rows. The constant part is written once (``ask``); each moving field has its own
column."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from core.database.database import Tx, is_file
from core.database.prepared import Prepared
from core.database.recordsets import by_ids, listed
from core.domain.audience import Audience, audience_of
from core.domain.earlier_answers import answers_to
from core.domain.insights import HowEnded, how_ended
from core.domain.intent import Wait
from core.domain.same_ask import is_denied
from core.domain.suspension import (
    Ask,
    Assignment,
    Claim,
    Clarification,
    Ended,
    PartialAnswer,
    Status,
    Suspension,
    UndoableAnswer,
)
from core.domain.wire import json_text
from core.domain.wording import stated_risk
from core.errors import Conflict
from core.store import inbox_entries, participants
from core.store.tables import archived, is_notice, outages, outbox, suspensions

_ASK: TypeAdapter[Ask] = TypeAdapter(Ask)
_CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)
_ENDED: TypeAdapter[Ended] = TypeAdapter(Ended)
_ANSWERS: TypeAdapter[tuple[PartialAnswer, ...]] = TypeAdapter(tuple[PartialAnswer, ...])
_ASSIGNED: TypeAdapter[tuple[Assignment, ...]] = TypeAdapter(tuple[Assignment, ...])
_CLARIFICATIONS: TypeAdapter[tuple[Clarification, ...]] = TypeAdapter(tuple[Clarification, ...])
_UNDOABLE: TypeAdapter[UndoableAnswer] = TypeAdapter(UndoableAnswer)

_SHARES = 8

REF_START = "HR-"
_REF_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""No 0, 1, I, L, O or U: a ref is read out on the phone."""
_SHORTEST_REF = 4

ASK = sa.type_coerce(suspensions.c.ask, sa.Text).label("ask")
"""As it is written."""
COLUMNS = (
    ASK,
    suspensions.c.status,
    suspensions.c.attempt,
    suspensions.c.held,
    suspensions.c.claim,
    suspensions.c.ended,
    suspensions.c.shift,
    suspensions.c.look_at,
    suspensions.c.version,
    suspensions.c.answers,
    suspensions.c.assigned,
    suspensions.c.clarifications,
    suspensions.c.undoable,
    suspensions.c.outage_shift,
    suspensions.c.agents,
)


def insert(tx: Tx, suspension: Suspension) -> None:
    """Keep a new suspension. Raises ``IntegrityError`` where its ref, its intent or its signal id is taken."""
    ask, audience = suspension.ask, audience_of(suspension)
    _INSERT.run(
        tx.conn,
        {
            "id": ask.id,
            "ref": ask.ref,
            "intent_id": ask.intent_id,
            "created_by": ask.created_by,
            "session_id": ask.resume.session_id,
            "signal_id": ask.resume.signal_id,
            "invocation_id": ask.resume.invocation_id,
            "question": ask.question,
            "action_digest": ask.action_digest,
            "risk": None if (risk := stated_risk(ask.decision_record, ask.context)) is None else risk.rank,
            "ask": json_text(_ASK.dump_python(ask, mode="json")),
            "suspended_at": ask.suspended_at,
            **_moving(suspension, audience),
        },
    )
    if suspension.is_open:
        inbox_entries.keep(tx, [(suspension, audience)])


def update(tx: Tx, moved: Sequence[Suspension]) -> None:
    """Replace what moves of each, provided that the stored record is still at the version before its own. Raises
    :class:`Conflict`."""
    if not moved:
        return
    those = [(one, audience_of(one)) for one in moved]
    rows = [{**_moving(one, audience), "_id": one.id, "_version": one.version - 1} for one, audience in those]
    if _UPDATE.count(tx.conn, *rows) < len(rows):
        raise Conflict("The suspension has moved meanwhile; ask again.")
    inbox_entries.keep(tx, those)
    participants.keep(tx, moved)


_MOVING = (
    "status",
    "attempt",
    "channel",
    "held",
    "claim",
    "ended",
    "shift",
    "look_at",
    "version",
    "answers",
    "assigned",
    "clarifications",
    "undoable",
    "outage_shift",
    "expires_at",
    "audience",
    "audience_version",
    "agents",
    "entered_version",
    "answered_at",
    "denied_at",
    "outcome",
    "ended_at",
    "ended_on",
    "ended_by",
)
_INSERT = Prepared(
    suspensions.insert().values(
        ask=sa.bindparam("ask", type_=sa.Text), caught_up=sa.select(sa.func.max(outages.c.id)).scalar_subquery()
    )
)
_UPDATE = Prepared(
    suspensions.update()
    .where(suspensions.c.id == sa.bindparam("_id"), suspensions.c.version == sa.bindparam("_version"))
    .values({name: sa.bindparam(name) for name in _MOVING})
)


def _moving(suspension: Suspension, audience: Audience) -> dict[str, Any]:
    """What :data:`_MOVING` names, in its order."""
    return {
        "status": suspension.status.value,
        "attempt": suspension.attempt,
        "channel": suspension.ask.planned(suspension.attempt).channel,
        "held": list(suspension.held),
        "claim": None if suspension.claim is None else _CLAIM.dump_python(suspension.claim, mode="json"),
        "ended": None if suspension.ended is None else _ENDED.dump_python(suspension.ended, mode="json"),
        "shift": suspension.shift,
        "look_at": suspension.look_at,
        "version": suspension.version,
        "answers": _several(_ANSWERS, suspension.answers),
        "assigned": _several(_ASSIGNED, suspension.assigned),
        "clarifications": _several(_CLARIFICATIONS, suspension.clarifications),
        "undoable": None if suspension.undoable is None else _UNDOABLE.dump_python(suspension.undoable, mode="json"),
        "outage_shift": suspension.outage_shift or None,
        "expires_at": suspension.expires_at,
        "audience": audience.written() if suspension.is_open else None,
        "audience_version": suspension.version,
        "agents": list(suspension.agents) or None,
        "entered_version": suspension.version,
        **_answered(suspension),
        **outcome_values(suspension.status, suspension.ended),
    }


def _answered(suspension: Suspension) -> dict[str, datetime | None]:
    """When it ended by people's answers, and when by a no: of a question about an action, whose like may come again."""
    ended = suspension.ended
    if ended is None or suspension.ask.action_digest is None or not answers_to(suspension):
        return {"answered_at": None, "denied_at": None}
    return {"answered_at": ended.at, "denied_at": ended.at if is_denied(suspension) else None}


def outcome_values(status: Status, ended: Ended | None) -> dict[str, Any]:
    """How and when it ended, and for an answer who gave it where: what figures are computed of. Nothing while it is
    open."""
    how = how_ended(status, ended)
    answered = ended if how is HowEnded.ANSWERED else None
    return {
        "outcome": None if how is None else how.value,
        "ended_at": None if ended is None or how is None else ended.at,
        "ended_on": None if answered is None else answered.channel,
        "ended_by": None if answered is None else answered.by,
    }


def ended_of(value: Any) -> Ended | None:
    """The end in the column ``ended``."""
    return None if value is None else _ENDED.validate_python(value)


def _several(adapter: TypeAdapter[Any], records: tuple[Any, ...]) -> Any:
    """NULL if there are none, as in the rows of an older version."""
    return adapter.dump_python(records, mode="json") if records else None


def record(row: Any) -> Suspension:
    """The suspension in a row that has :data:`COLUMNS`."""
    return Suspension(
        ask=_ask(row.ask),
        status=Status(row.status),
        attempt=row.attempt,
        held=tuple(row.held),
        claim=None if row.claim is None else _CLAIM.validate_python(row.claim),
        ended=ended_of(row.ended),
        shift=row.shift or timedelta(0),
        outage_shift=row.outage_shift or timedelta(0),
        look_at=row.look_at,
        version=row.version,
        answers=_ANSWERS.validate_python(row.answers) if row.answers else (),
        assigned=_ASSIGNED.validate_python(row.assigned) if row.assigned else (),
        clarifications=_CLARIFICATIONS.validate_python(row.clarifications) if row.clarifications else (),
        undoable=None if row.undoable is None else _UNDOABLE.validate_python(row.undoable),
        agents=tuple(row.agents or ()),
    )


def _ask(text: str) -> Ask:
    try:
        return _ASK.validate_json(text)
    except ValidationError:  # pydantic takes no lone surrogate, and an older version has let them in
        return _ASK.validate_python(json.loads(text))


_BY_ID = Prepared(sa.select(*COLUMNS).where(suspensions.c.id == sa.bindparam("id")))
_BY_IDS = by_ids(sa.select(*COLUMNS), suspensions.c.id)
_REF_IS_TAKEN = Prepared(
    sa.select(
        (
            sa.exists().where(suspensions.c.ref == sa.bindparam("ref"))
            | sa.exists().where(archived.c.ref == sa.bindparam("ref"))
        ).label("taken")
    )
)
_ID_IS_TAKEN = sa.select(
    sa.exists().where(suspensions.c.id == sa.bindparam("id")) | sa.exists().where(archived.c.id == sa.bindparam("id"))
)
_STATUS_SHARED = Prepared(
    sa.select(suspensions.c.status).where(suspensions.c.id == sa.bindparam("id")).with_for_update(read=True)
)
_BY_REF = sa.select(*COLUMNS).where(suspensions.c.ref == sa.bindparam("ref"))


def get(conn: sa.Connection, suspension_id: str) -> Suspension | None:
    row = _BY_ID.first(conn, {"id": suspension_id})
    return None if row is None else record(row)


def those(conn: sa.Connection, suspension_ids: Sequence[str]) -> Mapping[str, Suspension]:
    """By id, of those that there are."""
    if len(suspension_ids) < 2:
        found = [get(conn, one) for one in suspension_ids]
        return {one.id: one for one in found if one is not None}
    return {one.id: one for one in map(record, _BY_IDS.all(conn, listed(suspension_ids)))}


def is_still_open(tx: Tx, suspension_id: str) -> bool:
    """Whether it waits; and whoever would end it waits until this transaction is over."""
    return _STATUS_SHARED.scalar(tx.conn, {"id": suspension_id}) == Status.AWAITING.value


def by_ref(conn: sa.Connection, ref: str) -> Suspension | None:
    row = conn.execute(_BY_REF, {"ref": ref}).first()
    return None if row is None else record(row)


def free_ref(conn: sa.Connection) -> str:
    """A reference that nobody has; longer where the short ones get scarce."""
    length = _SHORTEST_REF
    while ref_is_taken(conn, ref := new_ref(length)):
        length += 1
    return ref


def new_ref(length: int) -> str:
    """A public name for a question, ``HR-7F3K``. It authorises nothing."""
    number, signs = secrets.randbelow(len(_REF_ALPHABET) ** length), list[str]()
    for _ in range(length):  # one number: the system is asked once, not for each sign
        number, sign = divmod(number, len(_REF_ALPHABET))
        signs.append(_REF_ALPHABET[sign])
    return REF_START + "".join(signs)


def ref_is_taken(conn: sa.Connection, ref: str) -> bool:
    """Whether a question has or had this ref, moved out though it may be (API.md §6)."""
    return bool(_REF_IS_TAKEN.scalar(conn, {"ref": ref}))


def id_is_taken(conn: sa.Connection, suspension_id: str) -> bool:
    """Whether a question has or had this id, moved out though it may be."""
    return bool(conn.scalar(_ID_IS_TAKEN, {"id": suspension_id}))


def open_by_signal(conn: sa.Connection, signal_id: str, creator: str | None) -> dict[str, str]:
    """The ids of the open suspensions that registered ``signal_id``, by the key that made each; of ``creator`` alone,
    if it is given."""
    waiting = (suspensions.c.signal_id == signal_id) & (suspensions.c.status == sa.literal_column("'open'"))
    if creator is not None:
        waiting &= suspensions.c.created_by == creator
    found = conn.execute(sa.select(suspensions.c.created_by, suspensions.c.id).where(waiting))
    return {row.created_by: row.id for row in found}


def latest_by_signal(conn: sa.Connection, signal_id: str, creator: str | None) -> str | None:
    """The id of the newest suspension that registered ``signal_id``, open or ended; of ``creator`` alone, if it is
    given."""
    mine = sa.select(suspensions.c.id).where(suspensions.c.signal_id == signal_id)
    if creator is not None:
        mine = mine.where(suspensions.c.created_by == creator)
    found: str | None = conn.scalar(mine.order_by(suspensions.c.suspended_at.desc()).limit(1))
    return found


def open_of_intent(conn: sa.Connection, intent_id: str) -> str | None:
    waiting = (suspensions.c.intent_id == intent_id) & (suspensions.c.status == sa.literal_column("'open'"))
    found: str | None = conn.scalar(sa.select(suspensions.c.id).where(waiting))
    return found


def waits(conn: sa.Connection, intent_id: str) -> list[Wait]:
    """When the intent waited for a person, in order, as far as the suspensions are still in the database."""
    own = suspensions.c
    statement = sa.select(own.suspended_at, own.ended).where(own.intent_id == intent_id)
    rows = conn.execute(statement.order_by(own.suspended_at, own.id))
    return [Wait(row.suspended_at, None if row.ended is None else _ENDED.validate_python(row.ended).at) for row in rows]


EVER = datetime(1970, 1, 1, tzinfo=UTC)


def due(conn: sa.Connection, now: datetime, limit: int, since: datetime = EVER) -> list[str]:
    """Ids of open suspensions that the clock has to look at and had not to before ``since``, the most overdue first."""
    return [row.id for row in _DUE.all(conn, {"now": now, "limit": limit, "since": since})]


_IS_DUE = (suspensions.c.look_at <= sa.bindparam("now")) & (suspensions.c.look_at >= sa.bindparam("since"))
_DUE = Prepared(
    sa.select(suspensions.c.id)
    .where(suspensions.c.status == sa.literal_column("'open'"), _IS_DUE)
    .order_by(suspensions.c.look_at)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)


def share_of_due(conn: sa.Connection, now: datetime, limit: int, since: datetime = EVER) -> list[str]:
    """Up to ``limit`` of :func:`due`. On PostgreSQL several workers look at once: each takes its share of a backlog at
    random, so that they seldom meet at the same row."""
    if is_file(conn):
        return due(conn, now, limit, since)
    backlog = due(conn, now, limit * _SHARES, since)
    return backlog if len(backlog) <= limit else random.sample(backlog, limit)


def next_look(conn: sa.Connection) -> datetime | None:
    return _NEXT_LOOK.scalar(conn, {})


_NEXT_LOOK = Prepared(
    sa.select(suspensions.c.look_at)
    .where(suspensions.c.status == sa.literal_column("'open'"), suspensions.c.look_at.is_not(None))
    .order_by(suspensions.c.look_at)
    .limit(1)
)


def any_notice_delivered(conn: sa.Connection, suspension_id: str, apart_from: Collection[str] = ()) -> bool:
    """Whether a channel, other than those in ``apart_from``, has accepted at least one notice of this suspension."""
    accepted = (outbox.c.suspension_id == suspension_id) & is_notice & (outbox.c.status == "delivered")
    if apart_from:
        accepted &= outbox.c.channel.not_in(sorted(apart_from))
    return conn.scalar(sa.select(outbox.c.id).where(accepted).limit(1)) is not None


def count_open_by(conn: sa.Connection, creator: str) -> int:
    """How many questions of the key ``creator`` wait."""
    waiting = (suspensions.c.created_by == creator) & (suspensions.c.status == sa.literal_column("'open'"))
    return conn.scalar(sa.select(sa.func.count()).select_from(suspensions).where(waiting)) or 0


def asked_since(conn: sa.Connection, creator: str, since: datetime) -> list[datetime]:
    """When the key ``creator`` has asked after ``since``, the latest first; ended questions count too."""
    asked = (suspensions.c.created_by == creator) & (suspensions.c.suspended_at > since)
    statement = sa.select(suspensions.c.suspended_at).where(asked).order_by(suspensions.c.suspended_at.desc())
    return list(conn.scalars(statement))


def count_open(conn: sa.Connection) -> int:
    statement = sa.select(sa.func.count()).where(suspensions.c.status == sa.literal_column("'open'"))
    return conn.scalar(statement.select_from(suspensions)) or 0
