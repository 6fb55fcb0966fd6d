"""``alerts.heartbeat_url`` is pinged while all is well, and only then (bot/observability/heartbeat.py)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.config.loading import load
from bot.sandbox.serving import serving
from core.errors import ConfigError
from tests.clock import ManualClock
from tests.world import World, running


@dataclass
class Monitor:
    """The other side: keeps when it was pinged. ``silent`` lets it hang, ``status`` is what it answers."""

    clock: ManualClock
    pings: list[datetime] = field(default_factory=list)
    status: int = 200
    path: str = ""

    def __post_init__(self) -> None:
        self.app = Starlette(routes=[Route("/{path:path}", self._ping)])

    async def _ping(self, request: Request) -> Response:
        self.path = request.url.path
        self.pings.append(self.clock.now())
        return Response(status_code=self.status, headers={"location": "/elsewhere"})


@asynccontextmanager
async def monitored(folder: Path, url: str, **alerts: Any) -> AsyncIterator[tuple[World, Monitor]]:
    clock = ManualClock()
    monitor = Monitor(clock)
    async with serving(monitor.app) as place:
        wanted = {"heartbeat_url": f"{place}/ping/hunter2", **alerts}
        async with running(folder, url, clock, alerts=wanted) as world:
            await pass_time(world)
            monitor.pings.clear()
            yield world, monitor


async def beat(world: World) -> None:
    """Wait until the ping that is under way, if any, is over."""
    heartbeat = world.service.heartbeat
    assert heartbeat is not None
    while heartbeat._task is not None and not heartbeat._task.done():
        await asyncio.sleep(0.005)


async def pass_time(world: World, **step: float) -> None:
    """A look, such as the sweep takes every five seconds, after so long."""
    world.clock.move_by(timedelta(**step))
    await world.settle()
    await beat(world)


async def test_it_is_pinged_once_a_minute_while_all_is_well(tmp_path: Path, database_url: str) -> None:
    async with monitored(tmp_path, database_url) as (world, monitor):
        start = world.clock.now()
        for _ in range(36):
            await pass_time(world, seconds=5)
        assert monitor.pings == [start + timedelta(minutes=minute) for minute in (1, 2, 3)]
        assert monitor.path == "/ping/hunter2"


async def test_the_period_can_be_set(tmp_path: Path, sqlite_url: str) -> None:
    async with monitored(tmp_path, sqlite_url, heartbeat_seconds=300) as (world, monitor):
        for _ in range(10):
            await pass_time(world, minutes=1)
        assert len(monitor.pings) == 2


@pytest.mark.parametrize("table", ["suspensions", "outbox"])
async def test_it_falls_silent_while_looks_fail_and_goes_on_after(tmp_path: Path, sqlite_url: str, table: str) -> None:
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        engine = world.service.database.engine
        with engine.begin() as conn:
            conn.exec_driver_sql(f"ALTER TABLE {table} RENAME TO away")
        for _ in range(5):
            with pytest.raises(Exception, match=r"not available|no such table"):
                await pass_time(world, minutes=1)
        await beat(world)
        assert monitor.pings == []
        with engine.begin() as conn:
            conn.exec_driver_sql(f"ALTER TABLE away RENAME TO {table}")
        await pass_time(world, minutes=1)
        assert len(monitor.pings) == 1


async def test_it_falls_silent_while_a_channel_hangs_with_messages_in_hand(tmp_path: Path, sqlite_url: str) -> None:
    """A lease outlives any try; one that has run out is in nobody's hand."""
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        await world.ask()
        with world.service.database.engine.begin() as conn:
            lapsed = int((world.clock.now() + timedelta(seconds=1)).timestamp() * 1e6)
            conn.exec_driver_sql(f"UPDATE outbox SET status = 'sending', lease_until = {lapsed}")
        await pass_time(world, minutes=1)
        assert monitor.pings == []
        with world.service.database.engine.begin() as conn:
            conn.exec_driver_sql("UPDATE outbox SET status = 'delivered'")
        await pass_time(world, minutes=1)
        assert len(monitor.pings) == 1


async def test_it_falls_silent_while_messages_wait_that_nobody_takes(tmp_path: Path, sqlite_url: str) -> None:
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        world.service.lanes.close()
        body = {"question": "Deploy?", "response_type": "confirm"}
        assert (await world.call("POST", "/v1/suspensions", json=body)).status_code == 201
        for _ in range(3):
            world.clock.move_by(timedelta(minutes=1))
            await world.service.look()
            await beat(world)
        assert monitor.pings == []
        world.service.lanes.open()
        await pass_time(world, minutes=1)  # they are taken, and on their way while it looks
        await pass_time(world, minutes=1)
        assert monitor.pings != []


async def test_a_channel_that_is_away_or_a_pause_does_not_stop_it(tmp_path: Path, sqlite_url: str) -> None:
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        await world.mailbox.stop()
        await world.ask(channel_hint="email")  # tried again and again, whenever it is due
        await world.call("POST", "/v1/pause", "admin", json={})
        await world.ask()
        for _ in range(10):
            await pass_time(world, minutes=1)
        assert len(monitor.pings) == 10


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_a_monitor_that_refuses_or_redirects_disturbs_nothing(
    tmp_path: Path, sqlite_url: str, status: int
) -> None:
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        monitor.status = status
        for _ in range(3):
            await pass_time(world, minutes=1)
        assert len(monitor.pings) == 3
        assert (await world.answer(await world.ask(), "approve")).status_code == 200


async def test_a_monitor_that_is_away_disturbs_nothing_and_is_told_of(
    tmp_path: Path, sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, sqlite_url, alerts={"heartbeat_url": "http://127.0.0.1:9/hunter2"}) as world:
        for _ in range(3):
            await pass_time(world, minutes=1)
        assert (await world.answer(await world.ask(), "approve")).status_code == 200
    silent = [line for line in capsys.readouterr().out.splitlines() if "heartbeat.silent" in line]
    assert len(silent) == 1
    assert "reason=connect_failed" in silent[0]


async def test_a_silence_is_one_line_in_the_log_and_does_not_tell_the_url(
    tmp_path: Path, sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with monitored(tmp_path, sqlite_url) as (world, monitor):
        monitor.status = 503
        for _ in range(3):
            await pass_time(world, minutes=1)
        monitor.status = 200
        await pass_time(world, minutes=1)
    said = capsys.readouterr().out
    assert said.count("heartbeat.silent") == 1
    assert "http_503" in said
    assert said.count("heartbeat.back") == 1
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("heartbeat_url: ftp://hc.example/1", "alerts.heartbeat_url must"),
        ("heartbeat_seconds: 5", "alerts.heartbeat_seconds must be a whole number from 10 to 3600"),
        ("heartbeat_secs: 60", "heartbeat_seconds"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_its_name(tmp_path: Path, setting: str, said: str) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text(f"alerts: {{{setting}}}\n")
    with pytest.raises(ConfigError, match=said):
        load(file, {})
