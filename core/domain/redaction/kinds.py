"""Kinds of secrets and personal data, their marks, and key names that reveal them. Pure.

A key's or field's name counts by its last words, however they are joined: ``db_password``, ``apiKey``, ``X-API-Key``,
``Customer.cardNumber``. ``password_policy`` and ``card_brand`` are names of something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue


class FindingKind(StrEnum):
    """The kind of a secret or of personal data, in the words of its mark. ``PRIVATE`` is what this installation's own
    rules name."""

    PASSWORD = "password"
    TOKEN = "access token"
    PRIVATE_KEY = "private key"
    SECRET = "secret"
    CARD = "card number"
    IBAN = "IBAN"
    ACCOUNT = "account number"
    SSN = "social security number"
    EMAIL = "e-mail address"
    PHONE = "phone number"
    PERSONAL = "personal data"
    PRIVATE = "private"

    @property
    def mark(self) -> str:
        """``[redacted: card number]``; plain ``[redacted]`` for a kind that only the installation names."""
        return WITHHELD if self is FindingKind.PRIVATE else f"[redacted: {self}]"


WITHHELD = "[redacted]"

_MASKED = r"\[masked: (?:IBAN [A-Z]{2}…\w{4}|[A-Za-z ]{3,16} …[0-9]{3,4}|[^\s\[\]]…@[\w.-]{1,90})\]"
MARK = re.compile(
    "|".join((*(re.escape(mark) for mark in sorted({kind.mark for kind in FindingKind}, reverse=True)), _MASKED))
)
"""Every mark, and a mask (:mod:`core.domain.redaction.masks`). Text that is one is never looked into again, so that
redacting twice changes nothing."""
OPENINGS = ("[redacted", "[masked: ")
"""How every one of them begins."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Where something was found (``context.customer.card``), never what."""

    path: str
    kind: FindingKind


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From ``start`` to before ``end`` of a text."""

    start: int
    end: int
    kind: FindingKind


_LAST_WORDS: Mapping[FindingKind, str] = {
    FindingKind.PASSWORD: "password passwd passphrase passcode pwd passwort kennwort pin pin_code otp totp "
    "one_time_code mfa_code recovery_code",
    FindingKind.TOKEN: "token access_key api_key app_key auth_key",
    FindingKind.PRIVATE_KEY: "private_key signing_key encryption_key seed_phrase",
    FindingKind.SECRET: "secret secret_key secret_access_key client_secret credential connection_string",
    FindingKind.CARD: "card_number card_no credit_card debit_card payment_card primary_account_number cvv cvc",
    FindingKind.IBAN: "iban",
    FindingKind.ACCOUNT: "bank_account bank_account_number",
    FindingKind.SSN: "ssn social_security social_security_number",
    FindingKind.PHONE: "phone phone_number telephone telephone_number mobile_number mobile_phone "
    "cell_phone cell_number",
    FindingKind.PERSONAL: "date_of_birth birth_date birthday dob passport passport_number national_id "
    "national_id_number tax_id driver_license drivers_license driving_licence "
    "home_address street_address postal_address mailing_address billing_address "
    "shipping_address delivery_address",
}
_WHOLE: Mapping[FindingKind, str] = {
    FindingKind.TOKEN: "authorization http_authorization proxy_authorization cookie set_cookie",
    FindingKind.CARD: "card pan",
}
"""Names that mean it only alone: a ``pre_authorization`` and a ``trello_card`` are ordinary business."""

_TRAILING = frozenset({"value", "text", "number", "no", "nr", "hash", "plain", "plaintext", "raw", "base", "string"})
_MOST_WORDS = 4
_LONGEST_NAME = 200

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")


def _table(names: Mapping[FindingKind, str]) -> dict[str, FindingKind]:
    return {name.replace("_", ""): kind for kind, listed in names.items() for name in listed.split()}


_BY_LAST_WORDS, _BY_WHOLE = _table(_LAST_WORDS), _table(_WHOLE)


@dataclass(frozen=True, slots=True)
class SensitiveNames:
    """The known names, and the installation's own in ``own``. Build with :meth:`of`."""

    own: frozenset[str] = frozenset()

    @classmethod
    def of(cls, own: Iterable[str]) -> SensitiveNames:
        """``own`` as configured; ``customer_no`` also means ``customerNo`` and ``billing-customer-no``."""
        return cls(frozenset("".join(_words(name)) for name in own) - {""})

    def kind_of(self, name: str) -> FindingKind | None:
        """The kind of the value under ``name``; ``None`` for an ordinary one. A mark in a name says nothing."""
        return _kind_of(name[-_LONGEST_NAME:], self.own)


def _kind_of(name: str, own: frozenset[str]) -> FindingKind | None:
    words = _words(MARK.sub(" ", name))
    found = _BY_WHOLE.get("".join(words))
    while found is None and words:
        found = _by_last_words(words, own)
        if words[-1] not in _TRAILING:
            break
        words = words[:-1]
    return found


def _by_last_words(words: tuple[str, ...], own: frozenset[str]) -> FindingKind | None:
    for count in range(1, min(len(words), _MOST_WORDS) + 1):
        joined = "".join(words[-count:])
        for one in (joined, joined.removesuffix("s")):
            if one in own:
                return FindingKind.PRIVATE
            if one in _BY_LAST_WORDS:
                return _BY_LAST_WORDS[one]
    return None


def _words(name: str) -> tuple[str, ...]:
    """``("api", "key")`` of ``API-Key2``: lower case, without the digits that count several of a kind."""
    parts = _BETWEEN.split(_HUMP.sub("_", name).casefold())
    return tuple(word for part in parts if (word := part.rstrip("0123456789")))


_IN_PARTS = frozenset({FindingKind.CARD, FindingKind.PHONE})
"""A card's brand and last digits may be shown, and a phone is also a thing to sell: containers of these names are
looked at part by part."""
_SHORTEST_PHONE = 6


def hides(kind: FindingKind, value: JsonValue) -> bool:
    """Whether a name of ``kind`` hides ``value``. Flags, empty values and counts of tokens are not hidden."""
    match value:
        case None | bool() | "":
            return False
        case int() | float():
            return kind is not FindingKind.TOKEN
        case str():
            return kind is not FindingKind.PHONE or sum(mark.isdigit() for mark in value) >= _SHORTEST_PHONE
        case _:
            return bool(value) and kind not in _IN_PARTS
