"""What the machine does not let a command do, or what no program can read, is one line and exit status 2: a folder that
takes no writes, and JSON as deep as nobody writes it."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from joserfc.jwk import KeySet

from bot.doctor.addresses import is_ours
from bot.doctor.network import HttpAnswer
from bot.openid.id_tokens import is_signed_by_one_of
from tests.ports import free_port

HANDRAISE = Path(sys.executable).with_name("handraise")
DEEP = (100, 900, 1_000, 20_000)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a configuration and nothing else. Not pytest's own, which nobody but its user may enter."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "handraise.yaml").write_text(f"http: {{port: {free_port()}}}\n")
        yield folder
        folder.chmod(0o755)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    command = [*_as_nobody(), str(HANDRAISE), *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)


def _as_nobody() -> list[str]:
    """The prefix by which root becomes a user whom a folder's mode binds. It may read everything, since our Python may
    stand in a folder of root's own."""
    if os.geteuid() != 0:
        return []
    read = "dac_read_search"
    caps = ["--inh-caps", f"-all,+{read}", "--ambient-caps", f"+{read}", "--bounding-set", f"-all,+{read}"]
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *caps]


def refused(ran: subprocess.CompletedProcess[str]) -> str:
    """The one line, beside warnings."""
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    [line] = [line for line in ran.stderr.splitlines() if "warning:" not in line]
    return line


COMMANDS = {
    "serve": "the secret key can't be kept here",
    "migrate": "handraise.db can't be made or opened",
    "keys create a --role agent": "handraise.db can't be made or opened",
    "keys list": "handraise.db can't be made or opened",
    "init mine.yaml --person a@example.com": "mine.yaml can't be written",
    "backup copies": "copies can't be made",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_takes_no_writes_is_one_line(folder: Path, command: str) -> None:
    folder.chmod(0o555)
    line = refused(run(folder, *command.split()))
    assert COMMANDS[command] in line
    assert "ermission denied" in line
    assert [path.name for path in folder.iterdir()] == ["handraise.yaml"]


def test_a_database_in_a_folder_that_takes_no_writes_is_one_line(folder: Path) -> None:
    folder.chmod(0o777)
    assert run(folder, "keys", "create", "a", "--role", "agent").returncode == 0
    folder.chmod(0o555)
    assert "database_url: the file handraise.db can't be used" in refused(run(folder, "serve"))


def test_a_lock_that_can_t_be_made_is_one_line(folder: Path) -> None:
    (folder / "handraise.db.lock").mkdir()
    folder.chmod(0o777)
    assert "handraise.db.lock can't be made or opened: Is a directory" in refused(run(folder, "serve"))


@pytest.mark.parametrize("depth", DEEP)
def test_deep_json_is_one_line(folder: Path, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    (folder / "copies").mkdir()
    (folder / "copies" / "manifest.json").write_text(deep)
    assert "this is no manifest of a backup" in refused(run(folder, "restore", "copies"))
    (folder / "handraise.yaml").write_text("people: " + "[" * depth + "]" * depth)
    assert "handraise.yaml: " in refused(run(folder, "check"))


@pytest.mark.parametrize("depth", DEEP)
def test_deep_json_of_others_is_no_json(depth: int) -> None:
    """A provider's token, and what answers at ``public_url``."""
    deep = ('{"a":' * depth + "1" + "}" * depth).encode()
    assert not is_ours(HttpAnswer(200, {}, deep))
    assert is_signed_by_one_of(base64.urlsafe_b64encode(deep).decode() + ".e30.x", KeySet([]))
