"""The command line as its users have it: a process of its own, beside a running service."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tty
from collections.abc import Sequence
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
    process = await _started(world, arguments, role, asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


async def at_terminal(world: World, *arguments: str, role: str = "admin") -> Ran:
    """As :func:`handraise`, with a terminal as its standard output."""
    terminal, its_end = os.openpty()
    tty.setraw(its_end)  # nothing of what is written is changed on its way
    process = await _started(world, arguments, role, its_end)
    os.close(its_end)
    async with asyncio.timeout(60):
        out, (_, err) = await asyncio.gather(asyncio.to_thread(_all_of, terminal), process.communicate())
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


async def _started(world: World, arguments: Sequence[str], role: str, out: int) -> asyncio.subprocess.Process:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS[role], "NO_PROXY": "*"}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.cli", *arguments),
        cwd=ROOT,
        env=environ,
        stdout=out,
        stderr=asyncio.subprocess.PIPE,
    )


def _all_of(terminal: int) -> bytes:
    """What is written to it until nobody holds its other end."""
    written = b""
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as file:  # EIO is its end
        while part := file.read(65_536):
            written += part
    return written
