"""PostgreSQL behind a real pgbouncer: what is one, whose sessions they are, and what is left in them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from core.database.database import Database, open_database
from core.database.locks import LockSlots
from core.database.poolers import Pooling, inspect_pooling
from core.errors import DatabaseUnavailable, SessionsShared
from core.hub import Hub
from core.store.inspection import inspect
from core.work.news import News
from tests.core.store_examples import an_intent, keep_intents
from tests.patience import PATIENCE
from tests.pgbouncer import PgBouncer, pgbouncer

pytestmark = pytest.mark.pooler

ALWAYS_THE_SAME: dict[str, str] = {}
IN_TURN = {"server_round_robin": "1"}
ONE_PROCESS = {"default_pool_size": "1"}


@pytest.fixture
def bouncer(postgres_url: str) -> Iterator[PgBouncer]:
    """In transaction mode."""
    with pgbouncer(postgres_url) as bouncer:
        yield bouncer


@pytest.fixture
async def pooled(bouncer: PgBouncer, postgres_url: str) -> AsyncIterator[Database]:
    """A database through the pooler, and past it where that is needed."""
    database = open_database(bouncer.url(postgres_url), direct_url=postgres_url)
    yield database
    await database.close()


@contextmanager
def others(url: str, number: int) -> Iterator[None]:
    """So many clients who go on asking something, each in a transaction."""
    over = threading.Event()
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"prepare_threshold": None})

    def ask() -> None:
        with engine.connect() as conn:
            while not over.is_set():
                conn.scalar(sa.text("SELECT pg_sleep(0.001)"))
                conn.commit()

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


# --- Which way it is --------------------------------------------------------------------------------------------------


def test_postgresql_itself_is_no_pooler(postgres_url: str) -> None:
    assert inspect_pooling(postgres_url, None, PATIENCE) is Pooling.NONE


@pytest.mark.parametrize("settings", [ALWAYS_THE_SAME, IN_TURN, ONE_PROCESS])
@pytest.mark.parametrize("clients", [0, 5])
def test_transaction_mode_is_recognised_with_and_without_load_and_needs_a_way_past_it(
    postgres_url: str, settings: dict[str, str], clients: int
) -> None:
    with pgbouncer(postgres_url, **settings) as bouncer, others(bouncer.url(postgres_url), clients):
        for _ in range(5):
            with pytest.raises(SessionsShared, match=r"^database_url leads .*HANDRAISE_DATABASE__DIRECT_URL"):
                inspect_pooling(bouncer.url(postgres_url), None, PATIENCE)
        assert inspect_pooling(bouncer.url(postgres_url), postgres_url, PATIENCE) is Pooling.BY_TRANSACTION
        with pytest.raises(SessionsShared, match=r"^database\.direct_url leads through a pooler"):
            inspect_pooling(postgres_url, bouncer.url(postgres_url), PATIENCE)


@pytest.mark.parametrize("clients", [0, 5])
def test_session_mode_keeps_sessions_and_needs_nothing_more(postgres_url: str, clients: int) -> None:
    with pgbouncer(postgres_url, "session") as session, others(session.url(postgres_url), clients):
        assert inspect_pooling(session.url(postgres_url), None, PATIENCE) is Pooling.BY_SESSION
        with pgbouncer(postgres_url) as bouncer:
            assert (
                inspect_pooling(bouncer.url(postgres_url), session.url(postgres_url), PATIENCE)
                is Pooling.BY_TRANSACTION
            )


def test_a_way_past_it_that_leads_to_another_database_is_refused(bouncer: PgBouncer, postgres_url: str) -> None:
    elsewhere = sa.make_url(postgres_url).set(database="postgres").render_as_string(hide_password=False)
    with pytest.raises(SessionsShared, match=r"^database\.direct_url does not lead to the database of database_url"):
        inspect_pooling(bouncer.url(postgres_url), elsewhere, PATIENCE)


def test_a_way_past_it_that_leads_nowhere_is_named_by_its_setting(bouncer: PgBouncer, postgres_url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match=r"^database\.direct_url: PostgreSQL at /nowhere can't be used"):
        inspect_pooling(bouncer.url(postgres_url), "postgresql+psycopg://postgres@/postgres?host=/nowhere", PATIENCE)


# --- What is done behind it -------------------------------------------------------------------------------------------


async def test_what_is_written_and_read_is_the_same_through_a_pooler(pooled: Database) -> None:
    """Prepared statements had names, counted for each connection: they were another connection's here."""
    names = [f"intent-{number}" for number in range(60)]
    await asyncio.gather(*(keep_intents(pooled, an_intent(name)) for name in names))
    ids = sa.text("SELECT id FROM intents ORDER BY created_at, id")
    found = await asyncio.gather(*(pooled.read(lambda conn: conn.scalars(ids).all()) for _ in range(40)))
    assert all(sorted(one) == sorted(names) for one in found)


async def test_nothing_of_ours_is_left_in_the_sessions_that_others_get(
    pooled: Database, bouncer: PgBouncer, postgres_url: str
) -> None:
    await asyncio.gather(*(keep_intents(pooled, an_intent(f"intent-{number}")) for number in range(20)))
    await asyncio.to_thread(inspect, bouncer.url(postgres_url), 7, lambda: datetime.now(UTC))
    found = sa.text(
        """
        SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),
               (SELECT count(*) FROM pg_prepared_statements)
        """
    )
    stranger = sa.create_engine(bouncer.url(postgres_url), poolclass=sa.NullPool)
    for _ in range(10):
        with stranger.connect() as conn:
            assert conn.execute(found).one() == ("0", "0", 0)


async def test_a_transaction_has_the_servers_limits_behind_a_pooler_too(pooled: Database) -> None:
    limits = sa.text(
        "SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')"
    )
    assert await pooled.write(lambda tx: tuple(tx.conn.execute(limits).one())) == ("4500ms", "8s")


async def test_a_lock_of_a_session_keeps_others_off_behind_a_pooler(
    pooled: Database, bouncer: PgBouncer, postgres_url: str
) -> None:
    other = open_database(bouncer.url(postgres_url), direct_url=postgres_url)
    ours, theirs = (LockSlots(database, 4711, 1) for database in (pooled, other))
    place = await ours.take()
    assert place is not None
    for _ in range(5):
        assert await theirs.take() is None
        assert await ours.holds(place)
    await ours.give_back(place)
    taken = await theirs.take()
    assert taken is not None
    await theirs.give_back(taken)
    await other.close()


async def test_news_of_another_process_arrive_behind_a_pooler(
    pooled: Database, bouncer: PgBouncer, postgres_url: str
) -> None:
    other = open_database(bouncer.url(postgres_url), direct_url=postgres_url)
    here, there = Hub(), Hub()
    listening, telling = News(pooled, here), News(other, there)
    here.elsewhere, there.elsewhere = listening, telling
    await listening.start()
    with here.subscribe("topic") as heard:
        for _ in range(20):  # from whichever session
            await other.write(lambda tx: there.announce(tx, "topic"))
            async with asyncio.timeout(PATIENCE):
                await heard.wait()
            heard.clear()
    await listening.stop()
    await other.close()
