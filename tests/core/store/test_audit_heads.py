"""Where a log ends is sealed: a tail cut off is found, whatever the intent's row says (docs/reference/audit.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.audit.check import Checked, check_logs
from core.database.database import Database, Tx
from core.store import event_log as log
from core.store.chain import Broken
from core.store.log_seals import older_mac_of_line, seal_head
from core.store.tables import events, intents, log_starts, suspensions
from tests.core.examples import after
from tests.core.keeping_examples import KEY, ask_and_answer, move_out, mover, note_event
from tests.core.store.test_audit_store import NOTE

A, B = "intent-a", "intent-b"
Edit = sa.Update | sa.Delete | sa.Insert


@pytest.fixture
async def logged(database: Database) -> Database:
    """Two intents of three lines each: asked, answered, a note."""
    await ask_and_answer(database, "a", "b")
    for intent_id in (A, B):
        await note_event(database, intent_id, NOTE)
    return database


async def change(database: Database, *edits: Edit) -> None:
    await database.write(lambda tx: [tx.conn.execute(edit) for edit in edits])


async def broken_in(database: Database) -> Broken | None:
    return (await check_logs(database, KEY, None)).broken


def of(intent: str, position: int) -> sa.ColumnElement[bool]:
    return (events.c.intent_id == intent) & (events.c.position == position)


def cut(**head: Any) -> list[Edit]:
    """The last line of A goes, and its head becomes what it was before, as far as that stands in the database."""
    before = sa.select(events.c.mac).where(of(A, 2)).scalar_subquery()
    return [
        intents.update().where(intents.c.id == A).values({"log_length": 2, "log_mac": before, **head}),
        events.delete().where(of(A, 3)),
    ]


def seal_of(intent: str) -> sa.ScalarSelect[Any]:
    return sa.select(intents.c.log_seal).where(intents.c.id == intent).scalar_subquery()


WHOLE = [
    events.delete().where(events.c.intent_id == A),
    suspensions.delete().where(suspensions.c.intent_id == A),
]
CUTS: dict[str, list[Edit]] = {
    "its length and last MAC set back": cut(),
    "and its seal taken away": cut(log_seal=None),
    "and its seal emptied": cut(log_seal=""),
    "and another's seal": cut(log_seal=seal_of(B)),
    "and no seal at all": cut(log_seal="2:"),
    "and a seal of that length": cut(log_seal=f"2:{'0' * 64}"),
    "and a seal of no length": cut(log_seal=f"é:{'0' * 64}"),
    "the whole log, and its head emptied": [
        *WHOLE,
        intents.update().where(intents.c.id == A).values(log_length=0, log_mac="", log_seal=None),
    ],
    "the whole log, and the head as it was": WHOLE,
    "nothing but the seal": [intents.update().where(intents.c.id == A).values(log_seal=None)],
}


@pytest.mark.parametrize("edits", CUTS.values(), ids=CUTS)
async def test_a_tail_that_was_cut_off_is_found(logged: Database, edits: list[Edit]) -> None:
    await change(logged, *edits)
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) in {(A, "head_forged"), (A, "cut_off")}


@pytest.mark.parametrize("how", [name for name in CUTS if name != "the whole log, and the head as it was"])
async def test_what_is_written_behind_a_cut_does_not_heal_it(logged: Database, how: str) -> None:
    await change(logged, *CUTS[how])
    for _ in range(3):
        await note_event(logged, A, NOTE)
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) == (A, "head_forged")


async def test_what_was_moved_out_keeps_the_head_sealed(logged: Database, tmp_path: Path) -> None:
    await note_event(logged, A, NOTE, at=after(days=39))
    await move_out(mover(logged, tmp_path / "archive"))
    assert await broken_in(logged) is None
    start = sa.select(log_starts.c.position, log_starts.c.mac).where(log_starts.c.intent_id == A)
    position, mac = await logged.read(lambda conn: conn.execute(start).one())
    emptied = intents.update().where(intents.c.id == A)
    await change(
        logged,
        events.delete().where(events.c.intent_id == A),
        emptied.values(log_length=position, log_mac=mac, log_seal=None),
    )
    broken = await broken_in(logged)
    assert broken is not None
    assert (broken.intent_id, broken.fault) == (A, "head_forged")


# --- Beside an older version --------------------------------------------------------------------------------------


async def by_older_version(database: Database, intent_id: str, *positions: int) -> None:
    """The lines at ``positions``, and those behind them, as a version wrote them that sealed no heads."""

    def job(tx: Tx) -> None:
        mac = log.mac_at(tx.conn, intent_id, positions[0] - 1) or ""
        for line in log.of_intent(tx.conn, intent_id):
            if line.position in positions:
                columns = ("id", "intent_id", "position", "type", "actor", "payload", "created_at")
                mac = older_mac_of_line(KEY, mac, {name: getattr(line, name) for name in columns})
                tx.conn.execute(events.update().where(of(intent_id, line.position)).values(mac=mac))
        tx.conn.execute(intents.update().where(intents.c.id == intent_id).values(log_mac=mac))

    await database.write(job)


@pytest.fixture
async def older(logged: Database) -> Database:
    """As it was before heads were sealed."""
    for intent_id in (A, B):
        await by_older_version(logged, intent_id, 1, 2, 3)
    await change(logged, intents.update().values(log_seal=None))
    return logged


async def test_a_log_of_an_older_version_holds_and_is_sealed_with_its_next_line(older: Database) -> None:
    assert await check_logs(older, KEY, None) == Checked(intents=2, events=6)
    await note_event(older, A, NOTE)
    assert await check_logs(older, KEY, None) == Checked(intents=2, events=7)
    back_to_3 = {"log_length": 3, "log_mac": sa.select(events.c.mac).where(of(A, 3)).scalar_subquery()}
    await change(older, intents.update().where(intents.c.id == A).values(back_to_3), events.delete().where(of(A, 4)))
    broken = await broken_in(older)
    assert broken is not None
    assert (broken.intent_id, broken.position, broken.fault) == (A, 4, "cut_off")


async def test_lines_that_an_older_process_writes_beside_are_no_forgery(logged: Database) -> None:
    await note_event(logged, A, NOTE)
    await by_older_version(logged, A, 4)
    three = sa.select(events.c.mac).where(of(A, 3))
    mac = await logged.read(lambda conn: conn.scalar(three))
    await change(logged, intents.update().where(intents.c.id == A).values(log_seal=seal_head(KEY, A, 3, str(mac))))
    assert await broken_in(logged) is None
    await note_event(logged, A, NOTE)
    assert await broken_in(logged) is None
