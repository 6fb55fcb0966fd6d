"""``handraise`` as a process of its own, without its two seconds of imports.

One process for each worker of pytest's imports the service and does nothing else; each ``handraise`` of a test is a
fork of it. Arguments, environment, folder, standard streams, signals and the exit status are those of a process that
was started the usual way. So it can be frozen and killed like one. What a start itself does is tested by
:mod:`tests.journeys.service.test_start_up`, on processes that were. At its end a fork is not taken apart as an
interpreter is.

A fork's parent is not the one that forks but pytest's worker, which has made itself the reaper of what is orphaned
below it (PR_SET_CHILD_SUBREAPER).
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_LONGEST = 256 * 1024
_SUBREAPER = 36
_IMPORTED = (
    "bot.cli",
    "handraise.cli.app",
    "bot.config.loading",
    "bot.config.known",
    "bot.observability.telemetry",
    "bot.server",
    "bot.vendors.email",
    "bot.vendors.pagerduty",
    "bot.vendors.slack",
    "bot.wiring.roles",
    "bot.wiring.vendors",
    "alembic.command",
    "core.audit.retention",
    "core.database.postgres",
    "core.store.schema",
    "core.work.distributed",
    "core.work.embedded",
    "channels.slack.channel",
    "httpcore",
    "httptools",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "uvicorn.lifespan.on",
)


class Fork:
    """A fork: the part of :class:`asyncio.subprocess.Process` that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    @property
    def returncode(self) -> int | None:
        """Its exit status if it has ended; below zero the signal that ended it."""
        if self._status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    async def wait(self) -> int:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        watched = os.pidfd_open(self.pid) if self.returncode is None else None
        if watched is not None:
            loop.add_reader(watched, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(watched)
                os.close(watched)
        status = self.returncode
        assert status is not None
        return status

    def send_signal(self, which: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, which)


def start(arguments: Sequence[str], environ: Mapping[str, str], out: int, err: int, folder: Path = _ROOT) -> Fork:
    """``handraise`` with these arguments; ``out`` and ``err`` are file descriptors that it writes to."""
    return _forker().fork({"arguments": [*arguments], "environ": {**environ}, "folder": str(folder)}, (out, err))


async def run(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    seconds: float = 60,
    out: int | None = None,
    err: int | None = None,
) -> tuple[int, bytes, bytes]:
    """Its exit status, and what it has written; with ``out`` its standard output goes there, with ``err`` its standard
    error."""
    (from_out, to_out), (from_err, to_err) = os.pipe(), os.pipe()
    process = start(arguments, environ, to_out if out is None else out, to_err if err is None else err)
    for end in (to_out, to_err):
        os.close(end)
    try:
        async with asyncio.timeout(seconds):
            written = await asyncio.gather(*(asyncio.to_thread(_all_of, end) for end in (from_out, from_err)))
            return await process.wait(), written[0], written[1]
    except BaseException:
        process.send_signal(signal.SIGKILL)
        raise


def _all_of(end: int) -> bytes:
    with os.fdopen(end, "rb") as file:
        return file.read()


class _Forker:
    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        self._process = subprocess.Popen(
            command, cwd=_ROOT, pass_fds=[theirs.fileno()], env=environ, stdin=subprocess.DEVNULL
        )
        theirs.close()

    def fork(self, wanted: Mapping[str, object], streams: tuple[int, int]) -> Fork:
        with self._lock:
            socket.send_fds(self._control, [json.dumps(wanted).encode()], streams)
            return Fork(int(self._control.recv(32)))


_forker = functools.cache(_Forker)


def _wait_for_work(control: socket.socket) -> list[str] | None:
    """Forks for each request; comes back in the fork, with its arguments, and at the end."""
    while True:
        message, streams, _, _ = socket.recv_fds(control, _LONGEST, 2)
        if not message:
            return None
        told, tell = os.pipe()
        if (between := os.fork()) == 0:
            if pid := os.fork():
                os.write(tell, str(pid).encode())
                os._exit(0)
            for inherited in (control.detach(), told, tell):
                os.close(inherited)
            return _become(json.loads(message), streams)
        os.waitpid(between, 0)
        control.send(os.read(told, 32))
        for mine in (told, tell, *streams):
            os.close(mine)


def _become(wanted: Mapping[str, object], streams: Sequence[int]) -> list[str]:
    for place, stream in enumerate(streams, start=1):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(str(wanted["folder"]))
    environ, arguments = wanted["environ"], wanted["arguments"]
    assert isinstance(environ, dict)
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(environ)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (for as long as the process lives)
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    return ["handraise", *arguments]


def _main() -> None:
    sys.path.insert(0, str(_ROOT))
    for name in _IMPORTED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a fork has one thread alone"
    gc.collect()
    gc.freeze()  # at its end a fork would look through all of it, which takes three quarters of a second
    arguments = _wait_for_work(socket.socket(fileno=int(sys.argv[1])))
    if arguments is not None:
        sys.argv = arguments
        sys.modules["__main__"].__package__ = None  # type: ignore[assignment]
        from handraise.cli import main

        try:
            main()
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                _leave(ended.code or 0)
            raise


def _leave(status: int) -> None:
    """End as the interpreter does, but take nothing apart: with so much imported that costs more than most commands.

    Comes back if what was written can't be written out; the interpreter has its own words and its own status for that.
    """
    threading._shutdown()
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


if __name__ == "__main__":
    _main()
