"""How much of a question a mail has room for."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_MAILTO = 1_900
"""Characters. Some mail programs cut longer links."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much of each part a mail has room for: characters, and how many rows, notes and choices."""

    question: int
    value: int
    rows: int
    note: int
    notes: int
    label: int
    description: int
    choices: int
    mailto: int = LONGEST_MAILTO


ROOMS = (
    Room(10_000, 2_000, 50, 10_000, 50, 1_000, 3_000, 100),
    Room(6_000, 500, 50, 1_000, 10, 300, 300, 60, mailto=600),
    Room(3_000, 200, 50, 500, 5, 150, 100, 40, mailto=0),
    Room(1_000, 80, 30, 200, 3, 80, 40, 40, mailto=0),
)
"""Tried one after another until the mail is small enough; the last always is."""
