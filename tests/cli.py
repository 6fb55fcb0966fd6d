"""The command line as its users have it: a process of its own, beside a running service."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tty
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import preloaded
from tests.patience import PATIENCE
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


class Begun:
    """``handraise`` as a process that has not ended."""

    def __init__(self, world: World, process: asyncio.subprocess.Process) -> None:
        self._world, self._process = world, process
        self._err = ""

    def interrupt(self, which: signal.Signals = signal.SIGINT) -> None:
        self._process.send_signal(which)

    async def asked(self) -> dict[str, Any]:
        """The question that it waits for."""
        assert self._process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while "waiting for an answer" not in self._err:
                self._err += (line := (await self._process.stderr.readline()).decode())
                assert line, self._err
        ref = self._err.splitlines()[-1].split(":")[0]
        await self._world.settle()
        [found] = (await self._world.call("GET", "/v1/suspensions", "admin", params={"q": ref})).json()["items"]
        return {**found, "suspension_id": found["id"]}

    async def ended(self, told: bytes | None = None) -> Ran:
        """Once it has ended; ``told`` is what it reads on standard input."""
        stdin = self._process.stdin
        if told is not None and stdin is not None and not stdin.is_closing():  # else it has ended, and reads nothing
            stdin.write(told)
            stdin.close()
        async with asyncio.timeout(PATIENCE):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        return Ran(self._process.returncode, out.decode(), self._err + err.decode())


@asynccontextmanager
async def begun(
    world: World, *arguments: str, url: str | None = None, folder: Path | None = None, **environment: str
) -> AsyncIterator[Begun]:
    """An agent's ``handraise``, started the usual way. It finds the service at ``url``, and is killed at the end."""
    surroundings = environ(world, "agent") | ({} if url is None else {"HANDRAISE_URL": url}) | environment
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handraise", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=surroundings,
        cwd=folder,
    )
    try:
        yield Begun(world, process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Typist:
    """``handraise`` with somebody at a terminal, who types and reads what is asked."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int) -> None:
        self._process, self._terminal = process, terminal
        self.seen = ""

    async def types(self, line: str, after: str) -> None:
        """Type ``line`` once ``after`` stands at the end of what is shown."""
        await self.sees(after)
        os.write(self._terminal, f"{line}\n".encode())

    async def sees(self, end: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.seen.endswith(end):
                self.seen += (shown := await self._read())
                assert shown, self.seen

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def ended(self) -> Ran:
        """``err`` is all that has been shown."""
        async with asyncio.timeout(PATIENCE):
            while shown := await self._read():
                self.seen += shown
            out, _ = await self._process.communicate()
        assert self._process.returncode is not None
        return Ran(self._process.returncode, out.decode(), self.seen)

    async def _read(self) -> str:
        try:
            return (await asyncio.to_thread(os.read, self._terminal, 65_536)).decode()
        except OSError:  # EIO is its end
            return ""


@asynccontextmanager
async def typing(world: World, *arguments: str, role: str) -> AsyncIterator[Typist]:
    """``handraise``, started the usual way, with a terminal as its standard input and error. It is killed at the
    end."""
    terminal, its_end = os.openpty()
    tty.setraw(its_end)  # nothing of what is written is changed on its way, and nothing is echoed
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "handraise", *arguments),
            stdin=its_end,
            stdout=asyncio.subprocess.PIPE,
            stderr=its_end,
            env=environ(world, role),
        )
    finally:
        os.close(its_end)
    try:
        yield Typist(process, terminal)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(terminal)
