"""A crowd of suspensions, loaded as rows: copies of one that the service itself has written.

Every copy is a whole one (intent, suspension, events, outbox, tokens) with names of its own and its instants moved.
Only the event log's MACs are the first one's: nobody checks them while serving.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import islice
from typing import Any

import psycopg
import sqlalchemy as sa

from core.store.tables import events, inbox_entries, intents, outbox, participants, suspensions, tokens

Later = Callable[[int], timedelta]
"""By how much the instants of copy ``n`` lie behind the original's."""

_OF = {
    intents: "id",
    suspensions: "intent_id",
    events: "intent_id",
    outbox: "suspension_id",
    tokens: "suspension_id",
    inbox_entries: "suspension_id",
    participants: "suspension_id",
}
_INSTANTS = {"ended_at", "look_at", "suspended_at", "created_at", "updated_at", "due_at", "settled_at"}
_AT_ONCE = 10_000
_INDEXES_ON = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix\\_%'",
}


@dataclass(frozen=True, slots=True)
class Original:
    """One suspension as stored: rows by table, as the driver gives them. Each copy has its own of ``names``."""

    rows: Mapping[sa.Table, Sequence[Mapping[str, Any]]]
    names: tuple[str, ...]
    instants: tuple[str, ...]


def read_original(url: str, asked: Mapping[str, Any], mailbox: str) -> Original:
    """Everything stored about the suspension ``asked``, which asks ``mailbox``."""
    ids = {"id": asked["intent_id"], "intent_id": asked["intent_id"], "suspension_id": asked["suspension_id"]}
    engine = sa.create_engine(url)
    with engine.connect() as conn:
        rows = {table: _stored(conn, table, ids[column], column) for table, column in _OF.items()}
    engine.dispose()
    ask = json.loads(rows[suspensions][0]["ask"])
    own = [row[name] for kept in rows.values() for row in kept for name in ("id", "digest", "ref") if name in row]
    return Original(rows, (*dict.fromkeys(own), mailbox), (ask["suspended_at"], ask["expires_at"]))


def _stored(conn: sa.Connection, table: sa.Table, wanted: str, column: str) -> list[dict[str, Any]]:
    """Rows without our types, and without the number that the database gives."""
    names = [column.name for column in table.c if column.name != "seq"]
    statement = sa.text(f"SELECT {', '.join(names)} FROM {table.name} WHERE {column} = :wanted")
    return [dict(row._mapping) for row in conn.execute(statement, {"wanted": wanted})]


def load(url: str, original: Original, count: int, later: Later) -> None:
    """Put ``count`` copies beside the original. Nobody else may use the database meanwhile."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        _load_sqlite(str(parsed.database), original, count, later)
    else:
        _load_postgres(parsed, original, count, later)


def _load_sqlite(path: str, original: Original, count: int, later: Later) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-1000000"):
            conn.execute(f"PRAGMA {pragma}")
        indexes = conn.execute(_INDEXES_ON["sqlite"]).fetchall() if count > _AT_ONCE else []
        conn.execute("BEGIN EXCLUSIVE")
        for name, _ in indexes:
            conn.execute(f"DROP INDEX {name}")
        for table, columns, rows in _batches(original, count, later):
            places = ", ".join("?" * len(columns))
            conn.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)
        for _, statement in indexes:
            conn.execute(statement)
        conn.execute("COMMIT")
        conn.execute("PRAGMA journal_mode=WAL")


def _load_postgres(url: sa.URL, original: Original, count: int, later: Later) -> None:
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as conn, conn.transaction():
        indexes = conn.execute(_INDEXES_ON["postgresql"]).fetchall()
        for name, _ in indexes:
            conn.execute(f"DROP INDEX {name}")
        for table, columns, rows in _batches(original, count, later):
            with conn.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        for _, statement in indexes:
            conn.execute(statement)
        conn.execute("ANALYZE")


def _batches(
    original: Original, count: int, later: Later
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]:
    """Rows for one table at a time: its name, its columns and the values of some thousand copies."""
    copied = _copies(original, count, later)
    makers = [
        (table.name, list(rows[0]), [_maker(original, row) for row in rows])
        for table, rows in original.rows.items()
        if rows
    ]
    while some := list(islice(copied, _AT_ONCE)):
        for table, columns, making in makers:
            yield table, columns, [make(*copy) for copy in some for make in making]


def _copies(original: Original, count: int, later: Later) -> Iterator[tuple[Mapping[str, str], int]]:
    """For each copy the texts that it replaces, and by how many microseconds it is later."""
    for number in range(count):
        by = later(number)
        moved = {text: (datetime.fromisoformat(text) + by).isoformat() for text in original.instants}
        yield {**_new_names(original.names, number), **moved}, by // timedelta(microseconds=1)


def _new_names(names: Sequence[str], number: int) -> dict[str, str]:
    """Ids of the same form; the last name is the mailbox, which ``number`` tells apart."""
    *ids, mailbox = names
    return {**{name: _like(name, number) for name in ids}, mailbox: f"{number}.{mailbox}"}


def _like(name: str, number: int) -> str:
    if name.startswith("HR-"):
        return f"HR-{name[3:]}{number:06}"
    bits = f"{random.getrandbits(4 * len(name)):0{len(name)}x}"
    return f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:32]}" if "-" in name else bits


def _maker(original: Original, row: Mapping[str, Any]) -> Callable[[Mapping[str, str], int], list[Any]]:
    """Makes one row of a copy: only the columns in which something differs are touched."""
    values = list(row.values())
    moving = [place for place, name in enumerate(row) if name in _INSTANTS and row[name] is not None]
    named = [(place, text, keys) for place, text in enumerate(values) if (keys := _within(original, text))]

    def make(texts: Mapping[str, str], by: int) -> list[Any]:
        made = values.copy()
        for place in moving:
            made[place] += by
        for place, text, keys in named:
            made[place] = reduce(lambda made_of, key: made_of.replace(key, texts[key]), keys, text)
        return made

    return make


def _within(original: Original, value: Any) -> list[str]:
    """What of a value each copy has its own of."""
    return [text for text in (*original.names, *original.instants) if isinstance(value, str) and text in value]
