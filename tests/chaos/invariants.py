"""What must be true after any storm, each as one function over the evidence. Pure.

Source: DESIGN.md, "What must be true, always".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from core.delivery.leases import TWICE
from core.domain import quorum
from core.domain.callback import ASKED_BACK
from core.domain.intent import IntentStatus
from core.domain.suspension import Status
from core.domain.vocabulary import (
    ANSWER_REFUSED,
    ASSIGNED,
    CANCELLED,
    CLARIFICATION_REQUESTED,
    CLARIFIED,
    EXPIRED,
    MESSAGE_RECEIVED,
    RENOTIFIED,
    RESUMED,
    SUSPENDED,
)
from core.store.event_log import Logged
from core.store.outbox import Row, RowKind, RowStatus
from tests.chaos import company, hardships
from tests.chaos.evidence import Evidence, Story, asks_back
from tests.chaos.plan import Act, Way
from tests.chaos.receiver import PATIENCE
from tests.chaos.records import Call, Given, Records

ENDINGS = {Status.RESPONDED: RESUMED, Status.EXPIRED: EXPIRED, Status.CANCELLED: CANCELLED}
COMPANY = {Way.ASSIGN: ASSIGNED, Way.CLARIFY: CLARIFICATION_REQUESTED, Way.CLARIFICATION: CLARIFIED}
"""What people do among themselves, and the event that says so."""
_ROUNDED = timedelta(milliseconds=5)
_SOON = timedelta(seconds=3)
_DONE = {RowStatus.DELIVERED, RowStatus.DROPPED, RowStatus.REFUSED}


@dataclass(slots=True)
class Finding:
    """``checked`` is how many things were looked at; ``wrong`` are the question's ref and what is wrong with it."""

    invariant: str
    checked: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)


Check = Callable[[Evidence], Iterator[tuple[str, str | None]]]
"""Yields the ref of each thing it looks at, with what is wrong with it."""


def judge(evidence: Evidence) -> list[Finding]:
    """A finding for each invariant."""
    return [_judged(name, check, evidence) for name, check in INVARIANTS.items()]


def _judged(name: str, check: Check, evidence: Evidence) -> Finding:
    finding = Finding(name)
    for ref, wrong in check(evidence):
        finding.checked += 1
        if wrong is not None:
            finding.wrong.append((ref, wrong))
    return finding


# --- What was acknowledged ------------------------------------------------------------------------------------------


