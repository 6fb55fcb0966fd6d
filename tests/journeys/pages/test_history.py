"""The history on both databases: what a person took part in, and what an operator finds among everything."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from core.domain.machine import decide
from core.domain.people import Actor, Role
from core.domain.suspension import Assignment, Claim, Status, Suspension
from core.engine import history
from core.engine.history import History, HistoryPage, Sought, written
from core.store import archive, suspensions
from tests.core.examples import after, an_answer
from tests.core.store_examples import keep, numbered
from tests.world import World

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
OPERATOR = Actor("ops@example.com", frozenset({Role.OPERATOR}))


def of(world: World) -> History:
    return History(world.service.database, world.service.engine.permissions)


def ids(page: HistoryPage) -> list[str]:
    return [one.id for one in page.questions]


async def end(world: World, asked: Suspension, by: str, minutes: float, value: str = "approve") -> None:
    ended = decide(asked, an_answer(value, by), after(minutes=minutes)).suspension
    moved = replace(ended, version=asked.version + 1)
    await world.service.database.write(lambda tx: suspensions.update(tx, [moved]))


async def some_ended(world: World, count: int = 9) -> None:
    """Each a minute after the one before; Alice and Bob in turn; every third is risky."""
    for n in range(count):
        risk = {"decision_record": {"risk": 0.9}} if n % 3 == 0 else {}
        said = f"Refund order {n}?" if n % 2 else f"A zebra for order {n}?"
        asked = numbered(n, question=said, responders=(ALICE, BOB), suspended_at=after(minutes=n), **risk)
        await keep(world.service.database, asked)
        await end(world, asked, (ALICE, BOB)[n % 2], 60 * n + 60)


async def test_what_somebody_took_part_in_is_theirs_whatever_became_of_it(any_world: World) -> None:
    answered, handed, claimed, other = (numbered(n, responders=(ALICE, BOB)) for n in range(1, 5))
    await keep(any_world.service.database, answered, handed, claimed, other)
    await end(any_world, answered, ALICE, 1)
    moved = [
        replace(handed, assigned=(Assignment(BOB, ALICE, after()),), version=handed.version + 1),
        replace(claimed, claim=Claim(ALICE, after(hours=1), "slack"), version=claimed.version + 1),
    ]
    await any_world.service.database.write(lambda tx: suspensions.update(tx, moved))
    given_back = replace(moved[1], claim=None, version=moved[1].version + 1)
    await any_world.service.database.write(lambda tx: suspensions.update(tx, [given_back]))
    page = await of(any_world).mine(Actor(ALICE), Sought(), 50)
    assert sorted(ids(page)) == ["susp-1", "susp-2", "susp-3"]
    assert page.total is not None
    assert page.total.of == 3
    assert ids(await of(any_world).mine(Actor(CAROL), Sought(), 50)) == []


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        (Sought(), [8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (Sought(text="zebra"), [8, 6, 4, 2, 0]),
        (Sought(by=frozenset({BOB})), [7, 5, 3, 1]),
        (Sought(risk=4), [6, 3, 0]),
        (Sought(status=Status.AWAITING), []),
        (Sought(status=Status.RESPONDED, risk=4), [6, 3, 0]),
        (Sought(ended_since=after(minutes=180), ended_before=after(minutes=300)), [3, 2]),
        (Sought(text="refund", by=frozenset({BOB}), ended_since=after(minutes=240)), [7, 5, 3]),
        (Sought(text="zebra", risk=4, ended_before=after(minutes=300)), [0]),
    ],
)
async def test_an_operator_finds_what_they_look_for(any_world: World, sought: Sought, found: list[int]) -> None:
    await some_ended(any_world)
    if sought.text is not None:
        sought = replace(sought, shows=partial(_has, sought.text))
    assert ids(await of(any_world).everything(OPERATOR, sought, 50)) == [f"susp-{n}" for n in found]


def _has(text: str, suspension: Suspension) -> bool:
    return text in suspension.ask.question.lower()


@pytest.mark.parametrize("sought", [Sought(), Sought(ended_since=after()), Sought(status=Status.RESPONDED)])
async def test_pages_have_no_gap_and_lead_back(any_world: World, sought: Sought) -> None:
    await some_ended(any_world)
    own, pages, place, backs = of(any_world), [], None, []
    while True:
        page = await own.everything(OPERATOR, sought, 4, place)
        assert (page.total and page.total.of, page.earlier) == (9, sum(map(len, pages)))
        pages.append(ids(page))
        backs.append(page.back)
        if page.after is None:
            break
        place = await own.place(written(page.after), sought, of_all=True)
        assert place == page.after
    assert [one for page in pages for one in page] == [f"susp-{n}" for n in range(8, -1, -1)]
    assert backs[:2] == [None, None]
    assert ids(await own.everything(OPERATOR, sought, 4, backs[2])) == pages[1]


async def test_questions_of_one_moment_are_paged_through_without_a_gap(any_world: World) -> None:
    await keep(any_world.service.database, *(numbered(n) for n in range(7)))
    own, found, place = of(any_world), list[str](), None
    for _ in range(4):
        page = await own.everything(OPERATOR, Sought(), 2, place)
        found += ids(page)
        place = None if page.after is None else await own.place(written(page.after), Sought(), of_all=True)
    assert sorted(found) == [f"susp-{n}" for n in range(7)]


async def test_a_search_finds_nothing_by_what_redaction_hides(any_world: World) -> None:
    await keep(any_world.service.database, numbered(1, question="The card is 4111 1111 1111 1111."))
    redaction = any_world.service.engine.channel_views.redaction
    for text, found in (("card", ["susp-1"]), ("4111", []), ("1111 1111", [])):
        shows = partial(_shown, redaction, text)
        page = await of(any_world).everything(OPERATOR, Sought(text=text, shows=shows), 50)
        assert ids(page) == found


def _shown(redaction: object, text: str, suspension: Suspension) -> bool:
    return text in redaction.text_on("page", suspension.ask.question).lower()  # type: ignore[attr-defined]


async def test_an_operator_who_reads_only_their_own_finds_no_others(any_world: World) -> None:
    mine, other = numbered(1, responders=(ALICE,)), numbered(2, responders=(BOB,))
    await keep(any_world.service.database, mine, other)
    narrowed = Actor(ALICE, frozenset({Role.OPERATOR}), reads_own=True)
    page = await of(any_world).everything(narrowed, Sought(), 50)
    assert (ids(page), page.total) == (["susp-1"], None)
    assert (await of(any_world).numbers(narrowed))[1] is None


async def test_very_many_are_counted_to_a_bound(any_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_COUNTED", 5)
    await keep(any_world.service.database, *(numbered(n, suspended_at=after(seconds=n)) for n in range(7)))
    _, everything = await of(any_world).numbers(OPERATOR)
    assert everything is not None
    assert (everything.of, everything.is_more) == (5, True)


async def test_what_has_left_the_database_is_in_no_history(any_world: World) -> None:
    asked = numbered(1, responders=(ALICE,), timeout=timedelta(hours=1))
    await keep(any_world.service.database, asked)
    await end(any_world, asked, ALICE, 1)
    await any_world.service.database.write(lambda tx: archive.remove(tx, ["susp-1"], [], after(days=9)))
    page = await of(any_world).mine(Actor(ALICE), Sought(), 50)
    assert (ids(page), page.total and page.total.of) == ([], 0)
