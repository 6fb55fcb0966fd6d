"""A secret that everybody can read is none: off loopback it is refused, on loopback it is warned of (API.md §8)."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from handraise.cli.app import app
from typer.testing import CliRunner, Result

from bot.config.published import SHORTEST_KEY, is_guessable, published, why_weak, why_weak_key
from bot.keys import new_api_key
from core.domain.root_key import RootKey
from tests import preloaded
from tests.published import collected
from tests.world import INBOUND_SECRET, KEYS, WEBHOOK_SECRET, config

EXPOSED = {"http": {"host": "0.0.0.0"}, "public_url": "https://hand.acme.com"}
PROXIED = {"public_url": "https://hand.acme.com"}
"""Behind a proxy on this machine."""
DEPLOYED = "change-me-to-what-openssl-rand-hex-32-prints"
"""What stood in ``deploy/kubernetes.yaml`` once, and passed."""
SECRET = secrets.token_hex(32)
KEY = {"name": "root", "key": new_api_key(), "roles": ["admin"]}
MAIL = {"smtp_url": "smtp://h", "from": "a@acme.com"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The log is as before afterwards: doctor, called in this process, writes none."""
    monkeypatch.chdir(tmp_path)
    before = structlog.get_config()
    yield tmp_path
    structlog.configure(**before)


def run(folder: Path, settings: dict[str, Any], *arguments: str, **given: Any) -> Result:
    base = {"secret_key": SECRET, "api_keys": [KEY], "database_url": f"sqlite+aiosqlite:///{folder}/handraise.db"}
    file = folder / "handraise.yaml"
    file.write_text(json.dumps({name: value for name, value in (base | settings).items() if value is not None}))
    return CliRunner().invoke(app, [*(arguments or ("check",))], **given)


def keyed(**fields: Any) -> dict[str, Any]:
    return {"api_keys": [{"name": "root", "roles": ["admin"], **fields}]}


def hashed(key: str, secret: str = SECRET) -> str:
    return RootKey(secret.encode()).hash_api_key(key)


WEAK: dict[str, tuple[str, dict[str, Any]]] = {
    "the placeholder of deploy": ("secret_key", {"secret_key": DEPLOYED}),
    "the example of the documentation": (
        "secret_key",
        {"secret_key": "1f0c9b64ad53827e6f4c0b9a8d7e6f5041322314f5e6d7c8b9a0918273645546"},
    ),
    "the key of the tests": ("secret_key", {"secret_key": "the-secret-key-of-the-tests-alone"}),
    "digits in a row": ("secret_key", {"secret_key": "0123456789abcdef" * 4}),
    "a published key": ("api_keys[0].key", keyed(key="agent-key-of-the-tests")),
    "the hash of a published key": ("api_keys[0].key_hash", keyed(key_hash=hashed(KEYS["admin"]))),
    "the hash of one, by the key before": (
        "api_keys[0].key_hash",
        {**keyed(key_hash=hashed(KEYS["admin"], "o" * 8 + SECRET)), "secret_key_previous": ["o" * 8 + SECRET]},
    ),
    "a short key": ("api_keys[0].key", keyed(key="x7Kq9-mZ2vR4tB8wLp1")),
    "a placeholder for a key": ("api_keys[0].key", keyed(key="replace-me-with-a-long-one")),
    "a webhook secret": ("api_keys[0].webhook_secrets[0]", keyed(key=KEY["key"], webhook_secrets=[WEBHOOK_SECRET])),
    "the secret of a mail door": ("email.inbound_secret", {"email": {**MAIL, "inbound_secret": INBOUND_SECRET}}),
    "a signing secret": (
        "slack.signing_secret",
        {"slack": {"bot_token": "xoxb-1", "signing_secret": "sandbox-signing-secret"}},
    ),
    "a pager's secret": (
        "pagerduty.webhook_secrets[0]",
        {"pagerduty": {"routing_key": "R" * 32, "webhook_secrets": ["webhook-secret"]}},
    ),
}


# --- Which they are ----------------------------------------------------------------------------------------------


def test_every_secret_in_the_files_of_the_repository_is_known() -> None:
    """If this fails: `python -m tests.published`."""
    found = collected()
    assert {KEYS["agent"], KEYS["admin"], WEBHOOK_SECRET, INBOUND_SECRET} <= found, "it is looked for"
    assert sorted(secret for secret in found if why_weak(secret) is None) == []


def test_what_is_random_is_taken() -> None:
    for _ in range(200):
        made = (secrets.token_hex(32), secrets.token_urlsafe(32), secrets.token_hex(16))
        assert [one for one in made if why_weak(one)] == []
        assert why_weak_key(new_api_key()) is None
    assert why_weak_key(secrets.token_hex(SHORTEST_KEY)[:SHORTEST_KEY]) is None
    assert not is_guessable("9c1185a5c5e9fc54612808977ee8f548b2258d31")


