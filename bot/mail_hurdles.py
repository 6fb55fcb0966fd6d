"""Mails that a mailbox could not hand out: a broken one must not stand before all that come after it.

Each is left alone for a while, longer each time, and tried again: it is as unread as before, and may be an answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.pauses import pauses


@dataclass(slots=True)
class Hurdles:
    """``longest``: seconds after which a mail is tried again at the latest. A ``mail`` is a key of its own."""

    longest: float = 900.0
    _until: dict[str, float] = field(default_factory=dict)
    _pauses: dict[str, Iterator[float]] = field(default_factory=dict)

    def met(self, mail: str) -> None:
        """The session did not survive it, or the server refused it."""
        self._until[mail] = time.monotonic() + next(self._pauses.setdefault(mail, pauses(self.longest)))

    def stands(self, mail: str) -> bool:
        """Whether it is not the time to try it again."""
        return time.monotonic() < self._until.get(mail, 0.0)

    def overcome(self, mail: str) -> None:
        self._until.pop(mail, None)
        self._pauses.pop(mail, None)
