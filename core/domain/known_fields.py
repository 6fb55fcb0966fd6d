"""Known fields of forms: recognises fields for an IBAN, a date, an amount or an e-mail address, and checks their
values. Pure.

An agent says by ``format`` or ``pattern`` what a field has to be. If it does not, the field's name or title may: a
field ``iban`` takes an IBAN, and no remark about it. A field is of a kind if all of its name says so, and if the
agent's own suggestion fits. This check applies to people who fill in a form; a client of the API is only held to the
schema.

Source: ISO 13616 (IBAN); API.md §6; docs/decisions/0087.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from enum import StrEnum

from pydantic import JsonValue

from core.domain import iban
from core.domain.people import read_mail_address


class KnownKind(StrEnum):
    IBAN = "iban"
    DATE = "date"
    AMOUNT = "amount"
    EMAIL = "email"


ALLOWED: Mapping[str, str] = {
    "iban": "an IBAN whose check digits are right, and nothing else",
    "amount": "an amount, such as 499.99 EUR",
    "date": "a date, such as 2026-03-24",
    "email": "an e-mail address and nothing else",
    "idn-email": "an e-mail address and nothing else",
    "date-time": "an instant, such as 2026-03-24T11:00:00Z",
    "time": "a time, such as 11:00:00Z",
    "duration": "a duration, such as P3D",
    "uri": "a whole web address, such as https://example.com/",
    "uuid": "a UUID, such as 123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "an IPv4 address, such as 192.0.2.1",
    "ipv6": "an IPv6 address, such as 2001:db8::1",
    "hostname": "a host name, such as www.example.com",
}
"""What a field of a kind or of a ``format`` takes, after "must be". It is sent like all else, so an example that would
be hidden as somebody's data is of no use."""

_NAMES: Mapping[KnownKind, frozenset[str]] = {
    KnownKind.IBAN: frozenset({"iban"}),
    KnownKind.DATE: frozenset({"date", "datum", "fecha", "日付", "期日", "納期"}),
    KnownKind.AMOUNT: frozenset(
        {"amount", "betrag", "montant", "importe", "importo", "montante", "bedrag", "belopp", "kwota", "金額"}
    ),
    KnownKind.EMAIL: frozenset({"email", "emailaddress", "mailaddress", "mailadresse", "courriel", "メールアドレス"}),
}
"""Words that say of what kind a field is: "data" would be a date in three languages, and is anything in English."""
_ENDINGS: Mapping[KnownKind, tuple[str, ...]] = {
    KnownKind.DATE: ("datum",),
    KnownKind.AMOUNT: ("betrag", "bedrag", "belopp"),
    KnownKind.EMAIL: ("mailadresse", "mailadres"),
}
"""Languages that write compounds in one word: Rechnungsdatum, Erstattungsbetrag."""
_OF = frozenset({"of", "in", "for", "von", "de", "du", "des", "del", "della", "di", "da", "do", "van", "av"})
"""What follows a word that has more about it behind: "date of birth", «importe del reembolso», "amount in EUR"."""
_NUMBER = frozenset({"number", "no", "nr", "num", "nummer", "numéro", "numero", "número", "numer"})
"""Words that may follow without a meaning: "IBAN number"."""
_MAIL_BEFORE = (("e", "mail"), ("email",), ("mail",))
_ADDRESS = frozenset({"address", "addr", "adresse", "adres", "adress"})
_ASIDE = re.compile(r"\([^()]*\)")
"""Betrag (EUR)."""
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|[^\W\d_]+")
"""Of ``dueDate``, ``due_date`` and ``Due date``."""

