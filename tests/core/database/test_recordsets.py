"""Many rows together: what each database keeps of them, and what PostgreSQL need not write for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx, open_database
from core.database.prepared import Prepared
from core.database.recordsets import Recordset
from core.domain.intent import EdgeKind, IntentHold, IntentStatus
from core.openintent.store import intent_edges
from core.store import intents
from core.store.tables import sessions
from tests.core.examples import START, after
from tests.core.store_examples import an_intent, keep_intents

NAMES = ("owner", "id", "callback_url", "metadata", "created_at", "updated_at")
ROWS = Recordset(*(sessions.c[name] for name in NAMES))
EACH = Prepared(sessions.insert())
TOGETHER = ROWS.together(
    lambda given: sessions.insert().from_select(NAMES, sa.select(*given.c.values()).order_by(given.place))
)
RENAMED = Recordset(sa.column("_id", sa.Text), sessions.c.owner)
RENAME_EACH = Prepared(
    sessions.update()
    .where(sessions.c.id == sa.bindparam("_id"))
    .values(owner=sa.bindparam("owner"), callback_url="https://kept.example/")
)
RENAME_TOGETHER = RENAMED.together(
    lambda given: (
        sessions.update()
        .where(sessions.c.id == given.c["_id"])
        .values(owner=given.c["owner"], callback_url="https://kept.example/")
    )
)
SHARED = {"cart": [1, None, "ü \u2028"]}
GIVEN: Sequence[Sequence[Any]] = [
    ("agent", "b", None, SHARED, START, after(hours=1)),
    ("agent", "a", 'https://agent.example/?"', SHARED, START, START),
    ("other", "c", None, {}, after(hours=2), START),
]


@pytest.fixture
async def pg(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


async def keep(database: Database, rows: Sequence[Sequence[Any]]) -> None:
    await database.write(lambda tx: ROWS.run(tx.conn, rows, each=EACH, together=TOGETHER))


async def kept(database: Database) -> list[tuple[Any, ...]]:
    return await database.read(
        lambda conn: [tuple(row) for row in conn.execute(sa.select(*(sessions.c[name] for name in NAMES)))]
    )


async def test_every_row_is_kept_as_it_was_given_nulls_and_shared_values_too(database: Database) -> None:
    await keep(database, GIVEN)
    assert sorted(await kept(database), key=lambda row: str(row[1])) == sorted(
        map(tuple, GIVEN), key=lambda row: row[1]
    )


async def test_no_rows_are_no_statement(database: Database) -> None:
    await keep(database, [])
    assert await kept(database) == []


async def test_each_row_changes_the_one_that_it_names(database: Database) -> None:
    await keep(database, GIVEN)
    rows = [("a", "first"), ("c", "third"), ("nobody", "none")]
    await database.write(lambda tx: RENAMED.run(tx.conn, rows, each=RENAME_EACH, together=RENAME_TOGETHER))
    owners = {row[1]: (row[0], row[2]) for row in await kept(database)}
    mine = "https://kept.example/"
    assert owners == {"a": ("first", mine), "b": ("agent", None), "c": ("third", mine)}


async def test_names_that_a_statement_does_not_take_are_refused(database: Database) -> None:
    with pytest.raises(KeyError, match="takes"):
        await database.write(lambda tx: RENAME_EACH.run_rows(tx.conn, ["_id"], [("a",)]))


async def test_a_move_of_many_writes_no_index_on_postgresql(pg: Database) -> None:
    made = [an_intent(f"intent-{number:03}") for number in range(100)]
    await keep_intents(pg, *made)
    await pg.write(lambda tx: intent_edges.put_all(tx, [(one.id, "upstream", EdgeKind.DEPENDENCY) for one in made]))

    def job(tx: Tx) -> tuple[int, int]:
        before = _updates(tx)
        dependents = intent_edges.lock_dependents(tx, "upstream")
        moved = [one.moved(IntentStatus.BLOCKED, IntentHold.UPSTREAM) for one, _ in dependents]
        intents.advance_dependents(tx, moved, START)
        after_it = _updates(tx)
        return after_it[0] - before[0], after_it[1] - before[1]

    assert await pg.write(job) == (100, 100)


def _updates(tx: Tx) -> tuple[int, int]:
    """Of intents, by this connection: all, and those that found room on their page."""
    counts = (
        "pg_stat_get_xact_tuples_updated('intents'::regclass), pg_stat_get_xact_tuples_hot_updated('intents'::regclass)"
    )
    updated, on_their_page = tx.conn.execute(sa.text(f"SELECT {counts}")).one()
    return updated, on_their_page
