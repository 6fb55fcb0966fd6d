"""Which callbacks were handled, so that each is handled once, however often the server sends it (API.md §5).

A callback is *running* while its handler works, and *done* afterwards. A store keeps the done ones for a week, which is
longer than the 72 hours for which the server repeats a callback. In memory, or with
:class:`handraise.callback_sqlite.SqliteCallbackStore` in a file that outlives the process; a store of your own has the
methods of :class:`CallbackStore`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Protocol

from handraise.errors import ConfigurationError

SERVER_TRIES_FOR = timedelta(hours=72)
"""How long the server repeats a callback that nobody accepts (API.md §5)."""

KEEP = timedelta(days=7)
MOST_IDS = 100_000


class CallbackState(Enum):
    """A store's state of an incoming callback."""

    NEW = "new"
    """Nobody is at it: it is the asking holder's from now on."""

    RUNNING = "running"
    """Somebody is at it, or at another one of the same session."""

    DONE = "done"


class CallbackStore(Protocol):
    """Which callbacks are running and done. Every method may be called from any thread and any event loop.

    ``holder`` names one run of one handler, so that an abandoned run changes nothing of the next one's.
    """

    @property
    def lease(self) -> timedelta | None:
        """How long a running callback stays its holder's without :meth:`renew`; ``None`` for ever."""

    async def begin(self, webhook_id: str, session_id: str | None, holder: str) -> CallbackState:
        """Begin ``webhook_id``, if it is new. Atomic: only one of several callers gets ``NEW``."""

    async def renew(self, webhook_id: str, holder: str) -> None:
        """The holder still works on it."""

    async def finish(self, webhook_id: str, holder: str) -> None:
        """Mark it as done. A second call changes nothing."""

    async def release(self, webhook_id: str, holder: str) -> None:
        """The run failed: it is new again, unless it is done or another holder's."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def checked_keep(keep: timedelta) -> timedelta:
    """Raises :class:`ConfigurationError` if ``keep`` is so short that a callback could be handled twice."""
    if keep < SERVER_TRIES_FOR:
        raise ConfigurationError("keep must be at least 72 hours: for so long the server repeats a callback.")
    return keep


@dataclass(frozen=True, slots=True)
class _Running:
    session_id: str | None
    holder: str


@dataclass
class MemoryCallbackStore:
    """For one process, and for as long as it lives: after a restart a repeated callback is handled again.

    At most ``most_ids`` done ids are kept; beyond them the oldest is forgotten.
    """

    keep: timedelta = KEEP
    most_ids: int = MOST_IDS
    now: Callable[[], datetime] = utc_now
    lease: timedelta | None = field(default=None, init=False)
    _running: dict[str, _Running] = field(default_factory=dict, init=False, repr=False)
    _done: dict[str, datetime] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        checked_keep(self.keep)
        if self.most_ids < 1:
            raise ConfigurationError("most_ids must be at least 1.")

    async def begin(self, webhook_id: str, session_id: str | None, holder: str) -> CallbackState:
        with self._lock:
            self._forget()
            if webhook_id in self._done:
                return CallbackState.DONE
            if webhook_id in self._running or self._is_busy(session_id):
                return CallbackState.RUNNING
            self._running[webhook_id] = _Running(session_id, holder)
            return CallbackState.NEW

    async def renew(self, webhook_id: str, holder: str) -> None:
        """Nothing lapses here."""

    async def finish(self, webhook_id: str, holder: str) -> None:
        with self._lock:
            self._running.pop(webhook_id, None)
            self._done.setdefault(webhook_id, self.now())

    async def release(self, webhook_id: str, holder: str) -> None:
        with self._lock:
            running = self._running.get(webhook_id)
            if running is not None and running.holder == holder:
                del self._running[webhook_id]

    def _is_busy(self, session_id: str | None) -> bool:
        return session_id is not None and any(one.session_id == session_id for one in self._running.values())

    def _forget(self) -> None:
        """The oldest come first."""
        too_old = self.now() - self.keep
        while self._done:
            oldest = next(iter(self._done))
            if self._done[oldest] >= too_old and len(self._done) < self.most_ids:
                return
            del self._done[oldest]
