"""``run()`` of the published client: what its agents cost the service while they wait for work (API.md §7)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.middle_box import middle_box
from tests.openintent.client import running_client
from tests.openintent.office import office

pytestmark = pytest.mark.kills

WATCHED = 4
"""Seconds. If nothing holds the client back, it connects again 44 times in each."""


@pytest.mark.parametrize("name", ["refund-agent", "somebody-else"])
async def test_an_agent_that_waits_for_work_connects_at_most_once_a_second(
    tmp_path: Path, sqlite_url: str, client_python: Path, name: str
) -> None:
    """Each of its requests is a connection of its own. Its own stream stays open; another agent's is refused."""
    async with (
        office(tmp_path, sqlite_url, client_python) as place,
        middle_box(place.service.url) as (box, url),
        running_client(client_python, url, "idling.py", name),
    ):
        await box.connections(1)
        await asyncio.sleep(WATCHED)
        assert box.made == 1 if name == "refund-agent" else 1 < box.made <= WATCHED + 1


async def test_an_agent_whose_key_is_revoked_connects_at_most_once_a_second(
    tmp_path: Path, sqlite_url: str, client_python: Path
) -> None:
    async with (
        office(tmp_path, sqlite_url, client_python) as place,
        middle_box(place.service.url) as (box, url),
        running_client(client_python, url, "idling.py", "refund-agent"),
    ):
        await box.connections(1)
        await place.call("DELETE", "/v1/keys/refund-agent")
        await box.connections(2)
        before = box.made
        await asyncio.sleep(WATCHED)
        assert 0 < box.made - before <= WATCHED + 1


async def test_an_agent_hears_of_its_assignments(tmp_path: Path, sqlite_url: str, client_python: Path) -> None:
    async with (
        office(tmp_path, sqlite_url, client_python) as place,
        running_client(client_python, place.service.url, "idling.py", "refund-agent") as agent,
    ):
        told = asyncio.create_task(agent.line())
        theirs = set()
        while not told.done():  # its stream begins when it has connected
            intent = await place.call("POST", "/v1/intents", "other_agent", json={"title": "Theirs"})
            member = {"agent_id": "refund-agent"}
            await place.call("POST", f"/v1/intents/{intent['id']}/agents", "other_agent", json=member)
            theirs.add(intent["id"])
            await asyncio.wait([told], timeout=0.5)
        assert await told in theirs
