"""An inbox among very many open questions: what is one's own is in it, all of it, however many others wait."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from core.domain.people import Actor, Role
from core.domain.suspension import Assignment, Suspension
from core.engine import inbox
from core.engine.inbox import Inbox, InboxPage, Position
from core.store import suspensions, tables
from tests.core.examples import after, answered
from tests.core.store_examples import numbered
from tests.world import World

BOB, CAROL = "bob@example.com", "carol@example.com"


async def keep(world: World, *waiting: Suspension) -> None:
    await world.service.database.write(lambda tx: [suspensions.insert(tx, one) for one in waiting])


async def page(world: World, identity: str, *roles: Role, limit: int = 200, after: Position | None = None) -> InboxPage:
    return await Inbox(world.service.database, world.service.engine.permissions).page(
        Actor(identity, frozenset(roles)), limit, after
    )


def ids(found: InboxPage) -> list[str]:
    return [one.id for one in found.questions]


@pytest.mark.slow
async def test_a_new_question_of_ones_own_is_found_behind_thousands_of_others(world: World) -> None:
    others = [numbered(number, responders=(BOB,), suspended_at=after(seconds=number)) for number in range(5_001)]
    await keep(world, *others, numbered(7_000, responders=(CAROL,), suspended_at=after(hours=9)))
    found = await page(world, CAROL)
    assert (ids(found), found.total) == (["susp-7000"], 1)


async def test_what_is_read_some_at_a_time_has_no_gap(any_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that name somebody whose turn has not come yet are passed over, as many as there are."""
    monkeypatch.setattr(inbox, "_AT_ONCE", 3)
    monkeypatch.setattr(inbox, "_MOST_VERDICTS", 4)
    numbers = itertools.count(1)
    mine = [numbered(next(numbers), responders=(CAROL,), suspended_at=after(seconds=n // 2)) for n in range(5)]
    handed = [replace(numbered(next(numbers), responders=(BOB,)), assigned=(Assignment(CAROL, BOB, after()),))]
    own = [numbered(next(numbers), responders=(CAROL, BOB), on_behalf_of=CAROL) for _ in range(9)]
    await keep(any_world, *handed, *own, *mine)
    assert sorted(ids(await page(any_world, CAROL))) == sorted(one.id for one in (*mine, *handed))
    two = await page(any_world, CAROL, limit=2)
    assert (ids(two), two.total) == (["susp-1", "susp-2"], 6)


async def test_a_question_that_names_nobody_waits_for_operators_alone(any_world: World) -> None:
    await keep(any_world, numbered(1), numbered(2, responders=(CAROL,)))
    assert ids(await page(any_world, "ops@example.com", Role.OPERATOR)) == ["susp-1"]
    assert ids(await page(any_world, "ops@example.com")) == []


async def test_the_soonest_deadline_comes_first_and_none_at_all_last(any_world: World) -> None:
    """Of two that end at once the older one is first; a deadline is where an outage or a question back has moved it."""
    ends = {1: None, 2: 5, 3: 1, 4: 3, 5: None, 6: 3, 7: 2}
    asked = {1: 2, 4: 1, 6: 0, 7: 1}
    waiting = {
        number: numbered(
            number,
            responders=(CAROL,),
            suspended_at=after(minutes=asked.get(number, 0)),
            timeout=None if hours is None else timedelta(hours=hours, minutes=-asked.get(number, 0)),
        )
        for number, hours in ends.items()
    }
    waiting[7] = replace(waiting[7], shift=timedelta(hours=2))
    await keep(any_world, *waiting.values())
    assert ids(await page(any_world, CAROL)) == [f"susp-{number}" for number in (3, 6, 4, 7, 2, 5, 1)]


async def test_every_page_follows_the_one_before_it_and_leads_back_to_it(any_world: World) -> None:
    numbers = list(range(1, 24))
    random.Random(7).shuffle(numbers)
    mine = [numbered(n, responders=(CAROL,), timeout=timedelta(minutes=1 + n // 3) if n % 4 else None) for n in numbers]
    await keep(any_world, *mine)
    whole = ids(await page(any_world, CAROL))
    assert len(whole) == 23
    pages, after, places = [], None, [None]
    for _ in range(5):
        found = await page(any_world, CAROL, limit=5, after=after)
        assert (found.total, found.before) == (23, sum(map(len, pages)))
        assert found.back == (places[-2] if len(places) > 1 else None)
        pages.append(ids(found))
        after = found.after
        places.append(after)
    assert after is None
    assert list(itertools.chain(*pages)) == whole


async def test_what_is_answered_or_asked_meanwhile_moves_no_page(any_world: World) -> None:
    mine = {n: numbered(n, responders=(CAROL,), timeout=timedelta(hours=n)) for n in range(1, 7)}
    await keep(any_world, *mine.values())
    first = await page(any_world, CAROL, limit=2)
    gone = tables.suspensions.delete().where(tables.suspensions.c.id == "susp-2")
    await any_world.service.database.write(lambda tx: tx.conn.execute(gone))
    ended = replace(answered(mine[1], after(minutes=1)).suspension, version=mine[1].version + 1)
    await any_world.service.database.write(lambda tx: suspensions.update(tx, [ended]))
    await keep(any_world, numbered(9, responders=(CAROL,), timeout=timedelta(minutes=30)))
    second = await page(any_world, CAROL, limit=2, after=first.after)
    assert (ids(second), second.before, second.total) == (["susp-3", "susp-4"], 1, 5)
