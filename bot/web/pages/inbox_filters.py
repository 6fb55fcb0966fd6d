"""The filters of the inbox, as they stand in its address: any view is a link. Pure.

An unknown value is no error: the page says so beside it, and goes by the others.

Source: docs/decisions/0120.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from urllib.parse import urlencode

from bot.web.pages.urls import INBOX
from core.domain.people import Person, canonical
from core.domain.suspension import Status
from core.domain.wording import Risk
from core.engine.inbox import Order

LONGEST = 200
"""Characters of a text that is looked for."""

_DAY = timedelta(days=1)
_DAYS = {"7d": 7, "30d": 30}
PERIODS = ("today", "yesterday", *_DAYS)
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_RANGE = re.compile(rf"({_DATE})(?:\.\.({_DATE}))?", re.ASCII)
_STATUSES: Mapping[str, Status] = {
    "open": Status.AWAITING,
    "answered": Status.RESPONDED,
    **{one.value: one for one in Status},
}
STATUSES = ("open", "answered", "expired", "cancelled")
_ENDED_WHEN = "Write today, yesterday, 7d, 30d, a date such as 2026-11-27, or two of them: 2026-11-01..2026-11-27."


class Tab(StrEnum):
    WAITING = "waiting"
    """What waits for the reader's answer."""
    MINE = "mine"
    """What they answered, handed over or claimed."""
    ALL = "all"
    """Everything that an operator may read."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address asks for, as it was typed; ``problems`` are messages by field. ``after`` is where the page
    begins."""

    tab: Tab = Tab.WAITING
    q: str = ""
    by: str = ""
    ended: str = ""
    status: str = ""
    risk: str = ""
    sort: str = ""
    after: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_narrowed(self) -> bool:
        return any((self.q, self.by, self.ended, self.status, self.risk))

    @property
    def order(self) -> Order:
        return Order(self.sort) if self.sort in set(Order) else Order.DEADLINE

    @property
    def risk_rank(self) -> int | None:
        return Risk(self.risk).rank if self.risk in set(Risk) else None

    @property
    def status_wanted(self) -> Status | None:
        return _STATUSES.get(self.status)

    def link(self, **changes: str | Tab) -> str:
        """The address of this view with ``changes``; it begins on the first page unless they say where."""
        changed = replace(self, **{"after": "", **changes})  # type: ignore[arg-type]
        fields = [(name, getattr(changed, name)) for name in ("tab", *_FIELDS, "after")]
        if changed.tab is Tab.WAITING:
            fields = [one for one in fields if one[0] in {"q", "risk", "sort", "after"}]
        given = [(name, str(value)) for name, value in fields if value]
        return f"{INBOX}?{urlencode(given)}" if given else INBOX

    def within(self, now: datetime, zone: tzinfo | None) -> tuple[datetime | None, datetime | None]:
        """From when and before when it ended, by the reader's days; both ``None`` for any time."""
        return (None, None) if "ended" in self.problems else _within(self.ended, now, zone)


_FIELDS = ("q", "by", "ended", "status", "risk", "sort")
_OF_ENDED = ("by", "ended", "status")


def read_filters(given: Mapping[str, str], *, sees_all: bool, now: datetime, zone: tzinfo | None) -> Filters:
    """The filters in an address. Without a tab, what only ended questions have leads to the history: to all of it if
    the reader ``sees_all``."""
    typed = {name: " ".join(given.get(name, "").split())[:LONGEST].replace("\0", "") for name in _FIELDS}
    problems: dict[str, str] = {}
    history = Tab.ALL if sees_all else Tab.MINE
    wanted = given.get("tab", "")
    tab = Tab(wanted) if wanted in set(Tab) else Tab.WAITING
    if wanted and wanted not in set(Tab):
        problems["tab"] = "There is no such list: this is what waits for you."
    if tab is Tab.WAITING and any(typed[name] for name in _OF_ENDED):
        tab = history
    if tab is Tab.ALL and not sees_all:
        tab, problems["tab"] = Tab.MINE, "All questions are for operators: these are those that you took part in."
    filters = replace(Filters(tab, after=given.get("after", "")), **typed)  # type: ignore[arg-type]
    if typed["status"] and filters.status_wanted is None:
        problems["status"] = f"There is no status “{typed['status']}”: it is one of {', '.join(STATUSES)}."
    if typed["risk"] and filters.risk_rank is None:
        problems["risk"] = f"There is no risk “{typed['risk']}”: it is one of {', '.join(Risk)}."
    if typed["sort"] and typed["sort"] not in set(Order):
        problems["sort"] = f"There is no order “{typed['sort']}”: it is one of {', '.join(Order)}."
    if typed["ended"] and _within(typed["ended"], now, zone) == (None, None):
        problems["ended"] = f"“{typed['ended']}” is no time. {_ENDED_WHEN}"
    return replace(filters, problems=problems)


def _within(ended: str, now: datetime, zone: tzinfo | None) -> tuple[datetime | None, datetime | None]:
    here = zone or UTC
    today = now.astimezone(here).date()
    try:
        first, last = _days(ended.lower(), today)
        return _midnight(first, here), _midnight(last + _DAY, here)
    except (ValueError, OverflowError):
        return None, None


def _days(ended: str, today: date) -> tuple[date, date]:
    """The first and the last of them. Raises :class:`ValueError`."""
    if ended == "today":
        return today, today
    if ended == "yesterday":
        return today - _DAY, today - _DAY
    if ended in _DAYS:
        return today - _DAY * (_DAYS[ended] - 1), today
    found = _RANGE.fullmatch(ended)
    if found is None:
        raise ValueError(ended)
    first = date.fromisoformat(found[1])
    last = first if found[2] is None else date.fromisoformat(found[2])
    if last < first:
        raise ValueError(ended)
    return first, last


def _midnight(day: date, zone: tzinfo) -> datetime:
    if not date(1971, 1, 1) <= day <= date(9000, 1, 1):
        raise ValueError(day)
    return datetime.combine(day, time(), zone).astimezone(UTC)


def identities_called(name: str, reader: str, everybody: Collection[Person]) -> frozenset[str]:
    """Whom ``by=`` means: ``me``, an address, a key's name, or how a person of the directory or their address is
    called."""
    wanted = name.casefold()
    if wanted == "me":
        wanted = reader
    known = (
        person.identities
        for person in everybody
        if wanted in {person.name.casefold(), *person.name.casefold().split()}
        or any(wanted in {one, one.partition("@")[0]} for one in person.identities)
    )
    return frozenset({canonical(wanted)}.union(*known))
