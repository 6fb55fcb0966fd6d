"""Whose mailbox an address is, where its letters are not all ASCII (IDNA 2008, not that of 2003)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from channels.email.addressing import deliverable, is_same_mailbox
from channels.email.authentication import SenderAuth
from core.domain.people import Address
from tests.channels.email.incoming import RULES, read


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice@b\u00fccher.example", "alice@xn--bcher-kva.example"),
        ("Alice@B\u00dcCHER.example", "alice@b\u00fccher.example"),
        ("j\u00fcrgen@example.org", "J\u00dcRGEN@EXAMPLE.ORG"),
    ],
)
def test_two_spellings_of_one_mailbox(one: str, other: str) -> None:
    assert is_same_mailbox(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice@gro\u00dfbank.example", "alice@grossbank.example"),
        ("alice@\u03b2\u03cc\u03bb\u03bf\u03c2.example", "alice@\u03b2\u03cc\u03bb\u03bf\u03c3.example"),
        ("stra\u00dfe@example.org", "strasse@example.org"),
        ("\u212aate@example.org", "kate@example.org"),
        ("alice@example.org", "example.org"),
    ],
)
def test_two_mailboxes_that_only_look_alike(one: str, other: str) -> None:
    assert not is_same_mailbox(one, other)


@pytest.mark.parametrize(
    ("mode", "verdict"), [(SenderAuth.DMARC, "dmarc=pass header.from"), (SenderAuth.DKIM, "dkim=pass header.d")]
)
def test_a_domain_with_a_sharp_s_is_not_the_one_with_two(mode: SenderAuth, verdict: str) -> None:
    results = {"Authentication-Results": f"mx.example.com; {verdict}=xn--grobank-2va.example"}
    rules = replace(RULES, sender_auth=mode)

    owner = read(changes={"From": "alice@gro\u00dfbank.example", **results}, rules=rules)
    somebody_else = read(changes={"From": "alice@grossbank.example", **results}, rules=rules)

    assert owner.authentic
    assert owner.sender is not None
    assert not is_same_mailbox(owner.sender, "alice@grossbank.example")
    assert not somebody_else.authentic


def test_a_notice_goes_to_the_domain_that_was_named() -> None:
    to = deliverable(Address("email", "alice@gro\u00dfbank.example"))

    assert to is not None
    assert to.value == "alice@xn--grobank-2va.example"
