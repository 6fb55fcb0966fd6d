"""The search index finds what reading every question finds, at every stage that a question may be in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.domain.suspension import Suspension
from core.domain.vocabulary import SUSPENDED
from core.store import archive, log_followers, search, search_index, suspension_lists
from core.store.search import Unindexed
from core.store.suspension_lists import Filter
from core.store.tables import events, search_entries, search_segments, search_terms
from core.store.trigrams import SEGMENT
from core.work.search_indexing import EVERY, SearchIndexing
from tests.clock import ManualClock
from tests.core.examples import after
from tests.core.store_examples import keep, numbered
from tests.statements import executed


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


ODD = (
    "Refund order 12345?",
    "Überweisung an die STRASSE 5%?",
    "Geht die Straße_7 auf?",
    "İstanbul'a gönderilsin mi?",
    "istanbul it is",
    "ΟΔΟΣ ΑΒ;",
    "οδος αβ",
    "退款给客户吗？",
    "100% of it\\all, with a /slash",
    "An \N{KELVIN SIGN}elvin or a kelvin",
)
LOOKED_FOR = (
    *("refund", "REFUND ORDER", "12345", "nd ord", "überweisung", "ÜBERWEISUNG", "straße", "strasse", "STRASSE"),
    *(
        "istanbul",
        "İSTANBUL",
        "ısta",
        "οδος",
        "ΟΔΟΣ",
        "δοσ",
        "退款给",
        "款给客户",
        "5%?",
        "0% o",
        "e_7",
        "\\all",
        "/sl",
    ),
    *("kelvin", "KELVIN", "zebra", "re", "?", "order 12346", "an die straße"),
)


async def found(
    database: Database, text: str, limit: int = 2000, unindexed: Unindexed | None = None, **wanted: Any
) -> list[str]:
    """By a process that has just started, or by one that knows what it has read before."""
    wanted_of, known = Filter(text=text, **wanted), unindexed or Unindexed()
    rows = await database.read(lambda conn: suspension_lists.page(conn, wanted_of, known, before=None, limit=limit))
    return [one.id for one in rows]


def crowd(count: int, first: int = 100, **fields: Any) -> list[Suspension]:
    """Questions that nobody looks for."""
    return [
        numbered(number, question=f"Crowd {number}", suspended_at=after(seconds=number), **fields)
        for number in range(first, first + count)
    ]


async def noted(database: Database, asked: list[Suspension]) -> None:
    """As if the log had said that they were asked."""
    await keep(database, *asked)
    await database.write(search_index.begin)
    cursor = await database.read(lambda conn: log_followers.place(conn, search_index.FOLLOWER)) or (0, 0)
    following = (cursor[0], cursor[1] + 1)
    await database.write(lambda tx: search_index.note(tx, cursor, following, [one.id for one in asked]))


async def worked_off(database: Database, clock: ManualClock) -> None:
    """Looks, until the index has nothing more to do."""
    indexing = SearchIndexing(database, clock)
    while await indexing.look() is not None:
        pass


async def terms_of(database: Database) -> set[str]:
    return set(await database.read(lambda conn: conn.scalars(sa.select(search_terms.c.term)).all()))


async def test_every_text_finds_the_same_as_without_an_index(database: Database, clock: ManualClock) -> None:
    odd = [numbered(number, question=text, suspended_at=after(hours=number)) for number, text in enumerate(ODD)]
    await keep(database, *odd)
    before = {text: await found(database, text) for text in LOOKED_FOR}
    assert before["refund"] == ["susp-0"]
    await database.write(search_index.begin)
    ids = [one.id for one in odd]
    await database.write(lambda tx: search_index.note(tx, (0, 0), (0, 1), ids))
    assert {text: await found(database, text) for text in LOOKED_FOR} == before, "noted, in no segment"
    await noted(database, crowd(SEGMENT))
    await worked_off(database, clock)
    assert "ref" in await terms_of(database)
    assert {text: await found(database, text) for text in LOOKED_FOR} == before, "in a segment"


async def test_the_other_filters_and_the_order_hold_for_what_is_found(database: Database, clock: ManualClock) -> None:
    wanted = [
        numbered(1, question="A zebra?", suspended_at=after(hours=1)),
        numbered(2, question="Two zebras?", suspended_at=after(hours=3), created_by="other-agent"),
        numbered(3, question="No zebra", suspended_at=after(hours=2)),
    ]
    await noted(database, [*wanted, *crowd(SEGMENT)])
    await worked_off(database, clock)
    assert await found(database, "ZEBRA") == ["susp-2", "susp-3", "susp-1"]
    assert await found(database, "zebra", limit=2) == ["susp-2", "susp-3"]
    assert await found(database, "zebra", created_by="other-agent") == ["susp-2"]
    assert await found(database, "zebra", created_by="nobody") == []
    assert await found(database, "zebra", status="open", channel="slack") == ["susp-2", "susp-3", "susp-1"]
    assert await found(database, "zebra", status="expired") == []


async def test_an_agent_finds_its_own_by_the_index_however_many_others_have_the_word(
    database: Database, clock: ManualClock
) -> None:
    mine = numbered(1, question="Crowd control?", created_by="other-agent")
    await noted(database, [mine, *crowd(search.MOST_FOUND + SEGMENT)])
    await worked_off(database, clock)
    assert await database.read(lambda conn: may_contain(conn, "crowd", "other-agent")) == ([], [0])
    assert await database.read(lambda conn: may_contain(conn, "crowd", None)) is None, "the newest are read sooner"


def may_contain(conn: sa.Connection, text: str, creator: str | None) -> tuple[list[str], list[int]] | None:
    few = search.may_contain(conn, text, creator, Unindexed())
    return None if few is None else (sorted(few.ids), sorted(few.numbers))


async def test_of_frequent_words_with_a_rare_one_those_alone_are_read_that_have_all(
    database: Database, clock: ManualClock
) -> None:
    await noted(database, [numbered(1, question="Crowd of zebras?"), *crowd(SEGMENT), numbered(2, question="Zebras?")])
    assert await database.read(lambda conn: may_contain(conn, "crowd of zeb", None)) == (["susp-1"], [])
    await worked_off(database, clock)
    assert await database.read(lambda conn: may_contain(conn, "crowd of zeb", None)) == ([], [0])


@pytest.mark.parametrize("most_letters", [2_000_000, 20, 0], ids=["all kept", "some kept", "none kept"])
async def test_one_process_finds_a_question_at_every_stage_and_not_after_it_has_left(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, most_letters: int
) -> None:
    """Whatever it remembers from the searches before."""
    monkeypatch.setattr(search, "_MOST_LETTERS", most_letters)
    monkeypatch.setattr(search, "_READ_AT_ONCE", 2)
    known = Unindexed()
    await noted(database, crowd(5))
    assert await found(database, "zebra", unindexed=known) == []
    for number in (1, 2):
        await noted(database, [numbered(number, question=f"A zebra {number}?", suspended_at=after(hours=number))])
        assert (await found(database, "ZEBRA", unindexed=known))[0] == f"susp-{number}"
    assert await found(database, "zebra 1", unindexed=known) == ["susp-1"]
    assert await found(database, "zebra", unindexed=known, created_by="other-agent") == []
    await database.write(lambda tx: archive.remove(tx, ["susp-2"], [], clock.now()))
    assert await found(database, "zebra", unindexed=known) == ["susp-1"]
    await noted(database, crowd(SEGMENT, first=200))
    await worked_off(database, clock)
    assert "zeb" in await terms_of(database)
    assert await found(database, "zebra", unindexed=known) == ["susp-1"]
    await noted(database, [numbered(3, question="A zebra 3?", suspended_at=after(hours=3))])
    assert await found(database, "zebra", unindexed=known) == ["susp-3", "susp-1"]


async def test_what_the_log_alone_has_is_found_whatever_an_older_version_let_into_it(database: Database) -> None:
    """A NUL, which is no JSON to PostgreSQL, and half a character."""
    await keep(database, numbered(1, question="A zebra?"))
    await database.write(search_index.begin)
    names = ("id", "intent_id", "position", "type", "actor", "created_at", "mac")
    line = dict(zip(names, ("line-1", "intent-1", 1, SUSPENDED, "agent", after(), ""), strict=True))
    payload = {"suspension_id": "susp-1", "context": {"odd": "\0, \ud83d", "suspension_id": "other"}}
    await database.write(lambda tx: tx.conn.execute(events.insert().values(**line, payload=payload)))
    assert await found(database, "zebra") == ["susp-1"]


async def test_what_is_in_no_segment_is_read_once(database: Database) -> None:
    await noted(database, crowd(20))
    known = Unindexed()
    await found(database, "crowd 105", unindexed=known)
    async with executed(database) as statements:
        assert await found(database, "crowd 107", unindexed=known) == ["susp-107"]
        await noted(database, [numbered(1, question="A zebra?")])
        assert await found(database, "zebra", unindexed=known) == ["susp-1"]
    [read] = [one for one in statements.items() if one[0].startswith("SELECT suspensions.id, suspensions.question")]
    assert "susp-1" in str(read)
    assert "susp-105" not in str(read)


async def test_what_has_left_is_found_no_more_and_its_words_leave(database: Database, clock: ManualClock) -> None:
    await noted(database, [numbered(1, question="A zebra?"), numbered(2, question="A yak?"), *crowd(SEGMENT)])
    await worked_off(database, clock)
    assert {"zeb", "yak"} <= await terms_of(database)
    await database.write(lambda tx: archive.remove(tx, ["susp-1"], [], clock.now()))
    assert await found(database, "zebra") == []
    clock.move_by(EVERY)
    await worked_off(database, clock)
    left = await terms_of(database)
    assert "zeb" not in left
    assert "yak" in left
    assert await found(database, "yak") == ["susp-2"]


async def test_a_segment_that_nothing_is_left_of_leaves_whole(database: Database, clock: ManualClock) -> None:
    asked = crowd(SEGMENT + 1)
    await noted(database, asked)
    await worked_off(database, clock)
    gone = [one.id for one in asked]
    await database.write(lambda tx: archive.remove(tx, gone, [], clock.now()))
    await worked_off(database, clock)
    assert await terms_of(database) == set()
    for table in (search_segments, search_entries):
        assert await database.read(lambda conn, table=table: conn.execute(sa.select(table)).all()) == []


async def test_what_an_older_process_has_removed_leaves_as_well(database: Database, clock: ManualClock) -> None:
    await noted(database, [numbered(1, question="A zebra?"), *crowd(SEGMENT)])
    await worked_off(database, clock)
    await database.write(lambda tx: tx.conn.execute(sa.text("DELETE FROM suspensions WHERE id = 'susp-1'")))
    indexing = SearchIndexing(database, clock)
    for _ in range(3):
        clock.move_by(EVERY)
        while await indexing.look() is not None:
            pass
    assert "zeb" not in await terms_of(database)


async def test_a_question_is_noted_once_whoever_is_behind(database: Database) -> None:
    await keep(database, numbered(1))
    await database.write(search_index.begin)
    for _ in range(2):  # the second has not seen that the first was there
        await database.write(lambda tx: search_index.note(tx, (0, 0), (0, 9), ["susp-1", "susp-1", "gone"]))
    await database.write(lambda tx: search_index.note(tx, (0, 9), (0, 10), ["susp-1"]))  # its line was numbered anew
    kept = await database.read(lambda conn: conn.execute(sa.select(search_entries)).all())
    assert [tuple(row) for row in kept] == [(0, "susp-1")]


async def test_what_is_asked_later_is_found_though_the_newest_of_a_segment_have_left(
    database: Database, clock: ManualClock
) -> None:
    asked = crowd(SEGMENT + 1)
    await noted(database, asked)
    await worked_off(database, clock)
    newest = [one.id for one in asked[-9:]]
    await database.write(lambda tx: archive.remove(tx, newest, [], clock.now()))
    await noted(database, [numbered(1, question="A zebra?")])
    assert await found(database, "zebra") == ["susp-1"]


@pytest.mark.parametrize("text", ["zebra", "crowd 100"])
async def test_two_that_move_the_index_at_once_make_a_segment_once(
    database: Database, clock: ManualClock, text: str
) -> None:
    await noted(database, [numbered(1, question="A zebra?"), *crowd(SEGMENT)])
    before = await found(database, text)
    made = await database.read(lambda conn: search_index.make_some(conn, None))
    assert isinstance(made, search_index.Segment)
    for _ in range(2):
        await database.write(lambda tx: search_index.add(tx, made))
    await worked_off(database, clock)
    assert await found(database, text) == before


async def test_a_segment_of_long_questions_is_made_in_portions(database: Database, clock: ManualClock) -> None:
    """Reminders that are due meanwhile wait for one of them at most."""
    long = [
        replace(one, ask=replace(one.ask, question=f"{one.ask.question} {'long ' * 400}")) for one in crowd(SEGMENT)
    ]
    await noted(database, [*long, numbered(1, question="A zebra?")])
    first = await database.read(lambda conn: search_index.make_some(conn, None))
    assert isinstance(first, search_index.Making)
    assert 0 < first.place < SEGMENT / 4
    await database.write(lambda tx: archive.remove(tx, [long[0].id], [], clock.now()))
    await worked_off(database, clock)
    assert await found(database, f"crowd {100 + SEGMENT - 1} long") == [long[-1].id]
    assert await found(database, "crowd 100 long") == []
    assert "wd " in await terms_of(database)
