"""The service's processes: started, killed without a goodbye, and started again, each by its own pid."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import yaml

from bot.sandbox.serving import loopback_client
from tests.chaos.host import Wall
from tests.chaos.records import Ending, Freeze, Records, now
from tests.chaos.store import Store, being_sent, known_workers
from tests.ports import free_port
from tests.process import ROOT

_READY_SECONDS = 90
_USUAL_START_SECONDS = 4
_RESTART_SECONDS = 0.2
_LOG_BUFFER = 1024 * 1024
_CANT_BEGIN = 2
"""The exit status of a process that can't begin (API.md §9); its one line names the setting."""
_A_MOMENT = timedelta(seconds=5)
_ENDS_WITHIN = 20
_AT_WORK = timedelta(seconds=2)
"""How long a process gets to do something before the next kill at random: a slow machine would see none of it."""


class Member:
    """One process on its own port. ``owner`` is the name under which it leases rows, where that is known.

    ``clock`` is the file of the host's clock. What it writes goes through a pipe: a full disk takes no log.
    """

    def __init__(self, folder: Path, name: str, settings: dict[str, Any], roles: Sequence[str], clock: Path) -> None:
        self.name = name
        self.roles = tuple(roles)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"{name}.log"
        self._file = folder / f"{name}.yaml"
        self._settings = settings
        self.process: asyncio.subprocess.Process | None = None
        self.owner: str | None = None
        self.ready_since: datetime | None = None
        self.killed = False
        self.asked_to_end = False
        self._clock = clock
        self._writing: asyncio.Task[None] | None = None

    def last_words(self) -> str:
        """The last line that it wrote."""
        written = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return written[-1] if written else ""

    @property
    def is_ready(self) -> bool:
        return self.ready_since is not None and not self.killed

    @property
    def serves_people(self) -> bool:
        return not self.roles or "api" in self.roles

    @property
    def works(self) -> bool:
        return not self.roles or "worker" in self.roles

    async def spawn(self, public_url: str) -> asyncio.subprocess.Process:
        settings = {**self._settings, "http": {"port": self.port}, "public_url": public_url}
        self._file.write_text(yaml.safe_dump(settings))
        command = [sys.executable, "-m", "tests.chaos.host", str(self._clock), "--config", str(self._file)]
        command += [argument for role in self.roles for argument in ("--role", role)]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        self.killed = self.asked_to_end = False
        self.process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environ, stdout=PIPE, stderr=STDOUT, limit=_LOG_BUFFER
        )
        self._writing = asyncio.create_task(self._keep_log(self.process))
        return self.process

    async def _keep_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with self.log.open("ab", buffering=0) as log:
            while written := await process.stdout.read(_LOG_BUFFER):
                log.write(written)

    async def all_written(self) -> None:
        """Return when the log holds everything that a process that has ended wrote."""
        if self._writing is not None:
            await self._writing


