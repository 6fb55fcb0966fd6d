"""When the storm is over, whatever it had switched off is on again, and what it did to a disk is undone."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.chaos.disk import Disk, a_disk
from tests.chaos.fleet import Fleet
from tests.chaos.host import Wall
from tests.chaos.hosts import Hosts, Measures
from tests.chaos.records import Records
from tests.chaos.store import Store
from tests.chaos.weather import Weather
from tests.chaos.world import World, a_world

pytestmark = pytest.mark.slow

_RUSH = 200.0
_MEASURES = Measures(freeze=(0, 0), bad_disk=0, forward=timedelta(), pause=0)


async def _takes_mail(world: World, port: int) -> bool:
    with contextlib.suppress(OSError):
        _, to_server = await asyncio.open_connection("127.0.0.1", port)
        to_server.close()
        return True
    return False


@pytest.mark.parametrize("seed", range(5))
async def test_a_mail_server_that_was_refusing_as_the_storm_ended_listens_again(tmp_path: Path, seed: int) -> None:
    records, chance = Records(), random.Random(seed)
    async with a_world(records, chance) as world:
        port, store = world.mailbox.port, Store(f"sqlite+pysqlite:///{tmp_path}/chaos.db")
        fleet = Fleet([], store, records, chance, Wall(tmp_path / "clock"))
        hosts = Hosts(world, fleet, store, records, chance, _MEASURES, timedelta(), frozenset())
        weather = Weather(world, fleet, store, records, chance, _RUSH, hosts)
        storm = asyncio.create_task(weather.storm())
        while await _takes_mail(world, port):
            await asyncio.sleep(0.01)
        weather.end()
        await storm
        assert await _takes_mail(world, port)
        await hosts.close()
        await fleet.close()


_WRITER = """
import sys
for line in sys.stdin:
    try:
        with open(line.strip(), "ab", buffering=0) as file:
            file.write(b"more" * 4096)
        print("written", flush=True)
    except OSError as failure:
        print(failure.errno, flush=True)
"""


class Writer:
    """Another process, which adds to the file on the disk whenever it is asked."""

    def __init__(self, process: subprocess.Popen[str], file: Path) -> None:
        self.pid = process.pid
        self._process = process
        self._file = file

    def write(self) -> bool:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(self._file, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip() == "written"


@contextmanager
def _writer(file: Path) -> Iterator[Writer]:
    command = [sys.executable, "-c", _WRITER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process, file)
        process.kill()


@pytest.mark.parametrize("mounted", [True, False])
def test_a_full_disk_takes_no_more_until_it_is_well_mounted_or_not(tmp_path: Path, mounted: bool) -> None:
    """Where nothing may be mounted, by a limit; ``full_how`` tells which it was."""
    with a_disk(tmp_path / "disk") as own, _writer(tmp_path / "disk" / "chaos.db-wal") as writer:
        disk = own if mounted else Disk(own.folder, is_own=False)
        assert writer.write()
        with disk.full(writer.pid):
            assert not writer.write()
        assert writer.write()
        assert ("RLIMIT_FSIZE" in disk.full_how) == (not mounted or "RLIMIT_FSIZE" in own.full_how)


def test_a_dead_disk_takes_nothing_until_it_is_well(tmp_path: Path) -> None:
    with a_disk(tmp_path / "disk") as disk, _writer(disk.folder / "chaos.db") as writer:
        with disk.dead(writer.pid):
            assert not writer.write()
        assert writer.write()
