"""What kinds of secrets and personal data there are, and the marks that stand in their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What was found, in the words of its mark. ``PRIVATE`` is what this installation's own rules name."""

    PASSWORD = "password"
    TOKEN = "access token"
    PRIVATE_KEY = "private key"
    SECRET = "secret"
    CARD = "card number"
    IBAN = "IBAN"
    SSN = "social security number"
    EMAIL = "e-mail address"
    PHONE = "phone number"
    PERSONAL = "personal data"
    PRIVATE = "private"

    @property
    def mark(self) -> str:
        """``[redacted: card number]``; plain ``[redacted]`` for what only the installation knows the name of."""
        return WITHHELD if self is Kind.PRIVATE else f"[redacted: {self}]"


WITHHELD = "[redacted]"

MARK = re.compile("|".join(re.escape(mark) for mark in sorted({kind.mark for kind in Kind}, reverse=True)))
"""Every mark. Text that is one is never looked into again, so that redacting twice changes nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Where something was found (``context.customer.card``), never what."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From ``start`` to before ``end`` of a text."""

    start: int
    end: int
    kind: Kind
