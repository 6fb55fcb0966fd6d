"""Turns: which row of a channel is sent next.

Rows for one session of an agent, or one Slack conversation, are a lane. Lanes take turns, so that whoever is slow
delays nobody else.

    prompt     answers within :data:`PROMPT`           up to ``LaneWidth.each`` sends at once
    slow       answers, but later than that            up to :data:`SLOW_SENDS`
    unproven   nothing is known of it yet              one
    silent     a send timed out, none answered since   one at a time, with ever longer rests in between

A lane's name is ``group\nplace\nsession``: an agent's key, its URL's origin, and whatever waits there. Turns are fair
in three steps: among groups, among a group's places, among a place's lanes. A new lane is trusted as its place is: one
that has answered promptly is *favoured*, and a reserve is for favoured lanes alone. Within a place a row's first try
goes before every repeat, and repeats have few sends of their own. A send that is not answered soon *lingers*: it gives
its turn at the place to the next one and goes on.

A channel without lanes has one, the common lane ``""``, which takes the whole width.

Nothing here waits, and nothing knows the database. May be used from the event loop only, but for :meth:`Turns.room`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.delivery.rings import Destination, Lane, Responsiveness, Ring, place_of
from core.store.outbox import Row

COMMON = ""
"""The lane of rows that have no place of their own."""
CAPACITY = 256
"""Rows that a favoured or common lane takes ahead of its senders; what does not fit stays in the database."""
SLOW_CAPACITY = 4
ALL_LANES = 4 * CAPACITY
"""Rows that all lanes of a channel take ahead together."""
PROMPT = timedelta(seconds=2)
LINGERS_AFTER = timedelta(seconds=1)
"""A send that takes longer gives its turn at its place to the next: who answers waits so long for those who hang."""
SLOW_SENDS = 4
AT_ONE_PLACE = 8
"""First tries under way at a place that is not known to answer promptly, and as many repeats."""
LONGEST_REST = timedelta(seconds=30)
_SOONER = 0.8
"""A rest is over before the row that caused it is due again, whose own wait varies by a fifth."""
REMEMBERED = 4096
"""Lanes without rows, and places, of which it is known how they answer."""


def whole_second(at: datetime) -> datetime:
    """The first whole second from ``at`` on: what waits for silent places comes due together, in one look."""
    return at if not at.microsecond else at.replace(microsecond=0) + timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class LaneWidth:
    """How many sends may be under way at once: ``most`` on the channel, ``each`` in one lane. ``each`` is ``None``
    if all rows share the common lane."""

    most: int
    each: int | None = None

    @property
    def others(self) -> int:
        """Of ``most``, what lanes that are not favoured may take together."""
        return self.most - max(1, self.most // 8)

    @property
    def repeats(self) -> int:
        """Of what the others may take, what goes to lanes that said nothing last time."""
        return max(1, self.others // 4)

    @property
    def ahead(self) -> int:
        """How many rows the channel takes ahead."""
        return CAPACITY if self.each is None else ALL_LANES


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A send, and the ring that counts it."""

    lane: Lane
    ring: Ring
    lingers: bool = False


