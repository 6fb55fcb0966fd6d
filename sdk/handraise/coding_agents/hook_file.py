"""The user's own file: which service the hook asks, with which key, and what needs no question.

It is ``~/.config/handraise/hook.toml`` in the home that the system's list names, and nothing else is read: neither the
project's files nor a variable decides whom the hook believes. It is refused unless it is the user's alone.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from handraise.coding_agents.command_list import DEFAULT, UnusableEntry, entry_of
from handraise.coding_agents.decision import Unasked
from handraise.coding_agents.project import own_home
from handraise.errors import ConfigurationError

TOOLS = ("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "write_todos")
"""Tools that keep the agent's own list of what to do: nothing outside of it changes."""

_LONGEST = 64 * 1024
_HEAD = """\
# Whom the hooks of coding agents ask: `handraise hook login` writes this file. Keep it to yourself (mode 0600).
# docs/how-to/coding-agents.md says what each line does.
"""


class HookSettings(BaseModel):
    """What the file may say. ``commands`` are entries of :mod:`handraise.coding_agents.command_list`, ``tools`` names
    of tools. ``notify_to``, ``responders`` and ``channel_hint`` are those of a question; ``ca_file`` holds the
    certificates that the service's own has to come from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    url: str
    api_key: str
    commands: tuple[str, ...] = DEFAULT
    tools: tuple[str, ...] = TOOLS
    reading: bool = True
    notify_to: str | None = None
    responders: tuple[str, ...] | None = None
    channel_hint: str | None = None
    ca_file: str | None = None

    @property
    def unasked(self) -> Unasked:
        return Unasked(tuple(map(entry_of, self.commands)), frozenset(self.tools), self.reading)


@dataclass(frozen=True)
class HookFile:
    """Where the settings are. Another place than the default one is for tests."""

    path: Path = field(default_factory=lambda: Path(own_home(), ".config/handraise/hook.toml"))

    def read(self) -> HookSettings:
        """Raises :class:`ConfigurationError`, which names the file and what is wrong with it, and no value."""
        return settings_of(self._content(), str(self.path))

    def write(self, settings: HookSettings) -> None:
        """Put ``settings`` in place of what is there, in one step, readable by the user alone."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        made.unlink(missing_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(toml_of(settings))
        made.replace(self.path)

    def _content(self) -> str:
        try:
            opened = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ConfigurationError(f"{self.path} is not there: run `handraise hook login`.") from None
        except OSError as failure:
            raise ConfigurationError(f"{self.path} can't be read: {failure.strerror}.") from None
        with os.fdopen(opened, "rb") as file:
            self._check(os.fstat(file.fileno()), self.path.parent.stat())
            content = file.read(_LONGEST + 1)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise ConfigurationError(f"{self.path} is not UTF-8.") from None

    def _check(self, it: os.stat_result, folder: os.stat_result) -> None:
        if not stat.S_ISREG(it.st_mode) or it.st_uid != os.getuid() or folder.st_uid != os.getuid():
            raise ConfigurationError(f"{self.path} and its folder have to be files of yours.")
        if it.st_mode & 0o077 or folder.st_mode & 0o022:
            raise ConfigurationError(
                f"{self.path} is open to others: chmod 600 {self.path} && chmod 700 {self.path.parent}"
            )
        if it.st_size > _LONGEST:
            raise ConfigurationError(f"{self.path} is too long.")


def settings_of(content: str, name: str) -> HookSettings:
    """Raises :class:`ConfigurationError`; ``name`` is the file's."""
    try:
        settings = HookSettings.model_validate_json(json.dumps(tomllib.loads(content), default=str))
        settings.unasked  # noqa: B018 (an entry that can't be one is found here)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigurationError(f"{name} is not TOML: {problem}.") from None
    except UnusableEntry as problem:
        raise ConfigurationError(f"{name}: commands: {problem}.") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        raise ConfigurationError(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    check_url(settings.url, name)
    return settings


def check_url(url: str, name: str = "The URL") -> None:
    """Raises :class:`ConfigurationError` unless it is ``https://``, or leads to this machine: whoever is on the way of
    plain HTTP could approve everything."""
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))
        has_password = parts.username is not None or parts.password is not None
    except ValueError:
        is_safe, has_password, parts = False, False, urlsplit("")
    if not is_safe or not parts.hostname or has_password:
        raise ConfigurationError(f"{name}: url must be https://, or http:// to this machine, and hold no password.")


def toml_of(settings: HookSettings) -> str:
    """What JSON writes for a text, TOML reads as the same text."""
    said: Mapping[str, object] = settings.model_dump(exclude_none=True)
    return _HEAD + "".join(f"{name} = {_value(value)}\n" for name, value in said.items())


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "[\n" + "".join(f"  {json.dumps(one, ensure_ascii=False)},\n" for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