class Fleet:
    """Keeps every member running until :meth:`down`, as a supervisor would."""

    def __init__(
        self, members: Sequence[Member], store: Store, records: Records, chance: random.Random, wall: Wall
    ) -> None:
        self.members = members
        self.wall = wall
        self._store = store
        self._records = records
        self._chance = chance
        self._keepers: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()
        self._http = loopback_client(timeout=2)
        self._stopping = False
        self.is_spared = False
        """While something else happens to its hosts, nobody is killed."""
        self.pace = 1.0
        """How much slower than usual this machine is, by how long the members took to start: 1 to 4."""

    async def up(self) -> None:
        """Return when every member is ready."""
        began = time.monotonic()
        for member in self.members:
            self._keepers.append(asyncio.create_task(self._keep(member), name=f"keep-{member.name}"))
        await self.all_ready()
        took = (time.monotonic() - began) / len(self.members)
        self.pace = min(max(took / _USUAL_START_SECONDS, 1.0), 4.0)

    async def all_ready(self) -> None:
        async with asyncio.timeout(_READY_SECONDS):
            while not all(member.is_ready for member in self.members):
                for keeper in self._keepers:
                    if keeper.done():
                        await keeper
                await asyncio.sleep(0.05)

    async def settled_in(self) -> None:
        """Return when of each kind some member has been at work for a while."""
        while self._at_work() != {member.roles for member in self.members}:
            await asyncio.sleep(0.1)

    def _at_work(self) -> set[tuple[str, ...]]:
        since = now() - _AT_WORK
        return {
            one.roles
            for one in self.members
            if one.is_ready and one.ready_since is not None and one.ready_since < since
        }

    def door(self) -> Member | None:
        """Some process that people and vendors reach, ``None`` while there is none."""
        doors = [member for member in self.members if member.serves_people and member.is_ready]
        return self._chance.choice(doors) if doors else None

    def kill(self, member: Member) -> bool:
        """``kill -9``; false where it is not up, or all of them are spared."""
        return not self.is_spared and self._kill(member)

    def _kill(self, member: Member) -> bool:
        process = member.process
        if process is None or process.returncode is not None or member.killed:
            return False
        member.killed = True
        process.send_signal(signal.SIGKILL)
        self._records.kills.append((member.name, now()))
        return True

    def kill_one(self, *, worker: bool = False) -> bool:
        fit = [one for one in self.members if one.is_ready and (not worker or one.works)]
        return bool(fit) and self.kill(self._chance.choice(fit))

    @contextlib.contextmanager
    def frozen(self, member: Member) -> Iterator[Freeze]:
        """``member`` stands still for as long as the block lasts, and then goes on as if nothing had been."""
        process = member.process
        assert process is not None
        freeze = Freeze(member.name, now())
        process.send_signal(signal.SIGSTOP)
        self._records.freezes.append(freeze)
        try:
            yield freeze
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            freeze.end = now()

    async def ask_to_end(self, member: Member, in_hand: int | None = None) -> None:
        """SIGTERM; noted is when it ended, and how. Whoever does not is killed in the end.

        ``in_hand`` is how many rows it is sending, if that is why it is asked now.
        """
        process = member.process
        if process is None or process.returncode is not None or member.killed:
            return
        member.asked_to_end = True
        began = time.monotonic()
        process.terminate()
        try:
            async with asyncio.timeout(_ENDS_WITHIN):
                status: int | None = await process.wait()
        except TimeoutError:
            status = None
            self._kill(member)
        if status is None or not member.killed:
            self._records.endings.append(Ending(member.name, time.monotonic() - began, status, in_hand))

    async def down(self) -> None:
        """SIGTERM to all of them."""
        self._stopping = True
        await asyncio.gather(*(self.ask_to_end(member) for member in self.members))

    async def close(self) -> None:
        """Nothing that was started here outlives this."""
        self._stopping = True
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for member in self.members:
            process = member.process
            if process is not None and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        await self._http.aclose()

    async def _keep(self, member: Member) -> None:
        while not self._stopping:
            async with self._starting:  # one at a time, so that a new worker's name is this one's
                before = await self._store.look(known_workers) or set()
                process = await member.spawn(self.members[0].url)
                await self._until_ready(member, process)
                added = (await self._store.look(known_workers) or set()) - before
                member.owner = added.pop() if len(added) == 1 else None
            status = await process.wait()
            member.ready_since = None
            await member.all_written()
            if self._stopping:
                return
            await self._bury(member, status)
            await asyncio.sleep(_RESTART_SECONDS)

    async def _until_ready(self, member: Member, process: asyncio.subprocess.Process) -> None:
        async with asyncio.timeout(_READY_SECONDS):
            while process.returncode is None:
                with contextlib.suppress(httpx.HTTPError):
                    if (await self._http.get(f"{member.url}/readyz")).status_code == 200:
                        member.ready_since = now()
                        return
                await asyncio.sleep(0.05)

    async def _bury(self, member: Member, status: int) -> None:
        """What it had in hand when it died, before anybody else takes it up."""
        if member.asked_to_end and not member.killed:
            return  # how it ended is noted where it was asked
        if not member.killed:
            if status == _CANT_BEGIN and "database_url" in member.last_words():
                self._records.happened["could not begin: the database"] += 1  # its connection was cut meanwhile
            elif not self._records.was_away(now(), _A_MOMENT, _A_MOMENT):
                self._records.ended_by_themselves.append(f"{member.name}: {status}")
            return
        alone = len(self.members) == 1
        held = await self._store.look(being_sent(None if alone else member.owner))
        self._records.in_flight |= held or set()
