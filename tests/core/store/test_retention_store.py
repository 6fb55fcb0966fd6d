"""Ended suspensions leave the database for a file, each once, wherever the process dies."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.audit import retention as moving_out
from core.audit.check import check_logs
from core.audit.verify import Progress, check_lines
from core.database.database import Database
from core.domain.tokens import TokenPurpose
from core.domain.vocabulary import Event
from core.store import chain as log_starts
from core.store import event_log as log
from core.store import idempotency, outbox, suspensions, tokens
from core.store.idempotency import Kept
from core.store.outbox import RowKind, RowStatus
from core.store.tables import events, intents
from core.store.tables import outbox as outbox_table
from tests.core.examples import START, after
from tests.core.keeping_examples import (
    KEY,
    LONG_AFTER,
    TOKENS,
    answer,
    archived_ids,
    ask,
    ask_and_answer,
    move_out,
    mover,
    note_event,
    records,
    texts,
)
from tests.core.store_examples import a_row, end_row, stored, write_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


async def ids_here(database: Database) -> list[str]:
    return await database.read(lambda conn: sorted(conn.scalars(sa.text("SELECT id FROM suspensions"))))


async def positions(database: Database, intent_id: str) -> list[int]:
    return [line.position for line in await database.read(lambda conn: log.of_intent(conn, intent_id))]


async def is_sound(database: Database) -> bool:
    return (await check_logs(database, KEY, None)).broken is None


async def test_what_ended_long_ago_leaves_and_what_ended_lately_or_is_open_stays(
    database: Database, folder: Path
) -> None:
    await ask_and_answer(database, "old")
    await ask(database, "open")
    await ask(database, "late")
    await answer(database, "late", at=after(days=11))
    await move_out(mover(database, folder))
    assert await ids_here(database) == ["late", "open"]
    assert archived_ids(folder) == ["old"]
    await move_out(mover(database, folder, after(days=41, seconds=1)))
    assert await ids_here(database) == ["open"]
    assert archived_ids(folder) == ["late", "old"]


async def test_it_leaves_when_its_days_are_over_and_not_before(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "old")
    retention = mover(database, folder, after(days=30))
    due = await retention.look()
    assert await ids_here(database) == ["old"]
    assert due is not None
    await move_out(mover(database, folder, due + timedelta(seconds=1)))
    assert await ids_here(database) == []


async def test_nothing_of_it_is_left_in_the_database_but_its_names(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "old")
    await database.write(lambda tx: tx.conn.execute(intents.update().values(title="May old?")))
    assert "May old?" in await texts(database)
    await move_out(mover(database, folder))
    left = await texts(database)
    assert "May old?" not in left
    assert "approve" not in left
    assert "old@example.com" not in left
    token = TOKENS.token(TokenPurpose.PAGE, "old", "slack", "old@example.com")
    assert await database.read(lambda conn: tokens.find(conn, token, TokenPurpose.PAGE)) is None
    assert await database.read(lambda conn: conn.scalar(sa.select(intents.c.title))) == "HR-OLD"


async def test_the_file_has_all_of_it(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "old")
    await move_out(mover(database, folder))
    [suspension] = records(folder, "suspension")
    assert suspension["row"]["question"] == "May old?"
    assert suspension["row"]["ended"]["value"] == "approve"
    assert [record["row"]["address"] for record in records(folder, "outbox")] == ["old@example.com"]
    assert [record["type"] for record in records(folder, "event")] == ["intent.suspended", "intent.resumed"]
    [file] = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_the_file_can_be_verified(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "one", "two")
    await move_out(mover(database, folder))
    [file] = folder.iterdir()
    *lines, last = file.read_text().splitlines(keepends=True)
    progress, broken = check_lines(Progress(), lines, KEY)
    assert broken is None
    progress, broken = check_lines(progress, [last], KEY, hashlib.sha256("".join(lines).encode()).hexdigest())
    assert broken is None
    assert (progress.ended, progress.logs, progress.events) == (True, 2, 4)


async def test_a_ref_that_was_given_is_never_given_again(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "old")
    await move_out(mover(database, folder))
    assert await database.read(lambda conn: suspensions.by_ref(conn, "HR-OLD")) is None
    assert await database.read(lambda conn: suspensions.ref_is_taken(conn, "HR-OLD"))


async def test_the_log_goes_on_where_it_was_cut(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "one", intent="intent-1")
    await note_event(database, "intent-1", Event("own.note", {"n": 1}, "refund-agent"))
    await ask(database, "two", intent="intent-1", at=after(days=35))
    await move_out(mover(database, folder))
    assert await ids_here(database) == ["two"]
    assert await positions(database, "intent-1") == [3, 4]
    assert await is_sound(database)
    await answer(database, "two", at=LONG_AFTER)
    assert await positions(database, "intent-1") == [3, 4, 5]
    assert await is_sound(database)
    await move_out(mover(database, folder, after(days=80)))
    assert await positions(database, "intent-1") == []
    assert await is_sound(database)
    assert sorted(record["position"] for record in records(folder, "event")) == [1, 2, 3, 4, 5]


async def test_a_question_waits_for_the_one_before_it(database: Database, folder: Path) -> None:
    """Only the beginning of a log can leave: the callback of the first question is still under way."""
    await ask_and_answer(database, "one", "two", intent="intent-1")
    await write_rows(database, [a_row("callback", suspension_id="one", kind=RowKind.RESUME, status=RowStatus.PENDING)])
    await move_out(mover(database, folder))
    assert await ids_here(database) == ["one", "two"]
    assert records(folder) == []
    await end_row(database, "callback", RowStatus.DEAD, LONG_AFTER)
    await move_out(mover(database, folder))
    assert await ids_here(database) == []
    assert archived_ids(folder) == ["one", "two"]


async def test_a_log_that_was_tampered_with_stays_as_evidence(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "forged", "genuine")
    edit = events.update().where(events.c.intent_id == "intent-forged", events.c.position == 2)
    await database.write(lambda tx: tx.conn.execute(edit.values(payload={"suspension_id": "forged", "value": "deny"})))
    await move_out(mover(database, folder))
    assert await ids_here(database) == ["forged"]
    assert await positions(database, "intent-forged") == [1, 2]
    assert not await is_sound(database)


async def test_more_than_one_batch_leaves_in_several_looks(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving_out, "BATCH", 20)
    names = [f"q{number:03}" for number in range(23)]
    await ask_and_answer(database, *names)
    retention = mover(database, folder)
    first = await retention.look()
    assert first == retention.clock.now()
    assert len(await ids_here(database)) == 3
    await move_out(retention)
    assert await ids_here(database) == []
    assert archived_ids(folder) == names
    assert len(list(folder.iterdir())) == 2


async def test_a_long_log_leaves_in_several_transactions(database: Database, folder: Path) -> None:
    noise = [Event("own.note", {"n": number}, "refund-agent") for number in range(2500)]
    await ask(database, "one", intent="intent-1")
    await note_event(database, "intent-1", *noise)
    await answer(database, "one")
    await ask(database, "two", intent="intent-1")
    sizes: list[int] = []
    write = database.write

    async def counting(job, **span):  # type: ignore[no-untyped-def]
        before = len(await positions(database, "intent-1"))
        done = await write(job, **span)
        sizes.append(before - len(await positions(database, "intent-1")))
        return done

    database.write = counting  # type: ignore[method-assign]
    await move_out(mover(database, folder))
    database.write = write  # type: ignore[method-assign]
    assert await positions(database, "intent-1") == [2503]
    assert max(sizes) <= 1000
    assert len(records(folder, "event")) == 2502
    assert await is_sound(database)


async def test_without_its_folder_nothing_leaves_and_nothing_is_lost(database: Database, folder: Path) -> None:
    await ask_and_answer(database, "old")
    retention = mover(database, folder)
    folder.rmdir()
    await move_out(retention)
    assert await stored(database, "old") is not None
    assert await positions(database, "intent-old") == [1, 2]
    folder.mkdir()
    await move_out(mover(database, folder))
    assert await ids_here(database) == []
    assert archived_ids(folder) == ["old"]


async def test_a_callback_driven_again_at_the_last_moment_is_sent_before_its_question_leaves(
    database: Database, folder: Path
) -> None:
    """Noted and written, not yet removed: the redrive comes in between."""
    await ask_and_answer(database, "old")
    dead = a_row("callback", suspension_id="old", kind=RowKind.RESUME, status=RowStatus.DEAD)
    await write_rows(database, [dead])
    retention = mover(database, folder)
    read = database.read

    async def redriven_once_the_file_is_there(job, **span):  # type: ignore[no-untyped-def]
        if list(folder.glob("*.jsonl")):
            await database.write(lambda tx: outbox.redrive(tx, "callback", LONG_AFTER))
        return await read(job, **span)

    database.read = redriven_once_the_file_is_there  # type: ignore[method-assign]
    await move_out(retention)
    database.read = read  # type: ignore[method-assign]
    assert await stored(database, "old") is not None
    await end_row(database, "callback", RowStatus.DELIVERED, LONG_AFTER)
    await move_out(mover(database, folder))
    assert await stored(database, "old") is None
    assert archived_ids(folder) == ["old"]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # a file has one process alone
async def test_two_workers_at_once_move_each_question_once(
    database: Database, other_database: Database, folder: Path
) -> None:
    names = [f"q{number:03}" for number in range(60)]
    await ask_and_answer(database, *names)
    await asyncio.gather(move_out(mover(database, folder)), move_out(mover(other_database, folder)))
    assert await ids_here(database) == []
    assert archived_ids(folder) == names
    assert len(records(folder, "event")) == 120


async def test_a_reply_is_repeated_for_seven_days_after_the_end_all_the_same(database: Database, folder: Path) -> None:
    """API.md §1; whatever ``ended_days`` says."""
    await ask(database, "old")
    reply = Kept("fingerprint", 201, "{}")
    await database.write(lambda tx: idempotency.keep_reply(tx, "refund-agent", "key", reply, "old", START))
    await answer(database, "old", at=after(days=100))
    retention = mover(database, folder, after(days=105))
    retention.keep = timedelta(days=1)
    await move_out(retention)
    assert await ids_here(database) == []
    for days, there in ((105, True), (106.9, True), (107.1, False)):
        now = after(days=days)
        await database.write(lambda tx, now=now: idempotency.forget_old(tx, now))
        kept = await database.read(lambda conn: idempotency.kept_reply(conn, "refund-agent", "key"))
        assert (kept is not None) is there, days


CRASHING = """
import asyncio, os, sys
from pathlib import Path
import sqlalchemy as sa
from core.database.database import open_database
from tests.core.keeping_examples import move_out, mover

