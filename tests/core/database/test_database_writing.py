"""What a transaction promises (decision 0003): commits that are shared, hooks that wait, and nothing lost."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.errors import Conflict, DatabaseUnavailable
from core.store import intents, suspensions
from core.store.tables import intents as intents_table
from tests.core.examples import hourly
from tests.core.store_examples import an_intent, keep, keep_intents, stored

PATIENCE = 30.0


def count(conn: sa.Connection) -> int:
    return conn.scalar(sa.select(sa.func.count()).select_from(intents_table)) or 0


def count_up(tx: Tx) -> None:
    intent = intents.lock(tx, "intent-1")
    assert intent is not None
    intents.update(tx, replace(intent, version=intent.version + 1))


async def version(database: Database) -> int:
    intent = await database.read(lambda conn: intents.get(conn, "intent-1"))
    assert intent is not None
    return intent.version


async def test_what_was_written_is_there_for_every_reader(database: Database, other_database: Database) -> None:
    await keep_intents(database, an_intent())
    assert await database.read(count) == 1
    assert await other_database.read(count) == 1


async def test_a_write_returns_what_its_job_returned(database: Database) -> None:
    assert await database.write(lambda tx: count(tx.conn)) == 0


async def test_a_job_that_fails_leaves_nothing_and_its_caller_is_told_why(database: Database) -> None:
    def job(tx: Tx) -> None:
        intents.insert(tx, an_intent())
        raise Conflict("no")

    with pytest.raises(Conflict):
        await database.write(job)
    assert await database.read(count) == 0


async def test_a_reader_never_sees_what_is_not_committed(database: Database) -> None:
    written, seen = threading.Event(), threading.Event()

    def job(tx: Tx) -> None:
        intents.insert(tx, an_intent())
        written.set()
        assert seen.wait(PATIENCE)

    writing = asyncio.create_task(database.write(job))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    assert await database.read(count) == 0
    seen.set()
    await writing
    assert await database.read(count) == 1


async def together(database: Database, *jobs: Any) -> list[Any]:
    """Write ``jobs`` so that the first one is still running when the others arrive."""
    arrived = threading.Event()

    async def let_go() -> None:
        arrived.set()

    first = database.write(lambda _tx: arrived.wait(PATIENCE))
    results = await asyncio.gather(first, *map(database.write, jobs), let_go(), return_exceptions=True)
    return results[1:-1]


async def test_a_failing_job_does_not_undo_its_neighbours(database: Database) -> None:
    def keep_or_fail(number: int) -> Any:
        def job(tx: Tx) -> int:
            intents.insert(tx, an_intent(f"intent-{number}"))
            if number % 3 == 0:
                raise Conflict(str(number))
            return number

        return job

    results = await together(database, *map(keep_or_fail, range(30)))
    assert [isinstance(result, Conflict) for result in results] == [number % 3 == 0 for number in range(30)]
    assert await database.read(count) == 20


async def test_hooks_run_once_though_a_neighbour_fails(database: Database) -> None:
    happened: list[int] = []

    def keep_or_fail(number: int) -> Any:
        def job(tx: Tx) -> None:
            intents.insert(tx, an_intent(f"intent-{number}"))
            tx.after_commit(lambda: happened.append(number))
            if number == 2:
                raise Conflict(str(number))

        return job

    await together(database, *map(keep_or_fail, range(5)))
    assert sorted(happened) == [0, 1, 3, 4]


async def test_a_broken_constraint_does_not_undo_the_neighbours(database: Database) -> None:
    jobs = [lambda tx, n=number: intents.insert(tx, an_intent(f"intent-{n % 5}")) for number in range(10)]
    results = await together(database, *jobs)
    assert sum(isinstance(result, sa.exc.IntegrityError) for result in results) == 5
    assert await database.read(count) == 5


async def test_even_a_job_that_is_torn_down_fails_alone_and_keeps_nobody_waiting(database: Database) -> None:
    def torn(_tx: Tx) -> None:
        raise GeneratorExit

    keep_one = [lambda tx, n=number: intents.insert(tx, an_intent(f"intent-{n}")) for number in range(2)]
    async with asyncio.timeout(PATIENCE):
        results = await together(database, keep_one[0], torn, keep_one[1])
    assert [type(result) for result in results] == [type(None), GeneratorExit, type(None)]
    assert await database.read(count) == 2


async def test_hooks_run_in_order_once_the_commit_stands_and_before_the_caller_goes_on(database: Database) -> None:
    happened: list[Any] = []

    def look() -> None:
        with database.engine.connect() as conn:
            happened.append(count(conn))

    def job(tx: Tx) -> None:
        tx.after_commit(lambda: happened.append("first"))
        intents.insert(tx, an_intent())
        tx.after_commit(look)

    await database.write(job)
    assert happened == ["first", 1]


async def test_hooks_run_in_the_event_loop(database: Database) -> None:
    threads: list[int] = []
    await database.write(lambda tx: tx.after_commit(lambda: threads.append(threading.get_ident())))
    assert threads == [threading.get_ident()]


async def test_a_hook_that_fails_is_reported_and_keeps_no_other_from_running(database: Database) -> None:
    happened: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: happened.append(context["exception"]))
    full = OSError("no space left for a log line")

    def fails() -> None:
        raise full

    def job(tx: Tx) -> str:
        tx.after_commit(fails)
        tx.after_commit(lambda: happened.append("told the sender"))
        return "committed"

    assert await database.write(job) == "committed"
    assert happened == ["told the sender", full]


async def test_hooks_of_a_failed_job_never_run(database: Database) -> None:
    happened: list[str] = []

    def job(tx: Tx) -> None:
        tx.after_commit(lambda: happened.append("never"))
        raise Conflict("no")

    def neighbour(tx: Tx) -> None:
        tx.after_commit(lambda: happened.append("neighbour"))

    await together(database, job, neighbour)
    assert happened == ["neighbour"]


async def test_a_caller_who_gives_up_does_not_undo_what_was_begun(database: Database) -> None:
    begun, go_on, told = threading.Event(), threading.Event(), asyncio.Event()

    def job(tx: Tx) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        intents.insert(tx, an_intent())
        tx.after_commit(told.set)

    writing = asyncio.create_task(database.write(job))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    writing.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with asyncio.timeout(PATIENCE):
        await told.wait()
    assert await database.read(count) == 1


async def test_a_hook_that_fails_keeps_nobody_waiting(database: Database) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))

    def job(tx: Tx) -> str:
        tx.after_commit(lambda: {}["nothing"])
        return "done"

    async with asyncio.timeout(PATIENCE):
        assert await database.write(job) == "done"
    assert [type(context["exception"]) for context in told] == [KeyError]


async def test_four_hundred_at_once_lose_nothing(database: Database) -> None:
    await keep_intents(database, an_intent())
    await asyncio.gather(*(database.write(count_up, within=LONG) for _ in range(400)))
    assert await version(database) == 401


async def test_two_processes_at_once_lose_nothing(database: Database, other_database: Database) -> None:
    await keep_intents(database, an_intent())
    await asyncio.gather(*(db.write(count_up, within=LONG) for db in (database, other_database) for _ in range(50)))
    assert await version(database) == 101


async def test_of_many_who_move_the_same_version_one_wins(database: Database) -> None:
    await keep(database, hourly())

    def move(tx: Tx) -> None:
        suspensions.update(tx, [replace(hourly(), attempt=2, version=2)])

    results = await asyncio.gather(*(database.write(move) for _ in range(16)), return_exceptions=True)
    assert [type(result) for result in results if result is not None] == [Conflict] * 15
    kept = await stored(database, "susp-1")
    assert kept is not None
    assert (kept.attempt, kept.version) == (2, 2)


async def test_a_closed_database_says_so_at_once(database: Database) -> None:
    await database.close()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(DatabaseUnavailable, match="closed"):
            await database.write(count_up)
        with pytest.raises(DatabaseUnavailable, match="closed"):
            await database.read(count)


async def test_closing_finishes_what_was_submitted(database: Database, other_database: Database) -> None:
    await keep_intents(database, an_intent())
    writing = [asyncio.create_task(database.write(count_up)) for _ in range(20)]
    await asyncio.gather(database.read(count))  # every write has been submitted by now
    await database.close()
    await asyncio.gather(*writing)
    assert await version(other_database) == 21
