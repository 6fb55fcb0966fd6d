"""Installed vendors, as what runs knows them. ``bot.config.catalogue`` has found them."""

from __future__ import annotations

from functools import cache
from typing import Any

from bot.config.catalogue import descriptions
from bot.vendors.description import Vendor
from core.errors import ConfigError


@cache
def vendors() -> tuple[Vendor[Any], ...]:
    """Every vendor, ours first, then the others by name. Raises :class:`ConfigError` for one that can't run."""
    return tuple(map(_running, descriptions()))


def vendor(name: str) -> Vendor[Any]:
    """The vendor of that name; raises :class:`KeyError`."""
    return {one.name: one for one in vendors()}[name]


def _running(found: object) -> Vendor[Any]:
    if not isinstance(found, Vendor):
        raise ConfigError(f"The channel {found} is no description of a vendor.")
    return found
