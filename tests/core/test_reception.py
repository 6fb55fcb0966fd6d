"""What becomes of an answer, case by case and in the order of API.md §4. The doors' words for each are tested with the
doors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.config.settings import Settings
from bot.people.directory import Directory
from core.domain.answers import GivenAnswer
from core.domain.machine import decide
from core.domain.people import Actor
from core.domain.reception import AlreadyYours, NotAnAnswer, NotYours, TooLate
from core.domain.suspension import Suspension
from core.domain.vocabulary import AnswerGiven, Cancelled
from core.engine.permissions import Permissions
from core.engine.reception import received
from core.errors import HandraiseError
from tests.core.examples import after, hourly

DIRECTORY = Directory(
    Settings(
        slack={"bot_token": "xoxb-1", "signing_secret": "s", "default_channel": "C0OPS"},
        people=[{"name": name, "email": f"{name.lower()}@example.com"} for name in ("Alice", "Bob", "Carol")],
    )
)
ALICE, BOB, CAROL = (DIRECTORY.actor(f"{name}@example.com") for name in ("alice", "bob", "carol"))
BOTH = ("alice@example.com", "bob@example.com")
OF_TWO = hourly(responders=BOTH, answers_required=2)


def said(suspension: Suspension, by: Actor, value: Any, **more: Any) -> Any:
    given = GivenAnswer(suspension.id, by, "slack", value, **more)
    return received(suspension, given, Permissions(DIRECTORY))


def once_answered(suspension: Suspension, by: Actor = ALICE, value: Any = "approve") -> Suspension:
    return decide(suspension, said(suspension, by, value), after(minutes=5)).suspension


ANSWERED = once_answered(hourly(responders=BOTH))
CANCELLED = decide(hourly(responders=BOTH), Cancelled("refund-agent", None), after(minutes=5)).suspension


def test_an_answer_that_counts_is_a_signal() -> None:
    signal = said(OF_TWO, ALICE, "approve", reason="Fine.")
    assert signal == AnswerGiven("approve", "alice@example.com", "slack", "Fine.", {}, silent=1)


@pytest.mark.parametrize(
    ("suspension", "by", "value", "becomes", "code"),
    [
        (ANSWERED, ALICE, "approve", AlreadyYours, "already_answered"),
        (ANSWERED, ALICE, "deny", TooLate, "already_answered"),
        (ANSWERED, BOB, "approve", TooLate, "already_answered"),
        (CANCELLED, ALICE, "approve", TooLate, "suspension_ended"),
        (ANSWERED, CAROL, "maybe", TooLate, "already_answered"),
        (OF_TWO, CAROL, "maybe", NotYours, "not_a_responder"),
        (OF_TWO, ALICE, "maybe", NotAnAnswer, "invalid_choice"),
        (once_answered(OF_TWO), ALICE, "maybe", NotAnAnswer, "invalid_choice"),
        (once_answered(OF_TWO), ALICE, "approve", AlreadyYours, "already_answered"),
    ],
)
def test_any_other_is_told_what_it_is(suspension: Suspension, by: Actor, value: str, becomes: type, code: str) -> None:
    turned = said(suspension, by, value)
    assert type(turned) is becomes
    assert turned.suspension is suspension
    assert isinstance(turned.error, HandraiseError)
    assert turned.error.code == code


@pytest.mark.parametrize("by", [ALICE, BOB])
def test_another_value_counts_whoever_gives_it(by: Actor) -> None:
    assert said(once_answered(OF_TWO), by, "deny").value == "deny"


def test_an_answer_knows_how_many_others_have_not_given_one() -> None:
    assert said(OF_TWO, ALICE, "approve").silent == 1
    assert said(once_answered(OF_TWO), BOB, "deny").silent == 0
    assert said(once_answered(OF_TWO), ALICE, "deny").silent == 1
    assert said(hourly(responders=BOTH), ALICE, "approve").silent is None


def test_whoever_may_not_answer_comes_before_whoever_is_named() -> None:
    own = replace(ALICE, key="refund-agent")
    assert said(OF_TWO, own, "approve", named="bob@example.com").error.code == "self_response_forbidden"
    assert said(OF_TWO, ALICE, "approve", named="bob@example.com").error.code == "identity_mismatch"


def test_what_the_agent_could_not_resume_with_is_no_answer() -> None:
    asked = hourly(responders=BOTH)
    ask = replace(asked.ask, resume=replace(asked.ask.resume, payload_schema={"required": ["ticket"]}))
    turned = said(replace(asked, ask=ask), ALICE, "approve")
    assert (type(turned), turned.error.code) == (NotAnAnswer, "suspension_resume_payload_invalid")
