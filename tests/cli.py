"""The command line as its users have it: a process of its own, beside a running service."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tty
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests import preloaded
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
    status, out, err = await preloaded.run(arguments, environ(world, role))
    return Ran(status, out.decode(), err.decode())


async def at_terminal(world: World, *arguments: str, role: str = "admin") -> Ran:
    """As :func:`handraise`, with a terminal as its standard output."""
    async with _terminal() as (its_end, reading):
        status, _, err = await preloaded.run(arguments, environ(world, role), out=its_end)
    return Ran(status, (await reading).decode(), err.decode())


async def watched(*arguments: str, environ: Mapping[str, str]) -> Ran:
    """A command with a terminal as its standard error."""
    async with _terminal() as (its_end, reading):
        status, out, _ = await preloaded.run(arguments, environ, err=its_end)
    return Ran(status, out.decode(), (await reading).decode())


@asynccontextmanager
async def _terminal() -> AsyncIterator[tuple[int, asyncio.Task[bytes]]]:
    """A terminal's end for a program, and what is written to it."""
    terminal, its_end = os.openpty()
    tty.setraw(its_end)  # nothing of what is written is changed on its way
    reading = asyncio.create_task(asyncio.to_thread(_all_of, terminal))
    try:
        yield its_end, reading
    finally:
        os.close(its_end)


def environ(world: World, role: str) -> dict[str, str]:
    """The environment in which ``handraise`` speaks to ``world`` with the key of ``role``."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    return inherited | {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS[role], "NO_PROXY": "*"}


def _all_of(terminal: int) -> bytes:
    """What is written to it until nobody holds its other end."""
    written = b""
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as file:  # EIO is its end
        while part := file.read(65_536):
            written += part
    return written
