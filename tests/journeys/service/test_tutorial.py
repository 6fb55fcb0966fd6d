"""docs/tutorials/from-a-clone.md, typed line by line into terminals, by somebody who also presses what is there.

Ports are free ones, since others may have taken those of the page. Its first part is ``make demo``, which has tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from bot.demo.auto import Player
from bot.demo.stage import DemoFailed
from tests.patience import PATIENCE
from tests.ports import free_port

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorials" / "from-a-clone.md"
BLOCK = re.compile(r'(?ms)^```console title="(\w+)"\n(.*?)^```$')
pytestmark = pytest.mark.slow


class Terminal:
    """A shell in a folder, as a person has it: what is typed goes to whatever runs in the foreground."""

    def __init__(self, folder: Path) -> None:
        self._end, shell_end = os.openpty()
        self.seen = ""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        self._shell = subprocess.Popen(
            ["setsid", "--ctty", "bash", "--noprofile", "--norc", "-i"],
            cwd=folder,
            env={**kept, "PS1": "", "TERM": "dumb", "COLUMNS": "200", "PYTHONPATH": str(ROOT)},
            stdin=shell_end,
            stdout=shell_end,
            stderr=shell_end,
        )
        os.close(shell_end)
        asyncio.get_running_loop().add_reader(self._end, self._read)

    def type(self, line: str) -> None:
        os.write(self._end, line.encode() + b"\n")

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.write(self._end, b"\x03")

    async def shows(self, pattern: str) -> re.Match[str]:
        """Wait for it in what was printed since the last call."""
        try:
            async with asyncio.timeout(PATIENCE * 2):
                while not (found := re.search(pattern, self.seen)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{pattern!r} is not in\n{self.seen}") from None
        self.seen = self.seen[found.end() :]
        return found

    def close(self) -> None:
        """End what runs in the foreground and behind it, then hang up, as a window that is closed does."""
        self.interrupt()
        self.type("kill -9 $(jobs -p); exit")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._shell.wait(10)
        asyncio.get_running_loop().remove_reader(self._end)
        os.close(self._end)
        self._shell.kill()
        self._shell.wait()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            self.seen += os.read(self._end, 65536).decode(errors="replace").replace("\r\n", "\n")


class Desk:
    """The terminals of the page, and its blocks in order, with ports that are free here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._blocks = iter(BLOCK.findall(PAGE.read_text()))
        self.ports = {"8080": str(free_port()), "8081": str(free_port())}
        self.terminals: dict[str, Terminal] = {}

    def type_next_block(self, title: str) -> Terminal:
        """Type the page's next block, which has to be for the terminal of that name."""
        name, lines = next(self._blocks)
        assert name == title
        terminal = self.terminal(name)
        for line in re.findall(r"(?m)^\$ (.*)$", lines):
            terminal.type(self._as_here(line))
        return terminal

    def terminal(self, name: str) -> Terminal:
        if name not in self.terminals:
            self.terminals[name] = Terminal(self._folder)
        return self.terminals[name]

    def _as_here(self, line: str) -> str:
        line = line.replace(".venv/bin/", f"{Path(sys.executable).parent}/")
        for written, port in self.ports.items():
            line = line.replace(written, port)
        if "bot.sandbox" in line:
            return f"{line} --service-url http://127.0.0.1:{self.ports['8080']}"
        return line

    def is_at_the_end(self) -> bool:
        return next(self._blocks, None) is None


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    for terminal in made.terminals.values():
        terminal.close()


async def test_the_tutorial_goes_as_it_is_written(desk: Desk) -> None:
    page = (await desk.type_next_block("World").shows(r"http://\S+\?key=\S+"))[0]
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as browser:
        await browser.get(page)
        browser.base_url = httpx.URL(page).copy_with(path="", query=None)
        person = Player(browser)

        first = desk.ports["8080"]
        service = desk.terminal("Service")
        service.type(f"export HANDRAISE_HTTP__PORT={first}")
        desk.type_next_block("Service")
        await service.shows("ok: handraise.yaml")
        agent = desk.terminal("Agent")
        agent.type(f"export HANDRAISE_URL=http://127.0.0.1:{first}")
        await _ready(first)
        desk.type_next_block("Agent")
        await person.reply_by_mail("Refund order 12345?", "approve")
        await agent.shows(r"\napprove\n")

        desk.type_next_block("Agent")
        await person.click_in_slack("Deploy 4.2?", "Yes")
        await agent.shows(r"\nyes\n")

        service.interrupt()
        service.type((await desk.type_next_block("Database").shows("export HANDRAISE_DATABASE_URL=.*"))[0])
        desk.type_next_block("Service")
        for port in desk.ports.values():
            await _ready(port)
        desk.type_next_block("Agent")
        await agent.shows("HR-")
        desk.type_next_block("Service")
        await _press_until_taken(person, "Delete the old index?", "No")
        desk.type_next_block("Agent")
        await agent.shows(r"\n(?=[^\n]*HR-)[^\n]*responded")  # not the line that was typed
        desk.type_next_block("Service")
        await service.shows("service.stopped")
    assert desk.is_at_the_end()


async def _press_until_taken(person: Player, question: str, label: str) -> None:
    """As the page says: for a moment Slack may still send what is pressed to the killed process."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await person.click_in_slack(question, label)
            except DemoFailed as failed:
                if "Try again" not in str(failed):
                    raise


async def _ready(port: str) -> None:
    async with asyncio.timeout(PATIENCE * 2), httpx.AsyncClient(trust_env=False) as http:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await http.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)


async def test_the_pretend_world_writes_over_no_configuration(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "handraise.yaml").write_text("mine")

    await desk.type_next_block("World").shows("handraise.yaml is there already; move it away")

    assert (tmp_path / "handraise.yaml").read_text() == "mine"
