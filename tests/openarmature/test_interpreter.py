"""Which Python ``make openarmature`` takes: the newest that really runs, else Debian's, else none and a clear word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openarmature.interpreter import NoPython, candidates, found


def script(path: Path, status: int) -> Path:
    """A program that ends with ``status`` whatever it is asked; it stands for a Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


def test_the_newest_comes_first_wherever_it_is(tmp_path: Path) -> None:
    old = script(tmp_path / "bin/python3.12", 0)
    new = script(tmp_path / "home/.pyenv/versions/3.14.1/bin/python3.14", 0)
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    assert list(candidates(environ)) == [new, old]
    assert found(environ) == new


def test_of_pyenvs_versions_the_newest_comes_first(tmp_path: Path) -> None:
    made = [script(tmp_path / f"versions/{version}/bin/python3.13", 0) for version in ("3.13.9", "3.13.10")]
    assert list(candidates({"PYENV_ROOT": str(tmp_path)})) == made[::-1]


def test_what_does_not_run_is_passed_over(tmp_path: Path) -> None:
    script(tmp_path / "shims/python3.13", 127)  # as pyenv's, if no version is set
    (tmp_path / "shims/python3.14").write_text("not executable")
    runs = script(tmp_path / "versions/3.13.0/bin/python3.13", 0)
    assert found({"PATH": str(tmp_path / "shims"), "PYENV_ROOT": str(tmp_path)}) == runs


def test_without_any_it_says_what_was_tried(tmp_path: Path) -> None:
    unfit = script(tmp_path / "bin/python3.12", 1)
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    with pytest.raises(NoPython) as raised:
        found(environ)
    assert str(unfit) in str(raised.value)
    assert "There is no apt-get and no dpkg." in str(raised.value)


def test_what_was_fetched_before_is_used_again(tmp_path: Path) -> None:
    kept = script(tmp_path / "handraise/python3.13-trixie/usr/bin/python3.13", 0)
    assert found({"XDG_CACHE_HOME": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}) == kept
