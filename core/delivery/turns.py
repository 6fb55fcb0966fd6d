"""Turns: which row of a channel is sent next.

Rows for one place (an agent's origin, a Slack conversation) are a lane, and lanes take turns, so that whoever is slow
delays nobody else.

    favoured   answers within :data:`PROMPT`           up to ``Width.each`` sends at once, and a reserve is theirs alone
    slow       answers, but later than that            up to :data:`SLOW_SENDS`
    unproven   nothing is known of it yet              one
    silent     a send timed out, none answered since   one at a time, with ever longer rests in between

Two steps keep turns fair: among groups (an agent's key), then among a group's lanes. A channel without lanes has one,
the common lane ``""``, which takes the whole width.

Nothing here waits, and nothing knows the database. May be used from the event loop only, but for :meth:`Turns.room`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

from core.store.outbox import Row

COMMON = ""
"""The lane of rows that have no place of their own."""
CAPACITY = 256
"""Rows that a favoured or common lane takes ahead of its senders; what does not fit stays in the database."""
SLOW_CAPACITY = 4
ALL_LANES = 4 * CAPACITY
"""Rows that all lanes of a channel take ahead together."""
PROMPT = timedelta(seconds=2)
SLOW_SENDS = 4
LONGEST_REST = timedelta(seconds=30)
_SOONER = 0.8
"""A rest is over before the row that caused it is due again, whose own wait varies by a fifth."""
REMEMBERED = 4096
"""Lanes without rows of which it is known how they answer."""


def whole_second(at: datetime) -> datetime:
    """The first whole second from ``at`` on: what waits for silent places comes due together, in one look."""
    return at if not at.microsecond else at.replace(microsecond=0) + timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Width:
    """How many sends may be under way at once: ``most`` on the channel, ``each`` in one lane. ``each`` is ``None``
    if all rows share the common lane."""

    most: int
    each: int | None = None

    @property
    def others(self) -> int:
        """Of ``most``, what lanes that are not favoured may take together."""
        return self.most - max(1, self.most // 8)

    @property
    def ahead(self) -> int:
        """How many rows the channel takes ahead."""
        return CAPACITY if self.each is None else ALL_LANES


class Manner(Enum):
    """How a lane has answered lately."""

    UNPROVEN = auto()
    PROMPT = auto()
    SLOW = auto()
    SILENT = auto()


@dataclass(slots=True, eq=False)
class _Lane:
    name: str
    manner: Manner = Manner.UNPROVEN
    silences: int = 0
    rests_until: datetime | None = None
    busy: int = 0
    waiting: deque[Row] = field(default_factory=deque)
    offered: bool = False

    @property
    def group(self) -> str:
        return self.name.partition("\n")[0]

    @property
    def is_favoured(self) -> bool:
        return self.name == COMMON or self.manner is Manner.PROMPT

    def may_send(self, width: Width) -> int:
        if self.name == COMMON or width.each is None:
            return width.most
        return {Manner.PROMPT: width.each, Manner.SLOW: min(SLOW_SENDS, width.each)}.get(self.manner, 1)

    def may_hold(self) -> int:
        """Rows that wait; of a lane that is not known to answer, the one under way counts, too."""
        if self.is_favoured:
            return CAPACITY
        return SLOW_CAPACITY if self.manner is Manner.SLOW else 1 - self.busy


class _Ring:
    """Lanes of one kind that could send now, in turn: one of the first group, then one of the next. At most ``most``
    sends of theirs are under way, ``of_a_group`` of one group."""

    def __init__(self, most: int, of_a_group: int) -> None:
        self._most = most
        self._of_a_group = of_a_group
        self._groups: OrderedDict[str, deque[_Lane]] = OrderedDict()
        self._busy: dict[str, int] = {}
        self._all_busy = 0

    def add(self, lane: _Lane) -> None:
        self._groups.setdefault(lane.group, deque()).append(lane)

    def take(self) -> _Lane | None:
        """The next lane that there is room for."""
        if self._all_busy >= self._most:
            return None
        name = next((one for one in self._groups if self._busy.get(one, 0) < self._of_a_group), None)
        if name is None:
            return None
        lanes = self._groups[name]
        lane = lanes.popleft()
        if lanes:
            self._groups.move_to_end(name)
        else:
            del self._groups[name]
        return lane

    def begun(self, group: str) -> None:
        self._all_busy += 1
        self._busy[group] = self._busy.get(group, 0) + 1

    def ended(self, group: str) -> None:
        self._all_busy -= 1
        self._busy[group] -= 1
        if not self._busy[group]:
            del self._busy[group]


class Turns:
    """The lanes of one channel: what waits, what is under way, and how each has answered."""

    def __init__(self, width: Width) -> None:
        self.width = width
        self.waiting = 0
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        most = width.most
        self._favoured = _Ring(most, most if width.each is None else max(width.each, most // 2))
        self._others = _Ring(width.others, max(1, width.others // 2))
        self._under_way: dict[str, _Ring] = {}

    def __iter__(self) -> Iterator[Row]:
        """Every row that waits."""
        return (row for lane in self._lanes.values() for row in lane.waiting)

    # --- Room ---------------------------------------------------------------------------------------------------------

    def room(self, name: str, now: datetime) -> int:
        """How many more rows the lane takes; safe to ask from any thread."""
        left = self.width.ahead - self.waiting
        lane = self._lanes.get(name)
        if lane is None:
            return max(0, min(left, CAPACITY if name == COMMON else 1))
        if lane.rests_until is not None and now < lane.rests_until:
            return 0
        return max(0, min(left, lane.may_hold() - len(lane.waiting)))

    def wants(self, name: str, now: datetime) -> bool:
        """Whether the lane has room for so many rows that fetching them is worth it."""
        lane = self._lanes.get(name)
        wanted = 1 if lane is None else max(1, lane.may_hold() // 2)
        return self.room(name, now) >= wanted

    def rests_until(self, name: str) -> datetime | None:
        lane = self._lanes.get(name)
        return None if lane is None else lane.rests_until

    # --- Turns --------------------------------------------------------------------------------------------------------

    def add(self, row: Row) -> None:
        lane = self._lanes.get(row.lane)
        if lane is None:
            lane = self._lanes[row.lane] = _Lane(row.lane)
        lane.waiting.append(row)
        self.waiting += 1
        self._offer(lane)

    def next(self) -> Row | None:
        """The row whose turn it is, which is under way from now on; ``None`` if no lane may send."""
        lane = self._next_lane()
        if lane is None:
            return None
        row = lane.waiting.popleft()
        ring = self._under_way[row.id] = self._ring_of(lane)
        self.waiting -= 1
        lane.busy += 1
        ring.begun(lane.group)
        self._offer(lane)
        return row

    def done(self, row: Row) -> None:
        """It is under way no longer."""
        lane = self._lanes[row.lane]
        lane.busy -= 1
        self._under_way.pop(row.id).ended(lane.group)
        self._offer(lane)
        self._forget(lane)

    def take_out(self, name: str | None = None) -> list[Row]:
        """What waits in the lane, or in all: it is no longer here."""
        return self._without([one for one in self._lanes.values() if name in {None, one.name}], lambda _: False)

    def remove(self, ids: Collection[str]) -> list[Row]:
        """Those of the rows ``ids`` that wait: they are no longer here."""
        return self._without(list(self._lanes.values()), lambda row: row.id not in ids)

    def _without(self, lanes: Iterable[_Lane], stays: Callable[[Row], bool]) -> list[Row]:
        out: list[Row] = []
        for lane in lanes:
            gone = [row for row in lane.waiting if not stays(row)]
            if gone:
                lane.waiting = deque(row for row in lane.waiting if stays(row))
                out += gone
                self._forget(lane)
        self.waiting -= len(out)
        return out

    def _next_lane(self) -> _Lane | None:
        if len(self._under_way) >= self.width.most:
            return None
        while (lane := self._favoured.take() or self._others.take()) is not None:
            lane.offered = False
            if lane.waiting and lane.busy < lane.may_send(self.width):
                return lane
        return None

    def _ring_of(self, lane: _Lane) -> _Ring:
        return self._favoured if lane.is_favoured else self._others

    def _offer(self, lane: _Lane) -> None:
        if not lane.offered and lane.waiting and lane.busy < lane.may_send(self.width):
            lane.offered = True
            self._ring_of(lane).add(lane)

    def _forget(self, lane: _Lane) -> None:
        """A lane without rows: one of which nothing is known, or of the others the longest unused."""
        if lane.busy or lane.waiting:
            return
        if lane.manner is Manner.UNPROVEN:
            self._lanes.pop(lane.name, None)
            return
        self._lanes.move_to_end(lane.name)
        if len(self._lanes) > REMEMBERED + len(self._under_way) + self.waiting:
            idle = next(one.name for one in self._lanes.values() if not one.busy and not one.waiting)
            del self._lanes[idle]

    # --- What is learned ----------------------------------------------------------------------------------------------

    def answered(self, name: str, took: timedelta) -> None:
        """A send in the lane came to an end, whatever it was told."""
        lane = self._lanes.get(name)
        if lane is not None and name != COMMON:
            lane.manner = Manner.PROMPT if took <= PROMPT else Manner.SLOW
            lane.silences, lane.rests_until = 0, None
            self._offer(lane)

    def silent(self, name: str, now: datetime, first: timedelta) -> datetime | None:
        """A send in the lane was not answered in time. Returns until when it rests: about ``first``, twice as long
        each further time; ``None`` if it does not."""
        lane = self._lanes.get(name)
        if lane is None or name == COMMON:
            return None
        lane.manner = Manner.SILENT
        if lane.rests_until is None or lane.rests_until <= now:  # of sends that fail together one counts
            rest: timedelta = first * (1 << min(lane.silences, 20))
            lane.silences += 1
            lane.rests_until = whole_second(now + min(rest, LONGEST_REST) * _SOONER)
        return lane.rests_until
