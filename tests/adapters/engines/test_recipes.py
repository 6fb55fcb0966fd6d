"""What holds of every engine of ``docs/how-to/engines.md``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.adapters.engines.recipes import RECIPES, Prefect, Recipe
from tests.process import ServiceProcess

pytestmark = pytest.mark.adapters


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.__name__.lower())
async def recipe(request: pytest.FixtureRequest, service: ServiceProcess, tmp_path: Path) -> AsyncIterator[Recipe]:
    if request.param.group not in os.environ.get("HANDRAISE_ADAPTERS", "").split(","):
        pytest.skip("not installed: make adapters tries it")
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        made = request.param(tmp_path, service.url, http)
        yield made
        made.kill()


async def test_a_workflow_whose_engine_was_killed_goes_on_with_the_answer_and_pays_once(recipe: Recipe) -> None:
    await recipe.start()
    before = await recipe.asked()
    assert before["action"] == {"tool": "refund", "arguments": {"order": recipe.order, "amount": 30}}
    recipe.kill()
    await recipe.answer("approve")
    await recipe.start()
    await recipe.said("Refunded 30.")
    assert recipe.paid == 1
    assert [one["id"] for one in await recipe.questions()] == [before["id"]]


async def test_a_workflow_that_is_started_again_before_the_answer_asks_nobody_twice(recipe: Recipe) -> None:
    await recipe.start()
    before = await recipe.asked()
    recipe.kill()
    await recipe.start()
    await recipe.answer("approve")
    await recipe.said("Refunded 30.")
    assert recipe.paid == 1
    assert [one["id"] for one in await recipe.questions()] == [before["id"]]


async def test_a_denial_pays_nothing_and_says_who_said_no_and_why(recipe: Recipe) -> None:
    await recipe.start()
    await recipe.answer("deny", "too much")
    await recipe.said("Their reason: too much")
    assert "denied: A person has said no" in recipe.printed
    assert recipe.paid == 0


async def test_silence_pays_nothing_and_is_no_denial(recipe: Recipe) -> None:
    recipe.write(question_seconds=2)
    await recipe.start()
    await recipe.said("undecided: Nobody has answered in time")
    assert "said no" not in recipe.printed
    assert recipe.paid == 0


async def test_a_process_that_died_in_the_step_that_pays_does_not_pay_again(recipe: Recipe) -> None:
    if isinstance(recipe, Prefect):
        pytest.skip("Prefect doesn't start a run again whose process has died; the page says so")
    recipe.write(dies=True)
    await recipe.start()
    await recipe.answer("approve")
    await recipe.said(f"paying 30 back for order {recipe.order}")
    recipe.kill()
    recipe.write()
    await recipe.start()
    await recipe.said("its approval has been used up already")
    assert recipe.paid == 1
