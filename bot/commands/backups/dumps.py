"""PostgreSQL's own programs: ``pg_dump`` writes a database into one file, ``pg_restore`` reads it in one transaction.

Their version has to fit the server's: ``pg_dump`` refuses a server that is newer than itself.

Source: https://www.postgresql.org/docs/current/app-pgdump.html, app-pgrestore.html
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from core.database.database import open_database, opening
from core.database.database_file import sync
from core.errors import BackupFailed

_LOOK_SECONDS = 0.2

_RELATIONS = sa.text(
    """
    SELECT quote_ident(nspname) || '.' || quote_ident(relname) FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname <> 'information_schema' AND nspname !~ '^pg_'
    AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
    ORDER BY 1 LIMIT 3
    """
)
"""What somebody has made in a database; not what its extensions brought along."""


def dump(database_url: str, snapshot: str, into: Path, told: Callable[[int], None]) -> None:
    """Write the database of ``snapshot`` to the file ``into``, mode 0600. ``told`` is called with the file's size.

    Raises :class:`BackupFailed`.
    """
    os.close(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    arguments = ["--format=custom", f"--snapshot={snapshot}", f"--file={into}"]
    _run("pg_dump", arguments, database_url, lambda: told(into.stat().st_size))
    sync(into)


def load(database_url: str, dumped: Path) -> None:
    """Read the file ``dumped`` into an empty database: all of it, or nothing. Raises :class:`BackupFailed`."""
    arguments = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", str(dumped)]
    _run("pg_restore", arguments, database_url, lambda: None)


def check_program(name: str) -> None:
    """Raises :class:`BackupFailed` if ``name`` is not installed."""
    if shutil.which(name) is None:
        raise BackupFailed(f"{name} is not on the PATH. It comes with PostgreSQL's client programs.")


def check_empty(url: sa.URL) -> None:
    """Raises :class:`BackupFailed` if the database holds tables."""
    engine = sa.create_engine(url, poolclass=NullPool)
    with opening(url), engine.connect() as conn:
        found = list(conn.scalars(_RELATIONS))
    if found:
        raise BackupFailed(
            f"The database {url.database} holds tables ({', '.join(found)} …): a backup is restored into an empty one "
            "alone. Make one (createdb), and name it in database_url."
        )


def _run(program: str, arguments: list[str], database_url: str, look: Callable[[], None]) -> None:
    check_program(program)
    connection, environ = _connection(database_url)
    command = [program, *arguments, "--dbname", connection]
    with ExitStack() as ending:
        with _put_off(signal.SIGTERM, signal.SIGINT):
            process = ending.enter_context(
                subprocess.Popen(  # noqa: S603 (all ours)
                    command,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            ending.callback(process.kill)  # does nothing to one that has ended
        said = _said(process, look)
    if process.returncode:
        raise BackupFailed(f"{program} has failed: {reason(program, said)}")


@contextmanager
def _put_off(*signals: signal.Signals) -> Iterator[None]:
    """Delays a signal while a program is being started, which would be left behind otherwise. Only the main thread
    gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in signals}
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler or signal.SIG_DFL)
        for number in came:
            signal.raise_signal(number)


def _said(process: subprocess.Popen[str], look: Callable[[], None]) -> str:
    """Its whole standard error, once it has ended; calls ``look`` now and then."""
    while True:
        try:
            return process.communicate(timeout=_LOOK_SECONDS)[1]
        except subprocess.TimeoutExpired:
            look()


def _connection(database_url: str) -> tuple[str, dict[str, str]]:
    """libpq's address of the database, and an environment with its password: everybody can read arguments."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    database = open_database(database_url)
    given = {name: str(value) for name, value in conninfo_to_dict(database.conninfo).items() if value is not None}
    database.engine.dispose()
    password = given.pop("password", None)
    return make_conninfo(**given), {**os.environ, **({} if password is None else {"PGPASSWORD": password})}


def reason(program: str, said: str) -> str:
    """Its first error, with versions that do not fit. The rest is left out: it may quote rows."""
    lines = [line.removeprefix(f"{program}: ") for line in said.splitlines()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    versions = [line.removeprefix("detail: ") for line in lines if line.startswith("detail: server version")]
    return "; ".join([*(errors or lines or ["it gave no reason"])[:1], *versions[:1]]).rstrip(".") + "."
