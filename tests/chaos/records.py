"""What the outside world has seen of a run, as values: what was asked, given, called back, killed and spoiled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.chaos.plan import Act, Question


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """A 201."""

    question: Question
    outcome: dict[str, Any]

    @property
    def suspension_id(self) -> str:
        return str(self.outcome["suspension_id"])

    @property
    def ref(self) -> str:
        return str(self.outcome["ref"])


@dataclass(frozen=True, slots=True)
class Given:
    """One try to end a question, and what it was told. ``at`` is when it was told.

    ``firm`` means: the reply says that this very answer counts. Else it says only that whatever it meant is kept:
    by then the question must have ended, unless the person was told that it could not be saved (``excused``).
    """

    asked: Asked
    act: Act
    status: int
    at: datetime
    firm: bool = False
    kept: bool = False
    excused: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One callback of this ``type`` that reached the agent ``at`` this moment; ``status`` is what it answered, ``None``
    for a connection that it cut, or an answer that nobody waited for any more."""

    webhook_id: str
    suspension_id: str
    data: dict[str, Any]
    status: int | None
    at: datetime
    type: str


@dataclass(slots=True)
class Outage:
    """While the database was away; without an ``end`` it still is."""

    begin: datetime
    end: datetime | None = None

    def holds(self, at: datetime, before: timedelta, after: timedelta) -> bool:
        return self.begin - before <= at and (self.end is None or at <= self.end + after)


@dataclass(slots=True)
class Records:
    """Grows while the run lasts. ``in_flight`` are the delivery ids that were being sent at a kill; ``kills`` are by
    the name of the process."""

    asked: list[Asked] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kills: list[tuple[str, datetime]] = field(default_factory=list)
    in_flight: set[str] = field(default_factory=set)
    outages: list[Outage] = field(default_factory=list)
    ended_by_themselves: list[str] = field(default_factory=list)
    unclean_ends: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    server_errors: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)

    def was_away(self, at: datetime, before: timedelta, after: timedelta = timedelta(seconds=1)) -> bool:
        """Whether the database was away at ``at``, or so shortly ``before`` or ``after`` an outage."""
        return any(outage.holds(at, before, after) for outage in self.outages)

    def killed_soon_after(self, name: str, at: datetime, within: timedelta) -> bool:
        return any(name == killed and at <= when <= at + within for killed, when in self.kills)
