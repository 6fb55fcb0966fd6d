"""Which open questions may wait for somebody: found by whom they name, without their records."""

from __future__ import annotations

import importlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from core.database.database import Database, Tx
from core.domain.audience import Audience
from core.domain.suspension import Assignment, Rung, Suspension
from core.store import inbox, suspensions, tables
from tests.core.examples import HOUR, after, answered, look
from tests.core.store_examples import keep, numbered

BOB = "bob@example.com"


async def naming(database: Database, *beginnings: str, limit: int = 10, after: Any = None) -> list[str]:
    found, _ = await database.read(lambda conn: inbox.open_naming(conn, beginnings, after=after, limit=limit))
    return [*dict.fromkeys(entry.id for entry in found)]


async def test_open_questions_are_read_oldest_first_and_some_at_a_time(database: Database) -> None:
    times = {1: after(minutes=2), 2: after(minutes=1), 3: after(minutes=3), 5: after(minutes=3)}
    await keep(database, *(numbered(number, suspended_at=at) for number, at in times.items()))
    await keep(database, answered(numbered(4), after(hours=1)).suspension)
    read: list[str] = []
    place: inbox.EntryCursor | None = None
    for _ in range(2):
        some, place = await database.read(
            lambda conn, place=place: inbox.open_naming(conn, [inbox.NOBODY], after=place, limit=3)
        )
        read += [entry.id for entry in some]
    assert (read, place) == (["susp-2", "susp-1", "susp-3", "susp-5"], None)
    assert await database.read(suspensions.count_open) == 4


BEGINNINGS = ["alice@example.com", "group:finance", "slack:U0", "dörte@example.com", "we_rd%@example.com"]


async def written_by_an_older_version(database: Database) -> None:
    columns = {"audience": None, "audience_version": None, "expires_at": None, "entered_version": None}
    await database.write(lambda tx: tx.conn.execute(tables.suspensions.update().values(columns)))


@pytest.mark.parametrize("is_older", [False, True], ids=["new rows", "older rows"])
@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_open_questions_are_found_by_whom_they_name(database: Database, beginning: str, is_older: bool) -> None:
    named = beginning + ("ALICE" if beginning == "slack:U0" else "")
    handed = replace(numbered(2, responders=(BOB,)), assigned=(Assignment(named, "x", after()),))
    rung = look(
        numbered(3, attempts=2, interval=HOUR, ladder=[Rung(2, "email", named)], responders=(BOB,)), after(hours=1)
    )
    await keep(database, numbered(1, responders=(named,)), handed, rung.suspension)
    await keep(database, numbered(4, responders=(BOB, "wexrdx@example.com")))
    await keep(database, numbered(5, responders=(BOB,), question=f"Is it {named}?"))
    if is_older:
        await written_by_an_older_version(database)
    assert await naming(database, beginning) == ["susp-1", "susp-2", "susp-3"]
    assert await naming(database, inbox.NOBODY) == []


async def entries(database: Database) -> list[inbox.Entry]:
    found, _ = await database.read(lambda conn: inbox.open_naming(conn, ["", BOB], after=None, limit=10))
    return sorted(found, key=lambda one: one.id)


def some_that_wait() -> list[Suspension]:
    """For ever, for an hour, and an hour longer since an outage."""
    moved = replace(numbered(3, timeout=HOUR), shift=timedelta(hours=1), outage_shift=timedelta(hours=1))
    return [numbered(1), numbered(2, timeout=HOUR, responders=(BOB,), on_behalf_of="carol@example.com"), moved]


async def test_an_entry_says_when_silence_ends_it_and_for_whom_it_is(database: Database) -> None:
    await keep(database, *some_that_wait())
    found = await entries(database)
    assert [one.expires_at for one in found] == [None, after(hours=1), after(hours=2)]
    whom = Audience((BOB,), ("slack:C0OPS",), ("refund-agent", "carol@example.com"))
    assert Audience.read(found[1].audience) == whom


async def test_a_row_of_an_older_version_is_taken_from_its_record(database: Database) -> None:
    await keep(database, *some_that_wait())
    new = await entries(database)
    await written_by_an_older_version(database)
    assert await entries(database) == new


async def test_what_an_older_version_has_changed_is_taken_from_its_record(database: Database) -> None:
    """It knows of no audience, and leaves that of the version before."""
    asked = numbered(1, attempts=2, interval=HOUR, ladder=[Rung(2, "email", BOB)], responders=("carol@example.com",))
    await keep(database, asked)
    kept = await database.read(lambda conn: conn.execute(_KEPT).one())
    asked_again = replace(look(asked, after(hours=1)).suspension, version=asked.version + 1)
    await database.write(lambda tx: suspensions.update(tx, [asked_again]))
    await database.write(lambda tx: tx.conn.execute(tables.suspensions.update().values(kept._asdict())))
    [entry] = await entries(database)
    assert BOB in Audience.read(entry.audience).asked


_KEPT = tables.suspensions.select().with_only_columns(
    tables.suspensions.c.expires_at,
    tables.suspensions.c.audience,
    tables.suspensions.c.audience_version,
    tables.suspensions.c.entered_version,
)


async def entered(database: Database) -> list[tuple[str, str]]:
    def look_up(conn: sa.Connection) -> list[tuple[str, str]]:
        own = tables.inbox_entries.c
        return [(row.reference, row.suspension_id) for row in conn.execute(sa.select(own.reference, own.suspension_id))]

    return sorted(await database.read(look_up))


async def test_a_question_that_has_ended_is_in_no_inbox(database: Database) -> None:
    """Whomever an attempt or a hand-over has named meanwhile."""
    ladder = [Rung(2, "email", "Carol@Example.com")]
    asked = numbered(1, attempts=2, interval=HOUR, ladder=ladder, responders=(BOB,))
    await keep(database, asked, numbered(2))
    asked_again = replace(look(asked, after(hours=1)).suspension, version=2)
    await database.write(lambda tx: suspensions.update(tx, [asked_again]))
    mine = [reference for reference, which in await entered(database) if which == asked.id]
    assert {BOB, "carol@example.com"} <= set(mine)
    assert await naming(database, "carol@example.com") == await naming(database, "CAROL@") == ["susp-1"]
    ended = replace(answered(asked_again, after(hours=2)).suspension, version=3)
    await database.write(lambda tx: suspensions.update(tx, [ended]))
    assert {which for _, which in await entered(database)} == {"susp-2"}


async def test_the_migration_enters_what_is_open(database: Database) -> None:
    """But for whom SQLite's lower case may miss, and for what an older version has changed since."""
    await keep(database, numbered(1, responders=("Bob@Example.com", "group:finance")), numbered(2))
    await keep(database, numbered(3, responders=("DÖRTE@example.com",)))
    await keep(database, answered(numbered(4, responders=(BOB,)), after(hours=1)).suspension)
    made = [one for one in await entered(database) if one[1] != "susp-3"]

    def again(tx: Tx) -> None:
        tx.conn.execute(tables.inbox_entries.delete())
        tx.conn.execute(tables.suspensions.update().values(entered_version=None))
        with Operations.context(MigrationContext.configure(tx.conn)):
            _MIGRATION._enter_what_is_open(database.dialect)

    await database.write(again)
    assert await entered(database) == made
    for whom, found in ((BOB, ["susp-1"]), ("group:fin", ["susp-1"]), ("dörte@example.com", ["susp-3"])):
        assert await naming(database, whom) == found
    assert await naming(database, inbox.NOBODY) == ["susp-2"]


_MIGRATION = importlib.import_module("core.store.migrations.versions.0017_lists_and_inboxes")
