"""Quiet attempts: which of a draft's attempts wait for somebody's hours, decided when the question opens.

An attempt waits where its rung is quiet and everybody whom it asks is outside their hours. A shared place, and a
person without hours, is always there.

Source: docs/decisions/0008-quiet-hours.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from core.domain.quiet import quiet_times
from core.domain.suspension import Ask, PlannedAttempt
from core.domain.wire import instant
from core.opening import Draft
from core.planning import Problem
from core.ports import Responders

WAITS = "waits_for_opening"


def waiting_for_openings(draft: Draft, responders: Responders, now: datetime) -> Draft:
    """The draft with the times of its quiet attempts, and a notice about each that waits."""
    if not any(step.quiet for step in draft.plan.attempts):
        return draft
    ask = draft.ask(suspension_id="", ref="", intent_id="", created_by="", now=now)
    due = [ask.due_at(step.number) for step in ask.attempts]
    opens = [_opening(step, at, responders) for step, at in zip(ask.attempts, due, strict=True)]
    times = quiet_times(due, opens, _latest(ask))
    steps = tuple(
        replace(step, waits_until=at) if at > own else step
        for step, own, at in zip(ask.attempts, due, times, strict=True)
    )
    plan = replace(draft.plan, attempts=steps, problems=(*draft.plan.problems, *_notices(steps)))
    return replace(draft, plan=plan)


def _latest(ask: Ask) -> datetime | None:
    """As for claims: nothing waits into the last half interval before the end (API.md §3)."""
    if ask.expires_at is None or ask.policy.interval is None:
        return None
    return ask.expires_at - ask.policy.interval / 2


def _opening(step: PlannedAttempt, at: datetime, responders: Responders) -> datetime | None:
    """When the first of those whom a quiet attempt asks is there, ``None`` for one that is not quiet."""
    if not step.quiet:
        return None
    addresses = [address for name in step.recipients for address in responders.addresses(name, step.channel)]
    opens = [at if one.person is None else responders.next_opening(one.person, at) for one in addresses]
    return min((opening for opening in opens if opening is not None), default=None)


def _notices(steps: tuple[PlannedAttempt, ...]) -> Iterator[Problem]:
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        if step.waits_until is None:
            continue
        until = f"Nobody whom attempt {step.number} asks is at work then: it waits until {instant(step.waits_until)}"
        if following is not None and following.waits_until == step.waits_until:
            until += f", and attempt {following.number} is sent instead"
        yield Problem(step.number, WAITS, f"{until}.", fatal=False)
