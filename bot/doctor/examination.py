"""The examination of one installation: its settings, its machine, and the checks, run side by side.

A check is a coroutine function that returns findings. It may read anything and change nothing. A check that takes too
long, or fails by a bug of ours, becomes a finding too, and holds no other up.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from bot.callbacks.client import resolve
from bot.config.settings import Settings
from bot.doctor.findings import Finding, fault
from bot.doctor.network import Network
from channels import http
from core.errors import OperatorError
from core.store.inspection import Inspected, inspect

T = TypeVar("T")

CHECK_SECONDS = 15.0
"""For one check: longer than one step of a connection to a mail server takes (``channels.email.smtp``)."""


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class HostMachine:
    """The machine's clock, network and disk. ``seconds`` is how long each check may take."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    network: Network = field(default_factory=lambda: Network(resolve, http.authorities))
    free_bytes: Callable[[Path], int] = _free_bytes
    seconds: float = CHECK_SECONDS


class Examination:
    """One installation. ``folder`` is the configuration's; ``reach`` are further addresses for callbacks."""

    def __init__(
        self, settings: Settings, folder: Path, around: HostMachine | None = None, reach: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.around = around or HostMachine()
        self.reach = tuple(reach)
        self._looking: asyncio.Task[Inspected | None] | None = None

    async def stored(self) -> Inspected | None:
        """The database's content, read once for all checks; ``None`` if there is no database yet. Raises
        :class:`OperatorError`."""
        if self._looking is None:
            url, around = self.settings.database_url, self.around
            self._looking = asyncio.create_task(aside(lambda: inspect(url, around.seconds / 2, around.now)))
        return await asyncio.shield(self._looking)

    async def stored_if_any(self) -> Inspected | None:
        """:meth:`stored`; also ``None`` if the database can't be read or has another schema, which only the checks
        of the database report."""
        try:
            found = await self.stored()
        except OperatorError:
            return None
        return found if found is not None and found.is_current else None

    async def run(self, checks: Sequence[tuple[str, Check]]) -> list[Finding]:
        """The findings of every check, in the order of the checks."""
        found = await asyncio.gather(*(self._one(subject, check) for subject, check in checks))
        return [finding for findings in found for finding in findings]

    async def _one(self, subject: str, check: Check) -> Sequence[Finding]:
        try:
            async with asyncio.timeout(self.around.seconds):
                return await check(self)
        except TimeoutError:
            limit = f"{self.around.seconds:.0f} s"
            return [fault(subject, f"this took longer than {limit}", "Look at the network and the firewall between.")]
        except Exception as bug:  # noqa: BLE001 (the others are looked at nevertheless)
            found = f"this could not be looked at ({type(bug).__name__})"
            return [fault(subject, found, "Report this: it is a mistake of ours.")]


Check = Callable[[Examination], Awaitable[Sequence[Finding]]]


async def aside(job: Callable[[], T]) -> T:
    """The result or error of ``job``, run in a thread of its own. A thread that hangs keeps no process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def end(value: T | None, failure: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if failure is not None:
            done.set_exception(failure)
        else:
            done.set_result(cast("T", value))

    def run() -> None:
        value: T | None = None
        failure: BaseException | None = None
        try:
            value = job()
        except Exception as raised:  # noqa: BLE001 (handed on)
            failure = raised
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(end, value, failure)

    threading.Thread(target=run, name="doctor", daemon=True).start()
    return await done


class _Loop(asyncio.SelectorEventLoop):
    """Resolves names in threads that nobody waits for: a silent DNS would keep the process alive after every check
    has had its time."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return await aside(lambda: socket.getaddrinfo(host, port, **options))


def examine(examination: Examination, checks: Sequence[tuple[str, Check]]) -> list[Finding]:
    """:meth:`Examination.run` in a loop of its own."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(examination.run(checks))
