"""``/healthz`` names whatever this process runs and has not begun anew for a minute."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import pytest

from core.work.health import STALLED
from tests.imap_pretend import PretendImap, pretending
from tests.world import World, running

SOCKETS = {"slack__app_token": "xapp-1-A0-1-handraise", "slack__signing_secret": None}


def later(world: World, span: timedelta) -> None:
    """As many of the process's own seconds later, in which nothing has begun. What goes round in the service goes on
    meanwhile, and begins anew with the next ``await``."""
    world.service.health.tick = lambda: time.monotonic() + span.total_seconds()


async def stalled(world: World) -> set[str]:
    response = await world.call("GET", "/healthz", None)
    if response.status_code == 200:
        assert response.json() == {"status": "alive"}
        return set()
    detail = response.json()["detail"]
    assert (response.status_code, detail["error"]) == (503, "stalled")
    assert all(f"{name} for " in detail["message"] for name in detail["stalled"])
    return set(detail["stalled"])


async def test_a_service_that_works_is_alive(any_world: World) -> None:
    assert await stalled(any_world) == set()


ANYWHERE = {"clock", "relay", "beat", "keys", "subscriptions"}


@pytest.mark.parametrize(("url", "runs"), [("sqlite_url", ANYWHERE), ("postgres_url", ANYWHERE | {"news"})])
async def test_the_clock_the_relay_and_all_that_goes_round_are_watched(
    tmp_path: Path, request: pytest.FixtureRequest, url: str, runs: set[str]
) -> None:
    async with running(tmp_path, request.getfixturevalue(url)) as world:
        await world.settle()
        later(world, STALLED + timedelta(seconds=30))
        assert world.service.health.stalled().keys() == runs


async def test_whatever_has_not_begun_anew_for_a_minute_is_named(world: World) -> None:
    world.service.health.begins("round")
    later(world, STALLED)
    assert "round" in await stalled(world)


async def test_slacks_sockets_are_watched(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, **SOCKETS) as world:
        later(world, 3 * STALLED)
        assert {"slack_socket_1", "slack_socket_2"} <= world.service.health.stalled().keys()


async def test_a_mailbox_that_waits_for_mail_is_not_stuck_before_its_time_is_over(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with pretending(PretendImap()) as imap:
        mailbox = {"email__imap_url": f"imap://answers:pw@127.0.0.1:{imap.port}", "email__imap_poll_seconds": 300}
        async with running(tmp_path, sqlite_url, **mailbox) as world:
            await asyncio.wait_for(imap.idling.wait(), 30)
            assert "mail_poller" not in await stalled_in(world, 3 * STALLED)
            assert "mail_poller" in await stalled_in(world, timedelta(seconds=300) + 2 * STALLED)


async def stalled_in(world: World, span: timedelta) -> set[str]:
    later(world, span)
    return await stalled(world)


async def test_a_relay_that_has_nothing_to_send_is_not_stuck(world: World) -> None:
    await world.settle()
    later(world, STALLED + timedelta(seconds=30))
    assert "relay" in world.service.health.stalled()
    await world.service.look()
    assert "relay" not in await stalled(world)
