"""Wording: sentences about a question that every channel shows alike. Pure.

- instants: UTC to the minute, with the reader's local time before it if their zone is known; and how far off they are;
- values: as people read them, and shortened;
- the next step: what the ladder does if nobody answers, and when;
- notes: how many answers are needed, who has given one, who was handed the question, what was clarified. The answers
  themselves are not told, so that the next responder makes up their own mind;
- the agent: whether it knows by now how its question ended;
- reports: the agent's report of its action;
- risk: how risky the agent says its question is (``decision_record``, else the context).

Source: RFC-0026 §4.1 (the ladder); API.md §3 (its times); RFC-0025 §7 (``risk``, 0 to 1); docs/decisions/0023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import JsonValue

from core.domain import quorum
from core.domain.channels import RecipientKind, called, told_how
from core.domain.people import parse_recipient
from core.domain.suspension import (
    ActionReport,
    ActionStatus,
    Ask,
    Clarification,
    PlannedAttempt,
    Suspension,
    Via,
    told_value,
)


def told_at(at: datetime, zone: tzinfo | None = None) -> str:
    """``2026-11-21 12:00 UTC``; in a ``zone`` that differs ``2026-11-21 13:00 CET (12:00 UTC)``. If the day differs
    there, it stands twice."""
    utc = at.astimezone(UTC)
    there = utc if zone is None else utc.astimezone(zone)
    if not there.utcoffset():
        return f"{_to_the_minute(utc)} UTC"
    short = f"{utc:%H:%M}" if utc.date() == there.date() else _to_the_minute(utc)
    return f"{_to_the_minute(there)} {_zone_name(there)} ({short} UTC)"


_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def told_soon(at: datetime, now: datetime | None, zone: tzinfo | None = None) -> str:
    """``13:00`` by the reader's clock, ``12:00 UTC`` if their zone is not known. The day stands before it unless it
    is today's, or the time comes within half a day of ``now``."""
    there = at.astimezone(zone or UTC)
    clock = "" if there.utcoffset() else " UTC"
    is_near = now is not None and (abs(at - now) < _DAY / 2 or now.astimezone(zone or UTC).date() == there.date())
    return f"{there:%H:%M}{clock}" if is_near else f"{_to_the_minute(there)}{clock}"