_CURRENCY = r"(?:[A-Z]{3}|[€$£¥₹₩₽₺]|kr\.?|zł|Kč|Ft|lei|euros?|dollars?|円)"
_FIGURES = r"[0-9]{1,18}(?:[., '’\u00a0\u202f][0-9]{1,18}){0,8}"
_AMOUNT = re.compile(rf"[+\-−]?\s?(?:{_CURRENCY}\s?)?[+\-−]?\s?{_FIGURES}(?:[.,][-–])?(?:\s?{_CURRENCY})?")
_NUMERIC_DATE = re.compile(r"([0-9]{1,4})([./\-])\s?([0-9]{1,2})\2\s?([0-9]{1,4})")
_WORDED_DATE = re.compile(
    r"(?:([0-9]{1,2})(?:\.|st|nd|rd|th|er|º)?(?: de| of)? [^\W\d_]{3,12}\.?(?: de)?,? [0-9]{4}"
    r"|[^\W\d_]{3,12}\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? [0-9]{4}|[0-9]{4}年[0-9]{1,2}月([0-9]{1,2})日)"
)
_LAST_DAY = 31


def known_kind(name: str, described: Mapping[str, JsonValue], suggested: JsonValue = None) -> KnownKind | None:
    """The kind that a field's ``name`` or title says; ``None`` if it says none, or if its schema (``described``)
    says more itself. ``suggested`` is the agent's suggested value."""
    if not _is_plain_text(described):
        return None
    title = described.get("title")
    kind = _named(name) or (_named(title) if isinstance(title, str) else None)
    proposed = described.get("default") if suggested is None else suggested
    if kind is None or proposed is None or proposed == "":
        return kind
    is_scalar = isinstance(proposed, str | int | float) and not isinstance(proposed, bool)
    return kind if is_scalar and fits(kind, str(proposed)) else None


def fits(kind: KnownKind, text: str) -> bool:
    """Whether ``text`` is exactly one value of that kind."""
    match kind:
        case KnownKind.IBAN:
            return is_iban(text)
        case KnownKind.DATE:
            return _is_date(" ".join(text.split()))
        case KnownKind.AMOUNT:
            return _AMOUNT.fullmatch(" ".join(text.split())) is not None
        case KnownKind.EMAIL:
            return read_mail_address(text) is not None


def is_iban(text: str) -> bool:
    """In one piece or in groups, with the right checksum and the length for its country."""
    written = " ".join(text.split())
    return list(iban.places(written)) == [(0, len(written))]


def _is_plain_text(described: Mapping[str, JsonValue]) -> bool:
    types = described.get("type", "string")
    kinds = set(types if isinstance(types, list) else [types]) - {"null"}
    return kinds == {"string"} and not described.keys() & {"format", "pattern", "enum", "const", "oneOf", "anyOf"}


def _named(text: str) -> KnownKind | None:
    words = tuple(one.casefold() for one in _WORD.findall(_ASIDE.sub("", text)))
    if len(words) > 1 and words[-1] in _NUMBER:
        words = words[:-1]
    if any(words[-len(mail) - 1 : -1] == mail and words[-1] in _ADDRESS for mail in _MAIL_BEFORE):
        return KnownKind.EMAIL
    if words[-2:] == ("e", "mail"):
        return KnownKind.EMAIL
    for kind, named in _NAMES.items():
        if words and (words[-1] in named or words[-1].endswith(_ENDINGS.get(kind, ()))):
            return kind
        if len(words) > 1 and words[0] in named and words[1] in _OF:
            return kind
    return None


def _is_date(text: str) -> bool:
    found = _NUMERIC_DATE.fullmatch(text)
    if found is not None:
        first, _, middle, last = found.groups()
        year = first if len(first) == len("2026") else last
        others = (middle, last) if year is first else (first, middle)
        return len(year) in {2, 4} and _is_a_day(int(year), *map(int, others))
    worded = _WORDED_DATE.fullmatch(text)
    return worded is not None and 0 < int(next(filter(None, worded.groups()))) <= _LAST_DAY


def _is_a_day(year: int, one: int, other: int) -> bool:
    """Whether the year has such a day in either order: which of the two is the month differs from country to
    country."""
    for month, day in ((one, other), (other, one)):
        try:
            date(year or 1, month, day)
        except ValueError:
            continue
        return True
    return False
