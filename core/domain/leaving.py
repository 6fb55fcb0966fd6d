"""How much of an intent's log may be moved out together with its ended questions: a beginning of it, and no more.

Source: docs/decisions/0013.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from core.domain.vocabulary import CANCELLED, EXPIRED, RESUMED, SUSPENDED

_ENDS = {RESUMED, EXPIRED, CANCELLED}


class Line(Protocol):
    """A line of the log, as far as it matters here."""

    @property
    def position(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, JsonValue]: ...


@dataclass(frozen=True, slots=True)
class Leaving:
    """The log up to ``position`` goes, and with it the suspensions ``ids``, whose last lines are there."""

    position: int
    ids: tuple[str, ...]


def how_far(lines: Iterable[Line], wanted: Collection[str]) -> Leaving | None:
    """What may go of a log (``lines``, oldest first) where the suspensions ``wanted`` shall go.

    It ends before the first question that stays, and at the last line of one that goes. ``None`` where nothing may.
    """
    left, gone, position = set(wanted), list[str](), 0
    for line in lines:
        named = line.payload.get("suspension_id")
        if line.type == SUSPENDED and named not in wanted:
            break
        if line.type in _ENDS and named in left:
            left.discard(named)
            gone.append(named)
            position = line.position
        if not left:
            break
    return Leaving(position, tuple(gone)) if gone else None
