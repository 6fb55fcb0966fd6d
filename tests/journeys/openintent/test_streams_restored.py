"""Streams and subscriptions after a restore (decision 0072): whoever listened before hears what happens from then on.

A PostgreSQL server numbers transactions anew: what was restored there is of higher numbers than it has given.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.store import log_cursors, schema
from core.store.tables import events
from tests.journeys.api.test_api_streams import reading
from tests.journeys.openintent.test_subscriptions import House, housed

FURTHER = 10**9
"""How far the server that was backed up has counted."""

AS_RESTORED = (
    f"UPDATE events SET transaction_id = transaction_id + {FURTHER}",
    f"UPDATE log_followers SET transaction_id = transaction_id + {FURTHER}",
    f"""UPDATE subscriptions SET begins_after =
        concat_ws(':', split_part(begins_after, ':', 1)::bigint + {FURTHER},
                  split_part(begins_after, ':', 2)::bigint + {FURTHER}, '')""",
)


def restored(url: str, *statements: str) -> None:
    """The database as ``pg_restore`` leaves it on another server, and migrated there."""
    database = open_database(url)
    with database.engine.begin() as conn:
        for statement in statements:
            conn.exec_driver_sql(statement)
    schema.migrate(database)
    database.engine.dispose()


async def seen(house: House, count: int) -> str:
    """The id of the newest event, as a client has it that has seen ``count`` of them."""
    async with reading(house.world, after="0-0") as stream:
        return (await stream.read(count))[-1][0]


@pytest.mark.slow
async def test_on_another_postgres_subscribers_hear_what_is_new_and_nothing_twice(
    tmp_path: Path, postgres_url: str
) -> None:
    async with housed(tmp_path, postgres_url) as before:
        intent = await before.world.active_intent()
        await before.note(intent, "before.subscribing")
        await before.subscribe()
        await before.note(intent, "before.restore")
        await before.own.expect(1)
        await before.all_done()
    restored(postgres_url, *AS_RESTORED)
    async with housed(tmp_path, postgres_url) as after:
        to = sa.text("UPDATE subscriptions SET webhook_url = :url")  # the test's receiver has another port
        await after.world.service.database.write(lambda tx: tx.conn.execute(to, {"url": after.own.url}))
        await after.note(intent, "after.restore")
        await after.own.expect(1)
        await after.all_done()
        assert after.own.types == ["after.restore"]


@pytest.mark.slow
async def test_on_another_postgres_a_stream_goes_on_where_its_reader_stood(tmp_path: Path, postgres_url: str) -> None:
    async with housed(tmp_path, postgres_url) as before:
        intent = await before.world.active_intent()
        transaction, seq = (await seen(before, 1)).split("-")
        await before.note(intent, "unseen")
    restored(postgres_url, *AS_RESTORED)
    async with housed(tmp_path, postgres_url) as after:
        await after.note(intent, "after.restore")
        async with reading(after.world, after=f"{int(transaction) + FURTHER}-{seq}") as stream:
            assert await stream.types(2) == ["unseen", "after.restore"]


def test_a_database_that_has_not_moved_keeps_its_numbers(postgres_url: str) -> None:
    database = open_database(postgres_url)
    with database.engine.begin() as conn:
        assert not log_cursors.renumber(conn)
    database.engine.dispose()


@pytest.mark.parametrize("lost", [1, 1000])
async def test_on_sqlite_a_reader_who_has_seen_more_than_the_backup_holds_misses_nothing_new(
    tmp_path: Path, sqlite_url: str, lost: int
) -> None:
    async with housed(tmp_path, sqlite_url) as before:
        intent = await before.world.active_intent()
        seq = int((await seen(before, 1)).split("-")[1])
    database = open_database(sqlite_url)
    with database.engine.begin() as conn:
        log_cursors.leave_room(conn)
        assert conn.scalar(sa.select(sa.func.max(events.c.seq))) == seq
    database.engine.dispose()
    async with housed(tmp_path, sqlite_url) as after:
        await after.note(intent, "after.restore")
        async with reading(after.world, after=f"0-{seq + lost}") as stream:
            assert await stream.types(1) == ["after.restore"]
