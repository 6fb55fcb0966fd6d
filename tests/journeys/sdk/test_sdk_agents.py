"""The programs of docs/how-to/openintent-agents.md run as they stand, against the service itself."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.conformance.watching import watching
from tests.world import KEYS, World

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "openintent-agents.md"


PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
PRINTED = [[b"attempt 1 on slack", b"yes"], [b"answered by alice@example.com", b"deployed"]]


@pytest.mark.parametrize(("program", "expected"), [*zip(PROGRAMS, PRINTED, strict=True)], ids=["BaseAgent", "Agent"])
async def test_each_program_in_the_documentation_runs_as_it_stands(
    world: World, program: str, expected: list[bytes]
) -> None:
    async with watching(world) as watch:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            env={"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS["agent"]},
            stdout=asyncio.subprocess.PIPE,
        )
        await world.answer(await watch.asked(), "yes")
        async with asyncio.timeout(60):
            printed, _ = await process.communicate()
    assert process.returncode == 0
    assert sorted(printed.splitlines()) == expected
