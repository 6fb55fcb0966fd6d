"""Print the state diagram of ``core.domain.machine.MOVES`` as Mermaid: ``python docs/internals/draw_machine.py``."""

from __future__ import annotations

from collections import defaultdict

from core.domain.machine import MOVES
from core.domain.suspension import CLOSED, Status

ENDS = {
    "_attempt_due": {Status.EXPIRED, Status.RESPONDED},
    "_answer_given": {Status.RESPONDED},
    "_cancel": {Status.CANCELLED},
    "_give_up": {Status.CANCELLED},
    "_abandon": {Status.EXPIRED},
}
"""Moves that can end a suspension; every other one leaves it where it is."""

STAYS = {
    "_attempt_due",
    "_attempt_refused",
    "_answer_given",
    "_undo",
    "_claim",
    "_release",
    "_reschedule",
    "hand_over",
    "_ask_back",
    "_clarified",
}


def diagram() -> str:
    """One arrow for each change of state, with the signals that make it; a note says which leave a question open."""
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    staying: list[str] = []
    for (status, signal), move in MOVES.items():
        name = move.__name__
        if name == "_too_late":
            continue
        for end in sorted(ENDS.get(name, ())):
            arrows[status.value, end.value].append(signal.__name__)
        if name in STAYS:
            staying.append(signal.__name__)
    lines = ["stateDiagram-v2", f"    [*] --> {Status.AWAITING.value}: request"]
    lines += [f"    {start} --> {end}: {', '.join(signals)}" for (start, end), signals in arrows.items()]
    lines += [f"    {status.value} --> [*]" for status in sorted(CLOSED)]
    lines += [
        f"    note right of {Status.AWAITING.value}",
        "        It stays open at",
        *_wrapped(staying),
        "    end note",
    ]
    return "\n".join(lines)


def _wrapped(signals: list[str]) -> list[str]:
    """Three to a line, so that the note is not wider than the diagram."""
    rows = [", ".join(signals[i : i + 3]) for i in range(0, len(signals), 3)]
    return [f"        {row}" for row in rows]


if __name__ == "__main__":
    print(diagram())
