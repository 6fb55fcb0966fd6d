"""The search index: which questions may contain a text, by its trigrams. Made behind the log, a segment at a time.

    in the log ──▶ noted (``search_entries``: a number) ──▶ in a segment (``search_terms``: which of its questions
                                                             have a trigram)

Writing a question costs nothing more. What is not noted yet, or in no segment yet, is looked through itself
(:mod:`core.store.search`): nothing is ever missing. One process at a time moves the index (the follower's row is
locked); any number read it.

What leaves the database leaves its segment with the next step (:func:`forget`, :func:`clean`).

Source: docs/decisions/0080.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import Recordset, by_ids, listed
from core.store import log_followers
from core.store.log_followers import Cursor
from core.store.tables import search_entries, search_segments, search_terms, suspensions
from core.store.trigrams import SEGMENT, Terms, bitmap, packed, places

FOLLOWER = "search"
"""The follower's name in ``log_followers``."""

_LETTERS_AT_ONCE = 100_000
"""Of questions, whose terms are made in a twentieth of a second. What else the clock looks at waits for that."""
_PLACES_AT_ONCE = 64

_START = (0, 0)
_entry, _segment, _term = search_entries.c, search_segments.c, search_terms.c


# --- Noting what the log says -----------------------------------------------------------------------------------------


def begin(tx: Tx) -> None:
    """Follow the log from its start, unless the index has begun."""
    log_followers.lock(tx, FOLLOWER, _START)


def note(tx: Tx, cursor: Cursor, reached: Cursor, ids: Sequence[str]) -> None:
    """Give the questions ``ids`` numbers; the log is followed from ``cursor`` up to ``reached``. Does nothing if
    somebody else moves the index, or has moved it."""
    if log_followers.lock_free(tx, FOLLOWER) != cursor:
        return
    there = {row.id for row in _THERE.all(tx.conn, listed(ids))} if ids else set()
    noted = {row.suspension_id for row in _NOTED.all(tx.conn, listed(ids))} if ids else set()
    new = [one for one in dict.fromkeys(ids) if one in there and one not in noted]
    if new:
        highest = tx.conn.scalar(sa.select(sa.func.max(_entry.number)))
        first = max(_first_of_none(tx.conn), 0 if highest is None else highest + 1)
        _NUMBERED.run(tx.conn, [*enumerate(new, first)], each=_NUMBER, together=_NUMBER_TOGETHER)
    log_followers.move(tx, FOLLOWER, reached)


_NUMBERED = Recordset(*search_entries.c)
_NUMBER = Prepared(search_entries.insert())
_NUMBER_TOGETHER = _NUMBERED.together(
    lambda given: search_entries.insert().from_select([*given.c], sa.select(*given.c.values()))
)
_THERE = by_ids(sa.select(suspensions.c.id), suspensions.c.id)
_NOTED = by_ids(sa.select(_entry.suspension_id), _entry.suspension_id)


def _first_of_none(conn: sa.Connection) -> int:
    """The first number that no segment has. A number is never given twice as long as its segment is there."""
    last = conn.scalar(sa.select(sa.func.max(_segment.segment)))
    return 0 if last is None else (last + 1) * SEGMENT


# --- Segments ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """So many ``questions``, and for each term which of them have it."""

    number: int
    questions: int
    terms: Mapping[str, bytes]


@dataclass(slots=True)
class Making:
    """A segment that is being made: the terms of its questions before ``place``."""

    number: int
    place: int = 0
    terms: Terms = field(default_factory=Terms)


def make_some(conn: sa.Connection, begun: Making | None) -> Making | Segment | None:
    """Go on with the next segment, for some :data:`_LETTERS_AT_ONCE`, and return what is made by then. ``None`` if
    there are too few questions for one."""
    number = _next_full(conn)
    if number is None:
        return None
    making = begun if begun is not None and begun.number == number else Making(number)
    letters = 0
    while making.place < SEGMENT and letters < _LETTERS_AT_ONCE:
        letters += _add_some(conn, making)
    return making if making.place < SEGMENT else Segment(number, making.terms.questions, making.terms.packed())


def _next_full(conn: sa.Connection) -> int | None:
    """The next segment that no number will be given in any more."""
    waiting = sa.select(sa.func.min(_entry.number)).where(_entry.number >= _first_of_none(conn))
    first: int | None = conn.scalar(waiting)
    highest: int | None = conn.scalar(sa.select(sa.func.max(_entry.number)))
    if first is None or highest is None or highest // SEGMENT == first // SEGMENT:
        return None
    return first // SEGMENT


_QUESTIONS = by_ids(sa.select(suspensions.c.id, suspensions.c.question, suspensions.c.created_by), suspensions.c.id)


def _add_some(conn: sa.Connection, making: Making) -> int:
    """Add the questions of the next places that are still there; how many letters they have."""
    start, end = making.place, making.place + _PLACES_AT_ONCE
    place_of = {suspension_id: number % SEGMENT for number, suspension_id in _entries(conn, making.number, start, end)}
    rows = _QUESTIONS.all(conn, listed(place_of)) if place_of else ()
    for row in sorted(rows, key=lambda one: place_of[one.id]):
        making.terms.add(place_of[row.id], row.question, row.created_by)
    making.place = end
    return sum(len(row.question) for row in rows)


