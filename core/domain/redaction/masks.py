"""Masks: personal data in an action, shown so that it can be recognised and not used. Pure.

An IBAN keeps its country and last four signs, an e-mail address its first letter and domain, a card its brand and last
four digits, an account its last four, a telephone number its last three. A value too short to hide most of itself is
hidden whole. Secrets have no mask.

Source: API.md §2, "What is hidden"; docs/decisions/0086.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from core.domain.redaction.kinds import FindingKind

PAYEES = frozenset({FindingKind.IBAN, FindingKind.ACCOUNT, FindingKind.CARD})
"""The destination of money: if the risk is high or more, an approver has to be able to see it."""
PERSONAL = frozenset({*PAYEES, FindingKind.SSN, FindingKind.EMAIL, FindingKind.PHONE, FindingKind.PERSONAL})
"""Kinds that a person who may answer can reveal. All others are secrets, or named by the installation."""

_SHORTEST_IBAN = 15
_SHORTEST_CARD = 12
_SHORTEST_ACCOUNT = 8
_SHORTEST_PHONE = 7
_NO_SIGN = re.compile(r"[^0-9A-Za-z]")
_NO_DIGIT = re.compile(r"[^0-9]")
_ADDRESS = re.compile(r"([^\s@])[^\s@]*@([^\s@]+\.[^\s@.]+)")
_COUNTRY = re.compile(r"[A-Za-z]{2}[0-9]{2}")

_BRANDS = (
    ("Visa", re.compile("4")),
    ("Mastercard", re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720")),
    ("American Express", re.compile(r"3[47]")),
    ("Diners Club", re.compile(r"30[0-5]|3[68]")),
    ("Discover", re.compile(r"6011|64[4-9]|65")),
    ("JCB", re.compile(r"35(?:2[89]|[3-8])")),
    ("UnionPay", re.compile("62")),
)
"""By the first digits (ISO/IEC 7812-1)."""


def masked(kind: FindingKind, text: str) -> str:
    """The replacement of ``text``: its mask, else the mark of its ``kind``."""
    mask = _MASKS.get(kind)
    shown = None if mask is None else mask(text)
    return kind.mark if shown is None else f"[masked: {shown}]"


def _iban(text: str) -> str | None:
    signs = _NO_SIGN.sub("", text).upper()
    if len(signs) < _SHORTEST_IBAN or _COUNTRY.match(signs) is None:
        return None
    return f"IBAN {signs[:2]}…{signs[-4:]}"


def _card(text: str) -> str | None:
    digits = _NO_DIGIT.sub("", text)
    if len(digits) < _SHORTEST_CARD:
        return None
    brand = next((name for name, first in _BRANDS if first.match(digits)), "card")
    return f"{brand} …{digits[-4:]}"


def _account(text: str) -> str | None:
    digits = _NO_DIGIT.sub("", text)
    return f"account …{digits[-4:]}" if len(digits) >= _SHORTEST_ACCOUNT else None


def _email(text: str) -> str | None:
    found = _ADDRESS.fullmatch(text.strip())
    return None if found is None else f"{found[1]}…@{found[2]}"


def _phone(text: str) -> str | None:
    digits = _NO_DIGIT.sub("", text)
    return f"telephone …{digits[-3:]}" if len(digits) >= _SHORTEST_PHONE else None


_MASKS: Mapping[FindingKind, Callable[[str], str | None]] = {
    FindingKind.IBAN: _iban,
    FindingKind.CARD: _card,
    FindingKind.ACCOUNT: _account,
    FindingKind.EMAIL: _email,
    FindingKind.PHONE: _phone,
}
