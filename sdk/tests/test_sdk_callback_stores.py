"""The stores of callbacks: of all who ask for one, one is told to go; what is done stays known for long enough."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from handraise import CallbackState, CallbackStore, ConfigurationError, MemoryCallbackStore, SqliteCallbackStore

NEW, RUNNING, DONE = CallbackState.NEW, CallbackState.RUNNING, CallbackState.DONE


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 3, 23, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, clock: Clock, file: Path) -> CallbackStore:
    return MemoryCallbackStore(now=clock) if request.param == "memory" else SqliteCallbackStore(file, now=clock)


async def test_one_is_running_until_it_is_done(store: CallbackStore) -> None:
    assert await store.begin("msg_1", None, "a") is NEW
    assert await store.begin("msg_1", None, "b") is RUNNING
    await store.finish("msg_1", "a")
    assert await store.begin("msg_1", None, "b") is DONE


async def test_one_that_came_to_nothing_is_new_again(store: CallbackStore) -> None:
    await store.begin("msg_1", "sess-1", "a")
    await store.release("msg_1", "a")
    assert await store.begin("msg_1", "sess-1", "b") is NEW


async def test_what_is_done_or_another_ones_is_not_let_go(store: CallbackStore) -> None:
    await store.begin("msg_1", None, "a")
    await store.release("msg_1", "b")
    assert await store.begin("msg_1", None, "c") is RUNNING
    await store.finish("msg_1", "a")
    await store.release("msg_1", "a")
    assert await store.begin("msg_1", None, "c") is DONE


async def test_a_session_has_one_at_a_time_and_no_session_is_none_in_common(store: CallbackStore) -> None:
    assert await store.begin("msg_1", "sess-1", "a") is NEW
    assert await store.begin("msg_2", "sess-1", "b") is RUNNING
    assert await store.begin("msg_3", "sess-2", "c") is NEW
    assert [await store.begin(f"msg_{n}", None, "d") for n in (4, 5)] == [NEW, NEW]
    await store.finish("msg_1", "a")
    assert await store.begin("msg_2", "sess-1", "b") is NEW


async def test_what_is_done_is_known_for_as_long_as_the_server_tries_and_forgotten_in_the_end(
    store: CallbackStore, clock: Clock
) -> None:
    await store.begin("msg_1", None, "a")
    await store.finish("msg_1", "a")
    clock.time += timedelta(hours=72)
    assert await store.begin("msg_1", None, "b") is DONE
    clock.time += timedelta(days=7)
    assert await store.begin("msg_1", None, "b") is NEW


@pytest.mark.parametrize("ids", [["msg_1"] * 8, [f"msg_{n}" for n in range(8)]], ids=["one callback", "one session"])
async def test_of_many_at_once_one_begins(store: CallbackStore, ids: list[str]) -> None:
    for turn in range(40):
        begun = [store.begin(f"{webhook_id}_{turn}", f"sess-{turn}", str(n)) for n, webhook_id in enumerate(ids)]
        states = await asyncio.gather(*begun)
        assert sorted(state.value for state in states) == ["new", *["running"] * 7]


async def test_of_many_threads_one_begins(store: CallbackStore) -> None:
    together, states = threading.Barrier(8, timeout=30), []

    def begin(n: int) -> None:
        together.wait()
        states.append(asyncio.run(store.begin("msg_1", "sess-1", str(n))))

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert sorted(state.value for state in states) == ["new", *["running"] * 7]


async def test_memory_is_bounded_by_forgetting_the_oldest(clock: Clock) -> None:
    store = MemoryCallbackStore(most_ids=3, now=clock)
    for n in range(5):
        await store.begin(f"msg_{n}", None, "a")
        await store.finish(f"msg_{n}", "a")
    assert [await store.begin(f"msg_{n}", None, "b") for n in (4, 3, 0)] == [DONE, DONE, NEW]


async def test_the_callback_of_a_process_that_is_gone_lapses_and_a_living_ones_does_not(
    file: Path, clock: Clock
) -> None:
    gone, other = (SqliteCallbackStore(file, lease=timedelta(seconds=30), now=clock) for _ in range(2))
    assert await gone.begin("msg_1", "sess-1", "gone") is NEW
    clock.time += timedelta(seconds=20)
    await gone.renew("msg_1", "gone")
    clock.time += timedelta(seconds=20)
    assert await other.begin("msg_1", "sess-1", "other") is RUNNING
    clock.time += timedelta(seconds=11)
    assert await other.begin("msg_2", "sess-1", "other") is NEW
    await other.finish("msg_2", "other")
    assert await other.begin("msg_1", "sess-1", "other") is NEW
    await gone.renew("msg_1", "gone")
    await gone.release("msg_1", "gone")
    assert await gone.begin("msg_1", "sess-1", "third") is RUNNING
    clock.time += timedelta(seconds=20)
    await gone.renew("msg_1", "gone")
    clock.time += timedelta(seconds=11)
    assert await gone.begin("msg_1", "sess-1", "third") is NEW


async def test_one_that_is_done_late_is_done_all_the_same(file: Path, clock: Clock) -> None:
    store = SqliteCallbackStore(file, now=clock)
    await store.begin("msg_1", None, "slow")
    clock.time += timedelta(hours=1)
    await store.begin("msg_2", None, "b")  # which forgets what has lapsed
    await store.finish("msg_1", "slow")
    assert await store.begin("msg_1", None, "c") is DONE


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_it_is_done_exactly_if_the_handlers_own_transaction_is(file: Path, end: str) -> None:
    store = SqliteCallbackStore(file)
    await store.begin("msg_1", None, "a")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE refunds (order_id TEXT)")
        connection.execute("INSERT INTO refunds VALUES ('12345')")
        store.finish_in(connection, "msg_1")
        getattr(connection, end)()
    await store.release("msg_1", "a")  # as after a handler that raised
    assert await store.begin("msg_1", None, "b") is (DONE if end == "commit" else NEW)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SqliteCallbackStore(":memory:"), "MemoryCallbackStore"),
        (lambda: SqliteCallbackStore(""), "path"),
        (lambda: SqliteCallbackStore("x.db", lease=timedelta(0)), "lease"),
        (lambda: SqliteCallbackStore("x.db", keep=timedelta(hours=71)), "72 hours"),
        (lambda: MemoryCallbackStore(keep=timedelta(hours=71)), "72 hours"),
        (lambda: MemoryCallbackStore(most_ids=0), "most_ids"),
    ],
)
def test_a_store_that_could_not_keep_its_word_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()
