"""The root key: one secret kept, everything else derived (API.md §1, §5, §8)."""

from __future__ import annotations

import multiprocessing
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from bot.config.settings import Settings
from bot.keys import key_file, new_api_key, root_key, same
from core.domain.root_key import RootKey
from core.errors import ConfigError

ROOT = RootKey(b"a root key of this test")


def settings(folder: Path, **changes: Any) -> Settings:
    return Settings(**{"database_url": f"sqlite+aiosqlite:///{folder}/handraise.db", **changes})


# --- Deriving -----------------------------------------------------------------------------------------------------


def test_each_purpose_has_a_key_of_its_own() -> None:
    keys = {ROOT.derive(purpose) for purpose in ("tokens", "event-log", "api-key", "webhook-secret")}
    assert len(keys) == 4
    assert {len(key) for key in keys} == {32}
    assert ROOT.derive("tokens") == RootKey(ROOT.secret).derive("tokens")
    assert ROOT.derive("tokens") != RootKey(b"another").derive("tokens")


def test_an_api_key_is_known_by_its_hash_alone() -> None:
    digest = ROOT.hash_api_key("agent-key-1")
    assert len(bytes.fromhex(digest)) == 32
    assert ROOT.hash_api_key("agent-key-1") == digest
    assert ROOT.hash_api_key("agent-key-2") != digest
    assert RootKey(b"another").hash_api_key("agent-key-1") != digest


@pytest.mark.parametrize("odd", ["", "\x00", "clé", "\udcff", "x" * 100_000])
def test_any_header_can_be_hashed(odd: str) -> None:
    assert ROOT.hash_api_key(odd) != ROOT.hash_api_key("agent-key-1")
    assert not same(odd, "agent-key-1")


def test_webhook_secrets_verify_what_they_signed() -> None:
    now = datetime.now(UTC)
    receiver = Webhook(ROOT.webhook_secret("refund-agent", 1))
    signature = receiver.sign("msg_1", now, "{}")
    stamp = str(int(now.timestamp()))
    headers = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}
    assert receiver.verify("{}", headers) == {}


def test_webhook_secrets_differ_by_name_and_generation() -> None:
    made = {ROOT.webhook_secret(name, number) for name in ("a", "a1", "1\na", "a\n1") for number in (1, 11)}
    assert len(made) == 8
    assert all(secret.startswith("whsec_") for secret in made)


@pytest.mark.parametrize(("generation", "valid"), [(0, []), (1, [1]), (2, [2, 1]), (5, [5, 4])])
def test_two_webhook_secrets_are_valid_at_once(generation: int, valid: list[int]) -> None:
    secrets = ROOT.webhook_secrets("refund-agent", generation)
    assert list(secrets) == [ROOT.webhook_secret("refund-agent", number) for number in valid]


def test_new_api_keys_can_travel_in_a_header_and_never_repeat() -> None:
    made = {new_api_key() for _ in range(50)}
    assert len(made) == 50
    assert all(key.isascii() and key.isprintable() and len(key) > 40 for key in made)


def test_a_root_key_shows_nothing_of_itself() -> None:
    assert repr(RootKey(b"hunter2")) == "RootKey()"


# --- Keeping ------------------------------------------------------------------------------------------------------


def test_a_configured_secret_key_is_used_and_nothing_is_written(tmp_path: Path) -> None:
    secret = "configured-for-this-installation-alone"
    assert root_key(settings(tmp_path, secret_key=secret), tmp_path) == RootKey(secret.encode())
    assert list(tmp_path.iterdir()) == []


def test_the_first_start_makes_a_key_beside_the_database_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = root_key(settings(tmp_path), Path("elsewhere"))
    finally:
        os.umask(before)
    path = tmp_path / "handraise.db.key"
    assert [path] == list(tmp_path.iterdir())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(made.secret) == 32
    assert root_key(settings(tmp_path), Path("elsewhere")) == made


def test_with_postgresql_the_key_is_beside_the_configuration(tmp_path: Path) -> None:
    remote = Settings(database_url="postgresql+psycopg://u:p@h/d")
    assert key_file(remote, tmp_path) == tmp_path / "handraise.db.key"
    assert root_key(remote, tmp_path) == root_key(remote, tmp_path)


def _start(folder: Path, barrier: Any, found: Any) -> None:
    barrier.wait(30)
    found.put(root_key(settings(folder), folder).secret)


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    barrier, found = spawn.Barrier(4), spawn.Queue()
    started = [spawn.Process(target=_start, args=(tmp_path, barrier, found)) for _ in range(4)]
    for process in started:
        process.start()
    keys = {found.get(timeout=30) for _ in started}
    for process in started:
        process.join(30)
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["handraise.db.key"]


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    root_key(settings(tmp_path), tmp_path)
    path = tmp_path / "handraise.db.key"
    path.chmod(0o640)
    with pytest.raises(ConfigError) as refused:
        root_key(settings(tmp_path), tmp_path)
    assert refused.value.message == f"{path}: others may read this secret key; run chmod 600 on it"


@pytest.mark.parametrize("content", ["", "beef", "hunter2" * 9, "0" * 65, "é"])
def test_a_damaged_key_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "handraise.db.key"
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(ConfigError) as refused:
        root_key(settings(tmp_path), tmp_path)
    line = f"{path}: this is no secret key of Handraise; restore it, or set HANDRAISE_SECRET_KEY"
    assert refused.value.message == line
    assert path.read_text(encoding="utf-8") == content


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "handraise.db.key"
    with pytest.raises(ConfigError) as refused:
        root_key(settings(tmp_path / "nowhere"), tmp_path)
    assert refused.value.message == (
        f"{path}: the secret key can't be kept here (No such file or directory); set HANDRAISE_SECRET_KEY"
    )
