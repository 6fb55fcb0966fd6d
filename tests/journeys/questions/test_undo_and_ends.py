"""``answers.undo_seconds`` beside a question's other ends, with a clock that looks late (docs/decisions/0124)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.journeys.openintent.portfolios import at, portfolio_of, suspend
from tests.world import World, running


@pytest.fixture
async def undoing(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, database_url, answers={"undo_seconds": 10}) as world:
        yield world


@pytest.mark.parametrize(
    ("deadline", "status"), [({"seconds": 30}, "responded"), ({"seconds": 5}, "expired")], ids=["after it", "before it"]
)
async def test_an_answer_that_could_not_be_undone_any_more_stands_before_a_deadline(
    undoing: World, deadline: dict[str, float], status: str
) -> None:
    world = undoing
    intent = await world.active_intent()
    choices = [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]
    asked = await suspend(
        world, intent, response_type="choice", choices=choices, channel_hint="slack", notify_to="alice@example.com"
    )
    await portfolio_of(world, "agent", intent, governance={"deadline": at(world, **deadline)})
    [message] = world.slack.workspace.messages
    await world.press("U0ALICE", message, "Yes")
    world.clock.move_to(world.clock.now() + timedelta(minutes=5))
    await world.settle()
    assert (await world.show(asked))["status"] == status
