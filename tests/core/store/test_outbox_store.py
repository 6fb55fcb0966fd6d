"""The outbox: rows that are claimed once, given back after a crash, settled with what became of them (DESIGN.md)."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from core.database.database import Database, Tx
from core.store import outbox, workers
from core.store.outbox import Row, RowKind, RowStatus
from tests.core.examples import after
from tests.core.store_examples import OWNER, a_row, in_hand, row_of, take_due, write_rows

PATIENCE = 30.0
LATER = after(seconds=90)


async def claim(database: Database, *, channel: str = "slack", now: datetime, limit: int = 10) -> list[str]:
    rows = await database.write(
        lambda tx: take_due(tx, channel, now=now, limit=limit, owner=OWNER, until=LATER),
    )
    return [row.id for row in rows]


async def next_due(database: Database) -> dict[str, datetime]:
    return await database.read(lambda conn: outbox.next_due(conn, ["agents", "email", "slack"]))


@pytest.mark.parametrize(
    "row",
    [
        a_row(),
        in_hand(tries=3, ambiguous=True, reason="timeout"),
        a_row(
            kind=RowKind.RESUME,
            channel="agents",
            attempt=None,
            address=None,
            body={"url": "https://agent.example/", "key": "refund-agent", "body": {"data": {"ü": [1, None, 2.5]}}},
        ),
        a_row(
            kind=RowKind.WITHDRAW,
            status=RowStatus.DELIVERED,
            receipt={"channel": "C0OPS", "ts": "1.2"},
            settled_at=after(seconds=1),
            person="alice@example.com",
        ),
    ],
)
async def test_a_row_comes_back_as_it_went_in(database: Database, row: Row) -> None:
    await write_rows(database, [row])
    assert await row_of(database) == row


async def test_no_rows_are_no_work(database: Database) -> None:
    await write_rows(database, [])
    assert await next_due(database) == {}


# --- Claiming -----------------------------------------------------------------------------------------------------


async def test_what_is_due_is_claimed_most_overdue_first_and_only_once(database: Database) -> None:
    due = {"a": after(seconds=3), "b": after(seconds=1), "c": after(seconds=2), "d": after(seconds=9)}
    await write_rows(database, [a_row(name, due_at=at) for name, at in due.items()])
    assert set(await claim(database, now=after(seconds=3), limit=2)) == {"b", "c"}
    assert await claim(database, now=after(seconds=3)) == ["a"]
    assert await claim(database, now=after(seconds=3)) == []


async def test_a_claimed_row_is_in_hand_until_its_lease_ends(database: Database) -> None:
    await write_rows(database, [a_row()])
    await claim(database, now=after())
    row = await row_of(database)
    assert (row.status, row.lease_until) == (RowStatus.SENDING, LATER)


async def test_each_channel_is_claimed_by_itself(database: Database) -> None:
    await write_rows(database, [a_row("a"), a_row("b", channel="email"), a_row("c", channel="agents")])
    assert await claim(database, channel="email", now=after()) == ["b"]
    assert await next_due(database) == {"agents": after(), "slack": after()}


@pytest.mark.parametrize("status", sorted(set(RowStatus) - {RowStatus.PENDING}))
async def test_what_is_not_waiting_is_never_claimed(database: Database, status: RowStatus) -> None:
    await write_rows(database, [a_row(status=status)])
    assert await claim(database, now=after(hours=1)) == []
    assert await next_due(database) == {}


async def test_a_row_born_in_hand_is_claimed_by_nobody_else(database: Database) -> None:
    await write_rows(database, [in_hand()])
    assert await claim(database, now=after(hours=1)) == []


async def test_two_who_claim_at_once_get_different_rows(database: Database, other_database: Database) -> None:
    """On PostgreSQL neither waits for the other; SQLite has one writer anyway."""
    await write_rows(database, [a_row(f"row-{number}") for number in range(10)])
    claimed, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> list[Row]:
        rows = take_due(tx, "slack", now=after(), limit=5, owner="one", until=LATER)
        claimed.set()
        if database.dialect == "postgresql":
            assert go_on.wait(PATIENCE)
        return rows

    first = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(claimed.wait, PATIENCE)
    async with asyncio.timeout(PATIENCE):
        second = await claim(other_database, now=after())
    go_on.set()
    assert len(second) == 5
    assert {row.id for row in await first} | set(second) == {f"row-{number}" for number in range(10)}


async def test_the_next_due_row_of_a_channel_is_the_earliest_that_waits(database: Database) -> None:
    rows = [a_row("a", due_at=after(minutes=2)), a_row("b", due_at=after(minutes=1)), in_hand("c")]
    await write_rows(database, [*rows, a_row("mail", channel="email", due_at=after(minutes=3))])
    assert await next_due(database) == {"slack": after(minutes=1), "email": after(minutes=3)}


async def test_a_channel_that_is_not_asked_about_is_not_told_of(database: Database) -> None:
    await write_rows(database, [a_row(), a_row("mail", channel="email")])
    assert await database.read(lambda conn: outbox.next_due(conn, ["email"])) == {"email": after()}


# --- After a crash, and giving back -------------------------------------------------------------------------------


async def test_the_next_process_takes_back_what_an_earlier_one_had_in_hand(database: Database) -> None:
    await write_rows(database, [in_hand("a"), in_hand("b")], owner="dead")
    await write_rows(database, [in_hand("mine"), a_row("waiting")], owner=OWNER)
    assert await database.write(lambda tx: outbox.void_leases(tx, owner=OWNER, now=after(minutes=1))) == 2
    row = await row_of(database, "a")
    assert (row.status, row.ambiguous, row.due_at) == (RowStatus.PENDING, True, after(minutes=1))
    assert (await row_of(database, "mine")).status is RowStatus.SENDING
    assert not (await row_of(database, "waiting")).ambiguous
    assert sorted(await claim(database, now=after(minutes=1))) == ["a", "b", "waiting"]


async def test_what_a_worker_that_has_gone_had_in_hand_is_taken_back_and_no_living_ones(database: Database) -> None:
    long_ago, now = after(), after(hours=1)
    for owner in ("gone", "alive", "forgotten"):
        await write_rows(database, [in_hand(f"row-of-{owner}")], owner=owner)
    for worker in ("gone", "alive"):
        await database.write(lambda tx, worker=worker: workers.beat(tx, worker, "worker", long_ago))
    assert await database.write(lambda tx: outbox.take_back(tx, ["gone"], now)) == 2
    row = await row_of(database, "row-of-gone")
    assert (row.status, row.ambiguous, row.due_at) == (RowStatus.PENDING, True, now)
    assert (await row_of(database, "row-of-alive")).status is RowStatus.SENDING
    assert (await row_of(database, "row-of-forgotten")).status is RowStatus.PENDING


async def test_whoever_does_not_beat_keeps_what_it_has_until_its_lease_ends(database: Database) -> None:
    await write_rows(database, [in_hand("a")], owner="of-an-older-version")
    assert await database.write(lambda tx: outbox.take_back(tx, [], after())) == 0
    assert await database.write(lambda tx: outbox.take_back(tx, [], after(seconds=1))) == 1


async def test_taking_back_leaves_what_is_done_alone(database: Database) -> None:
    done = [a_row(status.value, status=status) for status in set(RowStatus) - {RowStatus.SENDING}]
    await write_rows(database, done, owner="dead")
    assert await database.write(lambda tx: outbox.void_leases(tx, owner=OWNER, now=after())) == 0


async def test_a_row_given_back_unsent_is_no_ambiguous_one(database: Database) -> None:
    await write_rows(database, [in_hand("a"), in_hand("b")])
    await database.write(lambda tx: outbox.give_back(tx, ["a"], OWNER))
    row = await row_of(database, "a")
    assert (row.status, row.ambiguous, row.lease_until, row.tries) == (RowStatus.PENDING, False, None, 0)
    assert (await row_of(database, "b")).status is RowStatus.SENDING
    await database.write(lambda tx: outbox.give_back(tx, [], OWNER))


async def test_another_try_waits_for_its_time(database: Database) -> None:
    await write_rows(database, [in_hand()])
    tried = in_hand(tries=1, ambiguous=True)
    await database.write(lambda tx: outbox.postpone(tx, tried, OWNER, due_at=after(seconds=4), reason="timeout"))
    row = await row_of(database)
    assert (row.status, row.tries, row.ambiguous, row.reason) == (RowStatus.PENDING, 1, True, "timeout")
    assert await claim(database, now=after(seconds=3)) == []
    assert await claim(database, now=after(seconds=4)) == ["row-1"]


# --- Settling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [RowStatus.DELIVERED, RowStatus.REFUSED, RowStatus.DROPPED, RowStatus.DEAD])
async def test_a_settled_row_says_what_became_of_it(database: Database, status: RowStatus) -> None:
    await write_rows(database, [in_hand()])
    tried = in_hand(tries=2)
    receipt = {"channel": "C0OPS", "ts": "1.2"}
    await database.write(
        lambda tx: outbox.settle(tx, tried, status, after(seconds=5), OWNER, receipt=receipt, reason="because")
    )
    row = await row_of(database)
    assert (row.status, row.tries, row.receipt, row.reason) == (status, 2, receipt, "because")
    assert (row.settled_at, row.lease_until) == (after(seconds=5), None)
    assert await claim(database, now=after(hours=9)) == []


THEIRS = "another-worker"


async def test_only_whoever_has_a_row_in_hand_settles_it(database: Database) -> None:
    """A worker that was taken for dead comes back, and another has its rows."""
    await write_rows(database, [in_hand(kind=RowKind.TELL, body={"text": "mine"})], owner=THEIRS)
    before = await row_of(database)
    receipt = {"ts": "1.2"}

    def late(tx: Tx) -> list[bool]:
        return [
            *(outbox.settle(tx, before, status, after(), OWNER, receipt=receipt) for status in RowStatus),
            outbox.postpone(tx, before, OWNER, due_at=after(seconds=9), reason="timeout"),
        ]

    assert not any(await database.write(late))
    await database.write(lambda tx: outbox.give_back(tx, [before.id], OWNER))
    assert await row_of(database) == before
    assert await database.write(lambda tx: outbox.settle(tx, before, RowStatus.DELIVERED, after(), THEIRS))


@pytest.mark.parametrize("status", sorted(set(RowStatus)))
async def test_what_got_through_after_all_counts_for_a_row_that_waits(database: Database, status: RowStatus) -> None:
    await write_rows(database, [a_row(status=status, kind=RowKind.TELL, body={"link": "https://hand.example/in/x"})])
    before = await row_of(database)
    accepted = await database.write(lambda tx: outbox.accept(tx, before, after(), {"ts": "1.2"}))
    row = await row_of(database)
    assert accepted is (status is RowStatus.PENDING)
    if accepted:
        assert (row.status, row.receipt, row.body) == (RowStatus.DELIVERED, {"ts": "1.2"}, None)
    else:
        assert row == before


async def test_what_a_short_message_said_is_forgotten_once_it_is_settled(database: Database) -> None:
    """It may hold a sign-in link."""
    link = {"link": "https://hand.example/in/secret"}
    rows = [in_hand("tell", kind=RowKind.TELL, body=link), in_hand("withdraw", kind=RowKind.WITHDRAW, body=link)]
    await write_rows(database, rows)
    for row in rows:
        await database.write(lambda tx, row=row: outbox.settle(tx, row, RowStatus.DELIVERED, after(), OWNER))
    assert (await row_of(database, "tell")).body is None
    assert (await row_of(database, "withdraw")).body == link


async def test_the_end_drops_the_notices_that_wait_and_finds_those_that_arrived_or_may_have(database: Database) -> None:
    rows = [
        a_row("waiting"),
        a_row("doubtful", ambiguous=True, tries=1),
        in_hand("in hand"),
        a_row("arrived", status=RowStatus.DELIVERED, receipt={"ts": "1"}),
        a_row("mailed", channel="email", status=RowStatus.DELIVERED, receipt={"message_id": "1"}),
        a_row("refused", status=RowStatus.REFUSED),
        a_row("callback", kind=RowKind.RESUME, channel="agents"),
        a_row("other", suspension_id="susp-2"),
        a_row("overtaken", status=RowStatus.DROPPED, settled_at=after(seconds=1)),
        a_row("unconfirmed", status=RowStatus.DROPPED, receipt={"dedup_key": "k"}, settled_at=after(seconds=1)),
    ]
    await write_rows(database, rows)
    arrived = await database.write(
        lambda tx: outbox.end_notices(tx, "susp-1", after(minutes=1), ["slack", "pagerduty"])
    )
    assert [row.id for row in arrived] == ["arrived", "unconfirmed"]
    dropped = await row_of(database, "waiting")
    assert (dropped.status, dropped.reason, dropped.settled_at) == (
        RowStatus.DROPPED,
        "question_ended",
        after(minutes=1),
    )
    names = ("doubtful", "in hand", "refused", "callback", "other", "mailed")
    assert {name: (await row_of(database, name)).status for name in names} == {
        "doubtful": RowStatus.PENDING,
        "in hand": RowStatus.SENDING,
        "refused": RowStatus.REFUSED,
        "callback": RowStatus.PENDING,
        "other": RowStatus.PENDING,
        "mailed": RowStatus.DELIVERED,
    }


def refused(row_id: str, **fields: Any) -> Row:
    return a_row(row_id, status=RowStatus.REFUSED, **fields)


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ([], ()),
        ([refused("a"), refused("b", reason="http_400")], ("http_400",)),
        ([refused("a", reason="http_400"), refused("b", reason="http_400")], ("http_400",)),
        ([refused("a"), a_row("b", status=RowStatus.DELIVERED)], None),
        ([refused("a"), a_row("b", status=RowStatus.DELIVERED, reason=outbox.NOBODY_ON_CALL)], None),
        ([refused("a"), a_row("b")], None),
        ([refused("a"), a_row("b", reason="http_503")], None),
        ([refused("a"), in_hand("b")], None),
        ([refused("a"), a_row("b", reason=outbox.NOBODY_ON_CALL)], (outbox.NOBODY_ON_CALL,)),
        ([refused("a"), in_hand("b", reason=outbox.NOBODY_ON_CALL)], (outbox.NOBODY_ON_CALL,)),
        ([refused("a"), a_row("b", attempt=2)], ()),
        ([refused("a"), a_row("b", suspension_id="susp-2")], ()),
        ([refused("a"), a_row("b", kind=RowKind.RESUME, attempt=None)], ()),
    ],
)
async def test_an_attempt_reaches_nobody_when_no_notice_of_it_has_hope(
    database: Database, rows: list[Row], reasons: tuple[str, ...] | None
) -> None:
    await write_rows(database, rows)
    assert await database.read(lambda conn: outbox.why_nobody(conn, "susp-1", 1)) == reasons


async def test_the_story_of_a_question_is_told_oldest_first(database: Database) -> None:
    rows: list[Any] = [a_row(f"row-{n}", created_at=after(seconds=9 - n)) for n in range(3)]
    await write_rows(database, [*rows, a_row("other", suspension_id="susp-2")])
    found = await database.read(lambda conn: outbox.of_suspension(conn, "susp-1"))
    assert [row.id for row in found] == ["row-2", "row-1", "row-0"]
    assert replace(found[0], id="x").created_at == after(seconds=7)
