"""Each invariant of the storm finds what it is there for, and nothing where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import IncidentStatus
from core.delivery.leases import TWICE
from core.domain.intent import IntentStatus
from core.domain.suspension import Status
from core.domain.vocabulary import ANSWER_RECORDED, CLARIFIED, EXPIRED, MESSAGE_RECEIVED, RENOTIFIED, RESUMED
from core.store.outbox import RowKind, RowStatus
from tests.chaos.evidence import Arrival, Evidence, Story
from tests.chaos.example import FIRST, SECOND, evidence
from tests.chaos.invariants import INVARIANTS, judge
from tests.chaos.plan import ALICE, BOB, CAROL, Way
from tests.chaos.records import ClockSet, Ending, Hardship, Records
from tests.core.examples import after

Break = Callable[[Evidence], Any]


def story(found: Evidence, which: str, **changed: Any) -> None:
    """Another story for this suspension, its rows known."""
    stories: dict[str, Story] = found.stories  # type: ignore[assignment]
    rows: dict[str, Any] = found.rows  # type: ignore[assignment]
    stories[which] = replace(stories[which], **changed)
    rows.clear()
    rows.update({row.id: row for one in stories.values() for row in one.rows})


def suspension(found: Evidence, which: str, **changed: Any) -> None:
    story(found, which, suspension=replace(found.stories[which].suspension, **changed))


def row(found: Evidence, which: str, name: str, **changed: Any) -> None:
    rows = found.stories[which].rows
    story(found, which, rows=[replace(one, **changed) if one.id == name else one for one in rows])


def without_row(found: Evidence, which: str, name: str) -> None:
    story(found, which, rows=[one for one in found.stories[which].rows if one.id != name])


def event(found: Evidence, which: str, kind: str, **changed: Any) -> None:
    events = found.stories[which].events
    story(found, which, events=[replace(one, **changed) if one.type == kind else one for one in events])


def without_event(found: Evidence, which: str, kind: str) -> None:
    story(found, which, events=[one for one in found.stories[which].events if one.type != kind])


def given(found: Evidence, number: int, **changed: Any) -> None:
    all_given = found.records.given
    all_given[number] = replace(all_given[number], **changed)


def act(found: Evidence, number: int, **changed: Any) -> None:
    given(found, number, act=replace(found.records.given[number].act, **changed))


def call(found: Evidence, number: int, **changed: Any) -> None:
    found.records.calls[number] = replace(found.records.calls[number], **changed)


def intent(found: Evidence, which: str, **changed: Any) -> None:
    kept = found.stories[which].intent
    assert kept is not None
    story(found, which, intent=replace(kept, **changed))


def again(found: Evidence, name: str) -> None:
    """This message came once more."""
    found.arrivals.append(Arrival(name, "slack", after(hours=1)))


def answers(found: Evidence, *values: tuple[str, str]) -> None:
    counted = found.stories[SECOND].suspension.answers
    made = tuple(replace(one, by=by, value=value) for one, (by, value) in zip(counted, values, strict=True))
    suspension(found, SECOND, answers=made)


def asks_again(found: Evidence) -> None:
    button = {"type": "actions", "block_id": "b", "elements": [{"type": "button", "action_id": "ans:0"}]}
    found.messages["slack-1"][0].blocks.append(button)


def asked_back_twice(found: Evidence) -> None:
    story(found, SECOND, events=[one for one in found.stories[SECOND].events for _ in range(2)])


def came_while_held(found: Evidence) -> None:
    events = found.stories[SECOND].events
    place = next(number for number, one in enumerate(events) if one.type == CLARIFIED)
    attempt = replace(events[place], type=RENOTIFIED, payload={"attempt": 2})
    story(found, SECOND, events=[*events[:place], attempt, *events[place:]])


def in_doubt_and_never_came(found: Evidence) -> None:
    """A page that PagerDuty never took, whose question has ended meanwhile."""
    pages = [one.id for one in found.stories[FIRST].rows if one.channel == "pagerduty" and one.kind is RowKind.NOTIFY]
    row(found, FIRST, pages[0], ambiguous=True)
    found.incidents.pop(found.stories[FIRST].ref)  # type: ignore[attr-defined]


def never(found: Evidence) -> None:
    """A suspension that a 201 was given for and that is not there."""
    found.stories.pop(FIRST)  # type: ignore[attr-defined]


def set_arrival(found: Evidence, number: int, **when: float) -> None:
    found.arrivals[number] = replace(found.arrivals[number], at=after(**when))


def called(found: Evidence, **when: float) -> None:
    """The first one's agent took its callback then."""
    found.records.calls.append(replace(found.records.calls[0], at=after(**when)))


