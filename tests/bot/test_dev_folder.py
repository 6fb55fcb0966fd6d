"""The folder of ``handraise dev``: what a checkout brings, or another user, is not used."""

from __future__ import annotations

import json
import os
import queue
import shutil
from pathlib import Path
from typing import Any

import pytest

from bot.commands import dev_folder
from core.errors import ConfigError

ALICE = "alice@example.com"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(os, "umask", lambda _: 0)  # the test process keeps its own


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def test_a_second_start_goes_on_with_the_same_key_and_person(place: Path) -> None:
    assert dev_folder.found(place, None) is None
    made = dev_folder.make(place, ALICE)
    assert dev_folder.found(place, None) == dev_folder.found(place, "Alice@Example.com") == made
    assert made.agent_key.startswith("hr_")


def test_only_its_user_may_read_it_and_git_does_not_see_it(place: Path) -> None:
    made = dev_folder.make(place, ALICE)
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in (made.path, *made.path.iterdir())} == {
        ".handraise": "700",
        ".gitignore": "600",
        "dev.json": "600",
    }
    assert (made.path / ".gitignore").read_text() == "*\n"
    assert list(place.iterdir()) == [made.path]


def of_a_checkout(path: Path) -> None:
    """Somebody else's, whole and well-formed."""
    content = json.loads((path / "dev.json").read_text())
    (path / "dev.json").write_text(json.dumps({**content, "agent_key": "hr_known-to-whoever-made-the-checkout"}))


def opened(path: Path) -> None:
    path.chmod(0o755)


def readable(path: Path) -> None:
    (path / "dev.json").chmod(0o644)


def with_a_link(path: Path) -> None:
    (path / "handraise.db").symlink_to("/etc/passwd")


def with_a_hard_link(path: Path) -> None:
    (path.parent / "elsewhere").write_text("")
    os.link(path.parent / "elsewhere", path / "handraise.db")
    (path / "handraise.db").chmod(0o600)


def a_link_itself(path: Path) -> None:
    moved = path.rename(path.with_name("moved"))
    path.symlink_to(moved)


def a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("")


def empty(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir(0o700)


def dangling(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    "how", [of_a_checkout, opened, readable, with_a_link, with_a_hard_link, a_link_itself, a_file, empty, dangling]
)
def test_what_was_not_made_here_by_this_user_is_refused(place: Path, how: Any) -> None:
    how(dev_folder.make(place, ALICE).path)
    with pytest.raises(ConfigError, match="to begin anew"):
        dev_folder.found(place, ALICE)


def test_a_copy_at_another_place_is_refused(place: Path, tmp_path: Path) -> None:
    dev_folder.make(place, ALICE)
    copied = shutil.copytree(place, tmp_path / "another")
    with pytest.raises(ConfigError, match="was not made here by you"):
        dev_folder.found(copied, None)


def test_another_users_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev_folder.make(place, ALICE)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(ConfigError, match="not yours alone"):
        dev_folder.found(place, None)


def test_one_that_another_machines_user_has_sealed_is_refused(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev_folder.make(place, ALICE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another home"))
    with pytest.raises(ConfigError, match="was not made here by you"):
        dev_folder.found(place, None)


def test_it_is_one_persons(place: Path) -> None:
    dev_folder.make(place, ALICE)
    with pytest.raises(ConfigError, match=r"is alice@example\.com's"):
        dev_folder.found(place, "bob@example.com")


def test_who_the_person_is_has_to_be_an_e_mail_address(place: Path) -> None:
    with pytest.raises(ConfigError, match="--as must"):
        dev_folder.make(place, "alice")
    assert list(place.iterdir()) == []


def test_the_link_is_opened_by_a_page_that_others_cant_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser's arguments are shown to every user of the machine."""
    opened_urls: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr("webbrowser.open", opened_urls.put)
    made = dev_folder.make(place, ALICE)
    for _ in range(2):
        made.open_in_browser("http://127.0.0.1:8080/signin/secret")
    page = made.path / "open.html"
    assert (page.stat().st_mode & 0o777, "signin/secret" in page.read_text()) == (0o600, True)
    assert [opened_urls.get(timeout=20) for _ in range(2)] == [page.as_uri()] * 2
