"""Signature lines: kept as keyed digests for one person, 200 of them, 400 days; offers in the clear until they are
taken, or their question ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from core.database.database import Database
from core.domain.machine import decide
from core.domain.root_key import RenewedKey
from core.domain.signature_lines import KnownLines, Side, SignatureOffer
from core.domain.vocabulary import Cancelled
from core.store import signature_lines, suspensions
from core.store.signature_lines import LinesKept
from tests.core.examples import START, after, hourly
from tests.core.store_examples import keep

ALICE, BOB = "alice@example.com", "bob@example.com"
KEY = b"s" * 32
SLOGAN, DISCLAIMER = "Never stop innovating.", "If you are not the intended recipient, delete this mail."
OFFER = SignatureOffer((DISCLAIMER,), (SLOGAN,), 0)


async def call(
    database: Database,
    identity: str,
    *below: str,
    now: datetime = START,
    key: bytes = KEY,
    in_directory: bool = True,
) -> None:
    digests = SignatureOffer((), below).digests(key, identity)
    await database.write(lambda tx: signature_lines.call(tx, identity, digests, now, in_directory=in_directory))


async def known(database: Database, identity: str, key: bytes = KEY) -> KnownLines:
    digests = await database.read(lambda conn: signature_lines.digests_of(conn, identity))
    return KnownLines(identity, digests, key)


async def kept(database: Database, identity: str = ALICE) -> LinesKept:
    return await database.read(lambda conn: signature_lines.kept_of(conn, identity))


async def forget_old(database: Database, now: datetime) -> None:
    await database.write(lambda tx: signature_lines.forget_old(tx, now))


async def offer(database: Database, identity: str = ALICE, offered: SignatureOffer = OFFER) -> None:
    await database.write(lambda tx: signature_lines.offer(tx, "susp-1", identity, offered, START))


async def offered(database: Database, identity: str = ALICE) -> SignatureOffer | None:
    return await database.read(lambda conn: signature_lines.offered(conn, "susp-1", identity))


async def test_a_line_is_known_of_who_called_it_on_its_side_alone(database: Database) -> None:
    await call(database, ALICE, SLOGAN)
    mine, others = await known(database, ALICE), await known(database, BOB)
    assert mine.is_known("  NEVER   stop innovating. ", Side.BELOW)
    assert not mine.is_known(SLOGAN, Side.ABOVE)
    assert not mine.is_known("Never stop. Innovating.", Side.BELOW)
    assert not others.is_known(SLOGAN, Side.BELOW)


async def test_somebodys_digests_are_worth_nothing_in_anothers_rows(database: Database) -> None:
    digests = SignatureOffer((), (SLOGAN,)).digests(KEY, ALICE)
    await database.write(lambda tx: signature_lines.call(tx, BOB, digests, START, in_directory=True))
    assert not (await known(database, BOB)).is_known(SLOGAN, Side.BELOW)


async def test_the_rows_hold_no_word_of_a_line(database: Database) -> None:
    await call(database, ALICE, SLOGAN)
    rows = await database.read(lambda conn: conn.execute(sa.text("SELECT * FROM signature_lines")).all())
    assert len(rows) == 1
    assert "innovating" not in repr(rows).casefold()
    assert not (await known(database, ALICE, b"t" * 32)).is_known(SLOGAN, Side.BELOW)


async def test_under_a_new_key_the_lines_called_under_the_old_one_are_known(database: Database) -> None:
    await call(database, ALICE, SLOGAN)
    renewed = RenewedKey(b"n" * 32, [KEY])
    await call(database, ALICE, DISCLAIMER, key=renewed)
    mine = await known(database, ALICE, renewed)
    assert mine.is_known(SLOGAN, Side.BELOW)
    assert mine.is_known(DISCLAIMER, Side.BELOW)
    assert not (await known(database, ALICE, b"n" * 32)).is_known(SLOGAN, Side.BELOW)


async def test_the_201st_line_takes_the_place_of_the_oldest_and_of_nobody_elses(database: Database) -> None:
    await call(database, BOB, SLOGAN, now=START - timedelta(days=1))
    for number in range(200):
        await call(database, ALICE, f"Line {number}", now=after(minutes=number))
    await call(database, ALICE, "Line 0", now=after(days=1))  # called again: not the oldest any more
    await call(database, ALICE, "Line 200", now=after(days=2))
    mine = await known(database, ALICE)
    assert (await kept(database)).count == 200
    assert not mine.is_known("Line 1", Side.BELOW)
    assert all(mine.is_known(f"Line {number}", Side.BELOW) for number in (0, 2, 199, 200))
    assert (await known(database, BOB)).is_known(SLOGAN, Side.BELOW)


async def test_a_line_is_kept_400_days_after_it_was_called_last(database: Database) -> None:
    await call(database, ALICE, SLOGAN, DISCLAIMER)
    await call(database, ALICE, DISCLAIMER, now=after(days=10))
    await forget_old(database, after(days=400, seconds=-1))
    assert await kept(database) == LinesKept(2, START)
    await forget_old(database, after(days=400))
    assert await kept(database) == LinesKept(1, after(days=10))
    await forget_old(database, after(days=410))
    assert await kept(database) == LinesKept(0, None)


async def test_who_forgets_is_asked_about_nothing_and_keeps_nothing(database: Database) -> None:
    await keep(database, hourly())
    for identity in (ALICE, BOB):
        await call(database, identity, SLOGAN)
        await offer(database, identity)
    await database.write(lambda tx: signature_lines.forget(tx, [ALICE]))
    assert (await kept(database), await offered(database)) == (LinesKept(0, None), None)
    assert (await kept(database, BOB), await offered(database, BOB)) == (LinesKept(1, START), OFFER)


async def test_people_outside_the_directory_are_not_those_who_can_leave_it(database: Database) -> None:
    await call(database, ALICE, SLOGAN)
    await call(database, "auditor@elsewhere.example", SLOGAN, in_directory=False)
    assert await database.read(signature_lines.people_of_directory) == [ALICE]


async def test_a_later_offer_takes_the_place_of_the_earlier_one_of_that_person(database: Database) -> None:
    await keep(database, hourly())
    await offer(database)
    await offer(database, BOB)
    later = SignatureOffer((), ("Let us know if that is a problem.",))
    await offer(database, offered=later)
    assert (await offered(database), await offered(database, BOB)) == (later, OFFER)


async def test_an_offer_is_taken_once(database: Database) -> None:
    await keep(database, hourly())
    await offer(database)
    await offer(database, BOB)
    taken = [await database.write(lambda tx: signature_lines.drop_offer(tx, "susp-1", ALICE)) for _ in range(2)]
    assert taken == [True, False]
    assert await offered(database, BOB) == OFFER


async def test_of_a_question_that_has_ended_nothing_is_offered(database: Database) -> None:
    suspension = hourly()
    await keep(database, suspension)
    ended = decide(suspension, Cancelled("refund-agent", None), after(minutes=1)).suspension
    await database.write(lambda tx: suspensions.update(tx, [replace(ended, version=2)]))
    await offer(database)
    assert await offered(database) is None


async def test_what_an_older_process_leaves_of_an_ended_question_is_gone_within_the_hour(database: Database) -> None:
    suspension = hourly()
    await keep(database, suspension)
    await offer(database)
    await forget_old(database, after(minutes=1))
    assert await offered(database) == OFFER
    ended = decide(suspension, Cancelled("refund-agent", None), after(minutes=1)).suspension
    await database.write(lambda tx: suspensions.update(tx, [replace(ended, version=2)]))
    await forget_old(database, after(minutes=2))
    assert await offered(database) is None


async def test_of_a_question_without_an_end_an_offer_is_gone_after_a_month(database: Database) -> None:
    await keep(database, hourly())
    await offer(database)
    await forget_old(database, after(days=30, seconds=-1))
    assert await offered(database) == OFFER
    await forget_old(database, after(days=30))
    assert await offered(database) is None
