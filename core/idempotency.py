"""Idempotency: the first reply to a repeatable request is kept in its own transaction, and given again.

Source: API.md §1, ``Idempotency-Key``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from core.database.database import Tx
from core.domain.reception import Counted, Recorded, Unrecorded
from core.domain.request import Opened
from core.domain.same_ask import Joined
from core.domain.suspension import Suspension
from core.errors import HandraiseError, IdempotencyConflict
from core.store.idempotency import Kept, keep_reply, kept_reply, wait_turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """An idempotent request: whose, under which key, of what content, and how its reply is written for"""

    owner: str
    key: str
    fingerprint: str
    write: Callable[[Any], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The first reply to the same request."""

    status: int
    body: str


def perform_once(tx: Tx, once: IdempotentRequest | None, now: datetime, perform: Callable[[], T]) -> T | Replayed:
    """What ``perform`` returns, or the kept reply. Refusals are not kept: the next try may succeed.

    Raises :class:`IdempotencyConflict` if the key was used with another request.
    """
    if once is None:
        return perform()
    wait_turn(tx, f"{once.owner}\n{once.key}")  # of two at once, the second finds the first one's reply
    kept = kept_reply(tx.conn, once.owner, once.key)
    if kept is not None:
        if kept.fingerprint != once.fingerprint:
            raise IdempotencyConflict("This Idempotency-Key was used with another request.")
        return Replayed(kept.status, kept.body)
    done = perform()
    if not isinstance(done, HandraiseError | Unrecorded):
        status, body = once.write(done)
        reply = Kept(once.fingerprint, status, body)
        keep_reply(tx, once.owner, once.key, reply, _suspension_of(done), now)
    return done


def _suspension_of(done: object) -> str | None:
    """The suspension whose life the reply is kept for."""
    if isinstance(done, Recorded | Counted | Joined | Opened):
        return done.suspension.id
    return done.id if isinstance(done, Suspension) else None
