"""Who somebody is, where they are reached, and how a recipient is written.

An identity is canonical: a person's e-mail in lower case, else the name of the API key. A key that is named like a
person's e-mail *is* that person.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from core.errors import InvalidRecipient


class Role(StrEnum):
    """What a key may do: ``agent`` asks, ``operator`` answers, ``admin`` does both and more."""

    AGENT = "agent"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the directory. ``email`` is canonical (lower case)."""

    email: str
    name: str
    slack_user_id: str | None = None
    pagerduty_user_id: str | None = None
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever is doing something: an identity, the roles of its key, and the directory's person where there is one.

    ``key`` is the name of the API key that authenticated, ``None`` where a channel did. ``proven`` are references that
    the channel has just found them behind and that the directory can't know, such as a Slack user group.
    """

    identity: str
    roles: frozenset[Role] = frozenset()
    key: str | None = None
    person: Person | None = None
    proven: frozenset[str] = frozenset()

    def has(self, role: Role) -> bool:
        return role in self.roles or Role.ADMIN in self.roles


@dataclass(frozen=True, slots=True)
class Address:
    """One place to send to. ``value`` is in the channel's own words: ``C…``/``U…``, a mailbox, a PagerDuty service.

    ``person`` is the identity behind it, ``None`` for a shared place such as a Slack channel.
    """

    channel: str
    value: str
    person: str | None = None


class RecipientKind(StrEnum):
    PERSON = "person"
    GROUP = "group"
    SLACK = "slack"
    EMAIL = "email"
    PAGERDUTY = "pagerduty"
    SCHEDULE = "pagerduty-schedule"


@dataclass(frozen=True, slots=True)
class Recipient:
    """A parsed reference: ``alice@example.com``, ``group:NAME``, ``slack:C…``, ``email:x@y``, ``pagerduty:X`` or
    ``pagerduty-schedule:P…``."""

    kind: RecipientKind
    value: str

    def __str__(self) -> str:
        return self.value if self.kind is RecipientKind.PERSON else f"{self.kind}:{self.value}"


_MAILBOX = re.compile(r"[^\s@<>()\[\]\\;:,\"\x00-\x20\x7f]{1,64}@[^\s@<>()\[\]\\;:,\"\x00-\x20\x7f]{1,255}")
_LONGEST_ID = 64
RECIPIENT_FORMS = "a person's e-mail, group:NAME, slack:C…|U…|S…, email:x@y, pagerduty:SERVICE or pagerduty-schedule:ID"


@lru_cache(maxsize=4096)
def parse_recipient(text: str) -> Recipient:
    """The reference in ``text``; raises :class:`InvalidRecipient` where it has none of the known forms.

    Source: API.md §2, "Whom to ask".
    """
    scheme, colon, rest = text.strip().partition(":")
    if not colon:
        return Recipient(RecipientKind.PERSON, _mailbox(scheme, text))
    match scheme:
        case "group" if rest:
            return Recipient(RecipientKind.GROUP, rest)
        case "slack" if rest[:1] in {"C", "U", "S", "D", "G", "W"} and rest[1:].isalnum() and rest.isascii():
            return Recipient(RecipientKind.SLACK, rest)
        case "email":
            return Recipient(RecipientKind.EMAIL, _mailbox(rest, text))
        case "pagerduty" if rest:
            return Recipient(RecipientKind.PAGERDUTY, rest)
        case "pagerduty-schedule" if rest.isalnum() and rest.isascii() and len(rest) <= _LONGEST_ID:
            return Recipient(RecipientKind.SCHEDULE, rest)
    raise InvalidRecipient(f"{text!r} is no recipient: expected {RECIPIENT_FORMS}.", recipient=text)


def _mailbox(address: str, text: str) -> str:
    """A plain ``local@domain``: nothing that a mail header or a pattern of the allow-list could read otherwise."""
    if not _MAILBOX.fullmatch(address):
        raise InvalidRecipient(f"{text!r} is no recipient: expected {RECIPIENT_FORMS}.", recipient=text)
    return canonical(address)


def canonical(identity: str) -> str:
    """One spelling for each identity: e-mails in lower case, key names as they are."""
    return identity.strip().lower() if "@" in identity else identity.strip()