def span(length: timedelta) -> str:
    """``less than a minute``, ``42 min``, ``3 h 20 min``, ``2 days 5 h``; rounded down."""
    if length < _MINUTE:
        return "less than a minute"
    if length < _HOUR:
        return f"{length // _MINUTE} min"
    if length < 2 * _DAY:
        return _two(length // _HOUR, "h", length % _HOUR // _MINUTE, "min")
    return _two(length // _DAY, "days", length % _DAY // _HOUR, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f" {small} {small_unit}" if small else ""
    return f"{large} {large_unit}{rest}"


def shortened(text: str, most: int) -> str:
    """At most ``most`` characters, the last of them an ellipsis if some are missing."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def shown_value(suspension: Suspension, value: JsonValue) -> str:
    """A value as people read it: the label of its choice, else its text."""
    choice = suspension.ask.choice(value)
    return told_value(value) if choice is None else choice.label


def _to_the_minute(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(" ", "minutes")  # strftime takes three times as long


def _zone_name(there: datetime) -> str:
    """``CET``; ``UTC+05:45`` if the zone has no letters of its own."""
    name = there.tzname() or ""
    if name.isalpha():
        return name
    offset = f"{there:%z}"
    return f"UTC{offset[:3]}:{offset[3:5]}"


def notes(suspension: Suspension, zone: tzinfo | None = None) -> tuple[str, ...]:
    """Empty if one person is asked and nobody has done anything yet. ``zone`` is the one reader's."""
    clarified = (_clarified(one, zone) for one in suspension.clarifications)
    return (*_answers(suspension), *_undoable(suspension), *_hand_over(suspension), *clarified)


def claimed(suspension: Suspension, now: datetime) -> tuple[str, ...]:
    """Who is on it, if anybody."""
    claim = suspension.claim
    if claim is None or claim.until <= now:
        return ()
    return (f"{claim.by} is on it until {told_at(claim.until)}.",)


def too_few(suspension: Suspension, one: str, several: str) -> str:
    """The subject of silence: ``nobody answers``; ``fewer than 2 people answer`` if one is not enough. ``one`` and
    ``several`` are the verb."""
    needed = suspension.ask.answers_required
    return f"nobody {one}" if needed == 1 else f"fewer than {needed} people {several}"


def so_far(suspension: Suspension) -> str:
    """How many people each answer needs, and who has answered; not what."""
    people = ", ".join(one.by for one in suspension.answers) or "nobody"
    return f"{needed(suspension)} So far: {people}."


def needed(suspension: Suspension) -> str:
    """The number for every answer, and the choices that need fewer people."""
    ask = suspension.ask
    usual = ask.answers_required
    others = [(choice.label, quorum.required(ask, choice.value)) for choice in ask.choices]
    fewer = [f"“{label}” needs {number}" for label, number in others if number != usual]
    needed = f"{usual} people have to give the same answer"
    if not fewer:
        return f"{needed}."
    if len(fewer) > _MOST_NAMED:
        return f"{needed}; {len(fewer)} of the choices need fewer."
    return f"{needed}; {', '.join(fewer)}."


def _answers(suspension: Suspension) -> tuple[str, ...]:
    return (so_far(suspension),) if quorum.is_shared(suspension) else ()


def answered_for_now(by: str) -> str:
    """For whoever answers while ``by`` can still undo their own answer."""
    return f"{by} has already answered, and can undo it for a moment. If the question is still open then, answer again."


def _undoable(suspension: Suspension) -> tuple[str, ...]:
    """Who has answered and can still undo it; not what."""
    undoable = suspension.undoable
    return () if undoable is None else (f"{undoable.by} has answered, and can undo it for a moment.",)


def told_via(via: Via) -> str:
    """``by slack, account T0TEAM/U0ALICE, message C0OPS/1732.01, delivery 5f0c…``: the known parts of it."""
    named = (
        ("account", via.account),
        ("sent by", via.sender),
        ("message", via.message_id),
        ("delivery", via.delivery_id),
        ("session", via.session),
    )
    return ", ".join((f"by {called(via.channel)}", *(f"{name} {value}" for name, value in named if value)))


_CAME_OF_IT: Mapping[ActionStatus, str] = {ActionStatus.DONE: "Done", ActionStatus.FAILED: "Failed"}


def told_status(report: ActionReport) -> str:
    """``Done`` or ``Failed``."""
    return _CAME_OF_IT[report.status]


def told_report(report: ActionReport) -> str:
    """``Failed: the card has expired``; ``Done.`` if the agent gave no words."""
    return f"{told_status(report)}: {report.text}" if report.text else f"{told_status(report)}."


def told_host(url: str) -> str:
    """The host of an agent's link: the link's text is read, not trusted."""
    return urlsplit(url).netloc.lower()


def _hand_over(suspension: Suspension) -> tuple[str, ...]:
    if not suspension.assigned:
        return ()
    latest = suspension.assigned[-1]
    return (f"Handed over to {latest.to} by {latest.by}.",)


def _clarified(asked: Clarification, zone: tzinfo | None) -> str:
    if asked.text is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent: {asked.text}"
    if asked.closed_at is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent has not answered."
    until = told_at(asked.until, zone)
    waits = f"Reminders and the deadline wait until it answers, {until} at the latest."
    return f"{asked.by} has asked the agent: {asked.question}\n{waits}"


_MOST_NAMED = 3


def next_step(
    suspension: Suspension, attempt: int, reader: str | None = None, zone: tzinfo | None = None
) -> str | None:
    """Who is asked next, how and when; ``None`` if nobody is, or if it is not certain: during a claim, and while the
    agent is asked back. ``reader`` is the identity of the reader."""
    if suspension.claim is not None or suspension.asks_back is not None:
        return None
    step = _following(suspension, max(attempt, suspension.attempt))
    if step is None:
        return None
    assignee = () if suspension.assigned_to is None else (suspension.assigned_to,)
    given = {one.by for one in suspension.answers}
    people = list(_people_asked([one for one in (*step.recipients, *assignee) if one not in given], reader))
    how = told_how(step.channel)
    whom = f"to {_listed(people)}, {how}" if people else how
    when = told_at(suspension.due_at(step.number), zone)
    unless = too_few(suspension, "has answered", "have answered")
    return f"If {unless} by {when}, the question goes out again: {whom}."


def next_in_short(suspension: Suspension, now: datetime, name_of: Callable[[str], str]) -> str | None:
    """``mail to Alice in 12 min``: what the ladder does next, for a list; ``None`` as for :func:`next_step`.

    A time that has passed is told as ``now``. ``name_of`` says what somebody is called.
    """
    if suspension.claim is not None or suspension.asks_back is not None:
        return None
    step = _following(suspension, suspension.attempt)
    if step is None:
        return None
    given = {one.by for one in suspension.answers}
    people = list(_people_asked([one for one in step.recipients if one not in given], None))
    whom = f" to {_listed([name_of(one) if '@' in one else one for one in people])}" if people else ""
    ahead = suspension.due_at(step.number) - now
    when = f"in {span(ahead)}" if ahead > timedelta() else "now"
    return f"{called(step.channel)}{whom} {when}"


def _following(suspension: Suspension, attempt: int) -> PlannedAttempt | None:
    """The attempt after ``attempt``; one that gives way to a later one never comes."""
    ask = suspension.ask
    later = range(attempt + 1, ask.max_attempts + 1)
    return next((ask.planned(number) for number in later if not suspension.gives_way(number)), None)


def _people_asked(references: Iterable[str], reader: str | None) -> Iterator[str]:
    """People and groups by name; the ids of shared places say nothing to a person, so the channel stands for them."""
    for reference in dict.fromkeys(references):
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.MAILBOX:
                yield "you" if recipient.identity == reader else recipient.value
            case RecipientKind.GROUP:
                yield f"the group {recipient.value}"
            case _:
                continue


def _listed(people: list[str]) -> str:
    if len(people) > _MOST_NAMED:
        return f"{', '.join(people[: _MOST_NAMED - 1])} and {len(people) - _MOST_NAMED + 1} others"
    return " and ".join(filter(None, (", ".join(people[:-1]), people[-1])))


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """From 1; the higher, the riskier."""
        return [*Risk].index(self) + 1


def stated_risk(*places: Mapping[str, JsonValue] | None) -> Risk | None:
    """The first valid ``risk`` in ``places``: a number from 0 to 1, or a word of :class:`Risk`."""
    found = (_read(place.get("risk")) for place in places if place is not None)
    return next((risk for risk in found if risk is not None), None)


def told_risk(risk: Risk | None) -> str | None:
    """What people are told of the risk beside the question: nothing unless it is high."""
    return f"{risk.value}, says the agent" if risk is Risk.HIGH or risk is Risk.CRITICAL else None


def okay_is_yes(ask: Ask) -> bool:
    """Whether a bare "ok" may be taken for a yes: with a risk of high or more it may say "I have seen it"."""
    return stated_risk(ask.decision_record, ask.context) not in {Risk.HIGH, Risk.CRITICAL}


def _read(value: JsonValue) -> Risk | None:
    if isinstance(value, str):
        return next((risk for risk in Risk if risk == value.strip().lower()), None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    if value >= 0.8:
        return Risk.CRITICAL
    if value > 0.5:
        return Risk.HIGH
    return Risk.MEDIUM if value > 0.2 else Risk.LOW


class AgentTold(StrEnum):
    """Whether the waiting agent has been told how its question ended."""

    NOT_YET = "not_yet"
    TOLD = "told"
    REFUSED = "refused"
    """It takes no callback any more (410)."""
    GIVEN_UP = "given_up"
    """Its address never took the callback, and it is not tried any more."""
    ASKS = "asks"
    """It is called back nowhere: it waits, or asks."""

    @property
    def never(self) -> bool:
        """Whether it does not know, and will not by itself."""
        return self is AgentTold.REFUSED or self is AgentTold.GIVEN_UP


_WHY_NEVER: Mapping[AgentTold, str] = {
    AgentTold.REFUSED: "it refused the callback",
    AgentTold.GIVEN_UP: "its address did not take the callback, which was given up",
}
_AGENT_TOLD: Mapping[AgentTold, str] = {
    AgentTold.NOT_YET: "The agent will be told.",
    AgentTold.TOLD: "The agent has been told.",
    AgentTold.ASKS: "The agent fetches the answer itself.",
    **{told: f"The agent has not been told: {why}." for told, why in _WHY_NEVER.items()},
}


def agent_told(told: AgentTold) -> str:
    """A sentence of its own, beside how the question ended."""
    return _AGENT_TOLD[told]


def why_never(told: AgentTold) -> str:
    """Why the agent does not know, as the end of a sentence; ``told`` is such a case."""
    return _WHY_NEVER[told]
