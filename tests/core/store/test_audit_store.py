"""Every log of a database checked against its chain, whoever tampered with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.audit.check import Checked, check_logs
from core.database.database import Database
from core.domain.vocabulary import Event
from core.store import event_log_pages as log_pages
from core.store.chain import Broken
from core.store.tables import events, intents, log_starts
from tests.core.examples import after
from tests.core.keeping_examples import KEY, ask, ask_and_answer, move_out, mover, note_event
from tests.core.store_examples import an_intent, keep_intents

Edit = sa.Update | sa.Delete | sa.Insert
Tampering = Callable[[str, str], list[Edit]]
"""What somebody with the database, but without the key, does to two intents of three events each."""


def of(intent: str, position: int) -> sa.ColumnElement[bool]:
    return (events.c.intent_id == intent) & (events.c.position == position)


def swap(intent: str) -> list[Edit]:
    return [events.update().where(of(intent, old)).values(position=new) for old, new in ((1, 9), (2, 1), (9, 2))]


def splice(one: str, other: str) -> list[Edit]:
    """The answer of another question in place of this one's."""
    return [events.delete().where(of(one, 3)), events.update().where(of(other, 3)).values(intent_id=one)]


def forged(intent: str) -> Edit:
    line = {"id": "forged", "position": 4, "type": "x", "actor": "alice@example.com", "payload": {}, "mac": "0" * 64}
    return events.insert().values(intent_id=intent, created_at=after(), **line)


def cut_and_head(intent: str) -> list[Edit]:
    """The last line goes, and the head says so, but for the MAC that is not at hand any more."""
    return [
        events.delete().where(of(intent, 3)),
        intents.update().where(intents.c.id == intent).values(log_length=2),
    ]


TAMPERINGS: dict[str, tuple[Tampering, int | None, str]] = {
    "a payload": (lambda a, b: [events.update().where(of(a, 3)).values(payload={"value": "deny"})], 3, "changed"),
    "who did it": (lambda a, b: [events.update().where(of(a, 3)).values(actor="bob@example.com")], 3, "changed"),
    "what it was": (lambda a, b: [events.update().where(of(a, 3)).values(type="x")], 3, "changed"),
    "its MAC": (lambda a, b: [events.update().where(of(a, 2)).values(mac="é")], 2, "changed"),
    "a line dropped": (lambda a, b: [events.delete().where(of(a, 2))], 2, "missing"),
    "the first line dropped": (lambda a, b: [events.delete().where(of(a, 1))], 1, "missing"),
    "two lines swapped": (lambda a, b: swap(a), 1, "changed"),
    "the end cut off": (lambda a, b: [events.delete().where(of(a, 3))], 3, "cut_off"),
    "the end cut off and the head set back": (lambda a, b: cut_and_head(a), 2, "head_changed"),
    "all lines dropped": (lambda a, b: [events.delete().where(events.c.intent_id == a)], 1, "cut_off"),
    "another intent's line": (splice, 3, "changed"),
    "a line added": (lambda a, b: [forged(a)], 4, "changed"),
    "a payload that is none": (
        lambda a, b: [sa.text("UPDATE events SET payload = '{' WHERE position = 2 AND intent_id = :a").bindparams(a=a)],  # type: ignore[list-item]
        2,
        "changed",
    ),
    "the intent deleted": (lambda a, b: [intents.delete().where(intents.c.id == a)], 1, "no_intent"),
    "the intent and its lines deleted": (
        lambda a, b: [intents.delete().where(intents.c.id == a), events.delete().where(events.c.intent_id == a)],
        None,
        "no_intent",
    ),
}


A, B = "intent-a", "intent-b"
NOTE = Event("own.note", {"n": 1}, "refund-agent")


@pytest.fixture
async def logged(database: Database) -> Database:
    """Two intents of three lines each."""
    await ask_and_answer(database, "a", "b")
    for intent_id in (A, B):
        await note_event(database, intent_id, NOTE)
    return database


async def change(database: Database, *edits: Edit) -> None:
    await database.write(lambda tx: [tx.conn.execute(edit) for edit in edits])


