"""Rings: lanes that could send now, in turn. What a lane and its place are, and how many sends each may have.

A ring takes turns in three steps: one of the first group, then one of the next; within a group so among places; within
a place so among lanes, but a row's first try goes before every repeat. Sends under way are counted at each step.

Source: docs/decisions/0040.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from core.store.outbox import Row


class Responsiveness(Enum):
    """How a lane or a place has answered lately."""

    UNPROVEN = auto()
    PROMPT = auto()
    SLOW = auto()
    SILENT = auto()
    """Of a lane alone: a place is never given up for what hangs in it."""


@dataclass(slots=True, eq=False)
class Destination:
    """Where lanes of one group lead: an agent's origin. ``lingering`` are its sends that gave their turn away."""

    name: str
    manner: Responsiveness = Responsiveness.UNPROVEN
    lingering: int = 0


@dataclass(slots=True, eq=False)
class Lane:
    """The rows for one session, and how it has answered. ``offered``: it stands in a ring."""

    name: str
    place: Destination
    manner: Responsiveness = Responsiveness.UNPROVEN
    silences: int = 0
    rests_until: datetime | None = None
    busy: int = 0
    waiting: deque[Row] = field(default_factory=deque)
    offered: bool = False

    @property
    def group(self) -> str:
        return self.name.partition("\n")[0]

    @property
    def repeats(self) -> bool:
        """Whether the row whose turn comes was tried before."""
        return bool(self.waiting) and self.waiting[0].tries > 0


def place_of(name: str) -> str:
    """The place of a lane; a lane without a session is its own."""
    return "\n".join(name.split("\n", 2)[:2])


@dataclass(slots=True)
class _Queue:
    """The lanes of one place. If sends linger there, the newest and the oldest are taken in turn: somebody who answers
    does not wait for all that came before and hangs."""

    first: deque[Lane] = field(default_factory=deque)
    again: deque[Lane] = field(default_factory=deque)
    newest: bool = False

    def add(self, lane: Lane) -> None:
        (self.again if lane.repeats else self.first).append(lane)

    def take(self) -> Lane:
        lanes = self.first or self.again
        crowded = lanes[0].place.lingering > 0
        self.newest = crowded and not self.newest
        return lanes.pop() if self.newest else lanes.popleft()

    @property
    def is_empty(self) -> bool:
        return not self.first and not self.again


class Ring:
    """At most ``most`` sends are under way, ``of_group`` of one group, ``of_place`` at one place."""

    def __init__(self, most: int, of_group: int, of_place: int) -> None:
        self._most = most
        self._of_group = of_group
        self._of_place = of_place
        self._groups: OrderedDict[str, OrderedDict[str, _Queue]] = OrderedDict()
        self._in_group: Counter[str] = Counter()
        self._at_place: Counter[str] = Counter()
        self.busy = 0

    def add(self, lane: Lane) -> None:
        places = self._groups.setdefault(lane.group, OrderedDict())
        places.setdefault(lane.place.name, _Queue()).add(lane)

    def take(self) -> Lane | None:
        """The next lane that there is room for."""
        if self.busy >= self._most:
            return None
        for group, places in self._groups.items():
            if self._in_group[group] < self._of_group and (lane := self._take_of(places)) is not None:
                self._groups.move_to_end(group)
                if not places:
                    del self._groups[group]
                return lane
        return None

    def _take_of(self, places: OrderedDict[str, _Queue]) -> Lane | None:
        name = next((one for one in places if self._at_place[one] < self._of_place), None)
        if name is None:
            return None
        queue = places[name]
        lane = queue.take()
        places.move_to_end(name)
        if queue.is_empty:
            del places[name]
        return lane

    def has_room(self, group: str) -> bool:
        return self.busy < self._most and self._in_group[group] < self._of_group

    def begun(self, lane: Lane, *, at_place: bool = True) -> None:
        """A send is under way; one that lingers is not counted ``at_place``."""
        self.busy += 1
        self._in_group[lane.group] += 1
        if at_place:
            self._at_place[lane.place.name] += 1

    def gives_way(self, lane: Lane) -> None:
        """A send of the lane lingers: it is no longer counted at its place."""
        _less(self._at_place, lane.place.name)

    def ended(self, lane: Lane, *, at_place: bool = True) -> None:
        self.busy -= 1
        _less(self._in_group, lane.group)
        if at_place:
            _less(self._at_place, lane.place.name)


def _less(counted: Counter[str], name: str) -> None:
    counted[name] -= 1
    if not counted[name]:
        del counted[name]
