"""Fixtures for whole stories: a running service on SQLite or PostgreSQL, with a clock that the test moves."""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
import structlog
import uvloop
from handraise_testing.database import lay_down
from hypothesis import HealthCheck, settings

from core.database.database import open_database
from core.store import schema
from tests.mail_servers import MailServers, mail_servers
from tests.postgres import postgres
from tests.scratch import use_memory

if TYPE_CHECKING:  # importing the whole service takes longer than many tests that need nothing of it
    from tests.world import World

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
"""What a failing test shows of the log. By default an exception is drawn with its locals, which takes a second."""

if settings.get_current_profile_name() == "default":  # with CI set, Hypothesis has the like of it by itself
    settings.register_profile("by hand", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("by hand")

_numbers = itertools.count(1)

_LONG = (
    *("graph_concurrency", "openapi", "slack_properties", "closed_language", "retention_store", "export_audit"),
    *("replicas", "graph_sizes", "terminal", "redaction_large", "portfolio_deadlines", "sdk_typing", "plugin_failures"),
)
"""Files that start processes or fuzz: begun first, so that no worker is left with one at the end."""


def pytest_configure(config: pytest.Config) -> None:
    use_memory()
    if hasattr(config, "workerinput") and config.option.durations is None:
        _send_outcomes_alone(config)
    gc.set_threshold(50_000, 10, 10)  # of 700, it takes an eighth of the whole time


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop that ``handraise serve`` runs on: its transports are no asyncio ones, and connect with code of their
    own."""
    return {"uvloop": uvloop.new_event_loop}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was left out since nobody has said where it is."""
    folder = Path(__file__).parent / "conformance" / "openarmature"
    given = [(config.invocation_params.dir / name.partition("::")[0]).resolve() for name in config.args]
    asked = any(folder.is_relative_to(one) or one.is_relative_to(folder) for one in given)
    if asked and not os.environ.get("HANDRAISE_CONFORMANCE_DIR"):
        terminalreporter.line("OpenArmature's fixtures were not run: HANDRAISE_CONFORMANCE_DIR is not set.")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a clean checkout the workers share the rewriting of asserts, which takes longer than to compile all the rest:
    each imports a share of the test files, and then comes upon what the others have written."""
    worker: Mapping[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    root = session.config.rootpath
    files = sorted(file for folder in session.config.args for file in (root / folder).rglob("test_*.py"))
    share = files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]
    for file in share + files[::-1]:  # from the end: whoever is slower finds it done there
        with suppress(Exception, pytest.skip.Exception):  # the collection imports it again, and says what is wrong
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """What has been imported and collected stays until the end: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(name in str(item.path) for name in _LONG))


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[str]:
    """The query part of a cluster's URL; its database ``template_handraise`` has the schema and nothing else."""
    with postgres(autovacuum="off") as query:  # statistics that come in the middle of a test change its plans
        with _admin(query) as admin:
            admin.exec_driver_sql("CREATE DATABASE template_handraise TEMPLATE template0")
        database = open_database(f"postgresql+psycopg://postgres@/template_handraise{query}")
        schema.migrate(database)
        database.engine.dispose()
        yield query


@pytest.fixture(scope="session")
def postgres_admin(postgres_cluster: str) -> Iterator[sa.Connection]:
    """By which databases of the cluster are made and deleted. A connection for each takes half as long again."""
    with _admin(postgres_cluster) as admin:
        yield admin


@pytest.fixture
def make_postgres_url(postgres_cluster: str, postgres_admin: sa.Connection) -> Iterator[Callable[[], str]]:
    """Makes a migrated database, each time another one. All are deleted when the test has ended."""
    with _databases(postgres_cluster, postgres_admin) as make:
        yield make


@pytest.fixture
def postgres_url(make_postgres_url: Callable[[], str]) -> str:
    """A migrated database of the test's own."""
    return make_postgres_url()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A migrated database of the test's own."""
    url = f"sqlite+aiosqlite:///{tmp_path}/handraise.db"
    lay_down(url)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Each database that the store runs on, in turn."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
async def world(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """A running service on SQLite."""
    from tests.world import running

    async with running(tmp_path, sqlite_url) as world:
        yield world


@pytest.fixture
async def any_world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A running service on each database."""
    from tests.world import running

    async with running(tmp_path, database_url) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One running service on SQLite for all tests of a module; each asks questions of its own.

    For many small tests that don't disturb each other; they say ``pytest.mark.asyncio(loop_scope="module")``.
    """
    from tests.world import running

    folder = tmp_path_factory.mktemp("room")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def quiet_room(room: World) -> World:
    """The :func:`room` without open questions and mails of other tests, and an hour later: limits count anew.

    For tests that are about the same few people, or the only ones to get mail.
    """
    while found := (await room.call("GET", "/v1/suspensions", "admin", params={"status": "open"})).json()["items"]:
        for one in found:
            cancelled = await room.call("POST", f"/v1/suspensions/{one['id']}/cancel", "admin", json={})
            assert cancelled.status_code == 200, cancelled.text
    await room.advance(hours=1)
    room.mailbox.mails.clear()
    return room


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def room_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Each database, one for all tests of a module."""
    with ExitStack() as stack:
        if request.param == "postgresql":
            cluster, admin = map(request.getfixturevalue, ("postgres_cluster", "postgres_admin"))
            yield stack.enter_context(_databases(cluster, admin))()
        else:
            yield f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('database')}/handraise.db"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def any_room(room_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """As :func:`room`, on each database."""
    from tests.world import running

    async with running(tmp_path_factory.mktemp("room"), room_url) as world:
        yield world


@pytest.fixture(scope="session")
def mail_servers_of_the_session() -> Iterator[MailServers]:
    with mail_servers() as servers:
        yield servers


@pytest.fixture
def mx(mail_servers_of_the_session: MailServers) -> MailServers:
    """Postfix and dovecot, with nothing in any mailbox. For tests marked ``mailservers``."""
    mail_servers_of_the_session.empty()
    return mail_servers_of_the_session


def _send_outcomes_alone(config: pytest.Config) -> None:
    """Of six messages that pytest-xdist sends about a test that passes, two are read by anybody. The others take five
    seconds of processor time for twelve thousand tests. ``--durations`` reads them, too."""
    [interactor] = [one for one in config.pluginmanager.get_plugins() if type(one).__name__ == "WorkerInteractor"]
    send = interactor.sendevent

    def send_what_is_read(name: str, **content: Any) -> None:
        report = content.get("data", {})
        of_course = report.get("when") in {"setup", "teardown"} and report.get("outcome") == "passed"
        if name not in {"logstart", "logfinish"} and not of_course:
            send(name, **content)

    interactor.sendevent = send_what_is_read


@contextmanager
def _databases(query: str, admin: sa.Connection) -> Iterator[Callable[[], str]]:
    """Makes a migrated database of the cluster, each time another one; all are deleted at the end."""
    made: list[str] = []

    def make() -> str:
        name = f"test_{next(_numbers)}"
        admin.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template_handraise STRATEGY file_copy")
        made.append(name)
        return f"postgresql+psycopg://postgres@/{name}{query}"

    yield make
    for name in made:
        admin.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _admin(query: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(f"postgresql+psycopg://postgres@/postgres{query}", isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        yield conn
    engine.dispose()
