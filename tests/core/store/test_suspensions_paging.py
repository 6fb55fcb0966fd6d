"""Lists of suspensions: newest first, filtered, and page by page without a gap or a repeat (API.md §1, §2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from core.database.database import Database
from core.domain.suspension import Resume, Suspension
from core.store import suspension_lists
from core.store.suspension_lists import Filter
from tests.core.examples import HOUR, LADDER, after, answered, look
from tests.core.store_examples import keep, numbered

Place = tuple[datetime, str]


async def listed(database: Database, limit: int = 100, before: Place | None = None, **wanted: Any) -> list[str]:
    wanted_of = Filter(**wanted)
    found, _ = await database.read(lambda conn: suspension_lists.page(conn, wanted_of, before=before, limit=limit))
    return [suspension.id for suspension in found]


async def test_the_newest_come_first(database: Database) -> None:
    times = {1: after(minutes=2), 2: after(minutes=1), 3: after(minutes=3)}
    await keep(database, *(numbered(number, suspended_at=at) for number, at in times.items()))
    assert await listed(database) == ["susp-3", "susp-1", "susp-2"]


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(database: Database) -> None:
    """Several share an instant, so that the id has to break the tie."""
    everybody = [numbered(n, suspended_at=after() + timedelta(microseconds=n // 3)) for n in range(10)]
    await keep(database, *everybody)
    pages: list[str] = []
    before: Place | None = None
    by_id = {suspension.id: suspension for suspension in everybody}
    while page := await listed(database, limit=4, before=before):
        pages += page
        last: Suspension = by_id[page[-1]]
        before = (last.ask.suspended_at, last.id)
    assert pages == await listed(database)
    assert sorted(pages) == sorted(by_id)


async def test_what_comes_in_meanwhile_disturbs_no_page(database: Database) -> None:
    await keep(database, *(numbered(n, suspended_at=after(minutes=n)) for n in range(4)))
    first = await listed(database, limit=2)
    await keep(database, numbered(9, suspended_at=after(hours=9)))
    assert first == ["susp-3", "susp-2"]
    assert await listed(database, limit=2, before=(after(minutes=2), "susp-2")) == ["susp-1", "susp-0"]


async def test_each_filter_narrows_the_list(database: Database) -> None:
    ended = answered(numbered(1, created_by="other-agent"), after(minutes=1)).suspension
    by_mail = look(numbered(2, attempts=3, interval=HOUR, ladder=LADDER), after(hours=1)).suspension
    await keep(
        database,
        ended,
        by_mail,
        numbered(3, resume=Resume(session_id="sess-3", invocation_id="inv-3", signal_id="sig-3")),
    )
    assert await listed(database, status="responded") == ["susp-1"]
    assert set(await listed(database, status="open")) == {"susp-2", "susp-3"}
    assert await listed(database, created_by="other-agent") == ["susp-1"]
    assert await listed(database, session_id="sess-3") == ["susp-3"]
    assert await listed(database, invocation_id="inv-3") == ["susp-3"]
    assert await listed(database, signal_id="sig-3") == ["susp-3"]
    assert await listed(database, channel="email") == ["susp-2"]
    assert await listed(database, status="open", channel="slack", created_by="refund-agent") == ["susp-3"]
    assert await listed(database, status="responded", channel="email") == []


QUESTIONS = {1: "Refund 100% of it?", 2: "Refund 100 of it?", 3: "snake_case?", 4: "snakeXcase?", 5: r"back\slash?"}


SEARCHES = {
    "refund": [1, 2],
    "REFUND 100": [1, 2],
    "100%": [1],
    "%": [1],
    "_": [3],
    "snake_case": [3],
    "\\": [5],
    "k\\s": [5],
    "'": [],
    "HR-0004": [4],
    " hr-0004 ": [4],
    "HR-000": [],
}


async def test_a_search_takes_every_character_at_its_word(database: Database) -> None:
    await keep(database, *(numbered(number, question=question) for number, question in QUESTIONS.items()))
    found = {text: sorted(await listed(database, text=text)) for text in SEARCHES}
    assert found == {text: [f"susp-{number}" for number in numbers] for text, numbers in SEARCHES.items()}
