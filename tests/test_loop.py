"""What the tests run on."""

from __future__ import annotations

import asyncio

import uvloop


async def test_the_tests_run_on_the_loop_that_the_service_runs_on() -> None:
    """On asyncio's own, every limit of the mail listener held, and in the service none did."""
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
