"""Questions that have ended, with all that belongs to them, and the mover that takes them out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.audit.retention import Retention
from core.database.database import Database, Tx
from core.domain.machine import open_suspension
from core.domain.people import Address
from core.domain.tokens import TokenMaker, TokenPurpose
from core.domain.vocabulary import Event
from core.store import event_log as log
from core.store import intents, outbox, suspensions, tokens
from core.store.outbox import RowStatus
from core.store.tables import metadata
from tests.clock import ManualClock
from tests.core.examples import START, a_question, after, answered
from tests.core.store_examples import OWNER, a_row, an_intent

KEY = b"k" * 32
TOKENS = TokenMaker(b"t" * 32)
KEEP = timedelta(days=30)
LONG_AFTER = after(days=40)


def mover(database: Database, folder: Path, now: datetime = LONG_AFTER) -> Retention:
    folder.mkdir(exist_ok=True)
    return Retention(database, TOKENS, KEY, ManualClock(now), KEEP, folder)


async def move_out(retention: Retention) -> None:
    """Look until there is nothing left to do now."""
    while (following := await retention.look()) is not None and following <= retention.clock.now():
        pass


async def ask(database: Database, name: str, *, intent: str | None = None, at: datetime = START) -> None:
    """An open question ``name``; of an intent of its own unless ``intent`` names one."""
    intent_id = intent or f"intent-{name}"

    def job(tx: Tx) -> None:
        if intents.get(tx.conn, intent_id) is None:
            intents.insert(tx, an_intent(intent_id))
        asked = a_question(
            suspension_id=name, ref=f"HR-{name.upper()}", intent_id=intent_id, suspended_at=at, question=f"May {name}?"
        )
        opened = open_suspension(asked)
        suspensions.insert(tx, opened.suspension)
        _log(tx, intent_id, opened.events, at)

    await database.write(job)


async def answer(database: Database, name: str, *, at: datetime = START) -> None:
    """It is answered, and all that was sent about it has arrived."""

    def job(tx: Tx) -> None:
        asked = suspensions.get(tx.conn, name)
        assert asked is not None
        ended = answered(asked, at)
        suspensions.update(tx, [replace(ended.suspension, version=asked.version + 1)])
        _log(tx, asked.ask.intent_id, ended.events, at)
        sent = {"suspension_id": name, "status": RowStatus.DELIVERED, "settled_at": at}
        outbox.insert(tx, [a_row(f"notice-{name}", address=f"{name}@example.com", **sent)], OWNER)
        token = TOKENS.token(TokenPurpose.PAGE, name, "slack", f"{name}@example.com")
        to = Address("slack", f"{name}@example.com", f"{name}@example.com")
        tokens.keep(tx, [(token, TokenPurpose.PAGE, name, to)])

    await database.write(job)


async def ask_and_answer(database: Database, *names: str, intent: str | None = None, at: datetime = START) -> None:
    for name in names:
        await ask(database, name, intent=intent, at=at)
        await answer(database, name, at=at)


async def note_event(database: Database, intent_id: str, *events: Event, at: datetime = START) -> None:
    await database.write(lambda tx: _log(tx, intent_id, events, at))


def _log(tx: Tx, intent_id: str, events: Sequence[Event], at: datetime) -> None:
    intent = intents.lock(tx, intent_id)
    assert intent is not None
    intents.advance(tx, log.append(tx, intent, events, at, KEY))


async def texts(database: Database) -> str:
    """Everything that is in the database, as one text."""

    def job(conn: sa.Connection) -> str:
        return "\n".join(str(row) for table in metadata.tables.values() for row in conn.execute(table.select()))

    return await database.read(job)


def records(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Every line of every file of the archive, or those of one kind."""
    return [record for record in _records(folder) if kind in {None, record["kind"]}]


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.jsonl")):
        yield from map(json.loads, file.read_text().splitlines())


def archived_ids(folder: Path) -> list[str]:
    return sorted(record["row"]["id"] for record in records(folder, "suspension"))
