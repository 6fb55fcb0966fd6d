"""Plays the Dockerfile's steps by hand: each ``RUN`` in a folder that stands for the root, without Docker.

``COPY . .`` takes the files that git knows and ``.dockerignore`` lets through. The base image is the Python that the
tests run on. What an image would give beside that (a root that is read-only, a user without rights) is played as far as
the machine lets us: as root, the programs run as the Dockerfile's user, who owns nothing but the folder of the
``install`` step.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.deploy import manifests

ROOT = manifests.ROOT
_OURS = re.compile(r"(?<![\w./])/(?=(?:opt/handraise|wheels|var/lib/handraise|etc/handraise|tmp)\b)")


def tracked(*folders: str) -> list[str]:
    """The files under ``folders`` that git knows and that are there, as paths from the top."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]


def copy_tracked(to: Path, wanted: Callable[[str], bool] = lambda path: True) -> None:
    """What a fresh clone would hold, as far as it is ``wanted``."""
    for path in filter(wanted, tracked()):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, to / path)


@dataclass(frozen=True, slots=True)
class PlayedImage:
    """An image whose root is ``root``."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "opt" / "handraise" / "bin" / "python"

    @property
    def state(self) -> Path:
        """The one folder that its user owns."""
        return self.root / "var" / "lib" / "handraise"

    def build(self) -> None:
        """The steps of both stages, in order."""
        source = self.root / "src"
        for folder in (source, self.state.parent, self.root / "etc" / "handraise", self.root / "tmp"):
            folder.mkdir(parents=True)
        copy_tracked(source, manifests.is_sent_to_docker)
        for name, arguments in manifests.instructions():
            if name == "RUN":
                environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
                subprocess.run(["sh", "-ec", self._here(arguments)], cwd=source, env=environ, check=True)

    def _here(self, text: str) -> str:
        return _OURS.sub(f"{self.root}/", text)

    def environ(self, **settings: str) -> dict[str, str]:
        """The image's variables, and those that whoever starts it adds."""
        ours = {name: self._here(value) for name, value in manifests.image_variables().items()}
        ours["PATH"] = ours["PATH"].replace("$PATH", "/usr/local/bin:/usr/bin:/bin")
        return ours | settings

    def start(self, *arguments: str, environ: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        """``docker run IMAGE ARGUMENTS``."""
        return self._popen([*json.loads(dict(manifests.instructions())["ENTRYPOINT"]), *arguments], environ, log)

    def check_health(self, environ: dict[str, str]) -> int:
        """The exit status of the health check."""
        _, _, command = dict(manifests.instructions())["HEALTHCHECK"].partition(" CMD ")
        return self._popen(json.loads(command), environ, Path(os.devnull)).wait(30)

    def _popen(self, command: list[str], environ: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        folder = self._here(dict(manifests.instructions())["WORKDIR"])
        with log.open("ab") as out:
            return subprocess.Popen([*_as_the_user(), *command], cwd=folder, env=environ, stdout=out, stderr=out)


def _as_the_user() -> list[str]:
    """The prefix by which root becomes the Dockerfile's user. It may read everything, since our Python may stand in a
    folder of root's own, and has no other right."""
    if os.geteuid() != 0:
        return []
    uid, gid = dict(manifests.instructions())["USER"].split(":")
    read = "dac_read_search"
    caps = ["--inh-caps", f"-all,+{read}", "--ambient-caps", f"+{read}", "--bounding-set", f"-all,+{read}"]
    return ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", *caps, "--no-new-privs"]
