"""Looking questions up by words that they have: found from the first moment on, and without reading all others."""

from __future__ import annotations

import os

import pytest

from core.store.tables import question_search
from tests.journeys.service.test_hot_path_plans import plans, scanned
from tests.statements import executed
from tests.world import World


async def found(world: World, text: str, role: str = "operator") -> list[str]:
    response = await world.call("GET", "/v1/suspensions", role, params={"q": text})
    assert response.status_code == 200
    return [one["question"] for one in response.json()["items"]]


async def test_a_question_is_found_by_a_word_at_once(any_world: World) -> None:
    await any_world.ask(question="May the Zebra cross?")
    assert await found(any_world, "zebra") == ["May the Zebra cross?"]
    await any_world.advance(seconds=1)
    await any_world.ask(question="Two zebras?")
    for role in ("operator", "agent"):
        assert await found(any_world, "ZEBRA", role) == ["Two zebras?", "May the Zebra cross?"]
    assert await found(any_world, "zebra crossing") == []
    assert await found(any_world, "wo") == ["Two zebras?"]


@pytest.mark.parametrize(
    "text", ['"', '"""', 'a" OR "zeb', "NEAR(zebra)", "question: zebra", "zeb*", "zebra\0", "\0\0\0"]
)
async def test_nothing_that_is_typed_is_syntax_of_a_search(any_world: World, text: str) -> None:
    await any_world.ask(question="May the Zebra cross?")
    response = await any_world.call("GET", "/v1/suspensions", "operator", params={"q": text})
    assert response.status_code in {200, 422}
    assert response.json().get("items", []) == []


async def test_a_rare_word_is_looked_for_without_reading_every_question(any_world: World) -> None:
    """Neither a table from end to end, nor a list until a page is full."""
    database = any_world.service.database
    if not await database.read(question_search.is_made):
        assert "TEST_PG_BIN" not in os.environ, "make search is there for the index"
        pytest.skip("PostgreSQL without pg_trgm (TEST_PG_BIN names another)")
    await any_world.ask(question="May the Zebra cross?")
    async with executed(database) as statements:
        for role in ("operator", "agent"):
            assert await found(any_world, "zebra", role) == ["May the Zebra cross?"]
            assert await found(any_world, "yak", role) == []
    chosen = {
        text: values
        for text, values in statements.items()
        if "question_search" in text or (".question" in text and "pg_index" not in text)
    }
    read = plans(database, chosen)
    assert len(chosen) > 2
    assert {text: plan for text, plan in read.items() if scanned(plan)} == {}
    assert {text: plan for text, plan in read.items() if "ix_suspensions" in plan} == {}
