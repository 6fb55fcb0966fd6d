"""The sheet of figures: each beside its limit."""

from __future__ import annotations


class Sheet:
    """Prints each figure beside its limit, and remembers what missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_most(self, name: str, value: float, limit: float, unit: str) -> None:
        self._line(name, value, f"≤ {limit:g} {unit}", unit, value <= limit)

    def at_least(self, name: str, value: float, limit: float, unit: str) -> None:
        self._line(name, value, f"≥ {limit:g} {unit}", unit, value >= limit)

    def exactly(self, name: str, value: float, wanted: float, unit: str) -> None:
        self._line(name, value, f"= {wanted:g} {unit}", unit, value == wanted)

    def note(self, name: str, value: float, unit: str) -> None:
        print(f"{name:<56} {value:>9.2f} {unit}", flush=True)

    def part(self, name: str) -> None:
        """What the following lines are about."""
        print(f"\n{name}", flush=True)

    def _line(self, name: str, value: float, limit: str, unit: str, held: bool) -> None:
        print(f"{name:<56} {value:>9.2f} {unit:<9} {limit:<16} {'ok' if held else 'MISSED'}", flush=True)
        if not held:
            self.missed.append(name)
