"""Who and when: one list of everybody who was asked, and of what comes next, up to the end. Pure.

What has happened comes from the question's rows of the outbox, what is to come from its frozen plan (``Ask.attempts``),
a claim, and the pause of all new notices. Of an ended question nothing is to come.

Source: API.md §3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.web.pages.moments import Moment, Reader
from bot.web.pages.person_names import PersonName
from bot.web.pages.reasons import told_reason, told_why_nobody
from core.domain.channels import RecipientKind, called
from core.domain.people import parse_recipient
from core.domain.silence import Comes, silence_of
from core.domain.suspension import PlannedAttempt, Suspension
from core.engine.notice_progress import NobodyReached, NoticeProgress
from core.store.outbox import RowKind, RowStatus
from core.store.sent_rows import SentRow

MOST_NAMED = 6
"""People in one line; the others are behind a fold."""


class StepMark(StrEnum):
    """What a line tells of; its sign is in the template."""

    DONE = "done"
    FAILED = "failed"
    WAITS = "waits"
    NOTED = "noted"
    """Something that people have done, or time."""
    NEXT = "next"
    END = "end"


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One line: ``channel`` to ``people`` (of whom ``others`` are folded), ``text``, and ``at``. ``again`` is the time
    of the next try."""

    mark: StepMark
    channel: str = ""
    people: tuple[PersonName, ...] = ()
    others: tuple[PersonName, ...] = ()
    text: str = ""
    at: Moment | None = None
    again: Moment | None = None
    value: str | None = None
    """At the end: the agent's fallback value."""


def steps(suspension: Suspension, progress: NoticeProgress, reader: Reader) -> tuple[TimelineStep, ...]:
    """``suspension`` is as its reader may see it, with people's identities."""
    past = [*_sent(progress.rows, reader), *_noted(suspension, progress, reader)]
    told = [step for _, step in sorted(past, key=lambda found: found[0])]
    if not suspension.is_open:
        return tuple(told)
    waiting = _waiting(progress.rows, reader)
    return (*told, *waiting, *_to_come(suspension, progress, reader), _end(suspension, reader))


# --- What has happened --------------------------------------------------------------------------------------------

_Told = tuple[datetime, TimelineStep]


def _sent(rows: Sequence[SentRow], reader: Reader) -> Iterator[_Told]:
    """Notices that are settled, those of one attempt together if the same has become of them."""
    settled = [row for row in _notices(rows) if row.settled_at is not None]
    for alike in _grouped(settled, lambda row: (row.attempt, row.channel, row.status, row.reason)):
        first = alike[0]
        at = max(row.settled_at or row.created_at for row in alike)
        done = first.status is RowStatus.DELIVERED
        why = "" if done or first.reason is None else told_reason(first.reason)
        mark = StepMark.DONE if done else StepMark.NOTED if first.status is RowStatus.DROPPED else StepMark.FAILED
        if mark is StepMark.NOTED:
            why = f"not sent: {why}" if why else "not sent"
        yield at, _step(mark, alike, reader, why, reader.moment(at))


def _noted(suspension: Suspension, progress: NoticeProgress, reader: Reader) -> Iterator[_Told]:
    for one in progress.nobody:
        yield one.at, _nobody(suspension, one, reader)
    for given in suspension.assigned:
        text = f"handed over by {reader.names.text(given.by)} to"
        yield given.at, TimelineStep(StepMark.NOTED, text, (reader.names.of(given.to),), at=reader.moment(given.at))
    for asked in suspension.clarifications:
        text = f"{reader.names.text(asked.by)} asked the agent back"
        yield asked.asked_at, TimelineStep(StepMark.NOTED, text=text, at=reader.moment(asked.asked_at))


def _nobody(suspension: Suspension, one: NobodyReached, reader: Reader) -> TimelineStep:
    channel = called(suspension.ask.planned(one.attempt).channel)
    text = f"nobody could be asked by {channel}, because {told_why_nobody(one.reasons)}"
    return TimelineStep(StepMark.FAILED, text=text, at=reader.moment(one.at))


# --- What waits, and what is to come ------------------------------------------------------------------------------