url, folder, at = sys.argv[1:]
at, _, left = at.partition(", time ")
left = int(left or 1)

def die_at(statement):
    global left
    left -= at in statement
    if left == 0:
        os._exit(9)

@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def crash(conn, cursor, statement, *rest):
    die_at(statement)

real = os.fsync
def fsync(descriptor):
    real(descriptor)
    die_at("fsync of the folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "fsync of the file")
os.fsync = fsync

asyncio.run(move_out(mover(open_database(url), Path(folder))))
"""


@pytest.mark.parametrize(
    "at",
    [
        "INSERT INTO archived",
        "FROM archived",
        "fsync of the file",
        "fsync of the folder",
        "INSERT INTO log_starts",
        "DELETE FROM events",
        "DELETE FROM outbox",
        "DELETE FROM suspensions",
        "UPDATE archived",
        "UPDATE archived, time 2",  # some are removed by then, and are nowhere but in the file
    ],
)
@pytest.mark.kills
async def test_killed_anywhere_nothing_is_lost_and_nothing_leaves_twice(
    database_url: str, database: Database, folder: Path, at: str
) -> None:
    names = [f"q{number:02}" for number in range(30)]
    await ask_and_answer(database, *names)
    folder.mkdir()
    command = [sys.executable, "-c", CRASHING, database_url, str(folder), at]
    killed = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert killed.returncode == 9
    assert {*await ids_here(database), *archived_ids(folder)} == {*names}
    await move_out(mover(database, folder))
    assert await ids_here(database) == []
    assert archived_ids(folder) == names
    assert len(records(folder, "event")) == 60
    assert await is_sound(database)
    assert await database.read(lambda conn: conn.scalar(sa.select(sa.func.count()).select_from(outbox_table))) == 0
    assert await database.read(lambda conn: log_starts.start_of(conn, "intent-q00").position) == 2
