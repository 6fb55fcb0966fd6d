"""What a process costs: memory and processor time."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_OF_ALL_THREADS = 2
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> float:
    """Megabytes of memory that the process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * _PAGE / 1e6


def processor_seconds(pid: int) -> float:
    """User and system seconds since the process began, its threads included.

    By the process's own clock (``clock_getcpuclockid(3)``): ``/proc`` counts in hundredths of a second.
    """
    return time.clock_gettime(~pid << 3 | _OF_ALL_THREADS)


async def share_of_a_core(pid: int, seconds: float) -> float:
    """Per cent of one core that the process uses during ``seconds``."""
    before, started = processor_seconds(pid), time.monotonic()
    await asyncio.sleep(seconds)
    return 100 * (processor_seconds(pid) - before) / (time.monotonic() - started)


@contextmanager
def kept_awake() -> Iterator[bool]:
    """Inside, no processor sleeps while it has nothing to do. To wake one takes time. While a virtual one sleeps, the
    host runs other guests on the real one, and they fill its cache. Yields whether that could be asked for: root alone
    may, of a kernel that manages idle processors.

    Source: https://docs.kernel.org/power/pm_qos_interface.html
    """
    driver = Path("/sys/devices/system/cpu/cpuidle/current_driver")
    with ExitStack() as held:
        try:
            if driver.read_text().strip() == "none":
                raise FileNotFoundError(driver)
            wanted = held.enter_context(Path("/dev/cpu_dma_latency").open("r+b", buffering=0))
            wanted.write((0).to_bytes(4, sys.byteorder))
        except OSError:
            yield False
        else:
            yield True


@dataclass
class Watched:
    """Samples of :func:`resident`, in megabytes."""

    samples: list[float] = field(default_factory=list)


@asynccontextmanager
async def memory_of(pid: int, every: float = 0.2) -> AsyncIterator[Watched]:
    """Look at the memory of a process while the block runs."""
    watched = Watched()

    async def look() -> None:
        while True:
            watched.samples.append(resident(pid))
            await asyncio.sleep(every)

    looking = asyncio.create_task(look())
    try:
        yield watched
    finally:
        looking.cancel()
