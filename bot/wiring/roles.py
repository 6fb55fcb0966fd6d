"""Roles: the parts that one process runs. Everything, or a part of it beside other processes on the same PostgreSQL.

Also what a process takes from its host: the clock (seconds that nobody can set) and the folder for ended suspensions.

Source: API.md §9; docs/decisions/0005; docs/reference/audit.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import sqlalchemy as sa

from bot.config.settings import Settings
from core.errors import ConfigError
from core.work.presence import since_start


class Part(StrEnum):
    API = "api"
    """``/v1``, the pages, OpenAPI, and PagerDuty's webhooks."""
    WORKER = "worker"
    """The clock, and the relay's senders."""
    SLACK = "slack"
    """Slack's way in."""
    MAIL = "mail"
    """Mail's way in."""


Parts = frozenset[Part]

EVERYTHING: Parts = frozenset(Part)


def parts_of(given: Iterable[str]) -> Parts:
    """The parts named by ``--role``, one or several with commas each time; everything if none is named.

    Raises :class:`ConfigError` for an unknown name.
    """
    names = [name.strip() for one in given for name in one.split(",")]
    for name in names:
        if name not in list(Part):
            raise ConfigError(f"--role: {name!r} is none of {', '.join(Part)}.")
    return frozenset(map(Part, names)) or EVERYTHING


def check_fits(parts: Parts, *, is_shared: bool) -> None:
    """Raises :class:`ConfigError` if only a part of the service would run on an SQLite file, which has one process."""
    if parts != EVERYTHING and not is_shared:
        raise ConfigError(
            "--role: a process that runs only a part of the service needs PostgreSQL (database_url); "
            "on SQLite one process runs everything."
        )


class SystemClock:
    """Implements :class:`core.ports.HostClock`: the wall clock at the beginning, plus the seconds since then."""

    def __init__(self, wall: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._wall = wall
        self._offset = wall() - since_start()

    def now(self) -> datetime:
        return self._offset + since_start()

    def ahead(self, shared: datetime | None) -> timedelta:
        return (shared or self._wall()) - self.now()

    def follow(self, by: timedelta) -> None:
        self._offset += by


FOLDER = "handraise.archive"


def archive_folder(settings: Settings, folder: Path) -> Path:
    """``retention.archive_dir``; else ``handraise.db.archive`` beside ``handraise.db``, or ``handraise.archive`` in
    ``folder``, the configuration's. It is made if suspensions are to be moved.

    Raises :class:`ConfigError` if it can't be made or written: better now than after ninety days.
    """
    path = archive_place(settings, folder)
    if settings.retention.keep is None:
        return path
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise ConfigError(f"retention.archive_dir: {path} can't be made: {failure.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(f"retention.archive_dir: {path} can't be written")
    return path


def archive_place(settings: Settings, folder: Path) -> Path:
    """:func:`archive_folder`, whether it exists or not."""
    if settings.retention.archive_dir is not None:
        return Path(settings.retention.archive_dir)
    url = sa.make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        return Path(f"{url.database}.archive")
    return folder / FOLDER
