"""The demo's processes: started here, watched, and all ended with the demo. Nobody else's process is touched."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAST_LINES = 15
_GRACE_SECONDS = 3.0
_LONGEST_LINE = 1024 * 1024


class DemoFailed(Exception):
    """The demo can't go on; the text says what happened and shows what it can of why."""


@dataclass(slots=True)
class Child:
    """One process. Its standard error is kept in ``log``."""

    name: str
    process: Process
    log: Path

    async def said(self) -> AsyncIterator[dict[str, Any]]:
        """What it tells in lines of JSON until it ends; other lines go to its log."""
        assert self.process.stdout is not None  # noqa: S101 (every child has a pipe)
        async for line in self.process.stdout:
            try:
                told = json.loads(line)
            except ValueError:
                told = None
            if isinstance(told, dict):
                yield told
            else:
                with self.log.open("ab") as log:
                    log.write(line)

    async def ended(self) -> int:
        """Wait for its end; the status is negative where a signal ended it."""
        return await self.process.wait()

    def failure(self) -> DemoFailed:
        """What to say about a process that should still run, or ended badly."""
        status = self.process.returncode
        how = f"was ended by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
        return DemoFailed(f"The {self.name} {how}. Its last lines:\n{self.last_lines()}")

    def last_lines(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(f"  {line}" for line in lines) or "  (it wrote nothing)"

    async def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
            try:
                async with asyncio.timeout(_GRACE_SECONDS):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()


@dataclass(slots=True)
class Children:
    """They run in ``folder``, where their logs are too."""

    folder: Path
    _all: list[Child] = field(default_factory=list)

    async def start(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Child:
        """``python -m module arguments``, in a session of its own, so that Ctrl-C reaches the demo alone."""
        log = self.folder / f"{len(self._all)}-{name}.log"
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module, *arguments),
                cwd=self.folder,
                env={**_environment(), **(environment or {})},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=errors,
                start_new_session=True,
                limit=_LONGEST_LINE,
            )
        child = Child(name, process, log)
        self._all.append(child)
        return child

    async def stop(self) -> None:
        """The latest first: the agents, which are all but the first two, then the service, then its vendors."""
        await asyncio.gather(*(child.stop() for child in self._all[2:]))
        for child in reversed(self._all[:2]):
            await child.stop()


def _environment() -> dict[str, str]:
    """Ours, without what would configure another Handraise or lead loopback calls through a proxy."""
    unwanted = ("HANDRAISE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(unwanted)}
    return {**kept, "PYTHONUNBUFFERED": "1"}