def _every_201_is_there(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    asked = Counter(story.suspension.ask.question for story in evidence.stories.values())
    for one in evidence.records.asked:
        story = evidence.stories.get(one.suspension_id)
        times = asked[one.question.text]
        if story is None:
            yield one.ref, "a 201, and no such suspension"
        elif story.ref != one.ref or times != 1:
            yield one.ref, f"asked once, kept {times} times"
        elif story.intent is None or story.intent.suspension_id != story.suspension.id:
            yield one.ref, "its intent is not there, or does not know of it"
        else:
            yield one.ref, None


def _every_yes_is_kept(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A 200 for an answer, a 303 of the page, a 200 for a cancellation: it is the one that counts."""
    for given in evidence.records.given:
        if given.firm:
            story = evidence.stories.get(given.asked.suspension_id)
            counts = story is not None and _counts(story, given)
            yield given.asked.ref, None if counts else f"said yes by {given.act.way}, and another ending stands"


def _counts(story: Story, given: Given) -> bool:
    suspension, act = story.suspension, given.act
    if act.way in COMPANY:
        return any(event.type == COMPANY[act.way] and _is_about(event, act) for event in story.events)
    if suspension.ended is None:
        return False
    if act.way is Way.CANCEL:
        return suspension.status is Status.CANCELLED
    ended = suspension.ended
    if quorum.is_shared(suspension):
        return any((one.by, one.value) == (act.who, act.value) for one in suspension.answers)
    return suspension.status is Status.RESPONDED and (ended.by, ended.value) == (act.who, act.value)


def _is_about(event: Logged, act: Act) -> bool:
    said = {ASSIGNED: "assigned_to", CLARIFICATION_REQUESTED: "asked_by", CLARIFIED: "text"}[event.type]
    return event.payload.get(said) == (act.who if act.way is Way.CLARIFY else act.value)


def _what_was_taken_in_was_acted_upon(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A mail's 202, a webhook's 202, a click's ack: by then the question has ended, by it or before it."""
    for given in evidence.records.given:
        if not given.kept or given.excused:
            continue
        story = evidence.stories.get(given.asked.suspension_id)
        ended = story.suspension.ended if story is not None else None
        if story is not None and _has_counted(story, given, evidence.records):
            yield given.asked.ref, None
        elif ended is None:
            yield given.asked.ref, f"taken in by {given.act.way}, and the question has not ended"
        elif evidence.records.by_the_wall(ended.at) > given.at + _ROUNDED:
            yield given.asked.ref, f"taken in by {given.act.way}, and it ended later without it"
        else:
            yield given.asked.ref, None


def _has_counted(story: Story, given: Given, records: Records) -> bool:
    """Where two are needed: this answer had been counted by then, or one that it disagrees with."""
    until = given.at + _ROUNDED
    act, by_then = given.act, [one for one in story.suspension.answers if records.by_the_wall(one.at) <= until]
    return any(one.by == act.who or one.value != act.value for one in by_then)


def _no_answer_is_invented(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    tried = {
        (given.asked.suspension_id, given.act.who, given.act.value, given.act.way.value)
        for given in evidence.records.given
    }
    for suspension_id, story in evidence.stories.items():
        ended = story.suspension.ended
        if ended is not None and story.suspension.status is Status.RESPONDED:
            known = (suspension_id, ended.by, ended.value, ended.channel) in tried
            yield story.ref, None if known else f"an answer by {ended.channel} that nobody gave"
        for one in story.suspension.answers:
            known = (suspension_id, one.by, one.value, one.channel) in tried
            yield story.ref, None if known else f"an answer by {one.channel} that nobody gave was counted"


# --- One life -------------------------------------------------------------------------------------------------------


_NOTED_AFTERWARDS = {ANSWER_REFUSED, MESSAGE_RECEIVED}
"""Tell of somebody who came too late, or was nobody: nothing happens by them."""


def _ended_once(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for story in evidence.stories.values():
        types = [event.type for event in story.events if event.type not in _NOTED_AFTERWARDS]
        endings = [one for one in types if one in ENDINGS.values()]
        wanted = ENDINGS.get(story.suspension.status)
        if endings != [wanted]:
            yield story.ref, f"its end is {story.suspension.status}, its log says {endings}"
        elif types[0] != SUSPENDED or types[-1] != wanted:
            yield story.ref, "something happened before its beginning or after its end"
        elif story.intent is None or story.intent.status is not _resting(story):
            yield story.ref, "its intent shows something else"
        else:
            yield story.ref, None


def _resting(story: Story) -> IntentStatus:
    ended = story.suspension.ended
    return IntentStatus.ABANDONED if ended is not None and ended.error else IntentStatus.ACTIVE


def _attempts_in_order(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for story in evidence.stories.values():
        wrong, last = None, 1
        for event in story.events:
            if event.type != RENOTIFIED:
                continue
            number, skipped = int(str(event.payload["attempt"])), event.payload.get("skipped") or []
            assert isinstance(skipped, list)
            if [*skipped, number] != list(range(last + 1, number + 1)):
                wrong = f"attempt {number} after attempt {last}"
            if event.created_at < story.suspension.ask.due_at(number) - _ROUNDED and not story.all_refused(last):
                wrong = f"attempt {number} came early"
            last = number
        if last > story.suspension.ask.max_attempts or last != story.suspension.attempt:
            wrong = f"{last} attempts of at most {story.suspension.ask.max_attempts}"
        yield story.ref, wrong


def _everybody_is_asked_once_an_attempt(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for story in evidence.stories.values():
        notices = [row for row in story.of(RowKind.NOTIFY) if row.reason != TWICE]
        numbers = {1} | {int(str(event.payload["attempt"])) for event in story.events if event.type == RENOTIFIED}
        for number in sorted(numbers):
            mine = [row for row in notices if row.attempt == number]
            asked = Counter((row.channel, row.address, row.person) for row in mine)
            asked += Counter((row.channel, row.address, row.created_at) for row in mine)  # a hand-over may page anew
            if not asked and not story.suspension.answers:  # else all of those it would ask had answered
                yield story.ref, f"attempt {number} asked nobody"
            else:
                yield (
                    story.ref,
                    None if max(asked.values(), default=1) == 1 else f"attempt {number} asked somebody twice",
                )


# --- What left ------------------------------------------------------------------------------------------------------


def _everything_is_settled(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    refs = {story.suspension.id: story.ref for story in evidence.stories.values()}
    for row in evidence.rows.values():
        ref = refs.get(row.suspension_id or "", row.suspension_id or "-")
        yield ref, None if row.status in _DONE else f"a {row.kind} by {row.channel} is still {row.status}"


def _what_counts_as_delivered_has_arrived(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    arrived = {one.delivery for one in evidence.arrivals}
    for story in evidence.stories.values():
        for row in story.of(RowKind.NOTIFY):
            if row.status is RowStatus.DELIVERED and row.reason != TWICE:  # that one came under the other's id
                there = row.id in arrived if row.channel != "pagerduty" else story.ref in evidence.incidents
                yield story.ref, None if there else f"attempt {row.attempt} by {row.channel} never arrived"


def _what_arrived_has_a_row(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for arrival in evidence.arrivals:
        known = arrival.delivery in evidence.rows
        yield arrival.delivery, None if known else f"came by {arrival.channel}, and nothing here has sent it"


def _repeats_were_in_doubt(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """The same Message-ID, or the same id in a Slack message, twice: only where nobody could know."""
    refs = {story.suspension.id: story.ref for story in evidence.stories.values()}
    for delivery, times in Counter(one.delivery for one in evidence.arrivals).items():
        row = evidence.rows.get(delivery)
        ref = refs.get(row.suspension_id or "", "-") if row is not None else delivery
        excused = times == 1 or evidence.is_doubtful(delivery)
        yield ref, None if excused else f"a {_what(row)} came {times} times, and nothing was in doubt"


def _no_doubt_about_slack(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """Whatever the doubt: Slack's history tells whether a message came, so that none comes twice."""
    refs = {story.suspension.id: story.ref for story in evidence.stories.values()}
    for delivery, posted in evidence.messages.items():
        row = evidence.rows.get(delivery)
        ref = refs.get(row.suspension_id or "", "-") if row is not None else delivery
        yield ref, None if len(posted) == 1 else f"a {_what(row)} came {len(posted)} times"


def _what(row: Row | None) -> str:
    return "message" if row is None else f"{row.kind} of attempt {row.attempt} by {row.channel}"


def _nothing_asks_after_the_end(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """A Slack message with a button, a page that is not resolved: whatever crossed the end was taken back."""
    for story in evidence.stories.values():
        if story.suspension.is_open:
            continue
        for row in story.of(RowKind.NOTIFY):
            for message in evidence.messages.get(row.id, []):
                asks = message.button("ans:0") is not None
                yield story.ref, f"attempt {row.attempt} still asks in Slack" if asks else None
        for incident in evidence.incidents.get(story.ref, []):
            yield story.ref, f"{incident.id} is still {incident.status}" if incident.is_open else None


# --- The agent ------------------------------------------------------------------------------------------------------


def _every_agent_is_called_back(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    calls: dict[str, list[tuple[str, int | None]]] = {}
    for call in evidence.records.calls:
        if call.type == ASKED_BACK:
            continue
        calls.setdefault(call.suspension_id, []).append((call.webhook_id, call.status))
    for suspension_id, story in evidence.stories.items():
        mine = calls.get(suspension_id, [])
        rows = [row for row in story.of(RowKind.RESUME) if not asks_back(row)]
        ids = {webhook_id for webhook_id, _ in mine}
        if len(rows) != 1:
            yield story.ref, f"{len(rows)} callbacks were written"
        elif ids != {rows[0].id}:
            yield story.ref, f"the agent was called under {len(ids)} ids, or another one"
        elif not any(status is not None and status < 300 for _, status in mine):
            yield story.ref, "the agent has never taken it"
        else:
            yield story.ref, None


def _an_agent_that_said_yes_is_left_alone(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """Called again only if nobody could know of its yes: in flight at a kill, or waited for in vain."""
    refs = {story.suspension.id: story.ref for story in evidence.stories.values()}
    by_id: dict[str, list[Call]] = {}
    for call in evidence.records.calls:
        by_id.setdefault(call.webhook_id, []).append(call)
    for webhook_id, calls in by_id.items():
        doubtful = evidence.is_doubtful(webhook_id) or any(evidence.records.was_away(one.at, _SOON) for one in calls)
        needless = [one for one, following in pairwise(sorted(calls, key=_at)) if _needless(one, following)]
        yield refs.get(calls[0].suspension_id, "-"), None if doubtful or not needless else "called again after its yes"


def _needless(call: Call, following: Call) -> bool:
    said_yes = call.status is not None and call.status < 300
    return said_yes and following.at - call.at < timedelta(seconds=PATIENCE)


def _at(call: Call) -> datetime:
    return call.at


def _the_agent_got_what_stands(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for call in evidence.records.calls:
        if call.type == ASKED_BACK:
            continue
        story = evidence.stories.get(call.suspension_id)
        if story is None or story.suspension.ended is None:
            yield call.suspension_id, "a callback about nothing that has ended"
            continue
        suspension, ended = story.suspension, story.suspension.ended
        by = ended.by if suspension.status is Status.RESPONDED else None
        got = (call.data["resolution"], call.data["value"], call.data["responded_by"], call.data["error"])
        same = got == (suspension.status.value, ended.value, by, ended.error)
        yield story.ref, None if same else "the agent was told something else than what is kept"


# --- The books ------------------------------------------------------------------------------------------------------


def _the_chain_holds(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    for story in evidence.stories.values():
        intent, events = story.intent, story.events
        if story.broken is not None:
            yield story.ref, f"line {story.broken.position} is not what was written"
        elif intent is None or (intent.log_length, intent.log_mac) != (len(events), events[-1].mac):
            yield story.ref, "the log's head is not its last line"
        else:
            yield story.ref, None


def _nothing_failed_by_itself(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    records = evidence.records
    yield "-", None
    for one in records.server_errors:
        yield "-", f"answered {one}"
    for one in records.ended_by_themselves:
        yield "-", f"a process ended by itself: {one}"


INVARIANTS: dict[str, Check] = {
    "every 201 is there, once, and its intent with it": _every_201_is_there,
    "every answer that was accepted is the one that stands": _every_yes_is_kept,
    "what a mail, a webhook or a click was acknowledged for has happened": _what_was_taken_in_was_acted_upon,
    "no answer stands that nobody gave": _no_answer_is_invented,
    "each suspension ended once, and nothing came after": _ended_once,
    "attempts came in order, none early, none above the maximum": _attempts_in_order,
    "each attempt asked everybody once": _everybody_is_asked_once_an_attempt,
    "everything was settled in time": _everything_is_settled,
    "whatever counts as delivered has arrived": _what_counts_as_delivered_has_arrived,
    "whatever arrived has its row": _what_arrived_has_a_row,
    "whatever came twice was in flight at a kill or in doubt": _repeats_were_in_doubt,
    "no Slack message came twice, whatever the doubt": _no_doubt_about_slack,
    "nothing asks any more once its question has ended": _nothing_asks_after_the_end,
    "every agent was called back, under one id": _every_agent_is_called_back,
    "an agent that took its callback is left alone": _an_agent_that_said_yes_is_left_alone,
    "the agent got the answer that stands": _the_agent_got_what_stands,
    "who needs two people got two, or one no": company.two_are_two,
    "whoever it was handed over to was asked": company.whoever_it_was_handed_to_is_asked,
    "whoever asked back was heard, and the clock held": company.whoever_asks_back_is_heard,
    "whatever this run had to go through has come": hardships.whatever_is_due_has_come,
    "others take over what a frozen worker had in hand": hardships.others_take_over,
    "a worker that was frozen sends nothing that another has sent meanwhile": hardships.the_frozen_ask_first,
    "a clock that is set forward takes no time from a question": hardships.a_clock_takes_no_time,
    "while the disk takes nothing every call is 503, and so is /readyz": hardships.a_bad_disk_is_503,
    "agents that answer nothing delay no other": hardships.the_silent_delay_nobody,
    "SIGTERM ends a process cleanly within twelve seconds": hardships.whoever_is_asked_to_end_ends,
    "the event chain verifies": _the_chain_holds,
    "nothing failed that was not made to": _nothing_failed_by_itself,
}
