"""The folder of ``handraise dev``: ``.handraise/``. It has the database, its secret, the agent's key and the person.

A checkout may bring a folder of that name with keys that somebody else knows, and another user of the machine may put
one there. So only a folder is used that this user has made here: it is theirs, nobody else may enter it, nothing in it
is a link, and its seal was made with a key that lies in the user's home and names the place.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
import tempfile
import threading
import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from bot.config.values import Mail
from bot.keys import new_api_key, same
from core.domain.people import canonical
from core.errors import ConfigError

NAME, CONTENT, OPENER = ".handraise", "dev.json", "open.html"
_KEY_SIZE = 32


@dataclass(frozen=True, slots=True)
class DevFolder:
    """``path`` is absolute. ``agent_key`` is the API key that agents are given."""

    path: Path
    person: str
    agent_key: str

    @property
    def database_url(self) -> str:
        url = sa.URL.create("sqlite+aiosqlite", database=str(self.path / "handraise.db"))
        return url.render_as_string(hide_password=False)

    def open_in_browser(self, link: str) -> None:
        """By a page that only this user can read: others see a browser's arguments."""
        page = self.path / OPENER
        page.unlink(missing_ok=True)
        _write(page, f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(link)}">')
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


def found(place: Path, person: str | None) -> DevFolder | None:
    """The folder at ``place``; ``None`` if there is none. Raises :class:`ConfigError` for one that can't be trusted,
    and for another person's than ``person``."""
    os.umask(0o077)
    path = place.resolve() / NAME
    if not os.path.lexists(path):
        return None
    _check_own(path)
    try:
        held = json.loads((path / CONTENT).read_text(encoding="utf-8"))
        folder = DevFolder(path, str(held["person"]), str(held["agent_key"]))
        is_sealed = same(str(held["seal"]), _seal(folder))
    except (OSError, ValueError, KeyError, TypeError):
        is_sealed = False
    if not is_sealed:
        raise ConfigError(f"{path} was not made here by you with `handraise dev`, or was moved. {_BEGIN_ANEW}")
    if person is not None and canonical(person) != canonical(folder.person):
        raise ConfigError(f"{path} is {folder.person}'s. {_BEGIN_ANEW}")
    return folder


_BEGIN_ANEW = "Look at what it is, and remove it to begin anew."


def make(place: Path, person: str) -> DevFolder:
    """A new folder for ``person``, whole before it has its name. Raises :class:`ConfigError`."""
    try:
        mail = TypeAdapter(Mail).validate_python(person)
    except ValidationError as wrong:
        said = wrong.errors(include_url=False, include_input=False)[0].get("ctx", {}).get("error", "is not valid")
        raise ConfigError(f"--as {said}.") from None
    os.umask(0o077)
    path = place.resolve() / NAME
    folder = DevFolder(path, mail, new_api_key())
    content = {"person": folder.person, "agent_key": folder.agent_key, "seal": _seal(folder)}
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f"{NAME}.", dir=path.parent))
        _write(fresh / ".gitignore", "*\n")
        _write(fresh / CONTENT, json.dumps(content, indent=2) + "\n")
        fresh.rename(path)
    except OSError as failure:
        raise ConfigError(f"{path} can't be made: {failure.strerror}.") from None
    return folder


def _check_own(path: Path) -> None:
    """Raises :class:`ConfigError` unless it and all in it is this user's alone, and no link."""
    for one in (path, *(path.iterdir() if path.is_dir() and not path.is_symlink() else ())):
        held = one.lstat()
        is_right = stat.S_ISDIR(held.st_mode) if one == path else stat.S_ISREG(held.st_mode) and held.st_nlink == 1
        if not is_right or held.st_uid != os.geteuid() or held.st_mode & 0o077:
            what = "a link or no plain file" if not is_right else "not yours alone (owner and mode)"
            raise ConfigError(f"{one} is {what}: it was not made by `handraise dev`. {_BEGIN_ANEW}")


def _seal(folder: DevFolder) -> str:
    """It holds for this user and this place, and for what stands there."""
    said = json.dumps([os.geteuid(), str(folder.path), folder.person, folder.agent_key])
    return hmac.new(_users_key(), said.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def _users_key() -> bytes:
    """Made once for this user of this machine. Raises :class:`ConfigError`."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    path = home / "handraise" / "dev.key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _write(path, secrets.token_hex(_KEY_SIZE))
        held = path.stat()
        if held.st_uid != os.geteuid() or held.st_mode & 0o077:
            raise ConfigError(f"{path} is not yours alone: remove it.")
        return bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as failure:
        raise ConfigError(f"{path} can't be read or made: {failure}.") from None


def _write(path: Path, text: str) -> None:
    """A new file, mode 0600; never through a link, never over one that is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