# --- What is said ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [EXPOSED, PROXIED], ids=["off loopback", "behind a proxy"])
@pytest.mark.parametrize("name", WEAK)
def test_off_loopback_it_is_refused_by_name_and_never_shown(folder: Path, name: str, where: dict[str, Any]) -> None:
    key, settings = WEAK[name]
    ran = run(folder, where | {"email": {**MAIL, "inbound_secret": secrets.token_hex(32)}} | settings)
    assert ran.exit_code == 2
    [line] = ran.stderr.splitlines()
    assert f"handraise.yaml: {key} " in line
    assert any(mend in line for mend in ("openssl rand", "handraise keys create", "the vendor shows"))
    for secret in _secrets_of(settings):
        assert secret not in line


@pytest.mark.parametrize("name", WEAK)
def test_on_loopback_it_is_one_warning(folder: Path, name: str) -> None:
    key, settings = WEAK[name]
    ran = run(folder, settings)
    assert (ran.exit_code, ran.stdout) == (0, "ok: handraise.yaml\n")
    [line] = [line for line in ran.stderr.splitlines() if "everybody can read" in line]
    assert line.startswith(f"handraise: warning: {key}: ")
    for secret in _secrets_of(settings):
        assert secret not in line


def _secrets_of(settings: dict[str, Any]) -> list[str]:
    """The texts in ``settings`` that nobody is to see."""
    names = {"signing_secret", "inbound_secret", "webhook-secret"}
    return [value for value in published() - names if len(value) >= 12 and value in json.dumps(settings)]


def test_several_are_told_together(folder: Path) -> None:
    written = config(f"sqlite+aiosqlite:///{folder}/handraise.db", {})
    ran = run(folder, {**EXPOSED, **written, "suspension": {}})
    keys = [line.split("handraise.yaml: ")[1].split(" ")[0] for line in ran.stderr.splitlines() if ".yaml: " in line]
    assert ran.exit_code == 2
    assert keys[:3] == ["secret_key", "api_keys[0].key", "api_keys[0].webhook_secrets[0]"]
    assert len(keys) == 8, "each key, and each secret of a webhook"


@pytest.mark.parametrize("command", ["check", "serve", "doctor", "keys list", "migrate"])
def test_every_command_refuses_it(folder: Path, command: str) -> None:
    ran = run(folder, {**EXPOSED, "secret_key": DEPLOYED}, *command.split())
    assert ran.exit_code == (1 if command == "doctor" else 2)
    assert "secret_key is a placeholder" in ran.stderr + ran.stdout
    assert not (folder / "handraise.db").exists()


def test_a_variable_is_named_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_SECRET_KEY", DEPLOYED)
    ran = run(folder, {**EXPOSED, "secret_key": None})
    assert ran.exit_code == 2
    assert "handraise: HANDRAISE_SECRET_KEY is a placeholder" in ran.stderr
    assert "openssl rand -hex 32" in ran.stderr


def test_a_secret_key_that_was_published_may_be_left_behind_and_is_warned_of(folder: Path) -> None:
    ran = run(folder, {**EXPOSED, "secret_key_previous": [DEPLOYED]})
    assert ran.exit_code == 0
    assert "warning: secret_key_previous holds a key that everybody can read" in ran.stderr


def test_a_hash_by_a_key_that_stands_in_the_key_file_is_found_when_the_service_starts(folder: Path) -> None:
    """`check` opens nothing, so it can't see it."""
    assert run(folder, {"secret_key": None}, "keys", "list").exit_code == 0
    root = RootKey(bytes.fromhex((folder / "handraise.db.key").read_text().strip()))
    settings = {**PROXIED, "secret_key": None, **keyed(key_hash=root.hash_api_key(KEYS["admin"]))}
    assert run(folder, settings).exit_code == 0
    said = "api_keys[0].key_hash is the hash of a key that stands in Handraise's own files"
    ran = run(folder, settings, "keys", "list")
    assert (ran.exit_code, said in ran.stderr) == (2, True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    status, _, err = asyncio.run(preloaded.run(["serve", "--config", str(folder / "handraise.yaml")], environ))
    assert (status, said in err.decode()) == (2, True)


@pytest.mark.parametrize("key", ["x7Kq9", KEYS["admin"], "replace-me-with-a-long-one"])
def test_no_hash_is_made_of_a_key_that_is_none(folder: Path, key: str) -> None:
    """A hash does not tell what it is of."""
    ran = run(folder, EXPOSED, "keys", "hash", input=f"{key}\n")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "handraise keys create" in ran.stderr
    assert key not in ran.stderr
    ran = run(folder, {}, "keys", "hash", input=f"{key}\n")
    assert (ran.exit_code, ran.stdout) == (0, f"{hashed(key)}\n")
    assert "handraise: warning: The key " in ran.stderr