def expired(found: Evidence) -> None:
    """The first one, five minutes after its last attempt, of an hour that it had."""
    event(found, FIRST, RESUMED, type=EXPIRED)
    suspension(found, FIRST, status=Status.EXPIRED)


def probe(found: Evidence, number: int, **changed: int) -> None:
    probes = found.records.bad_disks[0].probes
    probes[number] = replace(probes[number], **changed)


FOUND_BY: dict[str, list[Break]] = {
    "every 201 is there, once, and its intent with it": [
        never,
        lambda found: story(found, FIRST, intent=None),
        lambda found: intent(found, FIRST, suspension_id="another"),
        lambda found: suspension(found, SECOND, ask=found.stories[FIRST].suspension.ask),
    ],
    "every answer that was accepted is the one that stands": [
        lambda found: given(found, 1, firm=True),
        lambda found: act(found, 2, value=BOB),
        lambda found: act(found, 3, who=ALICE),
        lambda found: act(found, 4, value="The first."),
        lambda found: (given(found, 5, firm=True), act(found, 5, value="deny")),
        lambda found: (given(found, 0, firm=True), act(found, 0, way=Way.CANCEL)),
    ],
    "what a mail, a webhook or a click was acknowledged for has happened": [
        lambda found: suspension(found, FIRST, status=Status.AWAITING, ended=None),
        lambda found: given(found, 0, at=after(hours=2)),
        lambda found: given(found, 5, at=after(minutes=3)),
    ],
    "no answer stands that nobody gave": [
        lambda found: act(found, 0, value="deny"),
        lambda found: act(found, 0, way=Way.PAGE),
        lambda found: act(found, 5, who=ALICE),
    ],
    "each suspension ended once, and nothing came after": [
        lambda found: story(found, FIRST, events=[*found.stories[FIRST].events, found.stories[FIRST].events[-1]]),
        lambda found: story(found, FIRST, events=found.stories[FIRST].events[:-1]),
        lambda found: suspension(found, FIRST, status=Status.EXPIRED),
        lambda found: intent(found, FIRST, status=IntentStatus.SUSPENDED),
    ],
    "attempts came in order, none early, none above the maximum": [
        lambda found: event(found, FIRST, RENOTIFIED, payload={"attempt": 2}),
        lambda found: event(found, FIRST, RENOTIFIED, payload={"attempt": 3}),
        lambda found: event(found, FIRST, RENOTIFIED, created_at=after(minutes=59)),
        lambda found: suspension(found, FIRST, attempt=2),
    ],
    "each attempt asked everybody once": [
        lambda found: without_row(found, FIRST, "mail-1"),
        lambda found: row(found, FIRST, "mail-1", attempt=1, channel="slack", address="C0OPS"),
    ],
    "everything was settled in time": [
        lambda found: row(found, FIRST, "mail-1", status=RowStatus.PENDING),
        lambda found: row(found, FIRST, "told-1", status=RowStatus.DEAD),
    ],
    "whatever counts as delivered has arrived": [
        in_doubt_and_never_came,
        lambda found: found.arrivals.pop(0),
        lambda found: found.incidents.pop(found.stories[FIRST].ref),  # type: ignore[attr-defined]
    ],
    "whatever arrived has its row": [lambda found: again(found, "unheard-of")],
    "whatever came twice was in flight at a kill or in doubt": [lambda found: again(found, "slack-1")],
    "no Slack message came twice, whatever the doubt": [
        lambda found: found.messages["slack-1"].append(found.messages["slack-1"][0]),
    ],
    "nothing asks any more once its question has ended": [
        asks_again,
        lambda found: setattr(found.incidents["HR-7F3K"][0], "status", IncidentStatus.TRIGGERED),
    ],
    "every agent was called back, under one id": [
        lambda found: found.records.calls.pop(0),
        lambda found: without_row(found, FIRST, "told-1"),
        lambda found: call(found, 0, webhook_id="another"),
        lambda found: call(found, 0, status=500),
        lambda found: found.records.calls.append(replace(found.records.calls[0], webhook_id="a second")),
    ],
    "an agent that took its callback is left alone": [
        lambda found: found.records.calls.append(
            replace(found.records.calls[0], at=found.records.calls[0].at + timedelta(seconds=1))
        ),
    ],
    "the agent got the answer that stands": [
        lambda found: call(found, 0, data={**found.records.calls[0].data, "value": "deny"}),
        lambda found: call(found, 0, data={**found.records.calls[0].data, "responded_by": BOB}),
        lambda found: call(found, 0, suspension_id="of another life"),
    ],
    "who needs two people got two, or one no": [
        lambda found: answers(found, (CAROL, "approve"), (CAROL, "approve")),
        lambda found: answers(found, (BOB, "deny"), (CAROL, "approve")),
        lambda found: answers(found, (BOB, "deny"), (CAROL, "deny")),
        lambda found: suspension(found, SECOND, answers=found.stories[SECOND].suspension.answers[:1]),
        lambda found: suspension(found, SECOND, status=Status.EXPIRED),
        lambda found: without_event(found, SECOND, ANSWER_RECORDED),
    ],
    "whoever it was handed over to was asked": [lambda found: without_row(found, SECOND, "handed")],
    "whoever asked back was heard, and the clock held": [
        lambda found: without_row(found, SECOND, "asked-2"),
        lambda found: call(found, 1, status=None),
        asked_back_twice,
        came_while_held,
    ],
    "whatever this run had to go through has come": [
        lambda found: found.records.suffered.pop(Hardship.FREEZE),
        lambda found: found.records.suffered.update({Hardship.CLOCK: -2}),
    ],
    "others take over what a frozen worker had in hand": [
        lambda found: found.arrivals.pop(1),
        lambda found: set_arrival(found, 1, minutes=59, seconds=51),
        lambda found: set_arrival(found, 1, minutes=60, seconds=21),
    ],
    "a worker that was frozen sends nothing that another has sent meanwhile": [
        lambda found: found.arrivals.append(Arrival("mail-1", "email", after(minutes=60, seconds=21))),
        lambda found: (called(found, minutes=60), called(found, minutes=60, seconds=22)),
    ],
    "a clock that is set forward takes no time from a question": [
        lambda found: found.records.clock_sets.insert(
            0, ClockSet(after(hours=1, minutes=30), timedelta(minutes=10), timedelta())
        ),
        expired,
        lambda found: found.records.clock_sets.append(ClockSet(after(hours=9), timedelta(minutes=2), timedelta())),
    ],
    "while the disk takes nothing every call is 503, and so is /readyz": [
        lambda found: probe(found, 0, made=500),
        lambda found: probe(found, 1, ready=500),
        lambda found: probe(found, 1, ready=0),
        lambda found: probe(found, 1, made=201),
        lambda found: probe(found, 1, ready=200),
        lambda found: probe(found, 2, ready=503),
        lambda found: probe(found, 2, made=503),
        lambda found: found.records.bad_disks[0].probes.clear(),
        lambda found: (
            setattr(found.records.bad_disks[0], "dead", False),
            probe(found, 0, made=201),
            probe(found, 1, made=201),
        ),
    ],
    "agents that answer nothing delay no other": [lambda found: found.records.beside.extend([2.0, 2.0])],
    "SIGTERM ends a process cleanly within twelve seconds": [
        lambda found: found.records.endings.append(Ending("worker-1", 12.5, 0)),
        lambda found: found.records.endings.append(Ending("worker-1", 1.0, 1)),
        lambda found: found.records.endings.append(Ending("worker-1", 20.0, None)),
        lambda found: found.records.endings.append(Ending("worker-1", 3.0, 0, in_hand=0)),
    ],
    "the event chain verifies": [
        lambda found: story(found, FIRST, broken=found.stories[FIRST].events[1]),
        lambda found: intent(found, FIRST, log_length=1),
        lambda found: intent(found, FIRST, log_mac="another"),
    ],
    "nothing failed that was not made to": [
        lambda found: found.records.server_errors.append("api 500"),
        lambda found: found.records.ended_by_themselves.append("worker-1"),
    ],
}


