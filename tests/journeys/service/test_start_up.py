"""A PostgreSQL that can't be used while the service begins: one line that names the setting, and status 2.

Source: API.md §9.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from core.database.database import open_database
from core.store import schema
from tests.ports import free_port
from tests.postgres import Cluster, cluster
from tests.process import ROOT

pytestmark = pytest.mark.kills

PATIENCE = 90
PASSWORD = "not-to-be-told"


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A PostgreSQL that these tests may stop, with the schema: ``asked`` needs a password, ``single`` may be
    connected once, ``postgres`` is let in."""
    with cluster() as running:
        database = open_database(url(running))
        schema.migrate(database)
        with database.engine.begin() as conn:
            conn.exec_driver_sql("CREATE ROLE asked LOGIN PASSWORD 'another'")
            conn.exec_driver_sql("CREATE ROLE single LOGIN CONNECTION LIMIT 1")
            conn.exec_driver_sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO single")
        database.engine.dispose()
        running.ask_for_password("asked")
        running.stop()
        running.start()
        yield running


def url(server: Cluster, user: str = "postgres", password: str = PASSWORD) -> str:
    return f"postgresql+psycopg://{user}:{password}@/postgres{server.query}"


@contextlib.asynccontextmanager
async def beginning(folder: Path, database_url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """``handraise serve``, as it begins."""
    file = folder / "handraise.yaml"
    settings = {
        "database_url": database_url,
        "secret_key": "the-secret-key-of-the-tests-alone",
        "http": {"port": free_port()},
        "log": {"level": "error"},  # that the news have lost their connection is a warning
    }
    file.write_text(yaml.safe_dump(settings))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    command = [sys.executable, "-m", "handraise", "serve", "--config", str(file)]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def last_words(process: asyncio.subprocess.Process) -> str:
    """The one line that it ends with, after the warnings; it must have ended with status 2, and told no secret."""
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate()
    text = printed.decode()
    assert process.returncode == 2, text
    assert PASSWORD not in text
    [line] = [line for line in text.splitlines() if not line.startswith("handraise: warning: ")]
    return line


async def test_no_server_there_is_one_line_that_names_the_setting(tmp_path: Path) -> None:
    async with beginning(tmp_path, f"postgresql+psycopg://postgres:{PASSWORD}@/postgres?host={tmp_path}") as process:
        line = await last_words(process)
    assert line == f"handraise: database_url: PostgreSQL at {tmp_path} can't be used: No such file or directory."


async def test_an_unreachable_port_is_one_line(tmp_path: Path) -> None:
    port = free_port()
    async with beginning(tmp_path, f"postgresql+psycopg://postgres:{PASSWORD}@127.0.0.1:{port}/postgres") as process:
        line = await last_words(process)
    assert line == f"handraise: database_url: PostgreSQL at 127.0.0.1:{port} can't be used: Connection refused."


async def test_a_password_written_so_that_it_looks_like_a_host_is_not_told(tmp_path: Path) -> None:
    async with beginning(tmp_path, f"postgresql+psycopg://postgres:p@{PASSWORD}@127.0.0.1:1/postgres") as process:
        assert (await last_words(process)).startswith("handraise: database_url: PostgreSQL can't be used: ")


async def test_a_refused_password_is_told_in_the_servers_words(tmp_path: Path, server: Cluster) -> None:
    async with beginning(tmp_path, url(server, "asked")) as process:
        line = await last_words(process)
    assert line == (
        f"handraise: database_url: PostgreSQL at {server.sockets} can't be used: "
        'password authentication failed for user "asked".'
    )


@pytest.mark.parametrize("step", ["alembic_version", "installation", "api_keys", "workers"])
async def test_a_server_that_vanishes_at_any_step_of_the_start_is_one_line(
    tmp_path: Path, server: Cluster, step: str
) -> None:
    """The process is caught in the step by a lock on the table that it reads there."""
    stranger = sa.create_engine(url(server), poolclass=sa.NullPool)
    conn = stranger.connect()
    conn.exec_driver_sql(f"LOCK TABLE {step} IN ACCESS EXCLUSIVE MODE")
    try:
        async with beginning(tmp_path, url(server)) as process:
            await _until_somebody_waits(stranger)
            server.stop()
            line = await last_words(process)
    finally:
        conn.invalidate()
        server.stop()
        server.start()
    assert line.startswith(f"handraise: database_url: PostgreSQL at {server.sockets} can't be used: ")
    assert "terminating connection" in line


async def test_a_connection_too_many_is_one_line(tmp_path: Path, server: Cluster) -> None:
    """The first connection is let in, the one that listens for news is not."""
    async with beginning(tmp_path, url(server, "single")) as process:
        line = await last_words(process)
    assert line.endswith('can\'t be used: too many connections for role "single".')


async def _until_somebody_waits(engine: sa.Engine) -> None:
    waiting = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    with engine.connect() as conn:
        async with asyncio.timeout(PATIENCE):
            while not conn.scalar(waiting):
                conn.rollback()
                await asyncio.sleep(0.05)
