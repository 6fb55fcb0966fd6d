"""The page of all commands is drawn from the command line, and every option says what it does."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from handraise.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli.md"


def commands(command: Any, path: str = "handraise") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else []:
        yield from commands(command.get_command(None, name), f"{path} {name}")


def test_the_page_is_as_it_is_drawn() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "internals" / "draw_commands.py"))["page"]()
    assert drawn == PAGE.read_text(), "python docs/internals/draw_commands.py > docs/reference/cli.md draws it again"


def test_every_command_and_option_says_what_it_does() -> None:
    silent = []
    for path, command in commands(typer.main.get_command(app)):
        silent += [] if command.help else [path]
        silent += [f"{path} {one.opts[0]}" for one in command.params if not one.help and one.opts[0] != "--help"]
    assert silent == []


def test_what_prints_takes_json() -> None:
    """But for what runs until it is stopped, and what is JSON or a file of its own already."""
    runs_on = {"handraise serve", "handraise demo", "handraise dev", "handraise mcp", "handraise hook resume"}
    own_form = {"handraise export", "handraise slack manifest", "handraise mail quarantine show"}
    own_form |= {f"handraise hook {program}" for program in ("claude-code", "codex", "gemini")}
    lacking = {
        path
        for path, command in commands(typer.main.get_command(app))
        if not hasattr(command, "list_commands") and not any("--json" in one.opts for one in command.params)
    }
    assert lacking == runs_on | own_form
