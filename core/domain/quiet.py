"""When the attempts of a ladder go out where some of them keep quiet outside working hours. Pure.

Source: docs/decisions/0008-quiet-hours.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def quiet_times(
    due: Sequence[datetime], opens: Sequence[datetime | None], latest: datetime | None
) -> tuple[datetime, ...]:
    """When each attempt goes out: at its opening where it has one, but never after the attempt that follows, and the
    last never after ``latest``.

    ``due`` are the ladder's own times, one later than the other. Attempts that come to the same time are one: the
    last of them is sent, and says which ones it stands for. So nobody waits for somebody else's morning.
    """
    times: list[datetime] = []
    following = latest
    for own, opening in zip(reversed(due), reversed(opens), strict=True):
        at = own if opening is None else max(own, opening)
        if following is not None:
            at = max(own, min(at, following))
        times.append(at)
        following = at
    return tuple(reversed(times))
