"""Who may answer, over the real directory (API.md §2, "Who may answer"; RFC-0025 §11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.config.settings import Settings
from bot.people.directory import Directory
from core.domain.answers import GivenAnswer
from core.domain.people import Actor, Role
from core.domain.suspension import Ended, PartialAnswer, PlannedAttempt, Status, Suspension
from core.engine.permissions import Permissions
from core.errors import IdentityMismatch, NotAResponder, SelfResponseForbidden
from tests.core.examples import a_question, after, hourly, look, opened

DIRECTORY = Directory(
    Settings(
        slack={"bot_token": "xoxb-1", "signing_secret": "s", "default_channel": "C0OPS"},
        api_keys=[
            {"name": "refund-agent", "key": "k1", "roles": ["agent"]},
            {"name": "oscar@example.com", "key": "k2", "roles": ["operator"]},
            {"name": "gateway", "key": "k3", "roles": ["admin"]},
        ],
        people=[
            {"name": "Alice", "email": "alice@example.com", "slack_user_id": "U0ALICE", "groups": ["finance"]},
            {"name": "Bob", "email": "bob@example.com", "slack_user_id": "U0BOB"},
            {"name": "Sue", "email": "sue@example.com", "pagerduty_user_id": "PSUE"},
        ],
    )
)


def who(identity: str, *roles: Role, key: str | None = None) -> Actor:
    return Actor(identity, frozenset(roles), key=key, person=DIRECTORY.actor(identity).person)


ALICE, BOB, SUE = who("alice@example.com"), who("bob@example.com"), who("sue@example.com")
OSCAR = who("oscar@example.com", Role.OPERATOR, key="oscar@example.com")


def refusal(suspension: Suspension, actor: Actor, *, allow_self: bool = False) -> str | None:
    return Permissions(DIRECTORY, allow_self).refusal(suspension, actor)


def asking(*references: str, **fields: Any) -> Suspension:
    """A question whose first attempt asked ``references``."""
    ask = a_question(**fields)
    return opened(replace(ask, attempts=(PlannedAttempt(1, "slack", None, references),)))


def test_named_responders_may_answer() -> None:
    suspension = asking("slack:C0OPS", responders=("alice@example.com",))
    assert refusal(suspension, ALICE) is None
    assert refusal(suspension, BOB) == "not_a_responder"


def test_members_of_a_named_group_may_answer() -> None:
    suspension = asking("slack:C0OPS", responders=("group:finance",))
    assert refusal(suspension, ALICE) is None
    assert refusal(suspension, BOB) == "not_a_responder"


@pytest.mark.parametrize("reference", ["bob@example.com", "email:bob@example.com", "slack:U0BOB"])
def test_whoever_was_asked_may_answer(reference: str) -> None:
    suspension = asking(reference, responders=("alice@example.com",))
    assert refusal(suspension, BOB) is None
    assert refusal(suspension, SUE) == "not_a_responder"


def test_a_slack_channel_by_itself_asks_nobody_in_particular() -> None:
    assert refusal(asking("slack:C0OPS"), ALICE) == "not_a_responder"


def test_a_recipient_of_a_later_attempt_may_answer_from_then_on() -> None:
    ask = a_question(attempts=2, interval=after(hours=1) - after())
    asked_later = PlannedAttempt(2, "pagerduty", "sue@example.com", ("sue@example.com",), rung=True)
    suspension = opened(replace(ask, attempts=(PlannedAttempt(1, "slack", None, ("slack:C0OPS",)), asked_later)))
    assert refusal(suspension, SUE) == "not_a_responder"
    assert refusal(look(suspension, after(hours=1)).suspension, SUE) is None


def test_without_named_responders_every_operator_may_answer() -> None:
    assert refusal(asking("slack:C0OPS"), OSCAR) is None
    assert refusal(asking("slack:C0OPS"), who("gateway", Role.ADMIN, key="gateway")) is None
    assert refusal(asking("slack:C0OPS"), who("other-agent", Role.AGENT, key="other-agent")) == "not_a_responder"


def test_with_named_responders_an_operator_is_like_anybody_else() -> None:
    assert refusal(asking("slack:C0OPS", responders=("alice@example.com",)), OSCAR) == "not_a_responder"


@pytest.mark.parametrize("role", Role)
def test_the_key_that_asked_never_answers_itself(role: Role) -> None:
    actor = who("refund-agent", role, key="refund-agent")
    assert refusal(asking("slack:C0OPS"), actor) == "self_response_forbidden"


def test_nor_under_another_name_with_the_same_key() -> None:
    actor = who("alice@example.com", Role.ADMIN, key="refund-agent")
    assert refusal(asking("alice@example.com"), actor) == "self_response_forbidden"


def test_a_person_whose_key_asked_does_not_answer_through_another_door() -> None:
    suspension = asking("group:finance", created_by="Alice@Example.com")
    assert refusal(suspension, ALICE) == "self_response_forbidden"


def test_the_person_it_is_asked_for_does_not_answer() -> None:
    suspension = asking("group:finance", on_behalf_of="Alice@Example.com")
    assert refusal(suspension, ALICE) == "self_response_forbidden"
    assert refusal(asking("group:finance", on_behalf_of="bob@example.com"), ALICE) is None


def test_development_may_answer_itself_if_it_would_be_allowed_to() -> None:
    suspension = asking("alice@example.com", created_by="alice@example.com")
    assert refusal(suspension, ALICE, allow_self=True) is None
    assert refusal(asking("slack:C0OPS", created_by="bob@example.com"), BOB, allow_self=True) == "not_a_responder"


@pytest.mark.parametrize(
    ("suspension", "actor", "error"),
    [
        (asking("slack:C0OPS"), BOB, NotAResponder),
        (asking("slack:C0OPS"), who("refund-agent", key="refund-agent"), SelfResponseForbidden),
    ],
)
def test_a_refusal_is_raised_under_its_code(suspension: Suspension, actor: Actor, error: type[Exception]) -> None:
    with pytest.raises(error):
        Permissions(DIRECTORY).check(suspension, actor)


def test_who_may_answer_is_not_told_off() -> None:
    Permissions(DIRECTORY).check(hourly(responders=("alice@example.com",)), ALICE)


# --- On whose behalf a key answers (API.md §4) -----------------------------------------------------------------------


def answer(by: Actor, named: str | None) -> GivenAnswer:
    return GivenAnswer("susp-1", by, "api", "approve", named=named)


def checked(suspension: Suspension, given: GivenAnswer) -> GivenAnswer:
    given = Permissions(DIRECTORY).as_named(given)
    Permissions(DIRECTORY).check_answer(suspension, given)
    return given


def test_naming_oneself_changes_nothing() -> None:
    given = answer(ALICE, " Alice@Example.com ")
    assert checked(asking("alice@example.com"), given).by == ALICE


def test_naming_somebody_else_is_refused() -> None:
    with pytest.raises(IdentityMismatch):
        checked(asking("alice@example.com", "bob@example.com"), answer(ALICE, "bob@example.com"))


def test_a_trusted_gateway_answers_for_the_person_it_names() -> None:
    gateway = who("gateway", Role.ADMIN, key="gateway")
    given = checked(asking("alice@example.com", responders=("bob@example.com",)), answer(gateway, "Alice@Example.com"))
    assert given.by.identity == "alice@example.com"
    assert given.by.person == ALICE.person


def test_a_trusted_gateway_can_not_make_somebody_a_responder() -> None:
    gateway = who("gateway", Role.ADMIN, key="gateway")
    with pytest.raises(NotAResponder):
        checked(asking("alice@example.com", responders=("alice@example.com",)), answer(gateway, "bob@example.com"))


def test_a_key_that_asked_can_not_answer_in_another_name() -> None:
    asker = who("refund-agent", Role.ADMIN, key="refund-agent")
    with pytest.raises(SelfResponseForbidden):
        checked(asking("alice@example.com"), answer(asker, "alice@example.com"))


def test_self_response_is_told_before_a_wrong_name() -> None:
    asker = who("refund-agent", Role.AGENT, key="refund-agent")
    with pytest.raises(SelfResponseForbidden):
        checked(asking("alice@example.com"), answer(asker, "alice@example.com"))


NARROWED = replace(OSCAR, reads_own=True)


def read_by(actor: Actor, suspension: Suspension) -> bool:
    return Permissions(DIRECTORY).may_read(suspension, actor)


MEANT = {
    "names them": asking("slack:C0OPS", responders=("oscar@example.com",)),
    "has addressed them": asking("email:oscar@example.com", responders=("alice@example.com",)),
    "names nobody": asking("slack:C0OPS"),
    "is asked for them, and names them": asking(
        "slack:C0OPS", responders=("oscar@example.com",), on_behalf_of="oscar@example.com"
    ),
    "was answered by them": replace(
        asking("slack:C0OPS", responders=("alice@example.com",)),
        status=Status.RESPONDED,
        ended=Ended(after(), "approve", "oscar@example.com", "slack"),
    ),
    "was partly answered by them": replace(
        asking("slack:C0OPS", responders=("alice@example.com",), answers_required=2),
        answers=(PartialAnswer("oscar@example.com", "approve", after(), "slack"),),
    ),
}


@pytest.mark.parametrize("what", MEANT)
def test_a_narrowed_operator_reads_what_means_them(what: str) -> None:
    assert read_by(NARROWED, MEANT[what])


def test_a_narrowed_operator_reads_nothing_else() -> None:
    suspension = asking("slack:C0OPS", responders=("alice@example.com",))
    readers = {"narrowed": NARROWED, "all": OSCAR, "admin": who("root", Role.ADMIN), "no operator": ALICE}
    found = {name: read_by(actor, suspension) for name, actor in readers.items()}
    assert found == {"narrowed": False, "all": True, "admin": True, "no operator": False}


def test_an_admin_reads_everything_whatever_the_setting_says() -> None:
    admin = replace(who("root", Role.ADMIN, Role.OPERATOR), reads_own=True)
    assert (admin.reads_all, admin.is_narrowed) == (True, False)
