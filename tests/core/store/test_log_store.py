"""The event log: numbered and chained, so that nobody without the key changes it unseen (DESIGN.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent
from core.domain.vocabulary import Event
from core.store import event_log as log
from core.store import intents
from core.store.event_log import Logged
from core.store.tables import events
from tests.core.examples import START, after
from tests.core.store_examples import an_intent, keep_intents

KEY = b"k" * 32


async def append(database: Database, *types: str, intent_id: str = "intent-1", at: datetime = START) -> Intent:
    """Log ``types`` one after another in one transaction, each with a payload of its own."""

    def job(tx: Tx) -> Intent:
        intent = intents.lock(tx, intent_id)
        assert intent is not None
        added = [Event(name, {"n": number, "ü": [None, 1.5]}, "alice") for number, name in enumerate(types)]
        grown = log.append(tx, intent, added, at, KEY)
        intents.advance(tx, grown)
        return grown

    return await database.write(job)


async def lines(database: Database, intent_id: str = "intent-1", **wanted: Any) -> list[Logged]:
    return await database.read(lambda conn: log.of_intent(conn, intent_id, **wanted))


async def change(database: Database, statement: sa.Update | sa.Delete) -> None:
    """What somebody with the database, but without the key, could do."""
    await database.write(lambda tx: tx.conn.execute(statement))


@pytest.fixture
async def logged(database: Database) -> Database:
    """Two intents of five lines each."""
    await keep_intents(database, an_intent("intent-1"), an_intent("intent-2"))
    for intent_id in ("intent-1", "intent-2"):
        await append(database, "a", "b", intent_id=intent_id)
        await append(database, "c", "d", "e", intent_id=intent_id, at=after(minutes=1))
    return database


async def test_lines_are_numbered_in_the_order_they_happened(logged: Database) -> None:
    found = await lines(logged)
    assert [(line.position, line.type, line.actor) for line in found] == [
        (1, "a", "alice"),
        (2, "b", "alice"),
        (3, "c", "alice"),
        (4, "d", "alice"),
        (5, "e", "alice"),
    ]
    assert found[1].payload == {"n": 1, "ü": [None, 1.5]}
    assert found[1].created_at == after()


async def test_the_intent_remembers_the_head_of_its_log(logged: Database) -> None:
    intent = await logged.read(lambda conn: intents.get(conn, "intent-1"))
    last = (await lines(logged))[-1]
    assert intent is not None
    assert (intent.log_length, intent.log_mac) == (last.position, last.mac)


async def test_a_log_can_be_narrowed_by_type_time_and_number(logged: Database) -> None:
    assert [line.type for line in await lines(logged, types=["b", "d"])] == ["b", "d"]
    assert [line.type for line in await lines(logged, since=after(seconds=1))] == ["c", "d", "e"]
    assert [line.type for line in await lines(logged, limit=2)] == ["d", "e"]
    assert await lines(logged, intent_id="intent-3") == []


async def test_nothing_appended_changes_nothing(logged: Database) -> None:
    before = await logged.read(lambda conn: intents.get(conn, "intent-1"))
    assert await append(logged) == before
    assert len(await lines(logged)) == 5


async def test_an_untouched_log_holds(logged: Database) -> None:
    for intent_id in ("intent-1", "intent-2"):
        assert log.first_broken(await lines(logged, intent_id), KEY) is None
    assert log.first_broken([], KEY) is None


AT_3 = (events.c.intent_id == "intent-1") & (events.c.position == 3)
EDITS: dict[str, sa.Update] = {
    "payload": events.update().where(AT_3).values(payload={"n": 0, "ü": [None, 2.5]}),
    "type": events.update().where(AT_3).values(type="C"),
    "actor": events.update().where(AT_3).values(actor="bob"),
    "time": events.update().where(AT_3).values(created_at=after(seconds=61)),
    "id": events.update().where(AT_3).values(id="another"),
    "mac": events.update().where(AT_3).values(mac="0" * 64),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
async def test_an_edited_line_is_found(logged: Database, edit: sa.Update) -> None:
    await change(logged, edit)
    broken = log.first_broken(await lines(logged), KEY)
    assert broken is not None
    assert broken.position == 3
    assert log.first_broken(await lines(logged, "intent-2"), KEY) is None


@pytest.mark.parametrize(("position", "shown"), [(1, 2), (3, 4), (4, 5)])
async def test_a_dropped_line_is_found_at_the_one_behind_it(logged: Database, position: int, shown: int) -> None:
    await change(logged, events.delete().where(events.c.intent_id == "intent-1", events.c.position == position))
    broken = log.first_broken(await lines(logged), KEY)
    assert broken is not None
    assert broken.position == shown


async def test_a_log_cut_off_at_its_end_no_longer_fits_the_intents_head(logged: Database) -> None:
    await change(logged, events.delete().where(events.c.intent_id == "intent-1", events.c.position == 5))
    intent = await logged.read(lambda conn: intents.get(conn, "intent-1"))
    left = await lines(logged)
    assert intent is not None
    assert (intent.log_length, intent.log_mac) != (left[-1].position, left[-1].mac)


async def test_lines_in_another_order_are_found(logged: Database) -> None:
    for old, new in ((2, 99), (3, 2), (99, 3)):
        here = (events.c.intent_id == "intent-1") & (events.c.position == old)
        await change(logged, events.update().where(here).values(position=new))
    broken = log.first_broken(await lines(logged), KEY)
    assert broken is not None
    assert broken.position == 2


async def test_a_line_moved_to_another_intent_is_found_in_both(logged: Database) -> None:
    await change(logged, events.delete().where(events.c.intent_id == "intent-2", events.c.position == 3))
    await change(logged, events.update().where(AT_3).values(intent_id="intent-2"))
    for intent_id in ("intent-1", "intent-2"):
        broken = log.first_broken(await lines(logged, intent_id), KEY)
        assert broken is not None
        assert broken.position == (4 if intent_id == "intent-1" else 3)


async def test_a_line_that_was_once_sealed_in_the_same_place_does_not_fit_what_came_after(logged: Database) -> None:
    """As in a backup put back in parts: each line is genuine, and still this is not what happened."""
    _, second, *_ = await lines(logged)
    fork = replace(an_intent(), log_length=2, log_mac=second.mac)
    await change(logged, events.delete().where(AT_3))
    await logged.write(lambda tx: log.append(tx, fork, [Event("C", {}, "alice")], after(), KEY))
    broken = log.first_broken(await lines(logged), KEY)
    assert broken is not None
    assert broken.position == 4


async def test_a_line_added_without_the_key_is_found(logged: Database) -> None:
    intent = await logged.read(lambda conn: intents.get(conn, "intent-1"))
    assert intent is not None
    forged = [Event("intent.resumed", {"value": "approve"}, "alice")]
    await logged.write(lambda tx: log.append(tx, intent, forged, after(minutes=2), b"another key"))
    broken = log.first_broken(await lines(logged), KEY)
    assert broken is not None
    assert broken.position == 6


async def test_another_key_fits_no_line(logged: Database) -> None:
    broken = log.first_broken(await lines(logged), b"another key")
    assert broken is not None
    assert broken.position == 1


Tampering = Callable[[Sequence[Logged]], list[Logged]]
TAMPERINGS: dict[str, Tampering] = {
    "renumbered": lambda found: [replace(line, position=line.position + 1) for line in found],
    "the same line twice": lambda found: [found[0], found[0], *found[1:]],
    "without its beginning": lambda found: list(found[1:]),
}


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS)
async def test_a_log_that_was_put_together_otherwise_does_not_hold(logged: Database, tamper: Tampering) -> None:
    assert log.first_broken(tamper(await lines(logged)), KEY) is not None


async def test_a_position_is_taken_once(logged: Database) -> None:
    stale = replace(an_intent(), log_length=2, log_mac="x")
    with pytest.raises(sa.exc.IntegrityError):
        await logged.write(lambda tx: log.append(tx, stale, [Event("x", {}, "a")], after(), KEY))
    assert len(await lines(logged)) == 5