def wrong(found: Evidence) -> set[str]:
    return {finding.invariant for finding in judge(found) if finding.wrong}


def test_nothing_is_found_where_nothing_is_wrong_though_everything_is_looked_at() -> None:
    findings = judge(evidence())
    assert [finding.wrong for finding in findings] == [[] for _ in INVARIANTS]
    assert [finding.invariant for finding in findings if not finding.checked] == []


def test_every_invariant_is_shown_to_find_something() -> None:
    assert set(FOUND_BY) == set(INVARIANTS)


@pytest.mark.parametrize(
    ("invariant", "number"), [(name, number) for name, breaks in FOUND_BY.items() for number in range(len(breaks))]
)
def test_an_invariant_finds_its_fault(invariant: str, number: int) -> None:
    found = evidence()
    FOUND_BY[invariant][number](found)
    assert invariant in wrong(found)


def test_what_was_in_flight_at_a_kill_may_come_twice() -> None:
    found = evidence()
    again(found, "slack-1")
    found.records.in_flight.add("slack-1")
    assert wrong(found) == set()


def test_what_was_on_the_wire_as_a_worker_froze_may_come_twice() -> None:
    found = evidence()
    set_arrival(found, 1, minutes=59, seconds=51)
    for second in (15, 21):  # from another worker, and once it goes on
        found.arrivals.append(replace(found.arrivals[1], at=after(minutes=60, seconds=second)))
    assert wrong(found) == set()


