"""Following the log: every event once and in order, however transactions overlap (API.md §5)."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

from core.database.database import Database, Job, Tx, open_database
from core.domain.vocabulary import Event
from core.openintent.store import portfolios
from core.store import event_log as log
from core.store import intents
from core.store.event_log import Logged
from tests.core.examples import after
from tests.core.store_examples import an_intent, keep_intents
from tests.journeys.service.test_hot_path_plans import plans as plans_of
from tests.statements import executed

KEY = b"k" * 32
PATIENCE = 30.0
BEGINNING = (0, 0)


def appending(intent_id: str, name: str) -> Job[None]:
    def job(tx: Tx) -> None:
        intent = intents.lock(tx, intent_id)
        assert intent is not None
        intents.advance(tx, log.append(tx, intent, [Event(name, {}, "alice")], after(), KEY))

    return job


async def look(database: Database, cursor: tuple[int, int], **wanted: Any) -> log.Following:
    filters = {"intent_id": None, "agent": None, "limit": 100, **wanted}
    return await database.read(lambda conn: log.after(conn, cursor, **filters))


async def following(database: Database, cursor: tuple[int, int], **wanted: Any) -> list[Logged]:
    return (await look(database, cursor, **wanted)).lines


async def test_the_log_is_followed_from_its_beginning_over_all_intents(database: Database) -> None:
    await keep_intents(database, an_intent("intent-1"), an_intent("intent-2"))
    for intent_id, name in (("intent-1", "a"), ("intent-2", "b"), ("intent-1", "c")):
        await database.write(appending(intent_id, name))
    found = await following(database, BEGINNING)
    assert [(line.intent_id, line.type) for line in found] == [("intent-1", "a"), ("intent-2", "b"), ("intent-1", "c")]
    assert [line.cursor for line in found] == sorted({line.cursor for line in found})
    assert [line.type for line in await following(database, found[0].cursor)] == ["b", "c"]
    assert await following(database, found[-1].cursor) == []


async def test_a_follower_takes_the_log_in_parts(database: Database) -> None:
    await keep_intents(database, an_intent())
    for number in range(7):
        await database.write(appending("intent-1", str(number)))
    cursor, read = BEGINNING, []
    while part := await following(database, cursor, limit=3):
        assert len(part) <= 3
        read += [line.type for line in part]
        cursor = part[-1].cursor
    assert read == [str(number) for number in range(7)]


async def test_a_follower_may_watch_one_intent_or_its_own(database: Database) -> None:
    await keep_intents(database, an_intent("intent-1"), an_intent("intent-2", created_by="other-agent"))
    await database.write(appending("intent-1", "a"))
    await database.write(appending("intent-2", "b"))
    assert [line.type for line in await following(database, BEGINNING, intent_id="intent-2")] == ["b"]
    assert [line.type for line in await following(database, BEGINNING, agent="refund-agent")] == ["a"]
    assert await following(database, BEGINNING, agent="nobody") == []


async def test_the_newest_cursor_lies_behind_everything_so_far(database: Database) -> None:
    assert await database.read(log.newest_cursor) == BEGINNING
    await keep_intents(database, an_intent())
    await database.write(appending("intent-1", "old"))
    newest = await database.read(log.newest_cursor)
    await database.write(appending("intent-1", "new"))
    assert [line.type for line in await following(database, newest)] == ["new"]


async def test_what_commits_late_is_not_overtaken_on_postgres(postgres_url: str) -> None:
    """Numbers are given before commits happen: the younger event has to wait for the older one."""
    database = open_database(postgres_url)
    await keep_intents(database, an_intent("slow"), an_intent("quick"))
    written, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        appending("slow", "first")(tx)
        written.set()
        assert go_on.wait(PATIENCE)

    writing = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    await database.write(appending("quick", "second"))
    assert await look(database, BEGINNING) == log.Following([], held_back=True, reached=BEGINNING)
    assert await look(database, BEGINNING, intent_id="slow") == log.Following([], False, BEGINNING)
    assert await database.read(log.newest_cursor) == BEGINNING
    go_on.set()
    await writing
    assert not (await look(database, BEGINNING)).held_back
    assert [line.type for line in await following(database, BEGINNING)] == ["first", "second"]
    await database.close()


async def test_every_event_is_met_once_and_in_its_intents_order_while_many_write(database: Database) -> None:
    names = [f"intent-{number}" for number in range(8)]
    await keep_intents(database, *map(an_intent, names))
    each = 12
    pauses = random.Random(4).choices([0, 0, 0.001, 0.004], k=len(names) * each)

    def write(intent_id: str, number: int, pause: float) -> Job[None]:
        def job(tx: Tx) -> None:
            appending(intent_id, str(number))(tx)
            threading.Event().wait(pause)  # so that transactions end in another order than they began

        return job

    async def write_all(intent_id: str) -> None:
        for number in range(each):
            await database.write(write(intent_id, number, pauses.pop()))

    read: list[Logged] = []

    async def follow() -> None:
        cursor = BEGINNING
        async with asyncio.timeout(PATIENCE * 2):
            while len(read) < len(names) * each:
                part = await following(database, cursor, limit=5)
                read.extend(part)
                cursor = part[-1].cursor if part else cursor

    await asyncio.gather(follow(), *map(write_all, names))
    assert await following(database, read[-1].cursor) == []
    for name in names:
        assert [line.type for line in read if line.intent_id == name] == [str(number) for number in range(each)]
        mine = await database.read(lambda conn, name=name: log.of_intent(conn, name))
        assert log.first_broken(mine, KEY) is None


# --- What was there at a moment ---------------------------------------------------------------------------------------


async def test_a_state_of_the_log_tells_what_was_there_from_what_came_after(database: Database) -> None:
    await keep_intents(database, an_intent())
    await database.write(appending("intent-1", "old"))
    state = await database.read(log.state)
    await database.write(appending("intent-1", "new"))
    old, new = await following(database, BEGINNING)
    assert log.was_there(state, old.cursor)
    assert not log.was_there(state, new.cursor)


async def test_what_commits_after_a_moment_was_not_there_although_it_began_before_on_postgres(
    postgres_url: str,
) -> None:
    database = open_database(postgres_url)
    await keep_intents(database, an_intent("slow"), an_intent("quick"))
    written, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        appending("slow", "first")(tx)
        written.set()
        assert go_on.wait(PATIENCE)

    writing = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    await database.write(appending("quick", "second"))
    state = await database.read(log.state)
    go_on.set()
    await writing
    first, second = await following(database, BEGINNING)
    assert (first.type, second.type) == ("first", "second")
    assert not log.was_there(state, first.cursor)
    assert log.was_there(state, second.cursor)
    await database.close()


async def test_a_reader_of_some_intents_comes_past_the_lines_of_the_others(database: Database) -> None:
    await keep_intents(database, an_intent("mine", created_by="me"), an_intent("theirs", created_by="others"))
    names = ["theirs"] * 5 + ["mine"] + ["theirs"] * 3
    for number, intent_id in enumerate(names):
        await database.write(appending(intent_id, str(number)))
    everything = await following(database, BEGINNING)
    first = await look(database, BEGINNING, agent="me", limit=4)
    assert (first.lines, first.is_cut, first.reached) == ([], True, everything[3].cursor)
    second = await look(database, first.reached, agent="me", limit=4)
    assert ([line.type for line in second.lines], second.reached) == (["5"], everything[7].cursor)
    last = await look(database, second.reached, agent="me", limit=4)
    assert (last.lines, last.is_cut, last.reached) == ([], False, everything[8].cursor)


async def test_following_reads_no_more_than_its_part_of_the_log_whoever_reads(database: Database) -> None:
    await keep_intents(database, an_intent("mine", created_by="me"))
    async with executed(database) as statements:
        members = portfolios.ids_of_members("p")
        for readers in ({}, {"agent": "me"}, {"among": members}, {"agent": "me", "among": members}):
            await look(database, BEGINNING, **readers)
    [*plans] = [plan for text, plan in plans_of(database, statements).items() if "FROM events" in text]
    assert len(plans) == 4
    for plan in plans:
        wanted = "SEARCH events USING INTEGER PRIMARY KEY" if database.dialect == "sqlite" else "ix_events_stream"
        assert wanted in plan
        assert "SCAN intents" not in plan
        assert "Seq Scan on intents" not in plan
        assert "hashed" not in plan  # all that the agent owns
