"""A row whose lease stands, though nobody was told to send it: the commit's acknowledgement was lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from core.database.database import Database
from core.delivery.lanes import Lanes
from core.delivery.leases import IN_TRANSIT, OrphanedRows
from core.engine.transitions import LEASE
from core.store.outbox import Row, RowStatus
from tests.core.examples import after
from tests.core.store_examples import in_hand, row_of, write_rows

NOW = after(seconds=100)
LONG_AGO = NOW + LEASE - IN_TRANSIT - timedelta(seconds=1)


def leased(row_id: str, until: datetime) -> Row:
    return replace(in_hand(row_id), lease_until=until)


@pytest.fixture
async def lanes() -> Lanes:
    lanes = Lanes(["slack"])
    lanes.open()
    return lanes


async def test_a_row_that_is_ours_and_in_nobodys_hands_is_to_be_sent_again(database: Database, lanes: Lanes) -> None:
    await write_rows(database, [leased("lost", LONG_AGO)], lanes.owner)
    await OrphanedRows(database, lanes).search(NOW)
    row = await row_of(database, "lost")
    assert (row.status, row.ambiguous, row.tries) == (RowStatus.PENDING, False, 0), "surely not sent"


async def test_a_row_that_waits_for_its_turn_stays_however_long(database: Database, lanes: Lanes) -> None:
    row = leased("waiting", LONG_AGO - timedelta(hours=1))
    await write_rows(database, [row], lanes.owner)
    lanes.hand_over([row])
    await OrphanedRows(database, lanes).search(NOW)
    assert (await row_of(database, "waiting")).status is RowStatus.SENDING


async def test_a_row_that_was_leased_this_moment_may_still_be_on_its_way_here(database: Database, lanes: Lanes) -> None:
    await write_rows(database, [leased("fresh", NOW + LEASE)], lanes.owner)
    await OrphanedRows(database, lanes).search(NOW)
    assert (await row_of(database, "fresh")).status is RowStatus.SENDING


async def test_another_workers_rows_are_not_ours_to_find(database: Database, lanes: Lanes) -> None:
    await write_rows(database, [leased("theirs", LONG_AGO)], "another")
    await OrphanedRows(database, lanes).search(NOW)
    assert (await row_of(database, "theirs")).status is RowStatus.SENDING
