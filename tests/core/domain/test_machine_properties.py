"""What holds of every question, whatever happens to it and however its clock jumps (HOUSE.md, "Tests")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.domain.clarification import MOST, patience
from core.domain.hours import quiet_times
from core.domain.machine import decide, next_attempt_at, open_suspension
from core.domain.policy import PolicyFields
from core.domain.suspension import Ask, FallbackPolicy, Kind, Rung, Suspension
from core.domain.vocabulary import (
    AlertOperators,
    AnswerGiven,
    AskAgentBack,
    AskedBack,
    Assigned,
    AttemptDue,
    AttemptRefused,
    Cancelled,
    Claimed,
    Clarified,
    DeadlineReached,
    Notify,
    NotifyPerson,
    Outcome,
    Released,
    Rescheduled,
    ResumeAgent,
    Signal,
    Withdraw,
)
from tests.core.examples import START, a_question, an_answer

PEOPLE = st.sampled_from(["alice@example.com", "bob@example.com", "carol@example.com", "dave@example.com"])
SECOND = timedelta(seconds=1)


def a_random_question(
    attempts: int,
    interval: timedelta | None,
    rungs: set[int],
    kind: Kind,
    final: FallbackPolicy,
    needed: int,
    within: float | None,
) -> Ask:
    """``within`` is how many intervals there are in all, ``None`` for as many as the ladder takes. A policy that does
    not fit is inherited, so that it is bent."""
    if interval is None:
        return a_question(answers_required=needed)  # one attempt, and it waits for ever
    ladder = tuple(Rung(number, "email") for number in sorted(rungs) if number <= attempts)
    platform = PolicyFields(attempts, interval, ladder)
    if kind is Kind.VETO:
        return a_question(platform=platform, kind=kind, timeout=interval * (within or attempts))
    fallback = {"final": final, "fallback_value": "deny", "answers_required": needed}
    deadline = None if within is None else {"timeout": interval * 60, "deadline": interval * within}
    return a_question(platform=platform, **fallback, **(deadline or {}))


def waiting_for(ask: Ask, opens: Mapping[int, float]) -> Ask:
    """The question with quiet attempts, whose people are there so many intervals after the attempt's own time."""
    interval = ask.policy.interval
    if interval is None or ask.expires_at is None:
        return ask
    due = [ask.due_at(step.number) for step in ask.attempts]
    openings = [at + interval * opens[n] if n in opens else None for n, at in enumerate(due, start=1)]
    times = quiet_times(due, openings, ask.expires_at - interval / 2)
    steps = [replace(step, waits_until=at) for step, at in zip(ask.attempts, times, strict=True)]
    return replace(ask, attempts=tuple(steps))


