"""A question's record says what the log says of it, or the check of the trail finds it (docs/reference/audit.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from core.audit.check import Checked, check_logs
from core.database.database import Database
from core.store.chain import Broken
from core.store.tables import suspensions
from tests.core.examples import after
from tests.core.keeping_examples import KEY, ask, ask_and_answer

Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture
async def logged(database: Database) -> Database:
    """One question that Alice has answered, and one that is open."""
    await ask_and_answer(database, "a")
    await ask(database, "b")
    return database


async def broken_in(database: Database) -> Broken | None:
    return (await check_logs(database, KEY, None)).broken


async def edit(database: Database, name: str, **columns: Any) -> None:
    """What somebody does who can write to the database. A function gets the column and changes it."""
    row = await database.read(
        lambda conn: conn.execute(suspensions.select().where(suspensions.c.id == name)).one()._asdict()
    )
    for column, value in columns.items():
        if callable(value):
            value(row[column])
            columns[column] = row[column]
    await database.write(
        lambda tx: tx.conn.execute(suspensions.update().where(suspensions.c.id == name).values(columns))
    )


async def test_what_nobody_touched_holds(logged: Database) -> None:
    assert await check_logs(logged, KEY, None) == Checked(intents=2, events=3)


def put(**fields: Any) -> Edit:
    return lambda column: column.update(fields)


ANSWERS: dict[str, dict[str, Any]] = {
    "another value": {"ended": put(value="deny")},
    "another person": {"ended": put(by="mallory@example.com")},
    "another time": {"ended": put(at="2026-03-24T09:00:00.000001Z")},
    "another channel": {"ended": put(channel="email")},
    "a value of another type": {"ended": put(value=True)},
    "that it expired": {"status": "expired"},
    "that it is open": {"status": "open", "ended": None},
    "no end": {"ended": None},
    "nothing that can be read": {"ended": {"at": "never"}},
    "another intent": {"intent_id": "intent-b"},
    "another question": {"ask": put(question="May b?")},
    "other choices": {"ask": lambda ask: ask["choices"][0].update(label="Deny refund")},
    "a veto window": {"ask": put(kind="veto")},
    "another asker": {"ask": put(created_by="other-agent")},
    "no question that can be read": {"ask": {}},
}


@pytest.mark.parametrize("columns", ANSWERS.values(), ids=ANSWERS)
async def test_an_edited_record_is_found(logged: Database, columns: dict[str, Any]) -> None:
    await edit(logged, "a", **columns)
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) == ("intent-a", "record_changed")
    assert broken.position in {1, 2}


async def test_an_answer_that_nobody_gave_is_found(logged: Database) -> None:
    answer = {"at": after().isoformat(), "value": "approve", "by": "alice@example.com", "channel": "slack"}
    await edit(logged, "b", status="responded", ended={**answer, "reason": None, "metadata": {}, "error": None})
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault, broken.position) == ("intent-b", "record_changed", None)


async def test_a_record_that_is_gone_is_found(logged: Database) -> None:
    await logged.write(lambda tx: tx.conn.execute(suspensions.delete().where(suspensions.c.id == "a")))
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) == ("intent-a", "record_changed")


async def test_a_record_that_is_no_json_is_found(logged: Database) -> None:
    broken_text = sa.text("UPDATE suspensions SET ended = '{' WHERE id = 'a'")
    await logged.write(lambda tx: tx.conn.execute(broken_text))
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) == ("intent-a", "record_changed")
