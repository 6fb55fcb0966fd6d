"""Markers: an id that came in is new once on each channel, and forgotten after a week."""

from __future__ import annotations

import asyncio
from datetime import datetime

from core.database.database import Database, Tx
from core.store import markers
from tests.core.examples import after


async def forget(database: Database, now: datetime) -> None:
    await database.write(lambda tx: markers.forget_old(tx, now))


async def test_an_inbound_id_is_new_once_on_each_channel(database: Database) -> None:
    async def note(channel: str, key: str = "msg-1") -> bool:
        return await database.write(lambda tx: markers.note_seen(tx, channel, key, after()))

    assert [await note("email"), await note("email"), await note("pagerduty"), await note("email", "msg-2")] == [
        False,
        True,
        False,
        False,
    ]
    assert await database.read(lambda conn: markers.was_seen(conn, "email", "msg-2"))
    assert not await database.read(lambda conn: markers.was_seen(conn, "slack", "msg-2"))


async def test_of_many_deliveries_of_one_webhook_one_is_the_first(database: Database) -> None:
    def note(tx: Tx) -> bool:
        return markers.note_seen(tx, "pagerduty", "webhook-1", after())

    assert sorted(await asyncio.gather(*(database.write(note) for _ in range(16)))) == [False] + [True] * 15


async def test_an_inbound_id_is_forgotten_after_seven_days(database: Database) -> None:
    await database.write(lambda tx: markers.note_seen(tx, "email", "msg-1", after()))
    await forget(database, after(days=7))
    assert await database.read(lambda conn: markers.was_seen(conn, "email", "msg-1"))
    await forget(database, after(days=7, seconds=1))
    assert not await database.read(lambda conn: markers.was_seen(conn, "email", "msg-1"))
