"""Installed vendors: ours, and those that other distributions bring by the entry point group ``handraise.channels``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bot.config.sections import Description
from core.domain.channels import KnownChannel, know
from core.errors import ConfigError

GROUP = "handraise.channels"
OURS = ("slack", "email", "pagerduty", "inbox")
"""In the order in which the first that is set up is the default channel; what needs no setting up comes last of all."""


@cache
def descriptions() -> tuple[Description[Any], ...]:
    """Every vendor's, ours first, then the others by name, and last what is always there. Raises :class:`ConfigError`
    for one that can't be used."""
    found = tuple(sorted(_found(), key=lambda one: one.always is not None))
    know(KnownChannel(one.name, one.display, one.how, one.forms) for one in found)
    return found


def description(name: str) -> Description[Any]:
    """The description of that name; raises :class:`KeyError`."""
    return {one.name: one for one in descriptions()}[name]


def names() -> tuple[str, ...]:
    """The names of all channels."""
    return tuple(one.name for one in descriptions())


def to_set_up() -> tuple[str, ...]:
    """The names of those that have to be set up, each in its section."""
    return tuple(one.name for one in descriptions() if one.always is None)


def listed(word: str) -> str:
    """``slack, email or pagerduty``: what can be set up."""
    *most, last = to_set_up()
    return f"{', '.join(most)} {word} {last}"


def _found() -> Iterator[Description[Any]]:
    ours = [EntryPoint(name, f"bot.vendors.{name}:VENDOR", GROUP) for name in OURS]
    others = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    taken: set[str] = set()
    for point in (*ours, *others):
        try:
            made = point.load()
        except (ImportError, AttributeError) as broken:
            raise ConfigError(f"The channel {point.name} ({point.value}) can't be loaded: {broken}.") from broken
        if not isinstance(made, Description) or made.name != point.name:
            raise ConfigError(f"The channel {point.name} ({point.value}) is no description of a vendor of that name.")
        prefixes = {made.name, *(form.prefix for form in made.forms)}
        if prefixes & taken:
            raise ConfigError(f"The channel {point.name} ({point.value}) has a name that another one has.")
        taken |= prefixes
        yield made
