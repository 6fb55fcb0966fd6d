"""The tests of mail, store and SDK on the newest Python that can be had, in a virtual environment of their own.

What Python's library says of an address, a URL or a date changes within patch releases; the service must not change
with it. What stands behind ``python -m tests.newest`` goes to pytest in place of these tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.openarmature.interpreter import NoPython, found

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".venv-newest"
LOCK = ROOT / "requirements.lock"
PROJECTS = [ROOT / "sdk", ROOT]
TESTS = [
    *("sdk/tests", "tests/channels/email", "tests/core/store"),
    *(
        "tests/core/domain/test_named_mailboxes.py",
        "tests/core/domain/test_people.py",
        "tests/core/domain/test_wire.py",
    ),
    *sorted(map(str, (ROOT / "tests/bot").glob("test_mail*.py"))),
]


def installed(python: Path) -> Path:
    """The Python of the virtual environment, made anew if ``python``, the lock or the projects are other ones."""
    wanted = "\n".join([str(python), LOCK.read_text(), *((one / "pyproject.toml").read_text() for one in PROJECTS)])
    stamp = VENV / "installed"
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([python, "-m", "venv", VENV], check=True)
        pip = [VENV / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True)
        editable = [part for one in PROJECTS for part in ("-e", one)]
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", *editable], check=True)
        stamp.write_text(wanted)
    return VENV / "bin/python"


def main(arguments: list[str]) -> int:
    try:
        python = installed(found(os.environ))
    except NoPython as problem:
        print(problem, file=sys.stderr)
        return 1
    subprocess.run([python, "--version"], check=True)
    return subprocess.run([python, "-m", "pytest", *(arguments or TESTS)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
