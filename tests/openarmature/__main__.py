"""The tests of the OpenArmature adapter, in a virtual environment of their own with the published engine.

The engine needs Python 3.12 or newer, the service does not: it runs as a process by the Python that started this.
What stands behind ``python -m tests.openarmature`` goes to pytest; if nothing does, types are checked first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.openarmature.interpreter import NoPython, found

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SDK = ROOT / "sdk"
ADAPTER = SDK / "handraise/openarmature"
VENV = ROOT / ".venv-openarmature"
REQUIREMENTS = HERE / "requirements.txt"


def installed(python: Path) -> Path:
    """The Python of the virtual environment, made anew if ``python`` or the requirements are other ones."""
    stamp, wanted = VENV / "installed", f"{python}\n{REQUIREMENTS.read_text()}\n{(SDK / 'pyproject.toml').read_text()}"
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([python, "-m", "venv", VENV], check=True)
        pip = [VENV / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "--only-binary=:all:", "-r", REQUIREMENTS], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", SDK], check=True)
        stamp.write_text(wanted)
    return VENV / "bin/python"


def main(arguments: list[str]) -> int:
    try:
        python = installed(found(os.environ))
    except NoPython as problem:
        print(problem, file=sys.stderr)
        return 1
    if not os.environ.get("HANDRAISE_CONFORMANCE_DIR"):
        print("OpenArmature's fixtures are not run: HANDRAISE_CONFORMANCE_DIR is not set.", flush=True)
    environ = os.environ | {"PYTHONPATH": str(ROOT), "HANDRAISE_SERVICE_PYTHON": sys.executable}
    types = [] if arguments else [["mypy", "--python-version", "3.12", "--cache-dir", VENV / "mypy", ADAPTER]]
    tests = ["pytest", "-c", HERE / "pytest.ini", "--rootdir", ROOT, *(arguments or [HERE])]
    statuses = (
        subprocess.run([python, "-m", *command], cwd=ROOT, env=environ, check=False).returncode
        for command in [*types, tests]
    )
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
