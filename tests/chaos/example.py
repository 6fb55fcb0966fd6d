"""The evidence of a run that nothing is wrong with, made by hand: two questions, and whatever can happen to one.

The first is asked in Slack and again by mail, and answered in Slack. The second needs two people; it is handed over to
a third, and the agent is asked back. A worker froze with the first one's mail in hand, which another then sent, and was
asked to end later; the clock was set forward after its last attempt, and a disk was dead for some seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.sandbox.pagerduty.world import Incident, IncidentStatus, Service
from bot.sandbox.slack.world import Message
from core.domain.callback import ASKED_BACK
from core.domain.intent import Intent, IntentStatus
from core.domain.machine import decide, open_suspension
from core.domain.suspension import Ask, Suspension
from core.domain.vocabulary import AnswerGiven, AskedBack, Assigned, AttemptDue, Clarified, Event, Signal
from core.store import intents
from core.store.event_log import Logged
from core.store.outbox import AGENTS, Row, RowKind, RowStatus
from tests.chaos.evidence import Arrival, Evidence, Story
from tests.chaos.plan import ALICE, BOB, CAROL, Act, Question, Way
from tests.chaos.records import Asked, BadDisk, Call, ClockSet, Ending, Freeze, Given, Hardship, Probe, Records
from tests.core.examples import HOUR, LADDER, START, a_question, after

FIRST, SECOND = "susp-1", "susp-2"


def evidence() -> Evidence:
    first, second = _first(), _second()
    stories = {story.suspension.id: story for story in (first, second)}
    rows = {row.id: row for story in stories.values() for row in story.rows}
    return Evidence(
        stories,
        rows,
        _records(stories),
        [Arrival("slack-1", "slack", START), Arrival("mail-1", "email", after(hours=1)), *_arrived_of_the_second()],
        {"slack-1": [_edited("1.1")], "slack-2": [_edited("1.2")], "handed": [_edited("1.3")]},
        {first.ref: [_resolved(first.ref)]},
        frozenset(),
        (0, 0),
    )


def _first() -> Story:
    ask = a_question(attempts=3, interval=HOUR, ladder=LADDER, question="Refund order 1?")
    signals = [
        (AttemptDue(), after(hours=1)),
        (AttemptDue(), after(hours=2)),
        (AnswerGiven("approve", ALICE, "slack"), after(hours=2, minutes=5)),
    ]
    rows = [
        _notice("slack-1", FIRST, 1, "slack", "C0OPS"),
        _notice("mail-1", FIRST, 2, "email", ALICE, ALICE),
        _notice("page-1", FIRST, 3, "pagerduty", "default"),
        _callback("told-1", FIRST, "intent.resumed"),
    ]
    return _story(ask, signals, rows, answered_at=after(hours=2, minutes=5))


def _second() -> Story:
    ask = a_question(
        attempts=2,
        interval=HOUR,
        suspension_id=SECOND,
        ref="HR-2222",
        intent_id="intent-2",
        question="Refund order 2?",
        answers_required=2,
        responders=(ALICE, BOB),
    )
    signals = [
        (Assigned(CAROL, ALICE, "slack"), after(minutes=1)),
        (AskedBack("Which of the two?", BOB), after(minutes=2)),
        (Clarified("The second.", "refund-agent"), after(minutes=3)),
        (AnswerGiven("approve", BOB, "email"), after(minutes=4)),
        (AnswerGiven("approve", CAROL, "slack"), after(minutes=5)),
    ]
    rows = [
        _notice("slack-2", SECOND, 1, "slack", "C0OPS"),
        _notice("handed", SECOND, 1, "slack", "U0CAROL", CAROL),
        _callback("asked-2", SECOND, ASKED_BACK),
        _callback("told-2", SECOND, "intent.resumed"),
    ]
    return _story(ask, signals, rows, answered_at=after(minutes=5))


def _arrived_of_the_second() -> list[Arrival]:
    return [Arrival("slack-2", "slack", START), Arrival("handed", "slack", after(minutes=1))]


def _story(ask: Ask, signals: Sequence[tuple[Signal, datetime]], rows: list[Row], answered_at: datetime) -> Story:
    outcome = open_suspension(ask)
    suspension, happened = outcome.suspension, [(START, event) for event in outcome.events]
    for signal, at in signals:
        outcome = decide(suspension, signal, at)
        suspension = outcome.suspension
        happened += [(at, event) for event in outcome.events]
    events = [_line(ask, number, at, event) for number, (at, event) in enumerate(happened, start=1)]
    return Story(suspension, _intent(suspension, events, answered_at), events, rows, None)


def _line(ask: Ask, number: int, at: datetime, event: Event) -> Logged:
    line = f"{ask.intent_id}/{number}"
    return Logged(line, ask.intent_id, number, event.type, "", dict(event.payload), at, f"mac {line}", (0, number))


def _intent(suspension: Suspension, events: Sequence[Logged], at: datetime) -> Intent:
    ask = suspension.ask
    made = intents.new(ask.intent_id, ask.question, ask.created_by, START, IntentStatus.ACTIVE)
    return replace(made, updated_at=at, suspension_id=suspension.id, log_length=len(events), log_mac=events[-1].mac)


def _notice(name: str, suspension: str, attempt: int, channel: str, address: str, person: str | None = None) -> Row:
    return Row(
        RowKind.NOTIFY,
        channel,
        START,
        START,
        suspension,
        attempt,
        address,
        person,
        status=RowStatus.DELIVERED,
        tries=1,
        settled_at=after(hours=3),
        id=name,
    )


def _callback(name: str, suspension: str, kind: str) -> Row:
    body: dict[str, Any] = {"url": "http://agent.example/", "key": "refund-agent", "body": {"type": kind}}
    return Row(
        RowKind.RESUME, AGENTS, START, START, suspension, body=body, status=RowStatus.DELIVERED, tries=1, id=name
    )


def _edited(ts: str) -> Message:
    return Message("C0OPS", ts, "UBOT", "Approved.")


def _resolved(ref: str) -> Incident:
    service = Service("P1", "default", "R1")
    return Incident("Q1", 1, f"[{ref}] Refund?", service, START, {}, [], status=IncidentStatus.RESOLVED)


def _records(stories: dict[str, Story]) -> Records:
    asked = {one: _asked(story.suspension.ask) for one, story in stories.items()}
    first, second = asked[FIRST], asked[SECOND]
    return Records(
        due=frozenset({Hardship.FREEZE, Hardship.CLOCK}),
        suffered=Counter({Hardship.FREEZE: 1, Hardship.CLOCK: 2}),
        asked=list(asked.values()),
        given=[
            _given(first, Way.SLACK, "approve", ALICE, after(hours=2, minutes=5), kept=True),
            _given(first, Way.API, "deny", BOB, after(hours=3)),
            _given(second, Way.ASSIGN, CAROL, ALICE, after(minutes=1), firm=True),
            _given(second, Way.CLARIFY, "The second.", BOB, after(minutes=2), firm=True),
            _given(second, Way.CLARIFICATION, "The second.", "refund-agent", after(minutes=3), firm=True),
            _given(second, Way.MAIL, "approve", BOB, after(minutes=4), kept=True),
            _given(second, Way.SLACK, "approve", CAROL, after(minutes=5), kept=True),
        ],
        calls=[
            Call("told-1", FIRST, _told(ALICE), 200, after(hours=2, minutes=6), "intent.resumed"),
            Call("asked-2", SECOND, {}, 204, after(minutes=2), ASKED_BACK),
            Call("told-2", SECOND, _told(CAROL), 200, after(minutes=6), "intent.resumed"),
        ],
        freezes=[_freeze()],
        endings=[Ending("worker-1", 3.0, 0, in_hand=4), Ending("worker-1", 0.5, 0)],
        clock_sets=[ClockSet(after(hours=2, minutes=1), timedelta(minutes=2), timedelta())],
        bad_disks=[_bad_disk()],
        alone=[0.04, 0.05, 0.06],
        beside=[0.05, 0.08, 3.0],
    )


def _freeze() -> Freeze:
    begin, end = after(minutes=59, seconds=50), after(minutes=60, seconds=20)
    return Freeze("worker-1", begin, end, frozenset({"mail-1"}), after(minutes=60, seconds=13))


def _bad_disk() -> BadDisk:
    probes = [(1, 200, 503), (4, 503, 503), (6, 200, 201)]
    since = after(minutes=10)
    told = [Probe(since + timedelta(seconds=second), ready, made) for second, ready, made in probes]
    return BadDisk(True, since, since + timedelta(seconds=5), told)


def _asked(ask: Ask) -> Asked:
    question = Question(1, 0, 10, {"question": ask.question}, (), then_kill=False)
    return Asked(question, {"suspension_id": ask.id, "ref": ask.ref, "intent_id": ask.intent_id})


def _given(
    asked: Asked, way: Way, value: str, who: str, at: datetime, *, firm: bool = False, kept: bool = False
) -> Given:
    return Given(asked, Act(way, value, who, 0), 200 if firm or kept else 409, at, firm, kept)


def _told(by: str) -> dict[str, Any]:
    return {"resolution": "responded", "value": "approve", "responded_by": by, "error": None}
