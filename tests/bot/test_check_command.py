"""``handraise check``: the configuration alone, as people and as programs read it (API.md §9)."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from pathlib import Path

import pytest
from handraise.cli.app import app
from typer.testing import CliRunner, Result

from tests import preloaded

SOUND = f"""
database_url: postgresql+psycopg://nobody:hunter2@192.0.2.1/nowhere
public_url: https://hand.example.com
slack: {{bot_token: xoxb-hunter2, signing_secret: {secrets.token_hex(16)}}}
"""
WRONG = "http: {port: 0}\nslack: {bot_token: hunter2, app_token: hunter2}\nlogg: {}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "handraise.yaml"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


def test_a_sound_file_is_ok_and_nothing_is_opened(file: Path) -> None:
    """Its database is nowhere, and its tokens are nobody's."""
    file.write_text(SOUND)
    ran = check("--config", str(file))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, f"ok: {file}\n", "")
    assert list(file.parent.iterdir()) == [file], "no database, and no key"


def test_without_a_file_the_environment_is_checked(file: Path) -> None:
    ran = check()
    assert (ran.exit_code, ran.stdout) == (0, "ok: the environment alone (there is no file)\n")
    assert "no channel is configured" in ran.stderr


def test_programs_read_json(file: Path) -> None:
    file.write_text(SOUND.replace("https://hand.example.com", "http://127.0.0.1:8080"))
    ran = check("--json")
    said = json.loads(ran.stdout)
    assert (ran.exit_code, said["ok"], said["file"], said["errors"]) == (0, True, "handraise.yaml", [])
    assert [warning.split()[0] for warning in said["warnings"]] == ["public_url"]


def test_programs_read_every_error(file: Path) -> None:
    file.write_text(WRONG)
    ran = check("--json")
    said = json.loads(ran.stdout)
    assert (ran.exit_code, said["ok"]) == (2, False)
    assert [(error["key"], error.get("nearest"), error.get("found")) for error in said["errors"]] == [
        ("logg", "log", None),
        ("http.port", None, "0"),
        ("slack.app_token", None, "text"),
    ]
    assert "hunter2" not in ran.output


@pytest.mark.slow
def test_people_read_every_error_on_a_line_of_its_own(file: Path) -> None:
    file.write_text(WRONG)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    status, out, err = asyncio.run(preloaded.run(["check", "--config", str(file)], environ))
    assert (status, out) == (2, b"")
    assert err.decode().splitlines() == [
        "handraise: there are 3 errors in the configuration:",
        f"  {file}: unknown key logg; did you mean log?",
        f"  {file}: http.port must be a whole number from 1 to 65535; found 0",
        f"  {file}: slack.app_token must be an app-level token, xapp-…, with the scope connections:write; found text",
    ]
