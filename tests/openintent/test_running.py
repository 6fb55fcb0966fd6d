"""``run()`` of the published client: what its agents cost the service while they wait for work (API.md §7)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.journeys.test_crashes import settings
from tests.middle_box import middle_box
from tests.openintent.client import running_client
from tests.process import service_process
from tests.vendors.mail import Mailbox

pytestmark = pytest.mark.kills

WATCHED = 4
"""Seconds. If nothing holds the client back, it connects again 44 times in each."""


@pytest.mark.parametrize("name", ["refund-agent", "somebody-else"])
async def test_an_agent_that_waits_for_work_connects_at_most_once_a_second(
    tmp_path: Path, sqlite_url: str, mailbox: Mailbox, client_python: Path, name: str
) -> None:
    """Each of its requests is a connection of its own. Its own stream stays open; another agent's is refused."""
    async with service_process(tmp_path, settings(sqlite_url, mailbox)) as service:
        await service.start()
        async with middle_box(service.url) as (box, url), running_client(client_python, url, "idling.py", name):
            await box.connections(1)
            await asyncio.sleep(WATCHED)
            assert box.made == 1 if name == "refund-agent" else 1 < box.made <= WATCHED + 1
