"""The directory: who is reached where, who may be asked, and who means whom (API.md §2; RFC-0026 §11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from bot.config.settings import Settings
from bot.people.directory import Directory
from bot.vendors.slack import SlackAccounts
from bot.vendors.slack_accounts import NoAccounts
from core.domain.people import Actor, Address, Role
from core.engine.recipients import GONE, NOT_ALLOWED, no_longer_asked
from core.errors import InvalidRecipient
from tests.core.examples import hourly

KEY = "0123456789abcdef0123456789abcdef"

BASE: dict[str, Any] = {
    "slack": {"bot_token": "xoxb-1", "signing_secret": "s", "default_channel": "C0OPS"},
    "email": {"smtp_url": "smtp://h", "from": "hand@example.com", "default_to": "ops@example.com, ops2@example.com"},
    "pagerduty": {"routing_key": KEY, "services": {"payments": KEY}},
    "api_keys": [
        {"name": "refund-agent", "key": "k1", "roles": "agent"},
        {"name": "Alice@Example.com", "key": "k2", "roles": "operator"},
    ],
    "people": [
        {"name": "Alice", "email": "Alice@Example.com", "slack_user_id": "U0ALICE", "groups": "finance"},
        {"name": "Bob", "email": "bob@example.com", "pagerduty_user_id": "PBOB", "groups": "finance,oncall"},
    ],
    "groups": {"finance": ["carol@example.com", "alice@example.com"], "empty": []},
}

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
STRANGER = "stranger@example.org"


def directory(**changes: Any) -> Directory:
    return Directory(Settings(**{**BASE, **changes}))


@pytest.mark.parametrize(
    ("reference", "channel", "expected"),
    [
        (ALICE, "slack", [("U0ALICE", ALICE)]),
        ("ALICE@example.com", "slack", [("U0ALICE", ALICE)]),
        (BOB, "slack", []),
        (STRANGER, "slack", []),
        (BOB, "email", [(BOB, BOB)]),
        (STRANGER, "email", [(STRANGER, STRANGER)]),
        (BOB, "pagerduty", [("default", BOB)]),
        (STRANGER, "pagerduty", [("default", STRANGER)]),
        ("group:finance", "slack", [("U0ALICE", ALICE)]),
        ("group:finance", "email", [(ALICE, ALICE), (BOB, BOB), (CAROL, CAROL)]),
        ("group:finance", "pagerduty", [("default", None)]),
        ("group:oncall", "email", [(BOB, BOB)]),
        ("group:empty", "pagerduty", []),
        ("group:unknown", "email", []),
        ("slack:C0OPS", "slack", [("C0OPS", None)]),
        ("slack:U0ALICE", "slack", [("U0ALICE", ALICE)]),
        ("slack:U0NOBODY", "slack", [("U0NOBODY", None)]),
        ("slack:S0GROUP", "slack", [("S0GROUP", None)]),
        ("slack:U0ALICE", "email", []),
        ("email:X@Example.org", "email", [("x@example.org", "x@example.org")]),
        ("email:x@example.org", "slack", []),
        ("pagerduty:payments", "pagerduty", [("payments", None)]),
        ("pagerduty:default", "pagerduty", [("default", None)]),
        ("pagerduty:unknown", "pagerduty", []),
        ("pagerduty:payments", "email", []),
        (ALICE, "carrier-pigeon", []),
    ],
)
def test_where_somebody_is_reached(reference: str, channel: str, expected: list[tuple[str, str | None]]) -> None:
    found = directory().addresses(reference, channel)
    assert list(found) == [Address(channel, value, person) for value, person in expected]


def test_nobody_is_reached_on_a_pagerduty_without_a_default_service() -> None:
    people = directory(pagerduty={"services": {"payments": KEY}})
    assert list(people.addresses(BOB, "pagerduty")) == []
    assert list(people.addresses("group:finance", "pagerduty")) == []
    assert list(people.defaults("pagerduty")) == []
    assert list(people.addresses("pagerduty:payments", "pagerduty")) == [Address("pagerduty", "payments")]


def test_each_channel_has_its_configured_defaults() -> None:
    people = directory()
    assert list(people.defaults("slack")) == ["slack:C0OPS"]
    assert list(people.defaults("email")) == ["email:ops@example.com", "email:ops2@example.com"]
    assert list(people.defaults("pagerduty")) == ["pagerduty:default"]
    assert list(people.defaults("carrier-pigeon")) == []


def test_a_channel_that_is_not_set_up_has_no_defaults() -> None:
    people = directory(slack=None, email=None, pagerduty=None)
    assert [*people.defaults("slack"), *people.defaults("email"), *people.defaults("pagerduty")] == []


@pytest.mark.parametrize(
    ("reference", "may"),
    [
        (ALICE, True),
        (CAROL, True),
        (f"email:{ALICE}", True),
        ("slack:U0ALICE", True),
        ("group:finance", True),
        ("slack:C0OPS", True),
        ("email:ops@example.com", True),
        ("pagerduty:default", True),
        ("pagerduty:payments", True),
        (STRANGER, False),
        (f"email:{STRANGER}", False),
        ("ops@example.com", False),
        ("slack:C0OTHER", False),
        ("slack:U0NOBODY", False),
        ("group:unknown", False),
        ("pagerduty:unknown", False),
    ],
)
def test_without_an_allow_list_the_directory_and_the_defaults_may_be_asked(reference: str, may: bool) -> None:
    assert directory().allowed(reference) is may


@pytest.mark.parametrize(
    ("patterns", "reference", "may"),
    [
        (["*@example.org"], STRANGER, True),
        (["*@Example.ORG"], STRANGER, True),
        (["*@example.org"], f"email:{STRANGER}", True),
        ([STRANGER], f"email:{STRANGER}", True),
        (["email:*@example.org"], f"email:{STRANGER}", True),
        (["email:*@example.org"], STRANGER, False),
        (["*@example.org"], "x@example.org.evil.example", False),
        (["*@example.org"], ALICE, False),
        (["group:*"], "group:finance", True),
        (["group:fin*"], "group:oncall", False),
        (["slack:c0other"], "slack:C0OTHER", True),
        (["slack:C0OTHER"], "slack:C0SECRET", False),
        (["pagerduty:*"], "pagerduty:payments", True),
        ([], ALICE, False),
        ([], "slack:C0OPS", True),
        ([], "email:ops2@example.com", True),
        ([], "pagerduty:default", True),
        ([], "pagerduty:payments", False),
    ],
)
def test_an_allow_list_says_who_else_may_be_asked(patterns: list[str], reference: str, may: bool) -> None:
    assert directory(recipients={"allow": patterns}).allowed(reference) is may


def test_a_changed_allow_list_counts_at_once() -> None:
    people = directory(recipients={"allow": ["*@example.org"]})
    assert (people.allowed(STRANGER), people.allowed(ALICE)) == (True, False)
    people.become(Settings(**{**BASE, "recipients": {"allow": ["alice@*"]}}))
    assert (people.allowed(STRANGER), people.allowed(ALICE)) == (False, True)


def test_whom_the_platforms_ladder_names_may_be_asked() -> None:
    rung = {"attempt": 2, "channel_hint": "pagerduty", "notify_to": "Supervisor@example.org"}
    policy = {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": [rung]}
    people = directory(suspension={"default_retry_policy": policy}, recipients={"allow": []})
    assert people.allowed("supervisor@example.org")
    assert not people.allowed(STRANGER)


@pytest.mark.parametrize(
    ("reference", "identity", "means"),
    [
        (ALICE, ALICE, True),
        (ALICE, BOB, False),
        (f"email:{ALICE}", ALICE, True),
        (f"email:{STRANGER}", STRANGER, True),
        ("group:finance", ALICE, True),
        ("group:finance", CAROL, True),
        ("group:oncall", ALICE, False),
        ("group:unknown", ALICE, False),
        ("slack:U0ALICE", ALICE, True),
        ("slack:U0ALICE", BOB, False),
        ("slack:U0NOBODY", ALICE, False),
        ("slack:C0OPS", ALICE, False),
        ("pagerduty:payments", BOB, False),
        ("group:finance", "refund-agent", False),
    ],
)
def test_whom_a_reference_means(reference: str, identity: str, means: bool) -> None:
    people = directory()
    assert people.answers_to(reference, people.actor(identity)) is means


def test_a_key_named_like_a_person_is_that_person_with_its_roles() -> None:
    actor = directory().actor("ALICE@example.com")
    assert actor.identity == ALICE
    assert actor.roles == {Role.OPERATOR}
    assert actor.key is None
    assert actor.person is not None
    assert (actor.person.name, actor.person.account_on("slack")) == ("Alice", "U0ALICE")
    assert actor.person.groups == {"finance"}


def test_a_member_of_a_group_is_somebody_without_an_entry_of_their_own() -> None:
    carol = directory().actor(CAROL)
    assert carol.person is not None
    assert carol.person.groups == {"finance"}
    assert carol.roles == frozenset()


def test_whoever_is_unknown_is_an_identity_and_nothing_more() -> None:
    assert directory().actor(STRANGER) == Actor(STRANGER)


def test_a_key_made_on_the_command_line_counts_as_soon_as_it_is_there() -> None:
    stored: dict[str, frozenset[Role]] = {}
    people = Directory(Settings(**BASE), lambda name: stored.get(name, frozenset()))
    assert not people.actor(BOB).has(Role.OPERATOR)
    stored[BOB] = frozenset({Role.OPERATOR})
    assert people.actor(BOB).has(Role.OPERATOR)
    assert people.actor_at("pagerduty", "PBOB") == people.actor(BOB)


@pytest.mark.parametrize(
    ("channel", "address", "identity"),
    [
        ("slack", "U0ALICE", ALICE),
        ("slack", "U0NOBODY", None),
        ("pagerduty", "PBOB", BOB),
        ("pagerduty", "PNOBODY", None),
        ("email", "Bob@Example.com", BOB),
        ("email", STRANGER, STRANGER),
        ("email", "no mailbox", None),
        ("email", "", None),
        ("email", "group:finance", None),
        ("carrier-pigeon", "coop 3", None),
    ],
)
def test_who_is_known_by_an_address(channel: str, address: str, identity: str | None) -> None:
    actor = directory().actor_at(channel, address)
    assert (actor.identity if actor else None) == identity


def test_an_operator_is_one_in_slack_too() -> None:
    actor = directory().actor_at("slack", "U0ALICE")
    assert actor is not None
    assert actor.has(Role.OPERATOR)


def test_groups_are_known_by_name() -> None:
    people = directory()
    assert [name for name in ("finance", "oncall", "empty", "unknown") if people.known_group(name)] == [
        "finance",
        "oncall",
        "empty",
    ]


def test_a_reference_of_no_known_form_is_refused() -> None:
    people = directory()
    for ask in (people.allowed, lambda text: people.addresses(text, "email")):
        with pytest.raises(InvalidRecipient):
            ask("sms:+4912345")


@pytest.mark.parametrize("identity", [ALICE, BOB, CAROL, STRANGER, "refund-agent"])
def test_who_is_meant_is_meant_by_a_reference_that_begins_as_theirs_do(identity: str) -> None:
    """An inbox looks for these alone: a reference that means somebody and is not among them would be missed."""
    known, actor = directory(), Actor(identity)
    people = [*(f"{kind}{name}" for kind in ("", "email:") for name in (ALICE, BOB, CAROL, STRANGER))]
    references = [*people, "group:finance", "group:oncall", "group:empty", "slack:U0ALICE", "slack:C0OPS"]
    meant = [one for one in references if known.answers_to(one, actor)]
    beginnings = tuple(known.references_to(actor))
    assert [one for one in meant if not one.startswith(beginnings)] == []
    assert len(beginnings) < len(references)


def test_whom_slack_has_told_of_is_meant_by_what_begins_as_theirs_do() -> None:
    people = informed()
    references = ["slack:U0BOB", "slack:U0ALICE", "slack:S0FINANCE", "slack:U0STRANGER"]
    for identity in (ALICE, BOB):
        actor = people.actor(identity)
        meant = [one for one in references if people.answers_to(one, actor)]
        assert meant
        assert all(one.startswith(tuple(people.references_to(actor))) for one in meant)


# --- Slack accounts that the directory does not name ---------------------------------------------------------------


class Told(NoAccounts):
    """What Slack has said: Bob, a stranger and an operator have accounts, and Alice and Bob are in a user group."""

    users: ClassVar = {BOB: "U0BOB", STRANGER: "U0STRANGER"}

    def known_user(self, email: str) -> str | None:
        return self.users.get(email)

    def known_email(self, user_id: str) -> str | None:
        return {user: email for email, user in self.users.items()}.get(user_id)

    def known_members(self, group: str) -> frozenset[str]:
        return frozenset({"U0ALICE", "U0STRANGER"} if group == "S0FINANCE" else ())

    def last_members(self, group: str) -> frozenset[str]:
        return self.known_members(group) | {"U0BOB"}


def informed(**changes: Any) -> Directory:
    return Directory(Settings(**{**BASE, **changes}), sources={"slack": SlackAccounts(Told())})


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (BOB, [(BOB, BOB)]),
        (CAROL, []),
        (STRANGER, []),
        ("group:finance", [("U0ALICE", ALICE), (BOB, BOB)]),
        ("slack:U0BOB", [("U0BOB", BOB)]),
        ("slack:U0STRANGER", [("U0STRANGER", None)]),
    ],
)
def test_who_is_in_the_directory_is_reached_where_slack_has_said(
    reference: str, expected: list[tuple[str, str | None]]
) -> None:
    found = informed().addresses(reference, "slack")
    assert list(found) == [Address("slack", value, person) for value, person in expected]


def test_an_account_is_its_persons_and_a_strangers_is_nobodys() -> None:
    people = informed()
    assert people.actor_at("slack", "U0BOB") == people.actor(BOB)
    assert people.actor_at("slack", "U0STRANGER") is None
    assert people.answers_to("slack:U0BOB", people.actor(BOB))


def test_a_user_group_means_its_members_of_the_last_minute_as_far_as_they_are_known() -> None:
    people = informed()
    assert people.answers_to("slack:S0FINANCE", people.actor(ALICE))
    assert not people.answers_to("slack:S0FINANCE", people.actor(BOB)), "he has left it"
    assert not people.answers_to("slack:S0FINANCE", people.actor(STRANGER))
    assert not people.answers_to("slack:S0OTHER", people.actor(ALICE))
    assert set(people.people("slack:S0FINANCE")) == {ALICE, BOB}


@pytest.mark.parametrize(
    ("default", "reachable"), [("C0OPS", True), ("G0OPS", True), ("U0ALICE", False), (None, False)]
)
def test_a_user_group_is_reachable_where_there_is_a_channel_to_mention_it_in(
    default: str | None, *, reachable: bool
) -> None:
    slack = {**BASE["slack"], "default_channel": default}
    assert bool(informed(slack=slack).addresses("slack:S0FINANCE", "slack")) is reachable


def test_whom_slack_has_not_told_of_since_a_restart_is_still_asked_and_who_is_not_meant_any_more_is_not() -> None:
    """A message that waits is not dropped because the one process that looked up its recipient is gone."""
    waiting, to = hourly(notify_to=BOB), Address("slack", BOB, BOB)
    step = replace(waiting.ask.attempts[0], recipients=("group:oncall",))
    waiting = replace(waiting, ask=replace(waiting.ask, attempts=(step, *waiting.ask.attempts[1:])))
    assert no_longer_asked(waiting, 1, to, directory()) is None
    nobody = [{"name": "Alice", "email": ALICE, "groups": "oncall"}]
    assert no_longer_asked(waiting, 1, to, directory(people=nobody)) == GONE
    assert no_longer_asked(waiting, 1, to, informed(recipients={"allow": [ALICE]})) == NOT_ALLOWED
