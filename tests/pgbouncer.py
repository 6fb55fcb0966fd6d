"""A real pgbouncer for the tests, on loopback before one PostgreSQL. Nothing of the system's configuration is read."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.ports import free_port

_CONFIGURATION = """
[databases]
* = host={sockets} port=5432 user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 1000
{more}
"""


class PgBouncer:
    """Forwards to the server whose socket is in ``sockets``."""

    def __init__(self, root: Path, sockets: str, mode: str, settings: dict[str, str]) -> None:
        self.port = free_port()
        self._sockets, self._mode = sockets, mode
        self._more = "\n".join(f"{name} = {value}" for name, value in settings.items())
        self._file = root / "pgbouncer.ini"
        self._write()
        self._log = root / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def _write(self) -> None:
        values = {"sockets": self._sockets, "port": self.port, "mode": self._mode, "more": self._more}
        self._file.write_text(_CONFIGURATION.format(**values))

    def url(self, of: str) -> str:
        """The URL of the same database as ``of``, through here."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{sa.make_url(of).database}"

    def start(self) -> None:
        """Return when it takes connections."""
        who: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root
            nobody = pwd.getpwnam("nobody")
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise RuntimeError("pgbouncer is not installed (Debian's package of that name)")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([program, self._file], stdout=log, stderr=log, **who)
        for _ in range(3000):
            if self._process.poll() is not None:
                raise RuntimeError(self._log.read_text())
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("pgbouncer did not become ready")

    def lead_to(self, sockets: str) -> None:
        """It reads its configuration anew: connections to the server before are closed as they get free."""
        assert self._process is not None
        self._sockets = sockets
        self._write()
        self._process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)  # at once, whoever is connected
            self._process.wait(60)
            self._process = None


@contextlib.contextmanager
def pgbouncer(url: str, mode: str = "transaction", **settings: str) -> Iterator[PgBouncer]:
    """One before the server of ``url``, in that pool mode."""
    root = Path(tempfile.mkdtemp(prefix="pgb-"))
    root.chmod(0o755)
    running = PgBouncer(root, str(sa.make_url(url).query["host"]), mode, settings)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)
