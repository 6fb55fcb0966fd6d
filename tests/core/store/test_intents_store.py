"""Intents in the store: whole records, the few columns a suspension moves, and the lock that every move takes."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentStatus
from core.store import intents
from tests.core.examples import after
from tests.core.store_examples import an_intent, keep, keep_intents, numbered

PATIENCE = 30.0

FULL = replace(
    an_intent(),
    description="Ünïcode 🙂",
    status=IntentStatus.ABANDONED,
    version=7,
    state={"cart": [1, {"deep": None}], "huge": 10**300},
    constraints={"budget": 5},
    confidence=0.25,
    abandonment_reason="input_timeout",
    suspension_id="susp-1",
    log_length=3,
    log_mac="ab" * 32,
    updated_at=after(hours=1),
)


async def read(database: Database, intent_id: str = "intent-1") -> Intent | None:
    return await database.read(lambda conn: intents.get(conn, intent_id))


async def test_an_intent_comes_back_as_it_went_in(database: Database) -> None:
    await keep_intents(database, FULL, an_intent("intent-2"))
    assert await read(database) == FULL
    assert await read(database, "intent-2") == an_intent("intent-2")
    assert await read(database, "intent-3") is None


async def test_a_whole_intent_is_replaced(database: Database) -> None:
    await keep_intents(database, an_intent(), an_intent("intent-2"))
    await database.write(lambda tx: intents.update(tx, FULL))
    assert await read(database) == FULL
    assert await read(database, "intent-2") == an_intent("intent-2")


async def test_a_suspensions_move_leaves_what_the_agent_wrote_alone(database: Database) -> None:
    await keep_intents(database, replace(FULL, status=IntentStatus.ACTIVE))
    moved = replace(
        an_intent(), status=IntentStatus.SUSPENDED, version=8, suspension_id="susp-2", updated_at=after(hours=2)
    )
    await database.write(lambda tx: intents.advance(tx, moved))
    kept = await read(database)
    assert kept is not None
    assert (kept.state, kept.description, kept.constraints) == (FULL.state, FULL.description, FULL.constraints)
    assert (kept.status, kept.version, kept.suspension_id) == (IntentStatus.SUSPENDED, 8, "susp-2")
    assert (kept.updated_at, kept.abandonment_reason) == (after(hours=2), None)


async def test_a_suspension_is_moved_under_the_lock_of_its_intent(database: Database) -> None:
    await keep_intents(database, an_intent("intent-1"))
    await keep(database, numbered(1), numbered(2))
    assert await database.write(lambda tx: intents.lock_by_suspension(tx, "susp-1")) == an_intent("intent-1")
    assert await database.write(lambda tx: intents.lock_by_suspension(tx, "susp-9")) is None


async def test_whoever_locks_second_reads_what_the_first_has_written(database: Database) -> None:
    await keep_intents(database, an_intent())
    locked, go_on = threading.Event(), threading.Event()

    def first(tx: Tx) -> None:
        intent = intents.lock(tx, "intent-1")
        assert intent is not None
        locked.set()
        assert go_on.wait(PATIENCE)
        intents.update(tx, replace(intent, version=2))

    writing = asyncio.create_task(database.write(first))
    assert await asyncio.to_thread(locked.wait, PATIENCE)
    waiting = asyncio.create_task(database.write(lambda tx: intents.lock(tx, "intent-1")))
    go_on.set()
    await writing
    second = await waiting
    assert second is not None
    assert second.version == 2


async def test_intents_are_listed_newest_first_in_pages_and_by_creator(database: Database) -> None:
    await keep_intents(
        database,
        an_intent("a", now=after(minutes=1)),
        an_intent("b", now=after(minutes=3), created_by="other-agent"),
        replace(an_intent("c", now=after(minutes=2)), status=IntentStatus.COMPLETED),
    )

    async def listed(status: str | None = None, agent: str | None = None, limit: int = 9, offset: int = 0) -> str:
        found = await database.read(
            lambda conn: intents.page(conn, status=status, agent=agent, limit=limit, offset=offset)
        )
        return "".join(intent.id for intent in found)

    assert await listed() == "bca"
    assert [await listed(limit=2), await listed(limit=2, offset=2)] == ["bc", "a"]
    assert [await listed(agent="refund-agent"), await listed(status="completed")] == ["ca", "c"]
