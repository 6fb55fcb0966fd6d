"""The progress of long commands: seen at a terminal, gone at the end, and nothing of it in a pipe or a file."""

from __future__ import annotations

import contextlib
import os
import re
import tty
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from handraise.cli.progress import BYTES, progress, size_text

COLOURS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|9[0-7])(?:;\d+)*m")
END = "\x1b[2K"
"""A line is cleared."""

Show = Callable[..., str]


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Show:
    """All that is written to a terminal that is the standard error."""

    def shown(**environ: str) -> str:
        for name, value in {"TERM": "xterm", **environ}.items():
            monkeypatch.setenv(name, value)
        terminal, its_end = os.openpty()
        tty.setraw(its_end)
        with ThreadPoolExecutor(1) as reader:
            reading = reader.submit(_all_of, terminal)
            with os.fdopen(its_end, "w", encoding="utf-8", buffering=1) as stream:
                monkeypatch.setattr("sys.stderr", stream)
                two_steps()
            return reading.result()

    return shown


def _all_of(terminal: int) -> str:
    written = b""
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as file:  # EIO is its end
        while part := file.read(65_536):
            written += part
    return written.decode()


def two_steps() -> None:
    with progress() as begin:
        begin("Copying the database", BYTES)(5_000_000, 10_000_000)
        begin("Verifying the audit trail", "events")(1200, 5120)


def test_the_step_that_is_under_way_is_shown_and_the_last_one_goes_with_the_end(at_terminal: Show) -> None:
    shown = at_terminal()
    assert "Verifying the audit trail" in shown
    assert "1,200 of 5,120 events" in shown
    assert shown.endswith(END) or END in shown[shown.rindex("events") :]


@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_left_out_if_nobody_wants_them(
    at_terminal: Show, environ: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = at_terminal(**environ)
    assert ("Verifying" in shown, COLOURS.search(shown) is not None) == (True, coloured)


def test_a_terminal_that_moves_no_cursor_shows_none(at_terminal: Show) -> None:
    assert at_terminal(TERM="dumb") == ""


def test_nothing_of_it_is_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "log").open("w") as file:
        monkeypatch.setattr("sys.stderr", file)
        two_steps()
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (10**10, "10.0 GB")]
)
def test_sizes_are_written_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
