"""Instants on a page: for machines, and as people read them, in the reader's own zone first. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from bot.web.pages.person_names import PersonNames
from core.domain.wire import instant
from core.domain.wording import span, told_at, told_soon

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant beside ``now``: ``iso`` for machines, ``told`` and ``span`` for people, ``clock`` for them where many
    times stand together. ``is_local``: it is in the reader's zone of the directory, and their browser leaves it so."""

    iso: str
    told: str
    is_local: bool
    span: str
    is_past: bool
    is_soon: bool
    clock: str


def moment(at: datetime, now: datetime, zone: tzinfo | None = None) -> Moment:
    """``span`` is the distance either way; "soon" is less than a quarter of an hour ahead."""
    ahead = at - now
    return Moment(
        iso=instant(at),
        told=told_at(at, zone),
        is_local=zone is not None,
        span=span(abs(ahead)),
        is_past=ahead <= timedelta(),
        is_soon=timedelta() < ahead < 15 * _MINUTE,
        clock=told_soon(at, now, zone),
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a page, and when: what people are called for them, and their ``zone`` if the directory knows it."""

    now: datetime
    names: PersonNames
    zone: tzinfo | None = None

    def moment(self, at: datetime) -> Moment:
        return moment(at, self.now, self.zone)
