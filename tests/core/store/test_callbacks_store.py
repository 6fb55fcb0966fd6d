"""Callbacks in lists, and beginning again with a dead one (API.md §5)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from core.database.database import Database
from core.store import outbox
from core.store.outbox import AGENTS, Row, RowKind, RowStatus
from tests.core.examples import after
from tests.core.store_examples import OWNER, a_row, keep, numbered, row_of, take_due, write_rows


def a_callback(number: int, **fields: Any) -> Row:
    given = {
        "kind": RowKind.RESUME,
        "channel": AGENTS,
        "suspension_id": f"susp-{number}",
        "attempt": None,
        "address": None,
        "body": {"url": "https://agent.example/", "key": "refund-agent", "body": {}},
        "created_at": after(minutes=number),
    }
    return a_row(f"call-{number}", **{**given, **fields})


async def listed(database: Database, before: tuple[datetime, str] | None = None, **wanted: Any) -> list[str]:
    filters = {"status": None, "created_by": None, "limit": 10, **wanted}
    rows = await database.read(lambda conn: outbox.callbacks(conn, before=before, **filters))
    return [row.id for row in rows]


async def test_callbacks_are_listed_newest_first_and_nothing_else_is(database: Database) -> None:
    await write_rows(database, [a_callback(1), a_callback(3), a_callback(2), a_row("notice")])
    assert await listed(database) == ["call-3", "call-2", "call-1"]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("pending", ["call-2", "call-1"]),
        ("delivered", ["call-3"]),
        ("refused", ["call-4"]),
        ("dead", ["call-5"]),
        ("unheard-of", []),
    ],
)
async def test_a_status_on_the_wire_covers_what_is_in_hand(database: Database, status: str, found: list[str]) -> None:
    statuses = [RowStatus.PENDING, RowStatus.SENDING, RowStatus.DELIVERED, RowStatus.REFUSED, RowStatus.DEAD]
    await write_rows(database, [a_callback(n, status=one) for n, one in enumerate(statuses, start=1)])
    assert await listed(database, status=status) == found


async def test_an_agent_meets_its_own_callbacks_alone(database: Database) -> None:
    await keep(database, numbered(1), numbered(2, created_by="other-agent"))
    await write_rows(database, [a_callback(1), a_callback(2)])
    assert await listed(database, created_by="refund-agent") == ["call-1"]
    assert await listed(database, created_by="nobody") == []


async def test_pages_of_callbacks_follow_each_other(database: Database) -> None:
    await write_rows(database, [a_callback(n, created_at=after(minutes=n // 2)) for n in range(1, 6)])
    first = await listed(database, limit=2)
    last = await row_of(database, first[-1])
    second = await listed(database, before=(last.created_at, last.id))
    assert first + second == await listed(database)


async def test_a_dead_callback_begins_again_under_its_own_id_with_its_full_time(database: Database) -> None:
    await write_rows(database, [a_callback(1, status=RowStatus.DEAD, tries=90, settled_at=after(days=3), reason="x")])
    await database.write(lambda tx: outbox.redrive(tx, "call-1", after(days=4)))
    row = await row_of(database, "call-1")
    assert (row.status, row.tries, row.settled_at) == (RowStatus.PENDING, 0, None)
    assert (row.due_at, row.created_at, row.reason) == (after(days=4), after(days=4), "redriven")
    claimed = await database.write(
        lambda tx: take_due(tx, AGENTS, now=after(days=4), limit=1, owner=OWNER, until=after(days=5))
    )
    assert [row.id for row in claimed] == ["call-1"]
    assert claimed[0].body == a_callback(1).body
