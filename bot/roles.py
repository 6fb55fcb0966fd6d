"""What one process runs: everything, or a part of it beside other processes on the same PostgreSQL.

Source: API.md §9; docs/decisions/0005.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from core.errors import ConfigError


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
    """The parts named by ``--role``, each time one or several with commas between; everything where none is.

    Raises :class:`ConfigError` for a name that is none.
    """
    names = [name.strip() for one in given for name in one.split(",")]
    for name in names:
        if name not in list(Part):
            raise ConfigError(f"--role: {name!r} is none of {', '.join(Part)}.")
    return frozenset(map(Part, names)) or EVERYTHING


def check_fits(parts: Parts, dialect: str) -> None:
    """Raises :class:`ConfigError` for a part of the service alone on SQLite, whose file has one process."""
    if parts != EVERYTHING and dialect == "sqlite":
        raise ConfigError(
            "--role: a process that runs only a part of the service needs PostgreSQL (database_url); "
            "on SQLite one process runs everything."
        )
