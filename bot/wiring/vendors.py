"""The channels and doors of the vendors that are set up, built by their descriptions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.config.catalogue import names
from bot.config.sections import Section
from bot.config.settings import Settings
from bot.vendors.description import Around, Inside, Source, Vendor
from bot.vendors.installed import vendors
from bot.web.hooks import Doors
from core.ports import Channel


@dataclass(slots=True)
class Vendors:
    """Built from the vendors' settings, and replaced if these change while the service runs. Holders of ``channels``
    or ``doors`` hold the mapping, and so see the replacement."""

    channels: dict[str, Channel]
    doors: Doors = field(default_factory=Doors)
    sources: dict[str, Source] = field(default_factory=dict)


def sources_of(around: Around, only: Collection[str] = names()) -> dict[str, Source]:
    """Who is asked who is who, by the vendor's name; of those in ``only``."""
    found = ((one.name, one.source(section, around)) for one, section in _set_up(around.settings, only))
    return {name: source for name, source in found if source is not None}


def channels_of(around: Around, sources: Mapping[str, Source], only: Collection[str] = names()) -> dict[str, Channel]:
    """By name, in the order in which the first is the default; of those in ``only``. Raises :class:`ConfigError`."""
    return {
        one.name: one.channel(section, around, sources.get(one.name)) for one, section in _set_up(around.settings, only)
    }


def doors_of(inside: Inside, sources: Mapping[str, Source], only: Collection[str] = names()) -> Doors:
    """A door is open only if it belongs to the parts that run here, and if what verifies its requests is configured;
    those of the vendors in ``only``."""
    opened = (
        one.doors(section, inside, sources.get(one.name)) for one, section in _set_up(inside.around.settings, only)
    )
    return Doors({door.name: door for doors in opened for door in doors})


def reporting_arrivals(settings: Settings) -> Sequence[str]:
    """The channels whose doors hear what has come of a notice."""
    return tuple(one.name for one, section in _set_up(settings, names()) if one.reports_arrivals(section))


def rebuilt_by(settings: Settings, changed: Collection[str]) -> frozenset[str]:
    """The vendors whose parts are built anew if these sections are new."""
    set_up = _set_up(settings, names())
    return frozenset(one.name for one, section in set_up if one.name in changed or one.is_rebuilt(section, changed))


def _set_up(settings: Settings, only: Collection[str]) -> Iterator[tuple[Vendor[Any], Section]]:
    for one in vendors():
        section = settings.section(one.name)
        if section is not None and one.name in only:
            yield one, section
