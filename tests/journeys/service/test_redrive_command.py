"""``handraise callbacks`` and ``redrive`` (API.md §9): agents that could not be called back are called again."""

from __future__ import annotations

from typing import Any

from tests.cli import handraise
from tests.world import World


async def unheard(world: World) -> dict[str, Any]:
    """Answered, but the agent refused to hear it."""
    world.agent.answers[:] = [410]
    asked = await world.ask()
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    return asked


async def test_a_refused_callback_is_listed_and_sent_again_under_its_id(any_world: World) -> None:
    asked = await unheard(any_world)
    assert (await handraise(any_world, "callbacks")).lines == []
    [line] = (await handraise(any_world, "callbacks", "--status", "refused")).lines
    callback = line.split()[0]
    ran = await handraise(any_world, "redrive", callback)
    assert (ran.status, ran.lines) == (0, [f"{callback}: on its way again to {any_world.agent.url}"])
    await any_world.settle()
    assert [told.headers["webhook-id"] for told in any_world.agent.told_of(asked)] == [callback] * 2
    [line] = (await handraise(any_world, "callbacks", "--status", "all")).lines
    assert line.split()[:2] == [callback, "delivered"]
    again = await handraise(any_world, "redrive", callback)
    assert again.status == 1
    assert "Only a dead or refused callback can be sent again." in again.err


async def test_a_question_names_its_callback_too(world: World) -> None:
    asked = await unheard(world)
    assert (await handraise(world, "redrive", asked["ref"])).status == 0
    await world.settle()
    assert len(world.agent.told_of(asked)) == 2
    again = await handraise(world, "redrive", asked["suspension_id"])
    assert (again.status, again.err) == (
        1,
        f"handraise: {asked['ref']} has no dead or refused callback (delivered)\n",
    )


async def test_what_is_not_there_is_one_line(world: World) -> None:
    for wanted, words in (("0" * 32, "no such callback"), ("HR-NONE", "no question"), ("x", "no such suspension")):
        ran = await handraise(world, "redrive", wanted)
        assert (ran.status, len(ran.err.splitlines())) == (1, 1)
        assert words in ran.err
