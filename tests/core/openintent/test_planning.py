"""Whom each attempt asks, over the real directory (API.md §2, "Whom to ask")."""

from __future__ import annotations

from typing import Any

import pytest

from bot.config.settings import Settings
from bot.people.directory import Directory
from core.domain.policy import ResolvedPolicy
from core.domain.request import AskRequest
from core.domain.suspension import HumanRetryPolicy, PlannedAttempt, Rung
from core.engine.planning import AttemptPlan, Planner
from core.errors import InvalidRecipient, NoRecipient, RecipientNotAllowed, UnknownChannel
from tests.core.examples import APPROVE_DENY, HOUR

KEY = "0123456789abcdef0123456789abcdef"
SLACK = {"bot_token": "xoxb-1", "signing_secret": "s", "default_channel": "C0OPS"}
EMAIL = {"smtp_url": "smtp://127.0.0.1", "from": "hand@example.com"}
PAGERDUTY = {"routing_key": KEY, "services": {"payments": KEY}}
PEOPLE = [
    {"name": "Alice", "email": "alice@example.com", "slack_user_id": "U0ALICE", "groups": ["finance"]},
    {"name": "Bob", "email": "bob@example.com", "groups": ["finance"]},
    {"name": "Sue", "email": "sue@example.com", "pagerduty_user_id": "PSUE"},
]
LADDER = (Rung(2, "email"), Rung(3, "pagerduty", "sue@example.com"))


def a_planner(default_channel: str | None = "slack", **changes: Any) -> Planner:
    sections = {"slack": SLACK, "email": EMAIL, "pagerduty": PAGERDUTY, "people": PEOPLE, **changes}
    settings = Settings(**{name: value for name, value in sections.items() if value is not None})
    return Planner(Directory(settings), settings.channels, default_channel, {"pagerduty"})


def planned(
    planner: Planner | None = None, *, ladder: tuple[Rung, ...] = (), attempts: int = 1, **call: Any
) -> AttemptPlan:
    policy = HumanRetryPolicy(attempts, HOUR, ladder)
    return (planner or a_planner()).plan(
        AskRequest("Refund?", choices=APPROVE_DENY, **call), ResolvedPolicy(policy, {}, True)
    )


def first(plan: AttemptPlan) -> PlannedAttempt:
    plan.check()
    return plan.attempts[0]


# --- The channel --------------------------------------------------------------------------------------------------


def test_the_calls_channel_beats_the_default() -> None:
    assert first(planned(channel_hint="email", notify_to="bob@example.com")).channel == "email"
    assert first(planned()).channel == "slack"


def test_a_rungs_channel_counts_for_its_own_attempt_alone() -> None:
    plan = planned(attempts=4, ladder=LADDER, responders=("alice@example.com",))
    plan.check()
    assert [step.channel for step in plan.attempts] == ["slack", "email", "pagerduty", "slack"]
    assert [step.rung for step in plan.attempts] == [False, True, True, False]


def test_a_rung_without_a_channel_keeps_the_calls() -> None:
    plan = planned(
        attempts=2, ladder=(Rung(2, None, "bob@example.com"),), channel_hint="email", notify_to="a@example.com"
    )
    assert [step.channel for step in plan.attempts] == ["email", "email"]


@pytest.mark.parametrize("channel", ["sms", "Slack", "slack "])
def test_an_unknown_channel_is_refused_with_those_that_are_known(channel: str) -> None:
    with pytest.raises(UnknownChannel, match="expected one of: email, inbox, pagerduty, slack"):
        planned(channel_hint=channel).check()


def test_a_channel_that_is_not_set_up_is_unknown() -> None:
    with pytest.raises(UnknownChannel) as refused:
        planned(a_planner(pagerduty=None), attempts=3, ladder=LADDER, notify_to="alice@example.com").check()
    assert refused.value.details["fields"][0]["path"] == "retry_policy.escalation_ladder"  # type: ignore[index,call-overload]


def test_without_a_default_channel_the_call_must_name_one() -> None:
    with pytest.raises(UnknownChannel):
        planned(a_planner(default_channel=None)).check()


# --- The recipient ------------------------------------------------------------------------------------------------


def test_the_rungs_recipient_comes_first() -> None:
    plan = planned(attempts=3, ladder=LADDER, notify_to="alice@example.com")
    assert plan.attempts[2].recipients == ("sue@example.com",)


def test_then_the_calls_recipient() -> None:
    assert first(planned(notify_to="alice@example.com", responders=("group:finance",))).recipients == (
        "alice@example.com",
    )


def test_then_every_responder_who_is_reachable_there() -> None:
    responders = ("group:finance", "bob@example.com", "sue@example.com", "alice@example.com")
    assert first(planned(responders=responders)).recipients == ("group:finance", "alice@example.com")
    everybody = first(planned(channel_hint="email", responders=responders)).recipients
    assert everybody == responders


def test_then_what_is_configured_for_the_channel() -> None:
    assert first(planned(responders=("bob@example.com",))).recipients == ("slack:C0OPS",)
    assert first(planned()).recipients == ("slack:C0OPS",)
    assert first(planned(channel_hint="pagerduty")).recipients == ("pagerduty:default",)


