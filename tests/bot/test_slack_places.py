"""Sockets are opened where this process has a place among all the installation's, and not for longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.inbound.connection import ConnectionState
from bot.inbound.slack.sockets import SOCKETS, SOCKETS_OF_ONE, SlackSockets, SocketTiming
from bot.sandbox.serving import serving
from channels.slack.client import web_client
from core.database.database import Database, open_database
from core.database.locks import LockSlot, LockSlots
from tests.vendors.slack import SlackSandbox

END_SESSIONS = sa.text(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND NOT pid = ANY(:but)"
)
PACE = SocketTiming(places=timedelta(seconds=1))


async def take(_request: SocketModeRequest) -> BoltResponse:
    return BoltResponse(status=200)


async def tell(reason: str) -> None:
    raise AssertionError(f"nobody is to be told of {reason}")


@pytest.fixture
async def databases(postgres_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """Two processes' ways to one PostgreSQL."""
    ours, others = open_database(postgres_url), open_database(postgres_url)
    yield ours, others
    await ours.close()
    await others.close()


async def take_over(places: LockSlots, database: Database) -> list[LockSlot]:
    """The server ends the sessions that hold places, and another process has them all."""
    taken: list[LockSlot] = []
    async with asyncio.timeout(30):
        while len(taken) < SOCKETS_OF_ONE:
            mine = [place.session.scalar(sa.select(sa.func.pg_backend_pid())) for place in taken if place.session]
            with database.engine.connect() as conn:
                conn.execute(END_SESSIONS, {"but": mine})
            if (place := await places.take()) is not None:
                taken.append(place)
    return taken


@pytest.mark.slow
async def test_a_process_that_has_lost_its_places_stands_by_until_there_are_some(
    databases: tuple[Database, Database],
) -> None:
    ours, others = databases
    sandbox = SlackSandbox()
    theirs = LockSlots(others, SOCKETS, SOCKETS_OF_ONE)
    async with serving(sandbox.app) as url:
        web = web_client(sandbox.sockets.app_token, f"{url}/api/")
        mine = LockSlots(ours, SOCKETS, SOCKETS_OF_ONE)
        keeper = SlackSockets(web, take, mine, tell, lambda: datetime.now(UTC), PACE)
        keeper.start()

        async def are(count: int) -> None:
            await sandbox.workspace.until(lambda: len(sandbox.sockets.sockets) == count or None, 15)

        await are(SOCKETS_OF_ONE)
        taken = await take_over(theirs, others)
        await are(0)
        async with asyncio.timeout(30):
            while keeper.standing is not ConnectionState.STANDBY:
                await asyncio.sleep(0.02)
        for place in taken:
            await theirs.give_back(place)
        await are(SOCKETS_OF_ONE)
        await keeper.close()
        assert sandbox.sockets.sockets == []
        assert await theirs.take() is not None
