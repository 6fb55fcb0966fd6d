"""A Python that the engine runs on (3.12 or newer): found on this machine, or taken from Debian's next release.

Debian 12 has none. From the next release come packages that need a newer C library, so they are unpacked into a folder
of their own, outside the clone, and Python starts through that folder's own loader. Nothing is installed, and root is
not needed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

NAMES = ("python3.14", "python3.13", "python3.12")
NEEDED = "import ensurepip, sqlite3, ssl, sys, venv; sys.exit(sys.version_info < (3, 12))"
"""A Python that was built without their libraries lacks some of these modules."""

RELEASE, PACKAGE = "trixie", "python3.13"
MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class NoPython(Exception):
    """None was found, and none could be fetched. The message says what was tried."""


def found(environ: Mapping[str, str]) -> Path:
    """A Python that runs and has every module that is needed. Raises :class:`NoPython`."""
    tried = list(candidates(environ))
    for python in tried:
        if runs(python):
            return python
    try:
        return fetched(cache_of(environ), environ.get("PATH", ""))
    except (OSError, subprocess.CalledProcessError, NoPython) as problem:
        said = problem.stderr if isinstance(problem, subprocess.CalledProcessError) else str(problem)
        names = ", ".join(map(str, tried)) or "none on the PATH, none of pyenv's"
        raise NoPython(
            f"The engine needs Python 3.12 or newer, with ssl and sqlite3. Found, but not fit: {names}. "
            f"Taking {PACKAGE} from Debian {RELEASE} failed: {said.strip()}"
        ) from problem


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where one may be, the newest first: on the ``PATH``, among pyenv's. Some may not run."""
    folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    home = Path(environ.get("HOME", "/"))
    pyenv = Path(environ.get("PYENV_ROOT", home / ".pyenv")) / "versions"
    folders += sorted((version / "bin" for version in pyenv.glob("3.*")), key=_version, reverse=True)
    for name in NAMES:
        for folder in folders:
            if (folder / name).exists():
                yield folder / name


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.parent.name)]


def runs(python: Path) -> bool:
    """Whether it starts, is new enough and has the modules. A shim of pyenv's starts nothing if no version is set."""
    try:
        return subprocess.run([python, "-c", NEEDED], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def cache_of(environ: Mapping[str, str]) -> Path:
    """The folder for what is fetched: ``$XDG_CACHE_HOME/handraise``, else ``~/.cache/handraise``."""
    return Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache") / "handraise"


def fetched(cache: Path, path: str) -> Path:
    """Debian's, in the cache; downloaded if it is not there yet (20 MB). Of several processes one does it.

    ``path`` is where Debian's tools are.
    """
    root = cache / f"{PACKAGE}-{RELEASE}"
    python = root / "usr/bin" / PACKAGE
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not runs(python):
            _fetch(root, path)
    if not runs(python):
        raise NoPython(f"{python} was fetched and does not run.")
    return python


def _fetch(root: Path, path: str) -> None:
    if missing := [name for name in ("apt-get", "dpkg") if shutil.which(name, path=path) is None]:
        raise NoPython(f"There is no {' and no '.join(missing)}.")
    if not KEYRING.exists():
        raise NoPython(f"There is no {KEYRING} to check Debian's packages by.")
    fresh, work = root.with_name(root.name + ".new"), root.with_name(root.name + ".apt")
    for folder in (root, fresh, work):
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{PACKAGE} comes from Debian {RELEASE}, into {root}", file=sys.stderr)
    for folder in ("lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    (work / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {RELEASE} main\n")
    apt = ["apt-get", "-qq", *(f"--option={option}" for option in _options(work))]
    _run(*apt, "update")
    # No package counts as installed, so that all come that Python stands on, the C library among them.
    _run(*apt, "install", "--download-only", "--no-install-recommends", "--yes", f"{PACKAGE}-venv")
    for package in sorted((work / "archives").glob("*.deb")):
        _run("dpkg", "--extract", package, fresh)
    _wrap(fresh, root)
    fresh.rename(root)
    shutil.rmtree(work)


def _options(work: Path) -> list[str]:
    """apt reads and writes nothing but ``work``."""
    return [
        f"Dir::Etc::SourceList={work}/sources.list",
        "Dir::Etc::SourceParts=/dev/null",
        "Dir::Etc::Preferences=/dev/null",
        "Dir::Etc::PreferencesParts=/dev/null",
        "Dir::State::Status=/dev/null",
        f"Dir::State::Lists={work}/lists",
        f"Dir::Cache={work}",
        f"Dir::Cache::Archives={work}/archives",
        "APT::Sandbox::User=",
        "Acquire::Languages=none",
        "Acquire::Retries=3",
        "Debug::NoLocking=1",
    ]


def _wrap(fresh: Path, root: Path) -> None:
    """Put a script in the place of Python's binary, which starts it through the loader and libraries beside it.

    ``--argv0`` keeps the name that Python was called by, from which it finds its virtual environment.
    """
    [loader] = (fresh / "usr/lib").glob("*/ld-linux-*.so.*")
    libraries = root / loader.parent.relative_to(fresh)
    real, script = fresh / "usr/libexec" / PACKAGE, fresh / "usr/bin" / PACKAGE
    real.parent.mkdir(exist_ok=True)
    script.rename(real)
    command = f'"{libraries / loader.name}" --argv0 "$0" --library-path "{libraries}" "{root}/usr/libexec/{PACKAGE}"'
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)
    for settings in (fresh / "usr/lib" / PACKAGE).glob("_sysconfigdata_*.py"):  # where ensurepip looks for pip
        settings.write_text(
            settings.read_text().replace("'/usr/share/python-wheels", f"'{root}/usr/share/python-wheels")
        )


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