async def checked(database: Database, key: bytes = KEY) -> Checked:
    """All pages together."""
    whole = Checked()
    while True:
        page = await check_logs(database, key, whole.following)
        whole.intents += page.intents
        whole.events += page.events
        whole.broken, whole.following = page.broken, page.following
        if page.broken is not None or page.following is None:
            return whole


async def broken_in(database: Database) -> Broken:
    found = (await checked(database)).broken
    assert found is not None
    return found


async def test_what_nobody_touched_holds(logged: Database) -> None:
    assert await checked(logged) == Checked(intents=2, events=6)


@pytest.mark.parametrize("how", TAMPERINGS)
async def test_tampering_is_found_at_the_first_place_that_does_not_hold(logged: Database, how: str) -> None:
    tamper, position, fault = TAMPERINGS[how]
    await change(logged, *tamper(A, B))
    broken = await broken_in(logged)
    assert (broken.intent_id, broken.position, broken.fault) == (A, position, fault)


async def test_another_key_fits_nothing(logged: Database) -> None:
    found = (await checked(logged, b"another key")).broken
    assert found is not None
    assert (found.intent_id, found.position) == (A, 1)


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 7, 500])
async def test_pages_may_end_anywhere(logged: Database, monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    """Between intents, within one, behind one without a line."""
    await keep_intents(logged, *(an_intent(f"intent-{name}") for name in ("0", "ab", "ac", "ad", "z")))
    await ask(logged, "c")
    await note_event(logged, "intent-c", *[NOTE] * 8)
    small = partial(log_pages.read_page, heads=2, lines=lines)
    monkeypatch.setattr("core.audit.check.read_page", small)
    assert await checked(logged) == Checked(intents=8, events=15)
    await change(logged, events.update().where(of("intent-c", 7)).values(actor="bob@example.com"))
    broken = await broken_in(logged)
    assert (broken.intent_id, broken.position) == ("intent-c", 7)


async def test_the_lines_of_an_intent_that_is_gone_are_found_wherever_a_page_ends(
    logged: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep_intents(logged, an_intent("intent-0"), an_intent("intent-aa"))
    await change(logged, intents.delete().where(intents.c.id == B))
    for lines in (2, 4, 5, 6, 7):
        monkeypatch.setattr("core.audit.check.read_page", partial(log_pages.read_page, heads=2, lines=lines))
        assert (await broken_in(logged)).intent_id == B


# --- Logs whose beginning was moved out ---------------------------------------------------------------------------


@pytest.fixture
async def cut(logged: Database, tmp_path: Path) -> Database:
    """Of each log the first two lines were moved out; the third was written a month later."""
    await move_out(mover(logged, tmp_path / "archive"))
    return logged


async def test_a_log_holds_that_begins_where_it_was_moved_out(cut: Database) -> None:
    assert await checked(cut) == Checked(intents=2, events=2)


START_EDITS: dict[str, list[Edit]] = {
    "cut further": [
        events.delete().where(of(A, 3)),
        log_starts.update()
        .where(log_starts.c.intent_id == A)
        .values(position=3, mac=sa.select(intents.c.log_mac).where(intents.c.id == A).scalar_subquery()),
    ],
    "its start forgotten": [log_starts.delete().where(log_starts.c.intent_id == A)],
    "the start of another": [
        log_starts.delete().where(log_starts.c.intent_id == A),
        log_starts.update().where(log_starts.c.intent_id == B).values(intent_id=A),
    ],
    "its seal": [log_starts.update().where(log_starts.c.intent_id == A).values(seal="é")],
    "cut off altogether": [events.delete().where(of(A, 3))],
}


@pytest.mark.parametrize("edits", START_EDITS.values(), ids=START_EDITS)
async def test_nobody_cuts_a_log_off_unseen(cut: Database, edits: list[Edit]) -> None:
    await change(cut, *edits)
    assert (await broken_in(cut)).intent_id == A


async def test_a_line_put_back_before_the_start_is_found(cut: Database) -> None:
    line = {"id": "old", "position": 1, "type": "x", "actor": "a", "payload": {}, "mac": "0" * 64}
    await change(cut, events.insert().values(intent_id=A, created_at=after(), **line))
    broken = await broken_in(cut)
    assert (broken.intent_id, broken.position, broken.id) == (A, 1, "old")
