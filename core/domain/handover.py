"""Handing a question over to one person. Source: API.md §2, ``assign``; docs/decisions/0009."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from core.domain.suspension import Assignment, Suspension
from core.domain.vocabulary import ASSIGNED, Assigned, Event, NotifyPerson, Outcome
from core.domain.wire import instant


def hand_over(suspension: Suspension, signal: Assigned, now: datetime) -> Outcome:
    """The person is asked at once and may answer from now on. The ladder stays as it is; a claim that holds it passes
    to them with the end it had, so that nothing that waited goes out because of it.
    """
    claim = suspension.claim
    passed = None if claim is None or claim.until <= now else replace(claim, by=signal.to)
    others = tuple(one for one in suspension.assigned if one.to != signal.to)
    assigned = (*others, Assignment(signal.to, signal.by, now))
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "assigned_to": signal.to,
        "assigned_by": signal.by,
        "channel": signal.channel,
        "attempt": suspension.attempt,
        "claim_until": instant(passed.until) if passed else None,
    }
    handed = replace(suspension, assigned=assigned, claim=passed or claim)
    ask = NotifyPerson(suspension.attempt, signal.to, signal.channel)
    return Outcome(handed, (Event(ASSIGNED, payload, signal.by),), (ask,))
