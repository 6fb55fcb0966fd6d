"""What must be true after what happens to hosts rather than to vendors: processes that freeze or are to end, clocks
that are set, disks that are full, agents that answer nothing. Pure; see ``invariants``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from statistics import median

from core.domain.vocabulary import EXPIRED, RENOTIFIED
from tests.chaos.evidence import Evidence, Story
from tests.chaos.records import BadDisk, ClockSet

WITHIN = 12.0
"""Seconds for a process to end in (API.md §9, and what it takes to notice)."""
WAKING = timedelta(seconds=5)
"""So long after it goes on, a process still sends what it had in memory."""
_ROUNDED = timedelta(seconds=1)
"""By so much an outage may be taken for shorter than it was."""
_BEAT = timedelta(seconds=3)
"""A clock that was set counts from the next beat on, which comes within this on a busy machine."""
_NOTICED = timedelta(seconds=3)
_AT_ONCE = timedelta(seconds=0.5)
_TWICE, _AND_A_MOMENT = 2.0, 0.5
"""A callback may take this many times as long beside silent agents, and this many seconds for a busy machine."""


def whatever_is_due_has_come(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A storm that has left something out has shown nothing about it."""
    for hardship in sorted(evidence.records.due):
        yield "-", None if evidence.records.suffered[hardship] else f"it has never come to {hardship}"


def others_take_over(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A worker that has been frozen for long is taken for dead: others send what it had in hand."""
    arrivals = _arrivals(evidence)
    for freeze in evidence.records.freezes:
        if freeze.taken_over_at is None or freeze.end is None or freeze.end <= freeze.taken_over_at:
            continue
        by_others = [one for one in freeze.in_hand if any(freeze.holds(at) for at in arrivals.get(one, []))]
        left = f"{freeze.name} froze with {len(freeze.in_hand)} rows in hand, and nobody sent one of them"
        yield "-", None if by_others else left


def the_frozen_ask_first(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """What arrived while it stood still was sent by another: it does not come again once it goes on."""
    records = evidence.records
    refs = {story.suspension.id: story.ref for story in evidence.stories.values()}
    for freeze in records.freezes:
        for delivery, times in _arrivals(evidence).items():
            if freeze.end is None or not any(freeze.holds(at) for at in times):
                continue
            row = evidence.rows.get(delivery)
            ref = refs.get(row.suspension_id or "", "-") if row is not None else delivery
            again = any(freeze.end <= at <= freeze.end + WAKING for at in times)
            excused = not again or evidence.is_doubtful(delivery)
            yield ref, None if excused else f"{freeze.name} froze, and sent again what another had sent"


def _arrivals(evidence: Evidence) -> dict[str, list[datetime]]:
    """When each message came, and each callback that its agent took."""
    found: dict[str, list[datetime]] = {}
    for one in evidence.arrivals:
        found.setdefault(one.delivery, []).append(one.at)
    for call in evidence.records.calls:
        if call.status is not None and call.status < 300:
            found.setdefault(call.webhook_id, []).append(call.at)
    return found


def a_clock_takes_no_time(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """Set forward by more than the grace, it counts as an outage: whatever was still to come moves by it."""
    sets = [one for one in evidence.records.clock_sets if one.by > timedelta()]
    for one in sets:
        if not any(_was_open_at(story, one) for story in evidence.stories.values()):
            yield "-", "no question was open as the clock was set: nothing was shown"
    for story in evidence.stories.values():
        forward = [one for one in sets if _was_open_at(story, one)]
        if forward:
            yield story.ref, _hurried(story, forward)


def _was_open_at(story: Story, one: ClockSet) -> bool:
    ended = story.suspension.ended
    return story.suspension.ask.suspended_at < one.seen_at and (ended is None or ended.at > one.seen_at)


def _hurried(story: Story, forward: list[ClockSet]) -> str | None:
    """What came too early, by the clock as it was set."""
    ask, last = story.suspension.ask, 1
    for event in story.events:
        if event.type == RENOTIFIED:
            number = int(str(event.payload["attempt"]))
            if event.created_at < _moved(ask.due_at(number), forward) - _ROUNDED and not story.all_refused(last):
                return f"attempt {number} came early, by a clock that was set"
            last = number
        end = ask.expires_at
        if event.type == EXPIRED and end is not None and event.created_at < _moved(end, forward) - _ROUNDED:
            return f"it expired early after attempt {last} of {ask.max_attempts}, by a clock that was set"
    return None


def _moved(at: datetime, forward: list[ClockSet]) -> datetime:
    """When something agreed for ``at`` is due; what was due before a set clock counted does not move."""
    for one in forward:
        at += one.by if at > one.seen_at + _BEAT else timedelta()
    return at


def a_bad_disk_is_503(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """And 200 or 201 as long as it takes something; never an error of ours, never silence."""
    for disk in evidence.records.bad_disks:
        yield "-", _told_otherwise(disk)


def _told_otherwise(disk: BadDisk) -> str | None:
    """What was told that should not have been."""
    what = "a dead disk" if disk.dead else "a full disk"
    during = [one for one in disk.probes if disk.end is None or one.at < disk.end]
    if not during or not all({one.ready, one.made} <= {200, 201, 503} for one in during):
        return f"{what}: answered {sorted({one.made for one in during} | {one.ready for one in during})}"
    if not any(one.made == 503 for one in during):
        return f"{what}: it took everything, so nothing was shown"
    if disk.dead and any(one.made == 201 and one.at > disk.begin + _AT_ONCE for one in during):
        return f"{what}: something was acknowledged that could not be kept"
    if disk.dead and any(one.ready == 200 and one.at > disk.begin + _NOTICED for one in during):
        return f"{what}: /readyz was 200 all the same"
    last = disk.probes[-1]
    return None if (last.ready, last.made) == (200, 201) else f"{what}: not well again when it was"


def the_silent_delay_nobody(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """The median of a healthy agent's wait, beside silent ones and without."""
    alone, beside = evidence.records.alone, evidence.records.beside
    if alone and beside:
        most = _TWICE * median(alone) + _AND_A_MOMENT
        late = median(beside) > most
        yield "-", f"{median(beside):.2f} s beside silent agents, {median(alone):.2f} s without" if late else None


def whoever_is_asked_to_end_ends(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for ending in evidence.records.endings:
        if ending.status is None:
            yield "-", f"{ending.name} did not end"
        elif ending.status != 0:
            yield "-", f"{ending.name} ended with status {ending.status}"
        elif ending.in_hand == 0:
            yield "-", f"{ending.name} had nothing in hand as it was asked to end: nothing was shown"
        else:
            late = ending.seconds > WITHIN
            yield "-", f"{ending.name} took {ending.seconds:.1f} s to end" if late else None
