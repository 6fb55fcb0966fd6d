"""The service as a process of its own, for tests that kill it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests import preloaded
from tests.ports import free_port

ROOT = Path(__file__).parents[1]


class ServiceProcess:
    """``handraise serve`` on a configuration file; may be started and killed again and again.

    ``roles`` are those that it runs, all where there are none. ``python`` is one that has the service installed.
    """

    def __init__(self, folder: Path, settings: dict[str, Any], *roles: str, python: str = sys.executable) -> None:
        self.python = python
        self.roles = [argument for role in roles for argument in ("--role", role)]
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.file = folder / "handraise.yaml"
        self.file.write_text(yaml.safe_dump({**settings, "http": {"port": self.port}}))
        self._process: preloaded.Fork | asyncio.subprocess.Process | None = None

    async def start(self, patience: float = 120) -> None:
        """Return when it is ready, within ``patience`` seconds; raises with what it printed if it ends instead."""
        arguments = ["serve", "--config", str(self.file), *self.roles]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        with (self.file.parent / "log").open("ab") as log:
            if self.python == sys.executable and "PYTHONPATH" not in environ:  # a test may have it import otherwise
                self._process = preloaded.start(arguments, environ, log.fileno(), log.fileno())
            else:
                command = [self.python, "-m", "handraise", *arguments]
                self._process = await asyncio.create_subprocess_exec(
                    *command, cwd=ROOT, env=environ, stdout=log, stderr=log
                )
        async with asyncio.timeout(patience), httpx.AsyncClient(trust_env=False) as http:
            while not await self._is_ready(http):
                if self._process.returncode is not None:
                    raise AssertionError((self.file.parent / "log").read_text())
                await asyncio.sleep(0.02)

    async def _is_ready(self, http: httpx.AsyncClient) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return (await http.get(f"{self.url}/readyz")).status_code == 200
        return False

    def limit_files(self, size: int) -> int:
        """No file that it writes may be longer than ``size`` from now on; returns the limit before."""
        assert self._process is not None
        before, hard = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, hard))
        return before

    @property
    def umask(self) -> int:
        """Linux alone says it of another process."""
        assert self._process is not None
        said = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in said.splitlines() if line.startswith("Umask:")).split()[1], 8)

    @property
    def written(self) -> str:
        """What it has printed so far."""
        return (self.file.parent / "log").read_text()

    async def ended(self) -> int:
        """Its exit status, once it has ended by itself."""
        assert self._process is not None
        async with asyncio.timeout(60):
            return await self._process.wait()

    def freeze(self) -> None:
        """``SIGSTOP``: it does nothing more, and nobody is told."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def hang_up(self) -> None:
        """``SIGHUP``: it reads its configuration again."""
        self._signal(signal.SIGHUP)

    def _signal(self, which: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(which)

    async def kill(self) -> None:
        """``kill -9``: no goodbye."""
        await self._end(signal.SIGKILL)

    async def terminate(self) -> int:
        """SIGTERM; returns the exit status."""
        return await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        if process.returncode is None:
            process.send_signal(how)
        async with asyncio.timeout(60):
            status = await process.wait()
        self._process = None
        return status


@asynccontextmanager
async def service_process(folder: Path, settings: dict[str, Any], *roles: str) -> AsyncIterator[ServiceProcess]:
    folder.mkdir(exist_ok=True)
    process = ServiceProcess(folder, settings, *roles)
    try:
        yield process
    finally:
        await process.kill()
