"""How a recipient is written (API.md §2, "Whom to ask"), and who is who."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bot.vendors  # noqa: F401 (core is told of the channels' forms)
from core.domain.channels import RecipientKind
from core.domain.people import Actor, Recipient, Role, canonical, parse_recipient
from core.errors import InvalidRecipient


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("alice@example.com", RecipientKind.PERSON, "alice@example.com"),
        (" Alice@Example.COM ", RecipientKind.PERSON, "alice@example.com"),
        ("a+b.c@sub.example.com", RecipientKind.PERSON, "a+b.c@sub.example.com"),
        ("group:finance", RecipientKind.GROUP, "finance"),
        ("slack:C0OPS", RecipientKind.PLACE, "C0OPS"),
        ("slack:U0ALICE", RecipientKind.PLACE, "U0ALICE"),
        ("slack:S0GROUP", RecipientKind.PLACE, "S0GROUP"),
        ("email:Ops@Example.com", RecipientKind.MAILBOX, "ops@example.com"),
        ("pagerduty:payments", RecipientKind.PLACE, "payments"),
    ],
)
def test_each_form_is_read(text: str, kind: RecipientKind, value: str) -> None:
    prefix = text.partition(":")[0] if ":" in text else ""
    assert parse_recipient(text) == Recipient(kind, value, prefix, "" if prefix == "group" else prefix)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "alice",
        "@example.com",
        "alice@",
        "a@b@example.com",
        "alice@example.com, bob@example.com",
        "alice smith@example.com",
        "alice@example.com\r\nBcc: eve@example.com",
        "alice@exam\x00ple.com",
        "ali\x0ece@example.com",
        "alice@example\x7f.com",
        "Alice <alice@example.com>",
        "group:",
        "slack:",
        "slack:C",
        "slack:#ops",
        "slack:X0OPS",
        "slack:C0 OPS",
        "slack:C\u0660\u0661",
        "email:",
        "email:ops",
        "pagerduty:",
        "sms:+41790000000",
        "GROUP:finance",
        ":finance",
    ],
)
def test_everything_else_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(InvalidRecipient, match=r"is no recipient: expected a person's e-mail, group:NAME") as refused:
        parse_recipient(text)
    assert refused.value.details["recipient"] == text


@pytest.mark.parametrize("text", ["alice@example.com", "group:finance", "slack:C0OPS", "email:a@b.c", "pagerduty:x"])
def test_a_recipient_is_written_the_way_it_was_read(text: str) -> None:
    assert str(parse_recipient(text)) == text


@given(st.text())
def test_any_text_is_a_recipient_or_refused_as_none(text: str) -> None:
    try:
        recipient = parse_recipient(text)
    except InvalidRecipient:
        return
    assert parse_recipient(str(recipient)) == recipient
    assert recipient.value


@pytest.mark.parametrize(
    ("written", "identity"),
    [(" Alice@Example.COM", "alice@example.com"), ("refund-agent", "refund-agent"), ("Refund-Agent ", "Refund-Agent")],
)
def test_an_identity_has_one_spelling(written: str, identity: str) -> None:
    assert canonical(written) == identity


@pytest.mark.parametrize("role", Role)
def test_an_admin_may_do_what_every_role_may(role: Role) -> None:
    assert Actor("root", frozenset({Role.ADMIN})).has(role)


def test_other_roles_stand_for_themselves_alone() -> None:
    assert not Actor("x", frozenset({Role.AGENT})).has(Role.OPERATOR)
    assert not Actor("x", frozenset({Role.OPERATOR})).has(Role.ADMIN)
    assert not Actor("x").has(Role.AGENT)
