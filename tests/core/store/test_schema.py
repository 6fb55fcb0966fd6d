"""The schema: what migrations build is what ``tables.py`` says, and nothing is ever half done (HOUSE.md, "Tests")."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from core.database.database import Database, open_database
from core.errors import SchemaTooNew, SchemaTooOld
from core.openintent.store import tables as wing  # noqa: F401 (its tables are in ``metadata`` once it is loaded)
from core.store import jobs, schema
from core.store.tables import metadata
from tests.core.older import migrate_to
from tests.core.store_examples import an_intent, keep_intents

CRASHING = """
import os, sys
import sqlalchemy as sa
from core.store import schema
from core.database.database import open_database

@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def crash(conn, cursor, statement, *rest):
    if sys.argv[2] in statement:
        os._exit(9)

schema.migrate(open_database(sys.argv[1]))
"""


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False).replace("sqlite+pysqlite", "sqlite+aiosqlite")


INDEXES = {
    "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index'",
}


def is_ours(name: str) -> bool:
    """Neither Alembic's own, nor the work engine's, nor the search index, which each has in its own way."""
    return not any(other in name for other in ("alembic", "procrastinate", "search"))


def objects(database: Database) -> Any:
    """Every table and index of ours as the database itself describes them."""
    with database.engine.connect() as conn:
        indexes = {name: text for name, text in conn.exec_driver_sql(INDEXES[database.dialect]) if is_ours(name)}
        inspector = sa.inspect(conn)
        tables = [name for name in inspector.get_table_names() if is_ours(name)]
        columns = {
            (table, column["name"]): (str(column["type"]), column["nullable"], column["default"])
            for table in tables
            for column in inspector.get_columns(table)
        }
        keys = {table: inspector.get_pk_constraint(table) for table in tables}
        stored = {table: inspector.get_table_options(table) for table in tables}
    return columns, keys, indexes, stored


def names(database: Database) -> set[str]:
    with database.engine.connect() as conn:
        return set(sa.inspect(conn).get_table_names())


def test_migrating_an_empty_database_gives_exactly_the_tables(empty_database: Database) -> None:
    schema.migrate(empty_database)
    with empty_database.engine.connect() as conn:
        options = {
            "compare_type": True,
            "compare_server_default": True,
            "include_name": lambda name, kind, _parents: kind not in {"table", "index"} or is_ours(name),
        }
        context = MigrationContext.configure(conn, opts=options)
        assert compare_metadata(context, metadata) == []


def test_migrations_build_the_same_columns_keys_and_indexes_as_the_tables(empty_database: Database) -> None:
    with empty_database.engine.begin() as conn:
        metadata.create_all(conn)
    wanted = objects(empty_database)
    with empty_database.engine.begin() as conn:
        metadata.drop_all(conn)
    schema.migrate(empty_database)
    assert objects(empty_database) == wanted


def test_partial_indexes_are_those_that_are_meant(empty_database: Database) -> None:
    schema.migrate(empty_database)
    _, _, indexes, _ = objects(empty_database)
    partial = {name for name, text in indexes.items() if text and " WHERE " in text}
    assert partial == {
        "ix_suspensions_action",
        "ix_suspensions_due",
        "ix_suspensions_ended",
        "ix_suspensions_ended_at",
        "ix_suspensions_ended_creator",
        "ix_suspensions_in_session",
        "ix_suspensions_not_entered",
        "ix_suspensions_invocation",
        "ix_suspensions_open",
        "ix_suspensions_open_creator",
        "ix_suspensions_risk",
        "ix_suspensions_signal",
        "ix_suspensions_unnoted",
        "uq_suspensions_open_intent",
        "uq_suspensions_open_signal",
        "uq_intent_leases_held",
        "ix_outbox_callbacks_by_status",
        "ix_outbox_lanes",
        "ix_outbox_pending",
        "ix_outbox_sending",
        "ix_outbox_settled_alone",
        "ix_archived_leaving",
        "ix_intents_linked",
        "ix_intents_parent",
        "ix_intents_unlinked",
        "ix_tasks_plan",
    }


def test_the_head_is_the_newest_migration_there_is() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]


def test_migrating_says_from_where_to_where(empty_database: Database) -> None:
    assert schema.migrate(empty_database) == (None, schema.HEAD)
    assert schema.current_revision(empty_database) == schema.HEAD


async def test_migrating_twice_is_harmless(database: Database) -> None:
    await keep_intents(database, an_intent())
    assert schema.migrate(database) == (schema.HEAD, schema.HEAD)
    with database.engine.connect() as conn:
        assert conn.scalar(sa.text("SELECT count(*) FROM intents")) == 1


def test_a_ready_database_is_left_alone(database: Database) -> None:
    schema.prepare(database)
    assert schema.current_revision(database) == schema.HEAD


def test_postgres_without_the_work_engines_tables_is_not_ready_until_it_is_migrated(empty_postgres: Database) -> None:
    schema.migrate(empty_postgres)
    with empty_postgres.engine.begin() as conn:
        conn.exec_driver_sql("DROP TABLE procrastinate_jobs CASCADE")
    with pytest.raises(SchemaTooOld, match="handraise migrate"):
        schema.prepare(empty_postgres)


def test_a_postgres_of_the_first_version_gets_the_work_engines_tables(empty_postgres: Database) -> None:
    migrate_to(empty_postgres, "0001")
    with empty_postgres.engine.connect() as conn:
        assert not jobs.are_installed(conn)
    assert schema.migrate(empty_postgres) == ("0001", schema.HEAD)
    with empty_postgres.engine.connect() as conn:
        assert jobs.are_installed(conn)


def test_sqlite_is_migrated_when_it_is_readied(tmp_path: Path) -> None:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/new.db")
    schema.prepare(database)
    assert schema.current_revision(database) == schema.HEAD
    database.engine.dispose()


def test_a_newer_schema_is_refused_and_left_alone(empty_database: Database) -> None:
    database = empty_database
    schema.migrate(database)
    with database.engine.begin() as conn:
        conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    before = objects(database)
    for refuse in (schema.prepare, schema.migrate):
        with pytest.raises(SchemaTooNew, match=r"\(9999\) is newer than this version knows"):
            refuse(database)
    assert schema.current_revision(database) == "9999"
    assert objects(database) == before


@pytest.mark.slow
@pytest.mark.parametrize("at", ["CREATE TABLE suspensions", "INSERT INTO alembic_version"])
def test_a_crash_in_the_middle_of_a_migration_leaves_nothing_half_done(empty_database: Database, at: str) -> None:
    crashed = subprocess.run([sys.executable, "-c", CRASHING, url_of(empty_database), at], check=False, timeout=60)
    assert crashed.returncode == 9
    assert schema.current_revision(empty_database) is None
    assert names(empty_database) <= {"alembic_version"}
    schema.migrate(empty_database)
    assert schema.current_revision(empty_database) == schema.HEAD
    assert set(metadata.tables) <= names(empty_database)
