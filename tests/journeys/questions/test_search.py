"""Looking questions up by words that they have: found from the first moment on, and without reading all others."""

from __future__ import annotations

import sqlalchemy as sa

from core.store.tables import search_entries
from core.work.search_indexing import EVERY
from tests.journeys.service.test_hot_path_plans import plans, scanned
from tests.statements import executed
from tests.world import World


async def found(world: World, text: str, role: str = "operator") -> list[str]:
    response = await world.call("GET", "/v1/suspensions", role, params={"q": text})
    return [one["question"] for one in response.json()["items"]]


async def count(world: World, table: sa.Table) -> int:
    counted = sa.select(sa.func.count()).select_from(table)
    return await world.service.database.read(lambda conn: conn.scalar(counted) or 0)


async def test_a_question_is_found_by_a_word_at_once_and_ever_after(any_world: World) -> None:
    await any_world.ask(question="May the Zebra cross?")
    assert await found(any_world, "zebra") == ["May the Zebra cross?"]
    await any_world.advance(seconds=2 * EVERY.total_seconds())
    assert await count(any_world, search_entries) == 1
    assert await found(any_world, "zebra") == ["May the Zebra cross?"]
    await any_world.ask(question="Two zebras?")
    for role in ("operator", "agent"):
        assert await found(any_world, "ZEBRA", role) == ["Two zebras?", "May the Zebra cross?"]
    assert await found(any_world, "zebra crossing") == []


async def test_a_rare_word_is_looked_for_without_reading_every_question(any_world: World) -> None:
    """Neither the log from its start, nor a table from end to end, nor a list until a page is full."""
    await any_world.ask(question="May the Zebra cross?")
    await any_world.advance(seconds=2 * EVERY.total_seconds())
    database = any_world.service.database
    async with executed(database) as statements:
        for role in ("operator", "agent"):
            assert await found(any_world, "zebra", role) == ["May the Zebra cross?"]
            assert await found(any_world, "yak", role) == []
    chosen = {
        text: values
        for text, values in statements.items()
        if "search_" in text or ".question" in text or "log_followers" in text
    }
    read = plans(database, chosen)
    assert len(chosen) > 4
    assert {text: plan for text, plan in read.items() if scanned(plan)} == {}
    assert {text: plan for text, plan in read.items() if "ix_suspensions" in plan} == {}