class Questions(RuleBasedStateMachine):
    """One question, everything that may happen to it in any order, and a clock that may jump either way."""

    @initialize(
        attempts=st.sampled_from([1, 2, 3, 4, 5, 50]),
        interval=st.sampled_from([5, 30, 60, 90, 240, None]).map(lambda m: m and timedelta(minutes=m)),
        rungs=st.sets(st.integers(1, 6), max_size=3),
        kind=st.sampled_from(Kind),
        final=st.sampled_from(FallbackPolicy),
        needed=st.sampled_from([1, 1, 2, 3]),
        within=st.sampled_from([None, None, 0.4, 1, 1.3, 2, 2.6, 4.5, 60]),
        opens=st.dictionaries(st.integers(1, 5), st.sampled_from([0.2, 0.9, 1.0, 1.7, 9.0]), max_size=4),
    )
    def it_is_asked(
        self,
        attempts: int,
        interval: timedelta | None,
        rungs: set[int],
        kind: Kind,
        final: FallbackPolicy,
        needed: int,
        within: float | None,
        opens: Mapping[int, float],
    ) -> None:
        self.now = START
        self.shift = timedelta(0)
        self.outages = timedelta(0)
        self.away = timedelta(0)
        self.unreached: int | None = None
        self.alerts = 0
        ask = waiting_for(a_random_question(attempts, interval, rungs, kind, final, needed, within), opens)
        opening = open_suspension(ask)
        self.opened = ask
        self.longest = patience(ask)
        self.suspension = opening.suspension
        self.sent = [effect.attempt for effect in opening.effects if isinstance(effect, Notify)] or [0]
        assert self.sent == ([0] if gives_way(ask, 1) else [1])
        self.endings = 0

    def due_at(self, attempt: int) -> datetime:
        """Worked out anew: as agreed, moved by outages and what the agent was waited for, the latter not into the last
        half interval before the deadline."""
        agreed, interval = self.opened.due_at(attempt), self.opened.policy.interval
        if self.deadline is None or interval is None:
            return agreed + self.shift
        return min(agreed + self.shift, max(agreed + self.away, self.deadline - interval / 2))

    @property
    def deadline(self) -> datetime | None:
        return None if self.opened.deadline is None else START + self.opened.deadline + self.away

    @property
    def end(self) -> datetime | None:
        if self.opened.expires_at is None:
            return None
        assert self.opened.ladder_ends_at is not None
        return min(at for at in (self.opened.ladder_ends_at + self.shift, self.deadline) if at is not None)

    # --- What happens ---------------------------------------------------------------------------------------------

    @rule(intervals=st.sampled_from([0.25, 0.5, 0.8, 1, 1.4, 3, 40, -0.3, -1, -3]), looks=st.booleans())
    def time_passes(self, intervals: float, looks: bool) -> None:
        self.move_to(self.now + (self.opened.policy.interval or timedelta(hours=1)) * intervals, looks)

    @precondition(lambda self: self.opened.expires_at is not None)
    @rule(intervals=st.sampled_from([-1.2, -0.6, -0.4, -0.1, 0, 0.2]), looks=st.booleans())
    def the_end_comes_near(self, intervals: float, looks: bool) -> None:
        assert self.end is not None
        assert self.opened.policy.interval is not None
        self.move_to(self.end + self.opened.policy.interval * intervals, looks)

    @rule(by=st.sampled_from([SECOND, timedelta(minutes=7), timedelta(hours=3), timedelta(days=9)]), away=st.booleans())
    def we_were_away(self, by: timedelta, away: bool) -> None:
        """An outage of ours, met by a question that was there all the while or was asked in the middle."""
        if away:
            self.now += by
        before = self.suspension
        coming, claim = next_attempt_at(before), before.claim
        if before.look_at is not None:
            self.shift += by
            self.away += by
            self.outages += by if before.asks_back is None else timedelta(0)
            self.longest += by
        self.signal(Rescheduled(by))
        after = self.suspension
        assert next_attempt_at(after) == (coming and coming + by), "what is still to come moves, forward and by as much"
        assert (after.claim and after.claim.until) == (claim and claim.until + by)
        assert (after.attempt, after.held, after.status) == (before.attempt, before.held, before.status)

    def move_to(self, at: datetime, looks: bool) -> None:
        """The clock goes on, with the worker there or away."""
        self.now = at
        if looks:
            self.the_clock_looks(delivered=True)

    @precondition(lambda self: self.suspension.look_at is not None)
    @rule(late=st.sampled_from([timedelta(0), SECOND, timedelta(minutes=40)]))
    def the_clock_looks_when_it_should(self, late: timedelta) -> None:
        assert self.suspension.look_at is not None
        self.now = self.suspension.look_at + late
        self.the_clock_looks(delivered=True)

    @rule(delivered=st.booleans())
    def the_clock_looks(self, delivered: bool) -> None:
        """Repeated looks at one instant come to rest, and then the next look lies ahead."""
        for _ in range(self.opened.max_attempts + 2):
            before = self.suspension
            self.signal(AttemptDue(delivered))
            if self.suspension == before:
                break
        assert decide(self.suspension, AttemptDue(delivered), self.now) == Outcome(self.suspension)
        look_at = self.suspension.look_at
        assert look_at is None or look_at > self.now
        self.check_what_a_look_leaves()
        if self.suspension.is_open and self.suspension.claim is None and self.unreached == self.suspension.attempt:
            assert self.unreached == self.opened.max_attempts, "what nobody was reached by has been followed up"
            assert self.alerts, "or the operators know"

    @rule(attempt=st.integers(1, 6))
    def some_attempt_is_refused(self, attempt: int) -> None:
        self.signal(AttemptRefused(attempt))

    @rule()
    def the_latest_attempt_is_refused(self) -> None:
        self.signal(AttemptRefused(self.suspension.attempt))

    @rule(by=PEOPLE, intervals=st.sampled_from([0.1, 0.4, 0.7, 1.2, 2.5, 8]))
    def somebody_is_on_it(self, by: str, intervals: float) -> None:
        until = self.now + (self.opened.policy.interval or timedelta(hours=1)) * intervals
        self.signal(Claimed(by, until, "slack"))

    @rule(by=PEOPLE)
    def the_claim_is_given_back(self, by: str) -> None:
        self.signal(Released(by))

    @precondition(lambda self: len(self.sent) > 1 or self.opened.answers_required > 1 or self.endings)
    @rule(by=PEOPLE, choice=st.sampled_from([0, 0, 0, 1]))
    def somebody_answers(self, by: str, choice: int) -> None:
        self.signal(an_answer(self.opened.choices[choice].value, by))

    @rule(to=PEOPLE, by=PEOPLE)
    def it_is_handed_over(self, to: str, by: str) -> None:
        before = self.suspension
        self.signal(Assigned(to, by, "slack"))
        after = self.suspension
        assert (after.attempt, after.held, after.look_at, after.shift) == (
            before.attempt,
            before.held,
            before.look_at,
            before.shift,
        ), "a hand-over leaves the ladder as it is"
        assert after.assigned_to == (to if before.is_open else before.assigned_to)

    @rule(by=PEOPLE)
    def somebody_asks_back(self, by: str) -> None:
        self.signal(AskedBack("Which account?", by))

    @rule(late=st.sampled_from([0.01, 0.1, 0.6, 1, 1.5]))
    def the_agent_clarifies(self, late: float) -> None:
        if (asked := self.suspension.asks_back) is not None:
            self.now = asked.asked_at + patience(self.opened) * late
        self.signal(Clarified("The shared one.", "refund-agent"))

    @precondition(lambda self: len(self.sent) > 1 or self.endings)
    @rule(signal=st.sampled_from([Cancelled("refund-agent"), DeadlineReached()]))
    def it_is_ended_from_outside(self, signal: Signal) -> None:
        self.signal(signal)

    # --- What holds ----------------------------------------------------------------------------------------------

    def signal(self, signal: Signal) -> None:
        before, now = self.suspension, self.now
        if isinstance(signal, AttemptRefused) and signal.attempt == before.attempt and before.asks_back is None:
            self.unreached = before.attempt if self.end is None or now < self.end else self.unreached
        outcome = decide(before, signal, now)
        after = outcome.suspension
        if not before.is_open:
            assert outcome == Outcome(before), "an ended question stays silent"
        if not isinstance(signal, Rescheduled):
            self.shift += after.shift - before.shift  # how much asking back moves is asserted by itself
        self.check_attempts(before, signal, outcome)
        self.check_ending(before, signal, outcome)
        self.check_answers(before, signal, outcome)
        self.check_asking_back(before, signal, outcome)
        assert after.ask == self.opened, "nothing that was agreed at the start ever moves, the end included"
        self.alerts += sum(isinstance(effect, AlertOperators) for effect in outcome.effects)
        assert {event.payload["suspension_id"] for event in outcome.events} <= {self.opened.id}
        if after != before:
            self.check_next_look(after)
        self.suspension = after

    def check_attempts(self, before: Suspension, signal: Signal, outcome: Outcome) -> None:
        numbers = [effect.attempt for effect in outcome.effects if isinstance(effect, Notify)]
        assert len(numbers) <= 1
        assert before.asks_back is None or not numbers, "nobody is asked again while the agent is asked back"
        asked = [effect for effect in outcome.effects if isinstance(effect, NotifyPerson)]
        assert len(asked) == (isinstance(signal, Assigned) and before.is_open)
        hold = held_until(before)
        held_by = None if before.claim is None else before.claim.by
        given_back = isinstance(signal, Released) or (isinstance(signal, AnswerGiven) and signal.by == held_by)
        assert hold is None or self.now >= hold or given_back or not numbers, "a claim holds attempts back"
        told = [event.payload for event in outcome.events if event.type == "intent.suspension_renotified"]
        assert [payload["attempt"] for payload in told] == numbers
        for number in numbers:
            assert self.sent[-1] < number <= self.opened.max_attempts
            skipped = list(range(self.sent[-1] + 1, number))
            assert told[0].get("skipped", []) == skipped
            alone = [one for one in skipped if not (one == 1 and gives_way(self.opened, 1))]
            assert all(was_held(before, one) or self.due_at(one) == self.due_at(number) for one in alone)
            assert self.deadline is None or self.now < self.deadline, "nobody is asked once the deadline has passed"
            early = isinstance(signal, AttemptRefused) or self.unreached == before.attempt
            assert early or self.now >= self.due_at(number)
            assert self.end is None or self.now < self.end
            self.check_who_asked_for(number, before, signal)
            self.sent.append(number)
        assert outcome.suspension.attempt == max(self.sent[-1], 1)

    def check_who_asked_for(self, number: int, before: Suspension, signal: Signal) -> None:
        if isinstance(signal, AttemptRefused):
            assert signal.attempt == before.attempt, "only the latest attempt's refusal brings the next"
            return
        later = range(number + 1, self.opened.max_attempts + 1)
        left = [one for one in later if before.due_at(one) <= self.now and was_held(before, one)]
        assert not left, "what a claim held back goes out as one attempt"

    def check_ending(self, before: Suspension, signal: Signal, outcome: Outcome) -> None:
        ends = before.is_open and not outcome.suspension.is_open
        self.endings += ends
        assert self.endings <= 1
        assert (outcome.suspension.ended is None) == outcome.suspension.is_open
        callbacks = [effect for effect in outcome.effects if isinstance(effect, ResumeAgent)]
        assert len(callbacks) == ends
        assert (Withdraw() in outcome.effects) == ends
        if isinstance(signal, AttemptDue) and before.is_open:
            end, asked = self.end, before.asks_back
            assert not ends or asked is None or self.now >= asked.until, "silence is not counted while the agent thinks"
            assert ends == (end is not None and self.now >= end), "silence ends it at the end, no sooner and no later"

    def check_answers(self, before: Suspension, signal: Signal, outcome: Outcome) -> None:
        """Nobody counts twice, a later answer stands for an earlier one, and it ends with the last one that its value
        needs, no sooner: a denial alone."""
        after, needed = outcome.suspension, self.opened.answers_required
        people = [one.by for one in after.answers]
        assert len(set(people)) == len(people)
        if not (isinstance(signal, AnswerGiven) and before.is_open):
            assert after.answers == before.answers
            return
        stood = {one.by: one.value for one in before.answers}
        if stood.get(signal.by) == signal.value:
            assert outcome == Outcome(before)
            return
        stands = {**stood, signal.by: signal.value}
        enough = 1 if needed == 1 or signal.value == "deny" else needed
        assert after.is_open == (list(stands.values()).count(signal.value) < enough)
        if needed > 1:
            assert {one.by: one.value for one in after.answers} == stands

    def check_asking_back(self, before: Suspension, signal: Signal, outcome: Outcome) -> None:
        after = outcome.suspension
        put = [effect for effect in outcome.effects if isinstance(effect, AskAgentBack)]
        assert len(put) == len(after.clarifications) - len(before.clarifications) <= isinstance(signal, AskedBack)
        assert len(after.clarifications) <= MOST
        if isinstance(signal, AskedBack) and before.asks_back is not None:
            assert outcome == Outcome(before), "one question at a time"
        if put:
            self.unreached = None  # somebody has been reached

    def check_next_look(self, suspension: Suspension) -> None:
        """Nothing that is coming is looked at too late."""
        if not suspension.is_open:
            assert suspension.look_at is None
            return
        following, claim, asked = next_attempt_at(suspension), suspension.claim, suspension.asks_back
        next_one = following if asked is None else asked.until
        times = [self.end, claim.until if claim else next_one]
        assert all(
            at is None or (suspension.look_at is not None and suspension.look_at <= max(at, self.now)) for at in times
        )

    def check_what_a_look_leaves(self) -> None:
        suspension, ask = self.suspension, self.opened
        if not suspension.is_open:
            return
        assert suspension.asks_back is None or self.now < suspension.asks_back.until, "no agent is waited for for ever"
        if suspension.asks_back is not None:
            return
        overdue = [n for n in range(suspension.attempt + 1, ask.max_attempts + 1) if self.due_at(n) <= self.now]
        hold = held_until(suspension)
        assert not overdue or (hold is not None and self.now < hold), (
            "what is due has gone out, unless a claim holds it"
        )
        assert set(overdue) <= set(suspension.held)
        end, interval = self.end, ask.policy.interval
        if end is not None and interval is not None and self.now >= end - interval / 2:
            assert not overdue, "nothing is held into the last half interval"
            in_time = ask.deadline is None and ask.kind is Kind.INPUT
            assert not in_time or suspension.attempt == ask.max_attempts, (
                "which only a deadline's last attempts may see"
            )
        assert suspension.claim is None or self.now < suspension.claim.until

    @invariant()
    def the_whole_window_is_interval_times_attempts_or_the_deadline(self) -> None:
        policy, ask = self.opened.policy, self.opened
        if policy.interval is None:
            assert ask.expires_at is None
        elif ask.kind is Kind.VETO:
            assert ask.timeout is not None
            assert self.suspension.expires_at == START + ask.timeout + self.shift, "a veto's window is its timeout"
        else:
            ladder = START + policy.interval * policy.max_attempts + self.shift
            assert self.suspension.expires_at == min(ladder, self.deadline or ladder)

    @invariant()
    def no_attempt_was_planned_for_after_the_end(self) -> None:
        ask = self.opened
        assert all(ask.expires_at is None or ask.due_at(step.number) < ask.expires_at for step in ask.attempts)

    @invariant()
    def the_window_is_never_longer_than_the_deadline_and_what_we_were_away(self) -> None:
        if self.opened.deadline is not None and self.suspension.expires_at is not None:
            assert self.suspension.expires_at - START <= self.opened.deadline + self.away

    @invariant()
    def times_have_moved_by_just_what_the_agent_was_waited_for_and_our_outages(self) -> None:
        suspension = self.suspension
        waited = [(one.closed_at or one.until) - one.asked_at for one in suspension.clarifications]
        assert suspension.shift == sum(waited, self.outages), "an outage while it was waited for counts once"
        assert all(timedelta(0) <= one <= self.longest for one in waited)

    @invariant()
    def no_claim_reaches_beyond_the_end(self) -> None:
        claim, end = self.suspension.claim, self.end
        assert claim is None or end is None or claim.until <= end

    @invariant()
    def it_never_counts_beyond_its_attempts(self) -> None:
        assert 1 <= self.suspension.attempt <= self.opened.max_attempts


def held_until(suspension: Suspension) -> datetime | None:
    """Until when a claim may hold attempts back, worked out anew from API.md §3."""
    ask, claim = suspension.ask, suspension.claim
    if claim is None or suspension.expires_at is None or ask.policy.interval is None:
        return claim and claim.until
    return min(claim.until, suspension.expires_at - ask.policy.interval / 2)


def gives_way(ask: Ask, attempt: int) -> bool:
    """Whether the attempt after it comes at the same time, worked out anew."""
    return attempt < ask.max_attempts and ask.due_at(attempt) == ask.due_at(attempt + 1)


def was_held(suspension: Suspension, attempt: int) -> bool:
    """Whether a claim held ``attempt`` back, be it that the clock looked meanwhile or not."""
    until = held_until(suspension)
    return attempt in suspension.held or (until is not None and suspension.due_at(attempt) < until)


TestQuestions = Questions.TestCase
TestQuestions.settings = settings(max_examples=5 * settings.default.max_examples, stateful_step_count=25, deadline=None)
