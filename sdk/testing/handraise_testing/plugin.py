"""The fixtures, and the hook by which a test fails for what only the server knows."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the service takes a second to import: only a session that uses a fixture pays for it
    from handraise_testing.fixture import HandraiseServer
    from handraise_testing.humans import Humans
    from handraise_testing.server import EventLoop

_SERVER = pytest.StashKey["HandraiseServer"]()


@pytest.fixture(scope="session")
def handraise_settings() -> Mapping[str, Any]:
    """Keys of ``handraise.yaml`` that the server is to have: people, groups, the default policy. Override it."""
    return {}


@pytest.fixture(scope="session")
def _handraise_loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventLoop]:
    """The server's thread."""
    from handraise_testing.logs import warnings_alone
    from handraise_testing.server import EventLoop, warm_up

    loop = EventLoop().start()
    with warnings_alone():
        loop.run(warm_up(tmp_path_factory.mktemp("handraise")))
        yield loop
    loop.stop()


@pytest.fixture
def handraise(
    request: pytest.FixtureRequest,
    _handraise_loop: EventLoop,
    handraise_settings: Mapping[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[HandraiseServer]:
    """A Handraise server of the test's own; ``Handraise()`` and ``HandraiseSync()`` find it by the environment."""
    from handraise_testing.fixture import HandraiseServer
    from handraise_testing.server import Server, running

    stack = AsyncExitStack()
    folder: Path = tmp_path_factory.mktemp("handraise")

    async def begin() -> Server:
        return await stack.enter_async_context(running(folder, handraise_settings))

    try:
        server = HandraiseServer(_handraise_loop, _handraise_loop.run(begin()))
        monkeypatch.setenv("HANDRAISE_URL", server.url)
        monkeypatch.setenv("HANDRAISE_API_KEY", server.api_key)
        for name in ("NO_PROXY", "no_proxy"):  # a proxy can't reach this process
            monkeypatch.setenv(name, ",".join(filter(None, [os.environ.get(name), "127.0.0.1"])))
        request.node.stash[_SERVER] = server
        yield server
    finally:
        _handraise_loop.run(stack.aclose())


@pytest.fixture
def humans(handraise: HandraiseServer) -> Humans:
    """What people do in this test."""
    return handraise.humans


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """What the server found wrong is the test's failure, whatever the agent has made of it."""
    server = item.stash.get(_SERVER, None)
    try:
        yield
    except (Exception, pytest.fail.Exception) as failure:
        problem = None if server is None else server.problem()
        if problem is None:
            raise
        then = "" if problem in str(failure) else f"\n\nThe test then ended with {type(failure).__name__}: {failure}"
    else:
        problem, then = (None, "") if server is None else (server.problem() or server.left_over(), "")
    if problem is not None:
        pytest.fail(problem + then, pytrace=False)
