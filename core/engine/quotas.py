"""Quotas: how much one API key may ask. Open questions at once, and new ones within a minute.

They are checked in the transaction that opens the question, so that no number of callers at once gets past. SQLite has
one writer anyway; on PostgreSQL the callers of one key wait for each other. A key without a quota costs nothing.

Source: API.md §2, ``quota_exceeded``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from core.database.database import Tx
from core.database.locks import lock_name
from core.errors import QuotaExceeded
from core.store import suspensions

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Quota:
    """What one key may ask; ``None`` is no limit."""

    open: int | None = None
    per_minute: int | None = None

    def over(self, below: Quota) -> Quota:
        """Field by field: this quota's limit if it sets one, else the limit of ``below``."""
        return Quota(
            below.open if self.open is None else self.open,
            below.per_minute if self.per_minute is None else self.per_minute,
        )


@dataclass(slots=True, eq=False)
class Quotas:
    """``of_keys`` by the key's name; ``everybody`` for the others. One for a whole process: it may change."""

    everybody: Quota = Quota()
    of_keys: Mapping[str, Quota] = field(default_factory=dict)

    def become(self, other: Quotas) -> None:
        """From now on, what ``other`` says."""
        self.everybody, self.of_keys = other.everybody, other.of_keys

    def of(self, key: str) -> Quota:
        return self.of_keys.get(key, self.everybody)

    def check(self, tx: Tx, key: str, now: datetime) -> None:
        """Raises :class:`QuotaExceeded` if one more question of ``key`` would be too many."""
        quota = self.of(key)
        if quota == Quota():
            return
        _wait_for_the_same_key(tx, key)
        if quota.open is not None:
            _check_open(tx, key, quota.open)
        if quota.per_minute is not None:
            _check_rate(tx, key, quota.per_minute, now)


NO_QUOTAS = Quotas()


def _wait_for_the_same_key(tx: Tx, key: str) -> None:
    """Until whoever was first has committed: what they asked must be counted."""
    lock_name(tx, f"quota\n{key}")


def _check_open(tx: Tx, key: str, limit: int) -> None:
    current = suspensions.count_open_by(tx.conn, key)
    if current >= limit:
        message = (
            f"This key has {current} open questions; its quota is {limit}. An answer or a cancellation makes room."
        )
        raise QuotaExceeded(message, quota="open", limit=limit, current=current)


def _check_rate(tx: Tx, key: str, limit: int, now: datetime) -> None:
    asked = suspensions.asked_since(tx.conn, key, now - MINUTE)
    if len(asked) >= limit:
        room_at = asked[limit - 1] + MINUTE
        wait = max(math.ceil((room_at - now).total_seconds()), 1)
        message = f"This key has asked {len(asked)} questions within a minute; its quota is {limit}."
        raise QuotaExceeded(message, quota="per_minute", limit=limit, current=len(asked), retry_after=wait)
