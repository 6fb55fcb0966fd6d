"""What masks keep, and what they never give away (API.md §2, "What is hidden")."""

from __future__ import annotations

import pytest

from core.domain.redaction.finders import TextFinder, TreeFinder
from core.domain.redaction.kinds import FindingKind
from core.domain.redaction.masks import masked

IBAN = "DE89370400440532013000"
IN_ACTION = TreeFinder(TextFinder(masks=True))


@pytest.mark.parametrize(
    ("kind", "text", "mask"),
    [
        (FindingKind.IBAN, "DE89 3704 0044 0532 0130 00", "[masked: IBAN DE…3000]"),
        (FindingKind.CARD, "4111 1111 1111 1111", "[masked: Visa …1111]"),
        (FindingKind.CARD, "5555-5555-5555-4444", "[masked: Mastercard …4444]"),
        (FindingKind.CARD, "378282246310005", "[masked: American Express …0005]"),
        (FindingKind.CARD, "9999999999999995", "[masked: card …9995]"),
        (FindingKind.EMAIL, "alice.smith@example.co.uk", "[masked: a…@example.co.uk]"),
        (FindingKind.PHONE, "+49 151 23456789", "[masked: telephone …789]"),
        (FindingKind.ACCOUNT, "12-3456-7890", "[masked: account …7890]"),
    ],
)
def test_a_mask_lets_it_be_recognised(kind: FindingKind, text: str, mask: str) -> None:
    assert masked(kind, text) == mask


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (FindingKind.CARD, "123"),
        (FindingKind.IBAN, "DE00"),
        (FindingKind.IBAN, "see attachment"),
        (FindingKind.ACCOUNT, "12345"),
        (FindingKind.PHONE, "12345"),
        (FindingKind.SSN, "078-05-1120"),
        (FindingKind.PERSONAL, "1 Main Street, Springfield"),
        (FindingKind.TOKEN, "sk-live-0123456789abcdef0123"),
        (FindingKind.PRIVATE, "4111111111111111"),
    ],
)
def test_what_is_short_or_secret_has_none(kind: FindingKind, text: str) -> None:
    assert masked(kind, text) == kind.mark


def test_masks_stand_among_words_and_masking_twice_changes_nothing() -> None:
    once = IN_ACTION.text("Send 5 EUR to DE89370400440532013000, tell payee@bank.example.")
    assert once == "Send 5 EUR to [masked: IBAN DE…3000], tell [masked: p…@bank.example]."
    assert IN_ACTION.text(once) == once
    assert TreeFinder().text(once) == once


def test_a_name_masks_what_stands_under_it() -> None:
    given = {
        "iban": "DE89370400440532013000",
        "cvv": "123",
        "bank_account": 1234567890,
        "card": {"number": "4111111111111111"},
    }
    assert IN_ACTION.mapping(given) == {
        "iban": "[masked: IBAN DE…3000]",
        "cvv": "[redacted: card number]",
        "bank_account": "[masked: account …7890]",
        "card": {"number": "[masked: Visa …1111]"},
    }


def test_no_payee_is_hidden_as_a_secret() -> None:
    assert IN_ACTION.mapping({"transfer_token": IBAN}) == {"transfer_token": "[masked: IBAN DE…3000]"}
    assert TreeFinder().mapping({"transfer_token": IBAN}) == {"transfer_token": "[redacted: access token]"}


@pytest.mark.parametrize("fake", ["[masked: IBAN DE89370400440532013000]", "[masked: DE89370400440532013000]"])
def test_what_only_looks_like_a_mask_is_looked_into(fake: str) -> None:
    assert "89370400440532013000" not in IN_ACTION.text(fake)