def _entries(conn: sa.Connection, segment: int, start: int = 0, end: int = SEGMENT) -> Sequence[tuple[int, str]]:
    """Numbers and ids of the questions at these places of a segment."""
    first = segment * SEGMENT
    mine = (_entry.number >= first + start) & (_entry.number < first + end)
    rows = conn.execute(sa.select(_entry.number, _entry.suspension_id).where(mine).order_by(_entry.number))
    return [(row.number, row.suspension_id) for row in rows]


def add(tx: Tx, made: Segment) -> None:
    """Keep a segment as :func:`make_some` has made it. Does nothing if somebody else moves the index, or has it."""
    if log_followers.lock_free(tx, FOLLOWER) is None or made.number * SEGMENT < _first_of_none(tx.conn):
        return
    values = {"segment": made.number, "questions": made.questions, "removals": 0, "cleaned": -1}
    tx.conn.execute(search_segments.insert().values(**values))
    _insert(tx, made)


def _insert(tx: Tx, made: Segment) -> None:
    """On PostgreSQL as one value: each row by itself would cost a message."""
    if tx.conn.dialect.name == "postgresql":
        written = json.dumps({term: questions.hex() for term, questions in made.terms.items()})
        tx.conn.execute(_INSERT_TOGETHER, {"segment": made.number, "terms": written})
    else:
        rows = [(made.number, term, questions) for term, questions in made.terms.items()]
        _INSERT.run_rows(tx.conn, ("segment", "term", "questions"), rows)


_INSERT = Prepared(search_terms.insert())
_INSERT_TOGETHER = sa.text(
    "INSERT INTO search_terms (segment, term, questions)"
    " SELECT :segment, key, decode(value, 'hex') FROM json_each_text(CAST(:terms AS json))"
)


# --- Forgetting what has left -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is left of a segment after so many ``removals``; ``None`` if nothing has left it."""

    segment: int
    removals: int
    left: Segment | None


def forget(tx: Tx, ids: Collection[str]) -> None:
    """Questions leave the database: they are found no more, and their segments are to be cleaned."""
    gone = search_entries.delete().where(_entry.suspension_id.in_(ids)).returning(_entry.number)
    segments = {number // SEGMENT for number in tx.conn.scalars(gone)}
    if segments:
        counted = search_segments.update().where(_segment.segment.in_(segments))
        tx.conn.execute(counted.values(removals=_segment.removals + 1))


def forgotten_elsewhere(conn: sa.Connection, segment: int) -> Collection[str]:
    """Ids of a segment's questions that have left the database: an older process forgets nothing."""
    ids = [suspension_id for _, suspension_id in _entries(conn, segment)]
    there = {row.id for row in _THERE.all(conn, listed(ids))}
    return [one for one in ids if one not in there]


def segment_after(conn: sa.Connection, segment: int) -> int | None:
    """The next one, ``None`` behind the last."""
    following = sa.select(sa.func.min(_segment.segment)).where(_segment.segment > segment)
    found: int | None = conn.scalar(following)
    return found


def cleaned(conn: sa.Connection) -> Cleaned | None:
    """A segment that was not looked at since something left it, or since it was made, as it shall be; ``None`` if there
    is none."""
    unclean = sa.select(search_segments).where(_segment.cleaned < _segment.removals).limit(1)
    row = conn.execute(unclean).first()
    if row is None:
        return None
    there = sum(1 << number % SEGMENT for number, _ in _entries(conn, row.segment))
    if there.bit_count() == row.questions:
        return Cleaned(row.segment, row.removals, None)
    rows = conn.execute(sa.select(_term.term, _term.questions).where(_term.segment == row.segment))
    left = {term: bits for term, questions in rows if (bits := bitmap(questions) & there)}
    kept = {term: packed([*places(left[term])]) for term in sorted(left)}
    return Cleaned(row.segment, row.removals, Segment(row.segment, there.bit_count(), kept))


def clean(tx: Tx, done: Cleaned) -> None:
    """Keep what :func:`cleaned` has left of a segment. Does nothing if somebody else moves the index or has done it."""
    if log_followers.lock_free(tx, FOLLOWER) is None:
        return
    mine = (_segment.segment == done.segment) & (_segment.cleaned < done.removals)
    if done.left is None:
        tx.conn.execute(search_segments.update().where(mine).values(cleaned=done.removals))
        return
    changed = search_segments.update().where(mine).values(cleaned=done.removals, questions=done.left.questions)
    if tx.conn.execute(changed).rowcount == 0:
        return
    tx.conn.execute(search_terms.delete().where(_term.segment == done.segment))
    if done.left.questions:
        _insert(tx, done.left)
    else:
        tx.conn.execute(search_segments.delete().where(_segment.segment == done.segment))
