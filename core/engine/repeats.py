"""Repeated asks: an ask that repeats an open question joins it, and one that was just denied may be refused.

The transaction that would open the question decides. Asks that may be the same wait for each other there before
anything else is locked, so that of two at once the second finds the first one's question.

Source: API.md §2, "The same ask again"; docs/decisions/0091.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.database.database import Tx
from core.domain.request import AskRequest, action_digest
from core.domain.same_ask import SameAsk, digests_of, is_same
from core.domain.suspension import AskDigests, Suspension
from core.engine.ending import ended_in_time
from core.engine.outages import locked
from core.engine.transitions import Transitions
from core.errors import AlreadyDenied
from core.store import suspension_lists
from core.store.idempotency import wait_turn

REFUSED_FOR = timedelta(hours=1)
"""How long a no stands (API.md §2)."""


@dataclass(slots=True, eq=False)
class RepeatedAsks:
    """``policy`` is this installation's. One for a whole process: it may change."""

    policy: SameAsk = SameAsk.SHOW

    def become(self, policy: SameAsk) -> None:
        """From now on, this one."""
        self.policy = policy

    def joined(
        self, tx: Tx, request: AskRequest, creator: str, intent_id: str | None, transitions: Transitions, now: datetime
    ) -> Suspension | None:
        """The open question of ``creator``'s that ``request`` asks again, its intent locked. With an ``intent_id`` only
        that intent's. Nothing may be locked in this transaction before."""
        digests = digests_of(request)
        action = action_digest(request.action)
        by_terms = action if self.policy is SameAsk.JOIN else None
        _wait_for_the_same(tx, request, creator, digests, by_terms)
        for one in _open(tx, request, creator, digests, by_terms):
            if intent_id in {None, one.ask.intent_id} and is_same(one, digests, self.policy):
                found = _still_open(tx, one, transitions, now)
                if found is not None:
                    return found
        return None

    def check(self, tx: Tx, action: str | None, creator: str, now: datetime) -> None:
        """Raises :class:`AlreadyDenied` if people have just said no to the action with this digest."""
        if self.policy is not SameAsk.REFUSE or action is None:
            return
        found = suspension_lists.denied(tx.conn, creator, action, now - REFUSED_FOR)
        if found is None or found.ended is None:
            return
        message = f"This action was denied within the last hour ({found.ask.ref})."
        raise AlreadyDenied(message, ref=found.ask.ref, reason=found.ended.reason)


def _wait_for_the_same(tx: Tx, request: AskRequest, creator: str, digests: AskDigests, by_terms: str | None) -> None:
    """In this order, so that no two wait for each other."""
    if digests.body is not None:
        wait_turn(tx, f"invocation\n{creator}\n{request.resume.session_id}\n{request.resume.invocation_id}")
    if by_terms is not None:
        wait_turn(tx, f"action\n{creator}\n{by_terms}")


def _open(tx: Tx, request: AskRequest, creator: str, digests: AskDigests, by_terms: str | None) -> Iterator[Suspension]:
    if digests.body is not None:
        yield from suspension_lists.open_of_invocation(tx.conn, creator, request.resume)
    if by_terms is not None:
        yield from suspension_lists.open_of_action(tx.conn, creator, by_terms)


def _still_open(tx: Tx, found: Suspension, transitions: Transitions, now: datetime) -> Suspension | None:
    """As it stands once its intent is locked: it may have been answered meanwhile, or its time may be over."""
    intent, suspension = locked(tx, found.id, transitions, now)
    if intent is None or suspension is None or not suspension.is_open:
        return None
    suspension = ended_in_time(tx, intent, suspension, transitions, now)
    return suspension if suspension.is_open else None