def _waiting(rows: Sequence[SentRow], reader: Reader) -> Iterator[TimelineStep]:
    """Notices on their way: the first try, or another one after what went wrong."""
    pending = [row for row in _notices(rows) if row.settled_at is None]
    for alike in _grouped(pending, lambda row: (row.attempt, row.channel, row.reason, row.status)):
        first = alike[0]
        is_held = first.reason == "paused"
        if first.reason is None:
            yield _step(StepMark.WAITS, alike, reader, "on its way")
        elif is_held:
            yield _step(StepMark.WAITS, alike, reader, told_reason(first.reason))
        else:
            soonest = min(row.due_at for row in alike)
            again = reader.moment(max(soonest, reader.now))
            yield _step(StepMark.FAILED, alike, reader, told_reason(first.reason), again=again)


def _to_come(suspension: Suspension, progress: NoticeProgress, reader: Reader) -> Iterator[TimelineStep]:
    """The attempts that are left, if nobody answers. Asking back holds all of them."""
    if suspension.asks_back is not None:
        return
    claim, end = suspension.claim, suspension.expires_at
    held = claim if claim is not None and claim.until > reader.now else None
    numbers = range(suspension.attempt + 1, suspension.ask.max_attempts + 1)
    for number in (one for one in numbers if not suspension.gives_way(one)):
        due_at = suspension.due_at(number)
        if end is not None and due_at >= end:
            return
        step = suspension.ask.planned(number)
        texts = []
        if held is not None and due_at < held.until:
            texts.append(f"waits while {reader.names.text(held.by)} is on it")
        if progress.pause is not None:
            texts.append("waits while notices are paused")
        people = tuple(_planned(step, suspension, reader))
        yield TimelineStep(
            StepMark.NEXT, called(step.channel), *_some(people), text=", ".join(texts), at=reader.moment(due_at)
        )


def _planned(step: PlannedAttempt, suspension: Suspension, reader: Reader) -> Iterator[PersonName]:
    assigned = () if suspension.assigned_to is None else (suspension.assigned_to,)
    for reference in dict.fromkeys((*step.recipients, *assigned)):
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.MAILBOX:
                yield reader.names.asked(recipient.identity or recipient.value)
            case RecipientKind.GROUP:
                yield PersonName(f"the group {recipient.value}")
            case RecipientKind.SCHEDULE:
                yield PersonName("whoever is on call")
            case _:
                yield _place(recipient.value, reader)


def _end(suspension: Suspension, reader: Reader) -> TimelineStep:
    silence = silence_of(suspension)
    at = None if silence.until is None else reader.moment(silence.until)
    text = _AT_THE_END[silence.comes]
    return TimelineStep(StepMark.END, text=text, at=at, value=silence.value if silence.comes is Comes.VALUE else None)


_AT_THE_END = {
    Comes.WAITS: "no deadline: the agent waits until somebody answers",
    Comes.ASKED_BACK: "all times wait for the agent, at the latest until",
    Comes.AHEAD: "the agent goes ahead",
    Comes.VALUE: "",
    Comes.STOPS: "the agent stops",
}


# --- Lines --------------------------------------------------------------------------------------------------------


def _notices(rows: Iterable[SentRow]) -> Iterator[SentRow]:
    return (row for row in rows if row.kind is RowKind.NOTIFY)


def _grouped(rows: Iterable[SentRow], key: Callable[[SentRow], object]) -> Iterable[list[SentRow]]:
    found: dict[object, list[SentRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found.values()


def _step(
    mark: StepMark,
    rows: Sequence[SentRow],
    reader: Reader,
    text: str = "",
    at: Moment | None = None,
    again: Moment | None = None,
) -> TimelineStep:
    people = tuple(dict.fromkeys(_recipient(row, reader) for row in rows))
    return TimelineStep(mark, called(rows[0].channel), *_some(people), text=text, at=at, again=again)


def _recipient(row: SentRow, reader: Reader) -> PersonName:
    return _place(row.address or "", reader) if row.recipient is None else reader.names.asked(row.recipient)


def _place(address: str, reader: Reader) -> PersonName:
    """A conversation or a service, by no name: its id says nothing to a person."""
    return PersonName("a shared place", address if reader.names.shows_addresses else None)


def _some(people: tuple[PersonName, ...]) -> tuple[tuple[PersonName, ...], tuple[PersonName, ...]]:
    """Those who are named in the line, and the others; one more than fits is no reason to fold."""
    if len(people) <= MOST_NAMED + 1:
        return people, ()
    return people[:MOST_NAMED], people[MOST_NAMED:]
