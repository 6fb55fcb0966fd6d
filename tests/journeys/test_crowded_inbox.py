"""An inbox among very many open questions: what is one's own is in it, however many others wait."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from core import engine
from core.domain.people import Actor, Role
from core.domain.suspension import Assignment, Suspension
from core.store import suspensions
from tests.core.examples import after
from tests.core.store_examples import numbered
from tests.world import World

BOB, CAROL = "bob@example.com", "carol@example.com"


async def keep(world: World, *waiting: Suspension) -> None:
    await world.service.database.write(lambda tx: [suspensions.insert(tx, one) for one in waiting])


async def inbox(world: World, identity: str, *roles: Role, limit: int = 200) -> list[str]:
    found = await world.service.engine.waiting_for(Actor(identity, frozenset(roles)), limit)
    return [one.id for one in found]


async def test_a_new_question_of_ones_own_is_found_behind_thousands_of_others(world: World) -> None:
    others = [numbered(number, responders=(BOB,), suspended_at=after(seconds=number)) for number in range(5_001)]
    await keep(world, *others, numbered(7_000, responders=(CAROL,), suspended_at=after(hours=9)))
    assert await inbox(world, CAROL) == ["susp-7000"]


async def test_pages_of_questions_follow_each_other_without_a_gap(
    any_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that name somebody whose turn has not come yet are passed over, as many as there are."""
    monkeypatch.setattr(engine, "_PAGE", 3)
    numbers = itertools.count(1)
    mine = [numbered(next(numbers), responders=(CAROL,), suspended_at=after(seconds=n // 2)) for n in range(5)]
    handed = [replace(numbered(next(numbers), responders=(BOB,)), assigned=(Assignment(CAROL, BOB, after()),))]
    later = [numbered(next(numbers), responders=(BOB,), context={"cc": CAROL}) for _ in range(9)]
    await keep(any_world, *handed, *later, *mine)
    assert sorted(await inbox(any_world, CAROL)) == sorted(one.id for one in (*mine, *handed))
    assert await inbox(any_world, CAROL, limit=2) == ["susp-1", "susp-2"]


async def test_a_question_that_names_nobody_waits_for_operators_alone(any_world: World) -> None:
    await keep(any_world, numbered(1), numbered(2, responders=(CAROL,)))
    assert await inbox(any_world, "ops@example.com", Role.OPERATOR) == ["susp-1"]
    assert await inbox(any_world, "ops@example.com") == []
