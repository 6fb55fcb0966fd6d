"""Who is told what has happened: metrics and logs, by way of a port, so that core knows neither.

Everything here is told after the commit (what was rolled back has not happened) and in the event loop. An observer is
quick, keeps what it was told to itself, and never raises.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from core.domain.vocabulary import Outcome


class Observer(Protocol):
    """Hears of every transition, look and try of this process."""

    def moved(self, outcome: Outcome) -> None:
        """A suspension was opened or has moved; ``outcome`` is as it was written."""
        ...

    def looked(self, late: timedelta) -> None:
        """A suspension that was due was looked at, so long after it was due."""
        ...

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        """The relay has tried to send something that was due ``late`` ago. ``outcome`` is one of ``delivered``,
        ``deferred``, ``ambiguous``, ``refused`` and ``dropped``."""
        ...

    def callback_died(self, ref: str, reason: str) -> None:
        """The callback about question ``ref`` was given up, for ``reason``: its agent will not hear by itself."""
        ...

    def received(self, channel: str, door: str, kind: str) -> None:
        """Something has come in by ``door`` of ``channel`` and was read; ``kind`` says what it is."""
        ...

    def quarantined(self, channel: str, reason: str) -> None:
        """Something that came in could not be read, and is kept."""
        ...


class _Nobody:
    def moved(self, outcome: Outcome) -> None:
        pass

    def looked(self, late: timedelta) -> None:
        pass

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        pass

    def callback_died(self, ref: str, reason: str) -> None:
        pass

    def received(self, channel: str, door: str, kind: str) -> None:
        pass

    def quarantined(self, channel: str, reason: str) -> None:
        pass


UNOBSERVED: Observer = _Nobody()
"""Where nobody wants to know."""
