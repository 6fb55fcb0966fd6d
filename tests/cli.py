"""The command line as its users have it: a process of its own, beside a running service."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass

from tests.process import ROOT
from tests.world import KEYS, World


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


async def handraise(world: World, *arguments: str, role: str = "admin") -> Ran:
    """Run ``handraise`` with the key of ``role`` against ``world``."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS[role], "NO_PROXY": "*"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.cli", *arguments),
        cwd=ROOT,
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())
