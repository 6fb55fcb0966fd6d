"""The sheet of figures. A goal that is missed is to be looked at; a limit that does not hold fails the run."""

from __future__ import annotations


class Sheet:
    """Prints each figure, and remembers what missed."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self.missed_goals: list[str] = []

    def at_most(self, name: str, value: float, limit: float, unit: str) -> None:
        """A limit: of what may grow, or of what others may take."""
        self._limit(name, value, f"≤ {limit:g} {unit}", unit, value <= limit)

    def exactly(self, name: str, value: float, wanted: float, unit: str) -> None:
        """A limit: nothing lost, nothing twice."""
        self._limit(name, value, f"= {wanted:g} {unit}", unit, value == wanted)

    def goal_at_most(self, name: str, ratio: float, goal: float) -> None:
        """A goal for two figures of this run, one as a multiple of the other."""
        self._goal(name, ratio, f"≤ {goal:g} ×", ratio <= goal)

    def goal_at_least(self, name: str, ratio: float, goal: float) -> None:
        self._goal(name, ratio, f"≥ {goal:g} ×", ratio >= goal)

    def note(self, name: str, value: float, unit: str) -> None:
        print(f"{name:<64} {value:>9.2f} {unit}", flush=True)

    def part(self, name: str) -> None:
        """What the following lines are about."""
        print(f"\n{name}", flush=True)

    def _limit(self, name: str, value: float, limit: str, unit: str, held: bool) -> None:
        print(f"{name:<64} {value:>9.2f} {unit:<9} {limit:<16} {'ok' if held else 'BROKEN'}", flush=True)
        if not held:
            self.broken.append(name)

    def _goal(self, name: str, ratio: float, goal: str, reached: bool) -> None:
        print(f"{name:<64} {ratio:>9.2f} {'×':<9} {goal:<16} {'ok' if reached else 'MISSED: look'}", flush=True)
        if not reached:
            self.missed_goals.append(name)
