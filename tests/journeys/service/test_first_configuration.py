"""The configurations that a newcomer begins with: the example, and what ``handraise init`` writes (API.md §9)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from handraise.cli.app import app
from typer.testing import CliRunner, Result

from bot.commands import making_configuration
from bot.config.known import TREE
from bot.config.loading import load
from bot.config.problems import InvalidConfiguration
from bot.sandbox.serving import loopback_client
from core.domain.root_key import RootKey
from core.errors import ConfigError
from tests import preloaded
from tests.patience import PATIENCE
from tests.ports import free_port

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "handraise.example.yaml"
ALICE = "Alice <alice@example.com>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def whole(text: str) -> str:
    """The example with everything that is off in it."""
    return re.sub(r"(?m)^#(?=\S| {2}\w+:)", "", text.split("\n\n", 1)[1])


def keys_of(printed: str) -> dict[str, str]:
    return dict(re.findall(r"key of (\S+) +(hr_\S+)", printed))


# --- The example --------------------------------------------------------------------------------------------------


def test_the_example_is_a_configuration() -> None:
    assert load(EXAMPLE, {}).set_up == ("email",)


def test_the_example_is_whole(folder: Path) -> None:
    """Every section is in it, on or off, and what is off could be on."""
    file = folder / "handraise.yaml"
    text = whole(EXAMPLE.read_text())
    file.write_text(text)
    with pytest.raises(InvalidConfiguration) as refused:
        load(file, {})
    assert {problem.key for problem in refused.value.problems} >= {"secret_key", "api_keys[0].key", "api_keys[2].key"}
    file.write_text(text.replace("https://handraise.example.com", "http://127.0.0.1:8080"))
    assert load(file, {}).set_up == ("slack", "email", "pagerduty")
    assert sorted(TREE.keys.keys() - yaml.safe_load(file.read_text()).keys()) == []


# --- What init writes ---------------------------------------------------------------------------------------------

FLAGS: Mapping[str, list[str]] = {
    "nothing": [],
    "a person": ["--person", ALICE, "--person", "bob@example.com", "--agent", "refunds"],
    "channels": [
        *("--slack-bot-token", "xoxb-1", "--slack-app-token", "xapp-1", "--slack-channel", "C0OPS"),
        *("--smtp-url", "smtp://h", "--mail-from", ALICE, "--pagerduty-key", "R" * 32),
    ],
    "off loopback": [
        *("--host", "0.0.0.0", "--public-url", "https://hand.example.com"),
        *("--smtp-url", "smtp://h", "--mail-from", ALICE),
    ],
}


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_what_init_writes_is_taken_and_only_its_owner_may_read_it(folder: Path, flags: list[str]) -> None:
    ran = init(*flags)
    assert ran.exit_code == 0, ran.output
    file = folder / "handraise.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load(None, {})
    assert [sorted(entry.roles) for entry in settings.api_keys] == [["agent"], ["admin"]]
    keys = keys_of(ran.output)
    assert [*keys] == [entry.name for entry in settings.api_keys]
    assert not any(key in file.read_text() for key in keys.values()), "the file has their hashes"
    assert list(folder.iterdir()) == [file]
    checked = CliRunner().invoke(app, ["check"])
    assert (checked.exit_code, checked.stdout) == (0, "ok: handraise.yaml\n")


def test_a_secret_key_of_the_environment_is_the_one_that_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "0123456789abcdef" * 2
    monkeypatch.setenv("HANDRAISE_SECRET_KEY", secret)
    key = keys_of(init().output)["agent"]
    written = load(None, {})
    assert written.secret_key is None
    assert written.api_keys[0].key_hash == RootKey(secret.encode()).hash_api_key(key)


def test_a_file_that_is_there_stays_unless_somebody_says_so(folder: Path) -> None:
    file = folder / "handraise.yaml"
    file.write_text("log: {level: debug}\n")
    ran = init("--person", ALICE)
    assert (ran.exit_code, file.read_text()) == (2, "log: {level: debug}\n")
    assert "--force writes it anew" in ran.output
    with pytest.raises(ConfigError, match="is there already"):  # whoever has made it meanwhile
        making_configuration.write("http: {}", file, over=False)
    assert [path.name for path in folder.iterdir()] == ["handraise.yaml"]
    assert init("--person", ALICE, "--force").exit_code == 0
    assert [person.name for person in load(None, {}).people] == ["Alice"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_serve_would_refuse_is_not_written(folder: Path) -> None:
    ran = init("--smtp-url", "http://hunter2", "--person", "alice", "--port", "70000")
    assert (ran.exit_code, list(folder.iterdir())) == (2, [])
    assert "http.port must be a whole number from 1 to 65535; found 70000" in ran.output
    assert "email.smtp_url must look like smtp://user:password@host:25 or smtps://host; found text" in ran.output
    assert "hunter2" not in ran.output


ANSWERS = [
    ("Your name", "Alice"),
    ("Your e-mail address", "alice"),
    ("Your e-mail address", "alice@example.com"),
    ("A name for your agent's key", ""),
    ("Slack", "n"),
    ("by mail", "y"),
    ("Mail server", ""),
    ("Sender", ""),
    ("PagerDuty", "n"),
]


@pytest.mark.slow
async def test_at_a_terminal_it_asks_and_asks_again(folder: Path) -> None:
    terminal, its_end = os.openpty()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    command = [str(Path(sys.executable).with_name("handraise")), "init"]
    streams = {"stdin": its_end, "stdout": its_end, "stderr": its_end}
    process = await asyncio.create_subprocess_exec(*command, **streams, env=environ, cwd=folder)
    os.close(its_end)
    async with asyncio.timeout(PATIENCE):
        written = await asyncio.to_thread(_answer, terminal)
        assert await process.wait() == 0, written
    os.close(terminal)
    assert "That must be an e-mail address." in written
    settings = load(None, {})
    assert [(one.name, one.email) for one in settings.people] == [("Alice", "alice@example.com")]
    assert (settings.set_up, settings.api_keys[0].name) == (("email",), "agent")


def _answer(terminal: int) -> str:
    """Give each answer once it is asked for; returns all that was written until the end."""
    written, seen = "", 0
    with contextlib.suppress(OSError):  # EIO is the end
        for question, answer in ANSWERS:
            while question not in written[seen:] or not written.endswith(": "):
                written += os.read(terminal, 65_536).decode()
            seen = len(written)
            os.write(terminal, f"{answer}\n".encode())
        while part := os.read(terminal, 65_536):
            written += part.decode()
    return written


# --- A service that runs by them ----------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def served(folder: Path, file: Path) -> AsyncIterator[tuple[str, httpx.AsyncClient]]:
    """``handraise serve`` in ``folder``, on a port of its own."""
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ["HANDRAISE_HTTP__PORT"] = str(port)
    with (folder / "log").open("ab") as log:
        process = preloaded.start(["serve", "--config", str(file)], environ, log.fileno(), log.fileno(), folder)
    try:
        async with loopback_client(timeout=30) as http, asyncio.timeout(PATIENCE):
            url = f"http://127.0.0.1:{port}"
            while not await _is_ready(http, url):
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.02)
            yield url, http
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def _is_ready(http: httpx.AsyncClient, url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return (await http.get(f"{url}/readyz")).status_code == 200
    return False


async def me(http: httpx.AsyncClient, url: str, key: str) -> dict[str, Any]:
    said: dict[str, Any] = (await http.get(f"{url}/v1/me", headers={"X-API-Key": key})).json()
    return said


@pytest.mark.slow
async def test_a_service_runs_by_the_example(folder: Path) -> None:
    async with served(folder, EXAMPLE) as (url, http):
        assert (await me(http, url, "agent-key-1"))["name"] == "refund-agent"
        body = {"question": "Deploy?", "response_type": "confirm"}
        asked = await http.post(f"{url}/v1/suspensions", json=body, headers={"X-API-Key": "agent-key-1"})
        assert (asked.status_code, len(asked.json()["ladder"])) == (201, 3)


@pytest.mark.slow
async def test_a_service_runs_by_what_init_wrote_and_knows_its_keys(folder: Path) -> None:
    keys = keys_of(init("--person", ALICE).output)
    async with served(folder, folder / "handraise.yaml") as (url, http):
        assert (await me(http, url, keys["agent"]))["roles"] == ["agent"]
        assert (await me(http, url, keys["alice@example.com"]))["roles"] == ["admin"]


@pytest.mark.slow
async def test_init_keeps_the_secret_key_of_a_service_that_was_there_before(folder: Path) -> None:
    (folder / "handraise.yaml").write_text("log: {level: info}\n")
    async with served(folder, folder / "handraise.yaml"):
        pass
    keys = keys_of(init("--force").output)
    assert load(None, {}).secret_key is None
    async with served(folder, folder / "handraise.yaml") as (url, http):
        assert (await me(http, url, keys["agent"]))["roles"] == ["agent"]
