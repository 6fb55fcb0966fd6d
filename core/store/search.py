"""Search: which questions may contain a text, by the index and by what it has not reached.

Each question is in one of three places: in the log alone, noted, or in a segment (:mod:`core.store.search_index`). A
search looks into all three. The words of those that no segment has are kept in memory (:class:`Unindexed`).

Source: docs/decisions/0080.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.prepared import Prepared
from core.database.recordsets import by_ids, compact, listed, values
from core.store import event_log
from core.store.search_index import FOLLOWER
from core.store.tables import log_followers, search_entries, search_segments, search_terms, suspensions
from core.store.trigrams import SEGMENT, bitmap, folded, looked_up, of_creator, places

MOST_FOUND = 1_000
"""A text that more may have is found sooner by reading the newest questions."""
_MOST_BEHIND = 12_000
"""Lines of the log. If the index is farther behind, questions are read as if there was none."""
_MOST_WAITING = 4_096
"""Questions that are noted and in no segment; likewise."""

_entry, _segment, _term, _follower = search_entries.c, search_segments.c, search_terms.c, log_followers.c


class Candidates(NamedTuple):
    """Questions that may contain a text: by their ``ids``, or by their ``numbers`` in the index."""

    ids: Collection[str]
    numbers: Collection[int]


def may_contain(conn: sa.Connection, text: str, creator: str | None, unindexed: Unindexed) -> Candidates | None:
    """All questions that contain ``text``, of ``creator`` alone if it is given; some of them may not contain it.

    ``None`` if the index does not help: the text is too short, very many have it, or the index is not made yet. The
    order matters in which the log, the entries and the segments are read: a question goes from one to the next, and
    never back.
    """
    wanted = looked_up(text)
    if not wanted:
        return None
    [behind] = _LOGGED[conn.dialect.name].all(conn, {})
    [waiting] = _NOTED[conn.dialect.name].all(conn, {})
    if behind.begun is None or behind.lines == _MOST_BEHIND or waiting.questions == _MOST_WAITING:
        return None
    found = _in_segments(conn, wanted if creator is None else [*wanted, of_creator(creator)])
    if sum(bits.bit_count() for bits in found.values()) > MOST_FOUND:
        return None
    ids = unindexed.having(conn, {*_opened(behind.opened), *_split(waiting.ids)}, wanted, creator)
    return Candidates(ids, [segment * SEGMENT + place for segment, bits in found.items() for place in places(bits)])


# --- What no segment has ----------------------------------------------------------------------------------------------

_MOST_LETTERS = 2_000_000
_READ_AT_ONCE = 256


class _Words(NamedTuple):
    creator: str
    text: str


class Unindexed:
    """The questions that no segment has, as far as this process has read them: who asked, and their words, folded. A
    question's words never change. They are forgotten when a segment has them.

    Of long questions not all are kept in memory: up to about :data:`_MOST_LETTERS`.
    """

    def __init__(self) -> None:
        self._known: Mapping[str, _Words] = {}

    def having(
        self, conn: sa.Connection, ids: Collection[str], wanted: Collection[str], creator: str | None
    ) -> Collection[str]:
        """Those of ``ids`` that have the trigrams ``wanted`` and are of ``creator``, if it is given; and those that are
        not kept."""
        known = self._read(conn, ids)
        found = [one for one, words in known.items() if creator is None or words.creator == creator]
        for trigram in wanted:
            found = [one for one in found if trigram in known[one].text]
        return {*found, *(ids - known.keys())}

    def _read(self, conn: sa.Connection, ids: Collection[str]) -> Mapping[str, _Words]:
        """What is known of ``ids``, from here on too. Several threads may do this at once: each has its own."""
        before = self._known
        known = {one: before[one] for one in ids if one in before}
        unread = [one for one in ids if one not in before]
        letters = sum(len(words.text) for words in known.values()) if unread else 0
        while unread and letters < _MOST_LETTERS:
            some, unread = unread[:_READ_AT_ONCE], unread[_READ_AT_ONCE:]
            for row in _QUESTIONS.all(conn, listed(some)):
                known[row.id] = _Words(row.created_by, folded(row.question))
                letters += len(row.question)
        self._known = known
        return known


_QUESTIONS = by_ids(sa.select(suspensions.c.id, suspensions.c.question, suspensions.c.created_by), suspensions.c.id)

_BETWEEN = ","
"""What many rows hold comes as one text: a row for each would cost more than what is in it."""


_AS_ONE: Mapping[str, Callable[..., sa.Function[str]]] = {
    "sqlite": sa.func.group_concat,
    "postgresql": sa.func.string_agg,
}


def _split(together: str | None) -> list[str]:
    return [] if together is None else together.split(_BETWEEN)


def _logged(dialect: str) -> Prepared:
    """What the log has asked behind the index, how many lines it has there, and a number if the index has begun."""
    transaction_id, seq = (
        sa.select(column).where(_follower.name == FOLLOWER).scalar_subquery()
        for column in (_follower.transaction_id, _follower.seq)
    )
    lines = event_log.lines_behind(dialect, transaction_id, seq, _MOST_BEHIND)
    opened = _AS_ONE[dialect](lines.opened, _BETWEEN)
    return Prepared(sa.select(seq.label("begun"), sa.func.count(lines.seq).label("lines"), opened.label("opened")))


def _opened(together: str | None) -> list[str]:
    """The ids in payloads. They are taken apart here: PostgreSQL reads no JSON that has a NUL in it, and an older
    version has let that in."""
    return [] if together is None else [str(one["suspension_id"]) for one in json.loads(f"[{together}]")]


_LOGGED = {dialect: _logged(dialect) for dialect in _AS_ONE}

_first_of_none = sa.func.coalesce(sa.select(sa.func.max(_segment.segment) + 1).scalar_subquery(), 0) * SEGMENT
_in_no_segment = sa.select(_entry.suspension_id).where(_entry.number >= _first_of_none).order_by(_entry.number)
_waiting = _in_no_segment.limit(_MOST_WAITING).subquery("waiting").c.suspension_id
_summed_up: sa.Select[Any] = sa.select(sa.func.count(_waiting).label("questions"))
_NOTED = {
    dialect: Prepared(_summed_up.add_columns(together(_waiting, _BETWEEN).label("ids")))
    for dialect, together in _AS_ONE.items()
}

# --- Segments ---------------------------------------------------------------------------------------------------------

_count = sa.func.count()
_all_of_one = (
    sa.select(sa.func.string_agg(sa.func.encode(_term.questions, "hex"), _BETWEEN).label("together"), _count.label("n"))
    .where(
        _term.segment == _segment.segment,
        _term.term == sa.any_(sa.func.array(values("wanted").scalar_subquery())),
    )
    .lateral("of_one")
)
_each: Mapping[str, sa.Select[Any]] = {
    "sqlite": sa.select(_term.segment, sa.func.group_concat(sa.func.hex(_term.questions), _BETWEEN).label("together"))
    .where(_term.segment.in_(sa.select(_segment.segment)), _term.term.in_(values("wanted")))
    .group_by(_term.segment)
    .having(_count == sa.bindparam("count", type_=sa.Integer)),
    "postgresql": sa.select(_segment.segment, _all_of_one.c.together).join_from(
        search_segments, _all_of_one, _all_of_one.c.n == sa.bindparam("count", type_=sa.Integer)
    ),
}
_HAVING = {dialect: Prepared(statement) for dialect, statement in _each.items()}
"""What the terms hold of the segments that have all that are wanted. PostgreSQL would read all rows: for each segment
it takes the index."""


def _in_segments(conn: sa.Connection, wanted: Collection[str]) -> Mapping[int, int]:
    """The questions that have all terms ``wanted``: a bitmap for each segment."""
    rows = _HAVING[conn.dialect.name].all(conn, {"wanted": compact(wanted), "count": len(wanted)})
    return {row.segment: _of_all(_split(row.together)) for row in rows}


def _of_all(kept: Sequence[str]) -> int:
    """The places that are in each of what terms hold, in hexadecimal digits: rare terms first."""
    bits = -1
    for one in sorted(kept, key=len):
        bits &= bitmap(bytes.fromhex(one))
        if not bits:
            break
    return bits
