"""The published OpenIntent client as processes of its own, from a venv that this makes once.

The venv is kept in pytest's cache: a second run needs no network. Tests that use it are marked ``kills``.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import venv
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.world import KEYS

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
LIMIT = 90


def installed(cache: Path) -> Path:
    """The Python of a venv that has the client. Of several test workers one makes it, and the others wait."""
    python = cache / "venv" / "bin" / "python"
    stamp, wanted = cache / "installed", f"{sys.version}\n{REQUIREMENTS.read_text()}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == wanted):
            venv.create(cache / "venv", clear=True, with_pip=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
            subprocess.run(pip, check=True)
            stamp.write_text(wanted)
    return python


class ClientProcess:
    """One of the programs of this folder, while it runs. What it prints is read line by line."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def line(self) -> str:
        """The next line; raises with what it complained of if it has ended instead."""
        assert self._process.stdout is not None and self._process.stderr is not None
        async with asyncio.timeout(LIMIT):
            if line := await self._process.stdout.readline():
                return line.decode().rstrip("\n")
            raise AssertionError((await self._process.stderr.read()).decode())

    async def said(self, word: str) -> Any:
        """The value under ``word`` in the next line, which has to have it."""
        line = json.loads(await self.line())
        assert [*line] == [word], line
        return line[word]

    async def all_said(self) -> list[Any]:
        """Every line until it ends well."""
        async with asyncio.timeout(LIMIT):
            printed, problems = await self._process.communicate()
        assert self._process.returncode == 0, problems.decode()
        return [json.loads(line) for line in printed.decode().splitlines()]


@asynccontextmanager
async def running_client(python: Path, url: str, program: str, *arguments: str) -> AsyncIterator[ClientProcess]:
    """``program`` of this folder, against the service at ``url``; killed at the end if it is still there."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"HANDRAISE_URL": url, "HANDRAISE_API_KEY": KEYS["agent"]}
    command = [str(python), str(HERE / program), *arguments]
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=PIPE, stderr=PIPE)
    try:
        yield ClientProcess(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
