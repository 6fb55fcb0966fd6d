"""Progress of a long command: a bar on standard error while it works, gone when it has ended.

At a terminal alone. If standard error is a pipe or a file, nothing of it is written. ``NO_COLOR`` takes the colours
away, and on a terminal without cursor movements (``TERM=dumb``) there is no bar.

Source: https://no-color.org; https://rich.readthedocs.io/en/stable/progress.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # it takes a tenth of a second, and is needed at a terminal alone
    from rich.progress import Progress

BYTES = "bytes"


class Advance(Protocol):
    """Hears how much of a step is done, and of how much; ``None`` if nobody knows yet."""

    def __call__(self, done: int, of: int | None = None, /) -> None: ...


Begin = Callable[[str, str], Advance]
"""Begins a step: what is done ("Copying the database"), and what is counted (``"events"``, :data:`BYTES`). The step
before has ended then."""


@contextmanager
def progress() -> Iterator[Begin]:
    """Show the steps of a command for as long as the block lasts."""
    if not (sys.stderr.isatty() and os.environ.get("TERM") != "dumb"):
        yield _unseen
        return
    bars = _bars()
    with bars:
        yield lambda doing, unit: _begun(bars, doing, unit)


def _unseen(doing: str, unit: str) -> Advance:
    def told(done: int, of: int | None = None, /) -> None:
        return

    return told


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    what, counted, bar = TextColumn("{task.description}"), TextColumn("{task.fields[counted]}"), BarColumn(bar_width=20)
    columns = (SpinnerColumn(), what, bar, counted, TimeElapsedColumn())
    # What is printed meanwhile is for standard output: rich would send it to the bar's console.
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)


def _begun(bars: Progress, doing: str, unit: str) -> Advance:
    for step in bars.task_ids:
        bars.remove_task(step)
    step = bars.add_task(doing, total=None, counted="")

    def told(done: int, of: int | None = None, /) -> None:
        bars.update(step, completed=done, total=of, counted=_counted(done, of, unit))

    return told


def _counted(done: int, of: int | None, unit: str) -> str:
    if unit == BYTES:
        return size_text(done) if of is None else f"{size_text(done)} of {size_text(of)}"
    return f"{done:,} {unit}" if of is None else f"{done:,} of {of:,} {unit}"


def size_text(size: int) -> str:
    """So many bytes for people: ``512 bytes``, ``1.5 MB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