class Turns:
    """The lanes of one channel: what waits, what is under way, and how each has answered."""

    def __init__(self, width: LaneWidth) -> None:
        self.width = width
        self.waiting = 0
        self._repeats_waiting = 0
        self._lanes: OrderedDict[str, Lane] = OrderedDict()
        self._places: OrderedDict[str, Destination] = OrderedDict()
        most, each = width.most, width.most if width.each is None else width.each
        self._favoured = Ring(most, most if width.each is None else max(each, most // 2), each)
        self._others = Ring(width.others, max(1, width.others // 2), AT_ONE_PLACE)
        self._repeats = Ring(width.repeats, max(1, width.repeats // 2), AT_ONE_PLACE)
        self._under_way: dict[str, _UnderWay] = {}

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
        if lane.manner is Responsiveness.SILENT:  # however many hang, there is room for whoever has not been tried
            left = min(left, self.width.ahead // 2 - self._repeats_waiting)
        return max(0, min(left, _may_hold(lane) - len(lane.waiting)))

    def wants(self, name: str, now: datetime) -> bool:
        """Whether the lane has room for so many rows that fetching them is worth it."""
        lane = self._lanes.get(name)
        wanted = 1 if lane is None else max(1, _may_hold(lane) // 2)
        return self.room(name, now) >= wanted

    def rests_until(self, name: str) -> datetime | None:
        lane = self._lanes.get(name)
        return None if lane is None else lane.rests_until

    # --- Turns --------------------------------------------------------------------------------------------------------

    def add(self, row: Row) -> None:
        lane = self._lanes.get(row.lane)
        if lane is None:
            lane = self._lanes[row.lane] = Lane(row.lane, self._place(place_of(row.lane)))
        lane.waiting.append(row)
        self._count(row, 1)
        self._offer(lane)

    def next(self) -> Row | None:
        """The row whose turn it is, which is under way from now on; ``None`` if no lane may send."""
        lane = self._next_lane()
        if lane is None:
            return None
        ring = self._ring_of(lane)
        row = lane.waiting.popleft()
        self._under_way[row.id] = _UnderWay(lane, ring)
        self._count(row, -1)
        lane.busy += 1
        ring.begun(lane)
        self._offer(lane)
        return row

    def lingers(self, row: Row) -> bool:
        """``row`` is under way for longer than :data:`LINGERS_AFTER`: the next of its place has its turn. False if it
        has not: so many may linger and no more, and the common lane has no places."""
        send = self._under_way.get(row.id)
        if send is None or send.lingers or row.lane == COMMON:
            return False
        lane, ring = send.lane, send.ring
        if ring is self._favoured:
            if not self._others_have_room(lane.group):
                return False
            ring.ended(lane)
            ring = self._others
            ring.begun(lane, at_place=False)
        else:
            ring.gives_way(lane)
        self._under_way[row.id] = _UnderWay(lane, ring, lingers=True)
        lane.place.lingering += 1
        return True

    def done(self, row: Row) -> None:
        """It is under way no longer."""
        send = self._under_way.pop(row.id)
        lane = send.lane
        lane.busy -= 1
        send.ring.ended(lane, at_place=not send.lingers)
        lane.place.lingering -= send.lingers
        self._offer(lane)
        self._forget(lane)

    def take_out(self, name: str | None = None) -> list[Row]:
        """What waits in the lane, or in all: it is no longer here."""
        return self._without([one for one in self._lanes.values() if name in {None, one.name}], lambda _: False)

    def remove(self, ids: Collection[str]) -> list[Row]:
        """Those of the rows ``ids`` that wait: they are no longer here."""
        return self._without(list(self._lanes.values()), lambda row: row.id not in ids)

    def _without(self, lanes: Iterable[Lane], stays: Callable[[Row], bool]) -> list[Row]:
        out: list[Row] = []
        for lane in lanes:
            gone = [row for row in lane.waiting if not stays(row)]
            if gone:
                lane.waiting = deque(row for row in lane.waiting if stays(row))
                out += gone
                self._forget(lane)
        for row in out:
            self._count(row, -1)
        return out

    def _count(self, row: Row, by: int) -> None:
        self.waiting += by
        self._repeats_waiting += by if row.tries else 0

    def _next_lane(self) -> Lane | None:
        if len(self._under_way) >= self.width.most:
            return None
        while (lane := self._take()) is not None:
            lane.offered = False
            if lane.waiting and lane.busy < self._may_send(lane):
                return lane
        return None

    def _take(self) -> Lane | None:
        lane = self._favoured.take()
        if lane is None and self._others.busy + self._repeats.busy < self.width.others:
            lane = self._others.take() or self._repeats.take()
        return lane

    def _others_have_room(self, group: str) -> bool:
        return self._others.busy + self._repeats.busy < self.width.others and self._others.has_room(group)

    def _ring_of(self, lane: Lane) -> Ring:
        if _is_favoured(lane):
            return self._favoured
        said_nothing = lane.manner is Responsiveness.SILENT or (lane.manner is Responsiveness.UNPROVEN and lane.repeats)
        return self._repeats if said_nothing else self._others

    def _may_send(self, lane: Lane) -> int:
        if lane.name == COMMON or self.width.each is None:
            return self.width.most
        return {Responsiveness.PROMPT: self.width.each, Responsiveness.SLOW: min(SLOW_SENDS, self.width.each)}.get(
            lane.manner, 1
        )

    def _offer(self, lane: Lane) -> None:
        if not lane.offered and lane.waiting and lane.busy < self._may_send(lane):
            lane.offered = True
            self._ring_of(lane).add(lane)

    def _place(self, name: str) -> Destination:
        found = self._places.setdefault(name, Destination(name))
        self._places.move_to_end(name)
        if len(self._places) > REMEMBERED:
            self._places.popitem(last=False)
        return found

    def _forget(self, lane: Lane) -> None:
        """A lane without rows: one of which nothing is known, or of the others the longest unused."""
        if lane.busy or lane.waiting:
            return
        if lane.manner is Responsiveness.UNPROVEN:
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
            lane.manner = lane.place.manner = Responsiveness.PROMPT if took <= PROMPT else Responsiveness.SLOW
            lane.silences, lane.rests_until = 0, None
            self._offer(lane)

    def silent(self, name: str, now: datetime, first: timedelta) -> datetime | None:
        """A send in the lane was not answered in time. Returns until when it rests: about ``first``, twice as long
        each further time; ``None`` if it does not."""
        lane = self._lanes.get(name)
        if lane is None or name == COMMON:
            return None
        lane.manner = Responsiveness.SILENT
        if lane.rests_until is None or lane.rests_until <= now:  # of sends that fail together one counts
            rest: timedelta = first * (1 << min(lane.silences, 20))
            lane.silences += 1
            lane.rests_until = whole_second(now + min(rest, LONGEST_REST) * _SOONER)
        return lane.rests_until


def _is_favoured(lane: Lane) -> bool:
    """Whether it is trusted to answer promptly: by its own answers, or on its first try by those of its place."""
    if lane.name == COMMON or lane.manner is Responsiveness.PROMPT:
        return True
    return lane.manner is Responsiveness.UNPROVEN and lane.place.manner is Responsiveness.PROMPT and not lane.repeats


def _may_hold(lane: Lane) -> int:
    """Rows that wait; of a lane that is not known to answer, the one under way counts, too."""
    if lane.name == COMMON or lane.manner is Responsiveness.PROMPT:
        return CAPACITY
    return SLOW_CAPACITY if lane.manner is Responsiveness.SLOW else 1 - lane.busy
