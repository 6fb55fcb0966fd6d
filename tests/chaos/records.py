"""What the outside world has seen of a run, as values: what was asked, given, called back, killed and spoiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from tests.chaos.plan import Act, Question


def now() -> datetime:
    return datetime.now(UTC)


_ON_ITS_WAY = timedelta(seconds=2)
"""What has left a process arrives within this."""


class Hardship(StrEnum):
    """What a run goes through, beside vendors and an agent that fail all the time."""

    KILL = "kill -9"
    DATABASE_AWAY = "PostgreSQL stopped or crashed"
    LOST_COMMIT = "a commit whose acknowledgement is lost"
    FREEZE = "SIGSTOP"
    SIGTERM = "SIGTERM under load"
    CLOCK = "a clock set forward"
    FULL_DISK = "a full disk"
    DEAD_DISK = "a dead disk"
    SILENT_AGENTS = "agents that answer nothing"


WEATHER = frozenset({Hardship.KILL, Hardship.DATABASE_AWAY, Hardship.LOST_COMMIT})
"""What strikes at any moment, unless something that is looked at by itself is under way."""


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
class Freeze:
    """While a process stood still (SIGSTOP); without an ``end`` it still does.

    ``in_hand`` are the delivery ids that it had leased. ``taken_over_at`` is when others that work beside it must have
    noticed, ``None`` where there were none.
    """

    name: str
    begin: datetime
    end: datetime | None = None
    in_hand: frozenset[str] = frozenset()
    taken_over_at: datetime | None = None

    def had_on_the_wire(self, at: datetime) -> bool:
        """Whether what arrived ``at`` this moment may have left the process before it froze."""
        return self.begin - _ON_ITS_WAY <= at <= self.begin + _ON_ITS_WAY

    def holds(self, at: datetime) -> bool:
        """Whether it stood still ``at`` this moment, and nothing of its own was on its way any more."""
        return self.end is not None and self.begin + _ON_ITS_WAY < at < self.end


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of a SIGTERM: after how many ``seconds``, and with which ``status``; ``None`` where it never ended.

    ``in_hand`` is how many rows it was sending, ``None`` if that did not matter.
    """

    name: str
    seconds: float
    status: int | None
    in_hand: int | None = None


@dataclass(frozen=True, slots=True)
class ClockSet:
    """The service's clock was set ``by`` so much, ``at`` this moment of the system's clock. ``before`` is by how much
    it was before the system's clock until then."""

    at: datetime
    by: timedelta
    before: timedelta

    @property
    def seen_at(self) -> datetime:
        """The moment, as the service's clock had it."""
        return self.at + self.before


@dataclass(slots=True)
class BadDisk:
    """While the disk of the database took little (``dead``: nothing). ``probes`` is what somebody was told who tried
    all along; without an ``end`` it still is so."""

    dead: bool
    begin: datetime
    end: datetime | None = None
    probes: list[Probe] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Probe:
    """``ready`` is what ``/readyz`` said, ``made`` what making something was answered; 0 where nothing came."""

    at: datetime
    ready: int
    made: int


@dataclass(slots=True)
class Records:
    """Grows while the run lasts. ``due`` is what the run has to go through at least once, ``suffered`` how often it
    has. ``in_flight`` are the delivery ids that were being sent at a kill; ``kills`` are by the name of the process.
    ``alone`` and ``beside`` are how many seconds an agent waited for its callback, each time, without and beside others
    that answer nothing."""

    due: frozenset[Hardship] = frozenset()
    suffered: Counter[Hardship] = field(default_factory=Counter)
    asked: list[Asked] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kills: list[tuple[str, datetime]] = field(default_factory=list)
    in_flight: set[str] = field(default_factory=set)
    outages: list[Outage] = field(default_factory=list)
    ended_by_themselves: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    server_errors: list[str] = field(default_factory=list)
    freezes: list[Freeze] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    clock_sets: list[ClockSet] = field(default_factory=list)
    bad_disks: list[BadDisk] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)

    def have_suffered(self, hardships: Iterable[Hardship]) -> bool:
        """Whether each of these has come at least once."""
        return all(self.suffered[one] for one in hardships)

    def was_away(self, at: datetime, before: timedelta, after: timedelta = timedelta(seconds=1)) -> bool:
        """Whether the database was away at ``at``, or so shortly ``before`` or ``after`` an outage."""
        return any(outage.holds(at, before, after) for outage in self.outages)

    def was_frozen(self, at: datetime) -> bool:
        """Whether what arrived ``at`` this moment may have left a process that froze then."""
        return any(freeze.had_on_the_wire(at) for freeze in self.freezes)

    def by_the_wall(self, at: datetime) -> datetime:
        """What the system's clock showed when the service's showed ``at``; the first time, where it did so twice."""
        wall = at
        for one in self.clock_sets:
            if wall < one.at:
                return wall
            wall = max(at - one.before - one.by, one.at)  # then, or it was left out
        return wall

    def killed_soon_after(self, name: str, at: datetime, within: timedelta) -> bool:
        return any(name == killed and at <= when <= at + within for killed, when in self.kills)
