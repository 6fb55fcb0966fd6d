"""Processes whose database goes away in a way that nobody says: behind a dead line, on a dead disk, deleted."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from tests.chaos.proxy import Manner, Proxy
from tests.process import ServiceProcess, service_process
from tests.world import KEYS, config

pytestmark = pytest.mark.kills

PATIENCE = 90
ENDS_WITHIN = 12
"""Seconds from SIGTERM to the end, whatever hangs."""

CHANGED = {"suspension": {}, "work": {"beat_seconds": 1, "silent_seconds": 3}}
QUESTION = {"question": "Go on?", "response_type": "confirm", "channel_hint": "email", "notify_to": "alice@example.com"}


def settings(url: str) -> dict[str, Any]:
    """Mail goes nowhere, and is tried again later."""
    email = {"smtp_url": "smtp://127.0.0.1:9", "from": "handraise@handraise.example"}
    return config(url, {"email": email}) | CHANGED


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    proxy = Proxy(Path(str(sa.make_url(postgres_url).query["host"])))
    with proxy.up():
        yield proxy


@pytest.fixture
async def remote(tmp_path: Path, postgres_url: str, proxy: Proxy) -> AsyncIterator[ServiceProcess]:
    """A process behind the proxy."""
    url = proxy.url(sa.make_url(postgres_url).database or "")
    async with service_process(tmp_path / "remote", settings(url)) as process:
        await process.start()
        yield process


@pytest.fixture
async def local(tmp_path: Path, sqlite_url: str) -> AsyncIterator[ServiceProcess]:
    async with service_process(tmp_path / "local", settings(sqlite_url)) as process:
        await process.start()
        yield process


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        yield http


async def ask(http: httpx.AsyncClient, at: ServiceProcess) -> httpx.Response:
    return await http.post(f"{at.url}/v1/suspensions", json=QUESTION, headers={"X-API-Key": KEYS["agent"]})


async def becomes(http: httpx.AsyncClient, at: ServiceProcess, status: int) -> dict[str, Any]:
    """What ``/readyz`` says once it has ``status``."""
    async with asyncio.timeout(PATIENCE):
        while (said := await http.get(f"{at.url}/readyz")).status_code != status:
            await asyncio.sleep(0.1)
    body: dict[str, Any] = said.json()
    return body


async def ends_in_time(process: ServiceProcess) -> int:
    began = time.monotonic()
    status = await process.terminate()
    assert time.monotonic() - began <= ENDS_WITHIN
    return status


@pytest.mark.parametrize("manner", [Manner.HALF_OPEN, Manner.STUCK])
async def test_a_process_behind_a_dead_line_says_so_answers_everybody_and_ends_when_told(
    remote: ServiceProcess, proxy: Proxy, http: httpx.AsyncClient, manner: Manner
) -> None:
    assert (await ask(http, remote)).status_code == 201
    proxy.be(manner)
    refused = await asyncio.gather(*(ask(http, remote) for _ in range(20)))
    assert {one.status_code for one in refused} == {503}
    detail = (await becomes(http, remote, 503))["detail"]
    assert (detail["error"], "it has not answered in time" in detail["message"]) == ("database_unavailable", True)
    assert (await http.get(f"{remote.url}/healthz")).status_code == 200
    waiting = asyncio.create_task(ask(http, remote))
    assert await ends_in_time(remote) == 0
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_process_whose_line_is_well_again_is_ready_and_looks_again(
    remote: ServiceProcess, proxy: Proxy, http: httpx.AsyncClient
) -> None:
    proxy.be(Manner.HALF_OPEN)
    await becomes(http, remote, 503)
    proxy.be(Manner.WELL)
    await becomes(http, remote, 200)
    assert (await ask(http, remote)).status_code == 201


async def test_a_full_disk_is_said_by_readiness_and_no_reason_to_be_restarted(
    local: ServiceProcess, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    """No file of this process may grow: its writes fail as they do on a disk that is full."""
    before = local.limit_files(len((tmp_path / "handraise.db-wal").read_bytes()))
    detail = (await becomes(http, local, 503))["detail"]
    assert detail["message"].startswith("The database is not available: its disk ")
    assert (await ask(http, local)).status_code == 503
    assert (await http.get(f"{local.url}/healthz")).status_code == 200
    local.limit_files(before)
    await becomes(http, local, 200)
    assert (await ask(http, local)).status_code == 201
    assert before == resource.RLIM_INFINITY


@pytest.mark.parametrize("what", ["deleted or moved", "replaced by another file"])
async def test_a_database_file_that_has_gone_stops_the_service_with_one_line(
    local: ServiceProcess, http: httpx.AsyncClient, tmp_path: Path, what: str
) -> None:
    path = tmp_path / "handraise.db"
    if what.startswith("replaced"):
        (tmp_path / "copy.db").write_bytes(path.read_bytes())
        (tmp_path / "copy.db").rename(path)
    else:
        path.unlink()
    with contextlib.suppress(httpx.TransportError):  # its own beat may have found it out before
        assert (await ask(http, local)).status_code == 503
    status = await local.ended()
    assert status == 2
    said = [line for line in local.written.splitlines() if line.startswith("handraise: ")]
    [line] = [line for line in said if not line.startswith("handraise: warning: ")]
    assert line == f"handraise: database_url: {path} was {what} while it was in use."


async def test_a_second_process_on_another_name_of_the_file_ends_with_one_line(
    local: ServiceProcess, tmp_path: Path
) -> None:
    (tmp_path / "other.db").hardlink_to(tmp_path / "handraise.db")
    other = settings(f"sqlite+aiosqlite:///{tmp_path}/other.db")
    async with service_process(tmp_path / "other", other) as second:
        with pytest.raises(AssertionError, match=r"handraise: Another handraise process is using .*other\.db\."):
            await second.start()


async def test_what_a_process_makes_is_nobody_elses_to_read(
    local: ServiceProcess, tmp_path: Path, http: httpx.AsyncClient
) -> None:
    assert (await ask(http, local)).status_code == 201
    made = [file for file in tmp_path.glob("handraise.db*") if file.name != "handraise.db.lock"]
    assert {f"{file.stat().st_mode & 0o777:04o}" for file in made} == {"0600"}
    assert local.umask == 0o077
