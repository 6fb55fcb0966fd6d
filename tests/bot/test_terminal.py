"""The one place that writes what others have written to a terminal, and that no command does without its test."""

from __future__ import annotations

import json
from typing import Any

import typer
from handraise.cli.app import app
from handraise.cli.terminal import one_line, visible
from hypothesis import given
from hypothesis import strategies as st

from tests.journeys.service.test_terminal import SAYS_NOTHING_OF_OTHERS, commands, forbidden


def test_no_command_is_left_out() -> None:
    assert set(commands()) | SAYS_NOTHING_OF_OTHERS == set(_names(typer.main.get_command(app)))


def _names(command: Any, path: tuple[str, ...] = ()) -> list[str]:
    """A group has a name if it does something by itself: it says so by its option."""
    parts = _commands(command)
    own = [" ".join(path)] if path and (not parts or any(one.name == "limit" for one in command.params)) else []
    return own + [name for part, one in parts.items() for name in _names(one, (*path, part))]


def _commands(group: Any) -> dict[str, Any]:
    names = group.list_commands(None) if hasattr(group, "list_commands") else []
    return {name: group.get_command(None, name) for name in names}


@given(st.text())
def test_whatever_is_written_is_one_line_of_signs_that_can_be_seen(text: str) -> None:
    written = visible(text)
    assert forbidden(written.translate({9: 7, 10: 7})) == []
    assert visible(written) == written
    assert written == text or not text.isprintable()
    short = one_line(text, 20)
    assert short.isprintable()
    assert len(short) <= 20


@given(st.text())
def test_a_line_of_json_stays_the_same_json(text: str) -> None:
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text
