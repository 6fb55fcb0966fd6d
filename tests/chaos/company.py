"""What must be true of questions that several people have to do with, after any storm. Pure; see ``invariants``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from core.domain import quorum
from core.domain.suspension import Status
from core.domain.vocabulary import (
    ANSWER_RECORDED,
    ASSIGNED,
    CLARIFICATION_LAPSED,
    CLARIFICATION_REQUESTED,
    CLARIFIED,
    RENOTIFIED,
)
from core.store.event_log import Logged
from core.store.outbox import RowKind, RowStatus
from tests.chaos.evidence import Evidence, Story, asks_back

_ENOUGH = {"deny": 1}
"""A no counts by itself (API.md §4)."""


def two_are_two(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A question that needs several people has ended by the yes of as many, or by one no; or in another way."""
    for story in evidence.stories.values():
        suspension = story.suspension
        if not quorum.is_shared(suspension):
            continue
        answers, people = suspension.answers, {one.by for one in suspension.answers}
        given = Counter(str(one.value) for one in answers)
        reached = {
            value for value, number in given.items() if number >= _ENOUGH.get(value, suspension.ask.answers_required)
        }
        is_answered = suspension.status is Status.RESPONDED and suspension.ended is not None
        stands = {str(suspension.ended.value)} if is_answered and suspension.ended else set()
        told = [str(event.payload["responded_by"]) for event in story.events if event.type == ANSWER_RECORDED]
        last = {answers[-1].by} - set(told) if stands and answers else set()
        if len(people) != len(answers):
            yield story.ref, "somebody counted twice"
        elif reached != stands:
            yield story.ref, f"{suspension.status} as {sorted(stands)}, with {dict(given)}"
        elif sorted(told) != sorted(people - last):
            yield story.ref, f"{len(answers)} answers count, {len(told)} were recorded before the end"
        else:
            yield story.ref, None


def whoever_it_was_handed_to_is_asked(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for story in evidence.stories.values():
        for event in story.events:
            if event.type == ASSIGNED:
                asked = [row for row in story.of(RowKind.NOTIFY) if row.person == event.payload["assigned_to"]]
                yield story.ref, None if asked else "handed over to somebody who was never asked"


def whoever_asks_back_is_heard(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """The agent was called for each, unless the question went on before; the clock held, and went on once."""
    taken = {call.webhook_id for call in evidence.records.calls if call.status is not None and call.status < 300}
    for story in evidence.stories.values():
        called = [row for row in story.of(RowKind.RESUME) if asks_back(row)]
        asked = sum(event.type == CLARIFICATION_REQUESTED for event in story.events)
        if asked or called:
            heard = all(row.id in taken for row in called if row.status is RowStatus.DELIVERED)
            right = len(called) == asked and heard
            yield story.ref, None if right else f"asked back {asked} times, {len(called)} callbacks, or none taken"
        yield from ((story.ref, wrong) for wrong in _held(story))


def _held(story: Story) -> Iterator[str | None]:
    """What is wrong with each stretch for which the clock held."""
    since: Logged | None = None
    for event in story.events:
        if event.type == CLARIFICATION_REQUESTED:
            yield None if since is None else "asked back twice at once"
            since = event
        elif event.type in {CLARIFIED, CLARIFICATION_LAPSED}:
            since = None
        elif event.type == RENOTIFIED and since is not None:
            number = int(str(event.payload["attempt"]))
            yield None if story.all_refused(number - 1) else f"attempt {number} came while the agent was asked back"