def test_with_nobody_at_all_the_question_is_refused() -> None:
    with pytest.raises(NoRecipient, match="Nobody is reachable on email at attempt 1"):
        planned(channel_hint="email").check()


def test_a_later_attempt_that_reaches_nobody_refuses_the_whole_question() -> None:
    with pytest.raises(NoRecipient, match="at attempt 2"):
        planned(attempts=2, ladder=(Rung(2, "email"),)).check()


def test_a_recipient_who_is_not_reachable_there_gives_way_and_says_so() -> None:
    plan = planned(notify_to="bob@example.com", responders=("alice@example.com",))
    assert first(plan).recipients == ("alice@example.com",)
    assert [(problem.attempt, problem.code, problem.fatal) for problem in plan.problems] == [
        (1, "recipient_unreachable", False)
    ]


def test_paging_a_person_warns_that_the_service_is_paged() -> None:
    plan = planned(channel_hint="pagerduty", notify_to="sue@example.com")
    assert first(plan).recipients == ("sue@example.com",)
    assert [problem.code for problem in plan.problems] == ["pages_service_only"]


def test_paging_a_service_by_name_warns_of_nothing() -> None:
    plan = planned(
        a_planner(recipients={"allow": ["pagerduty:*"]}), channel_hint="pagerduty", notify_to="pagerduty:payments"
    )
    assert (first(plan).recipients, plan.problems) == (("pagerduty:payments",), ())


def test_the_plan_keeps_references_not_the_people_behind_them() -> None:
    assert first(planned(notify_to="group:finance")).recipients == ("group:finance",)


# --- The allow-list -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "path"),
    [
        ({"notify_to": "eve@elsewhere.org"}, "notify_to"),
        ({"responders": ("alice@example.com", "eve@elsewhere.org")}, "responders.1"),
        ({"attempts": 2, "ladder": (Rung(2, "email", "eve@elsewhere.org"),)}, "retry_policy.escalation_ladder"),
        ({"notify_to": "slack:C0OTHER"}, "notify_to"),
        ({"notify_to": "email:eve@elsewhere.org", "channel_hint": "email"}, "notify_to"),
    ],
)
def test_without_an_allow_list_only_the_directory_and_the_defaults_are_asked(call: dict[str, Any], path: str) -> None:
    with pytest.raises(RecipientNotAllowed) as refused:
        planned(**call).check()
    assert refused.value.details["fields"][0]["path"] == path  # type: ignore[index,call-overload]


@pytest.mark.parametrize("name", ["alice@example.com", "group:finance", "slack:C0OPS", "slack:U0ALICE"])
def test_the_directory_and_the_defaults_may_always_be_asked(name: str) -> None:
    planned(notify_to=name).check()


def test_an_allow_list_says_who_may_be_asked() -> None:
    planner = a_planner(recipients={"allow": ["*@example.com", "slack:C0OTHER"]})
    planned(planner, notify_to="new@example.com", channel_hint="email").check()
    planned(planner, notify_to="slack:C0OTHER").check()
    for name in ("new@elsewhere.org", "group:finance", "slack:C0THIRD"):
        with pytest.raises(RecipientNotAllowed):
            planned(planner, notify_to=name).check()


def test_responders_who_only_answer_must_be_allowed_too() -> None:
    planner = a_planner(recipients={"allow": ["slack:*"]})
    with pytest.raises(RecipientNotAllowed):
        planned(planner, notify_to="slack:C0OPS", responders=("alice@example.com",)).check()


# --- What is no recipient -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "path"),
    [
        ({"notify_to": "alice"}, "notify_to"),
        ({"responders": ("alice@example.com", "nobody")}, "responders.1"),
        ({"attempts": 2, "ladder": (Rung(2, "email", "x:y"),)}, "retry_policy.escalation_ladder"),
    ],
)
def test_what_is_no_recipient_is_refused_by_the_name_of_its_field(call: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidRecipient) as refused:
        planned(**call)
    assert refused.value.details["fields"][0]["path"] == path  # type: ignore[index,call-overload]


def test_a_schedule_is_refused_where_nobody_can_say_who_is_on_call() -> None:
    with pytest.raises(RecipientNotAllowed):
        planned(notify_to="pagerduty-schedule:PABC").check()


# --- How it is frozen ---------------------------------------------------------------------------------------------


def test_every_attempt_is_planned_with_its_number_and_its_own_word() -> None:
    plan = planned(attempts=3, ladder=LADDER, responders=("alice@example.com",))
    plan.check()
    assert plan.attempts == (
        PlannedAttempt(1, "slack", None, ("alice@example.com",), rung=False),
        PlannedAttempt(2, "email", None, ("alice@example.com",), rung=True),
        PlannedAttempt(3, "pagerduty", "sue@example.com", ("sue@example.com",), rung=True),
    )


def test_all_problems_are_told_together_for_a_preview() -> None:
    plan = planned(attempts=2, ladder=(Rung(2, "sms"),), notify_to="eve@elsewhere.org", channel_hint="email")
    assert [(problem.attempt, problem.code) for problem in plan.problems] == [
        (1, "recipient_not_allowed"),
        (2, "unknown_channel"),
    ]