def test_a_freeze_that_is_too_short_to_be_noticed_leaves_everything_in_hand() -> None:
    found = evidence()
    set_arrival(found, 1, minutes=60, seconds=21)
    found.records.freezes[0].taken_over_at = after(minutes=60, seconds=21)
    assert wrong(found) == set()


def test_a_full_disk_may_still_take_what_fits() -> None:
    found = evidence()
    found.records.bad_disks[0].dead = False
    probe(found, 1, ready=200, made=201)
    assert wrong(found) == set()


def test_attempts_that_move_with_a_clock_that_is_set_are_in_time() -> None:
    found = evidence()
    found.records.clock_sets[:] = [ClockSet(after(minutes=90), timedelta(minutes=10), timedelta())]
    story_events = [
        replace(one, created_at=one.created_at + timedelta(minutes=10)) if one.created_at > after(minutes=90) else one
        for one in found.stories[FIRST].events
    ]
    story(found, FIRST, events=story_events)
    assert "a clock that is set forward takes no time from a question" not in wrong(found)


def test_what_the_set_clock_calls_later_is_compared_by_the_clock_on_the_wall() -> None:
    records = Records()
    assert records.by_the_wall(after(minutes=5)) == after(minutes=5)
    records.clock_sets += [
        ClockSet(after(minutes=10), timedelta(minutes=30), timedelta()),
        ClockSet(after(minutes=20), timedelta(minutes=-5), timedelta(minutes=30)),
    ]
    assert [records.by_the_wall(after(minutes=minutes)) for minutes in (9, 41, 49, 51)] == [
        after(minutes=9),
        after(minutes=11),
        after(minutes=19),  # and again at minute 24
        after(minutes=26),
    ]
    assert records.by_the_wall(after(minutes=25)) == after(minutes=10)  # a time that was left out


def test_what_two_workers_have_sent_is_no_second_notice() -> None:
    found = evidence()
    [first, *_] = found.stories[FIRST].rows
    second = replace(first, id="second", reason=TWICE)
    story(found, FIRST, rows=[*found.stories[FIRST].rows, second])
    assert wrong(found) == set()


def test_an_answer_that_disagrees_is_acted_upon_by_being_told_so() -> None:
    found = evidence()
    disagreeing = replace(found.records.given[5], at=after(minutes=4, seconds=30))
    found.records.given.append(replace(disagreeing, act=replace(disagreeing.act, value="deny", who=ALICE)))
    assert wrong(found) == set()


def test_a_mail_that_came_too_late_may_be_noted_after_the_end() -> None:
    found = evidence()
    events = found.stories[FIRST].events
    story(found, FIRST, events=[*events, replace(events[-1], type=MESSAGE_RECEIVED)])
    assert "each suspension ended once, and nothing came after" not in wrong(found)
