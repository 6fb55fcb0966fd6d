"""Portions: who comes while a transaction is under way shares the next one, and suffers from nobody in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from core.database.database import Database, Tx
from core.delivery.portions import MOST, Portions
from core.errors import Conflict
from core.store import intents
from tests.core.store_examples import an_intent

PATIENCE = 30.0


@dataclass
class Desk:
    """Keeps intents by portions. The first of them waits until ``let_go``."""

    portions: Portions
    let_go: threading.Event = field(default_factory=threading.Event)
    used: dict[str, Tx] = field(default_factory=dict)
    """By name, the transaction in which it was kept."""

    def keep(
        self,
        name: str,
        *,
        waits: bool = False,
        fails: bool = False,
        once_written: Callable[[], object] = lambda: None,
    ) -> asyncio.Task[None]:
        def part(tx: Tx) -> None:
            tx.after_commit(once_written)
            if waits:
                self.let_go.wait(PATIENCE)
            intents.insert(tx, an_intent(name))
            if fails:
                raise Conflict(name)
            self.used[name] = tx

        return asyncio.create_task(self.portions.write(part), name=name)

    async def keep_behind_the_first(self, *tasks: asyncio.Task[None]) -> list[BaseException | None]:
        await asyncio.sleep(0)
        self.let_go.set()
        async with asyncio.timeout(PATIENCE):
            return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(Portions(database))


async def kept(database: Database, *names: str) -> list[str]:
    return [name for name in names if await database.read(lambda conn, name=name: intents.get(conn, name))]  # type: ignore[misc]


async def test_who_comes_meanwhile_shares_the_next_transaction(desk: Desk, database: Database) -> None:
    first = desk.keep("first", waits=True)
    await asyncio.sleep(0)
    names = [f"intent-{number}" for number in range(5)]

    assert await desk.keep_behind_the_first(first, *map(desk.keep, names)) == [None] * 6

    assert await kept(database, *names) == names
    if database.dialect == "postgresql":
        assert len({id(desk.used[name]) for name in names}) == 1
    assert desk.used["first"] is not desk.used[names[0]]


async def test_no_portion_is_larger_than_the_most(desk: Desk, database: Database) -> None:
    first = desk.keep("first", waits=True)
    await asyncio.sleep(0)
    names = [f"intent-{number}" for number in range(2 * MOST + 1)]

    await desk.keep_behind_the_first(first, *map(desk.keep, names))

    assert await kept(database, *names) == names
    if database.dialect == "postgresql":
        assert len({id(desk.used[name]) for name in names}) == 3


async def test_one_that_fails_fails_alone(desk: Desk, database: Database) -> None:
    first = desk.keep("first", waits=True)
    await asyncio.sleep(0)

    told = await desk.keep_behind_the_first(first, desk.keep("a"), desk.keep("b", fails=True), desk.keep("c"))

    assert [type(one) for one in told] == [type(None), type(None), Conflict, type(None)]
    assert await kept(database, "first", "a", "b", "c") == ["first", "a", "c"]


@pytest.mark.parametrize("gone", [0, 1, 2], ids=["who-writes", "who-writes-next", "who-waits"])
async def test_who_goes_away_keeps_nobody_waiting(desk: Desk, database: Database, gone: int) -> None:
    tasks = [desk.keep("first", waits=True)]
    await asyncio.sleep(0)
    tasks += map(desk.keep, "abc")
    await asyncio.sleep(0)
    tasks[gone].cancel()

    told = await desk.keep_behind_the_first(*tasks)

    assert isinstance(told[gone], asyncio.CancelledError)
    assert [one for place, one in enumerate(told) if place != gone] == [None] * 3
    staying = [name for place, name in enumerate(("first", *"abc")) if place != gone]
    assert await kept(database, *staying) == staying


@pytest.mark.parametrize("turns", [1, 2], ids=["just-before", "just-after"])
async def test_who_goes_away_as_they_are_told_to_write_passes_it_on(desk: Desk, database: Database, turns: int) -> None:
    """``turns`` of the event loop after the hook of the first, which is told in the next one that it is written."""
    nexts: list[asyncio.Task[None]] = []
    first = desk.keep("first", waits=True, once_written=lambda: after_turns(turns, nexts[0].cancel))
    await asyncio.sleep(0)
    nexts += map(desk.keep, "ab")

    told = await desk.keep_behind_the_first(first, *nexts)

    if database.dialect == "postgresql":  # on SQLite nobody waits for a turn
        assert isinstance(told[1], asyncio.CancelledError)
    assert (told[2], await kept(database, "b")) == (None, ["b"])


def after_turns(turns: int, do: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    if turns == 1:
        loop.call_soon(do)
    else:
        loop.call_soon(after_turns, turns - 1, do)
