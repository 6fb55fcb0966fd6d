"""How long to wait before the next try, where what is tried may be away for days."""

from __future__ import annotations

from collections.abc import Iterator


def pauses(longest: float) -> Iterator[float]:
    """Seconds: 1, 2, 4 and so on, then ``longest`` for ever."""
    pause = 1.0
    while True:
        yield min(pause, longest)
        pause = min(2 * pause, longest)
