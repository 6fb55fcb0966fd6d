"""Claims of an incident: who works on it, computed from everything that people did to it. Pure.

Moves may be reported late, twice or in the wrong order. Each is put at its place in time, and the whole list is read
again. So a shuffled and repeated report ends as the ordered one does; the newest report does not simply win.

Source: facts on channels §C2, §C5; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

MOST = 100
"""How many of an incident's moves are remembered; the oldest leave first."""


class IncidentChange(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    GIVEN_BACK = "given_back"
    REOPENED = "reopened"
    LET_GO = "let_go"
    """Somebody is on one question no longer, by what happened elsewhere."""


TAKES = frozenset({IncidentChange.ACKNOWLEDGED, IncidentChange.RESOLVED})


@dataclass(frozen=True, slots=True)
class Move:
    """One action on an incident, done ``at`` a time. ``by`` is an identity, ``None`` for nobody in particular;
    ``may`` are the refs of the questions that this person could answer then, or that they have let go."""

    id: str
    at: datetime
    did: IncidentChange
    by: str | None = None
    may: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """``by`` is on it until ``until``."""

    by: str
    until: datetime


def with_move(moves: Iterable[Move], move: Move) -> tuple[Move, ...]:
    """All of them once, in the order in which they happened; at the same instant, in the order of arrival."""
    known = {one.id: one for one in (*moves, move)}
    return tuple(sorted(known.values(), key=lambda one: one.at))[-MOST:]


def let_go(moves: Sequence[Move], ref: str, by: str) -> Move:
    """Every claim of ``by`` on ``ref`` so far ends: they gave it back elsewhere, or have answered. It takes the
    instant of their last move, so that a later one counts again."""
    at = max(move.at for move in moves if move.did in TAKES and move.by == by)
    return Move(f"{IncidentChange.LET_GO} {ref} {by} {at.isoformat()}", at, IncidentChange.LET_GO, by, (ref,))


def standing(moves: Sequence[Move], ref: str, hold: timedelta, now: datetime) -> StandingClaim | None:
    """Who is on the question ``ref`` at ``now``, after all of ``moves``, each of which holds for ``hold``.

    Of all who claimed it since it was last given back, the first one whose time is not up; a further claim of theirs
    renews it.
    """
    held: dict[str, StandingClaim] = {}
    for move in moves:
        if move.did is IncidentChange.LET_GO:
            if move.by is not None and ref in move.may:
                held.pop(move.by, None)
        elif move.did not in TAKES:
            held.clear()
        elif move.by is not None and ref in move.may:
            held[move.by] = StandingClaim(move.by, move.at + hold)
    return next((one for one in held.values() if now < one.until), None)
