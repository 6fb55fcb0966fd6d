"""What keeps a hook's failures closed: a process that ends in any other way than by a verdict ends with status 2.

The programs take 2 with words on standard error as no, and nearly everything else as yes. So an exception that nobody
catches, a signal, and a hook that hangs all end with 2 and words. What the process is killed with at once, and a Python
that does not start, are the shell's: the command that ``install`` writes says no for them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType, TracebackType

BLOCKED = 2


class Interrupted(BaseException):
    """The program, or somebody at its terminal, wants the hook to end."""


def close_failures(seconds: str | None) -> None:
    """From here on, whatever ends this process without a verdict ends it with status 2, also if that is the program's
    time-out of ``seconds``: what is still to be imported may take long on a busy machine."""
    sys.excepthook = _block
    if seconds is not None and seconds.isdecimal():
        Watch(int(seconds))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)


def forget_environment(ca_file: str | None = None) -> None:
    """Drop every variable: a project could set one that leads to another service, or past TLS."""
    os.environ.clear()
    if ca_file is not None:
        os.environ["SSL_CERT_FILE"] = ca_file  # as httpx takes it


def margin(seconds: float) -> float:
    """How long before the program's own time-out the hook has ended: if that comes first, the tool may run."""
    return min(30.0, max(5.0, seconds / 10))


class Watch:
    """Ends the process a :func:`margin` before the program's time-out of ``seconds``, whatever it is doing then."""

    def __init__(self, seconds: int) -> None:
        self._ends = time.monotonic() - _age() + seconds - margin(seconds)
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def left(self) -> float:
        return self._ends - time.monotonic()

    def end_within(self, seconds: float) -> None:
        self._ends = min(self._ends, time.monotonic() + seconds)

    def _wait(self) -> None:
        while (left := self.left) > 0:
            time.sleep(min(left, 0.5))
        _leave("there was no decision in time, so it is no")


def _block(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _leave(f"{kind.__name__}, so it is no")


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, lambda *_: _leave("ended at once, so it is no"))  # a second one waits for nothing
    raise Interrupted


def _age() -> float:
    """How long ago this process started, in seconds: the program's clock runs since then. Linux alone says it; what
    has been computed since is the least that it can be."""
    try:
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError, ValueError, IndexError):
        return time.process_time()


def _leave(why: str) -> None:
    os.write(sys.stderr.fileno() if sys.stderr else 2, f"handraise: {why}\n".encode())
    os._exit(BLOCKED)
