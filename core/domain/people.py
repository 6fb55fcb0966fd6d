"""People: identities, addresses, and how a recipient is written. Pure.

An identity is canonical: a person's e-mail in lower case, without a sub-address, with the domain in its DNS form; else
the name of the API key. A key that is named like a person's e-mail *is* that person.

Domains are compared as the DNS knows them: IDNA 2008 by UTS 46, without the transitional mappings. The standard
library's codec is that of 2003; it takes großbank.example for grossbank.example, which may be somebody else's.
:func:`owner` drops the detail after a ``+`` (RFC 5233). Dots in a local part stay: only some servers ignore them.

Source: API.md §1, "Identities are canonical"; RFC 5891, RFC 5894 §7.2 (ß, ς and the joiners); RFC 6532 (UTF-8).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import idna

from core.domain.channels import RecipientKind, form_of, recipient_forms
from core.errors import InvalidRecipient


def dns_domain(domain: str) -> str:
    """The domain in its DNS form, lower case. Raises :class:`UnicodeError` if it has none."""
    if domain.isascii():
        return domain.encode("idna").decode("ascii").lower()  # measures its labels
    return idna.encode(domain, uts46=True).decode("ascii")


def comparable_domain(domain: str) -> str:
    """:func:`dns_domain`; a domain without a DNS form equals only itself."""
    try:
        return dns_domain(domain)
    except UnicodeError:
        return domain.lower()


_NAMED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^<>"@,;]*?))\s*<\s*([^<>\s@]+@[^<>\s@]+)\s*>\s*', re.DOTALL)
_ALONE = re.compile(r"\s*([^<>\s@,;\"()]+@[^<>\s@,;\"()]+)\s*")


def named_mailbox(text: str) -> tuple[str, str]:
    """Name and address of ``Alice Doe <alice@example.com>``, or ``""`` and a bare address; both empty for anything
    else, two addresses too.

    Python's own parser became stricter within its patch releases: the result must not depend on them.
    """
    named = _NAMED.fullmatch(text)
    if named is not None:
        quoted, bare, address = named.groups()
        return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare, address
    alone = _ALONE.fullmatch(text)
    return ("", alone[1]) if alone is not None else ("", "")


def small(address: str) -> str:
    """In lower case. A letter that would become an ASCII one, such as the sign for kelvin, stays."""
    lower = address.lower()
    return lower if lower.isascii() == address.isascii() else address


def spelled(address: str) -> str:
    """The mailbox in canonical spelling, with its sub-address: the address to send to."""
    local, _, domain = address.strip().rpartition("@")
    return f"{small(_composed(local))}@{comparable_domain(domain.rstrip('.') or domain)}"


def owner(address: str) -> str:
    """The mailbox without its sub-address: ``alice@example.com`` for ``Alice+2@Example.com``."""
    local, _, domain = spelled(address).rpartition("@")
    base, _, _ = local.partition("+")
    return f"{base or local}@{domain}"


def _composed(local: str) -> str:
    """Joins a separate accent with its letter; no other letter becomes ASCII."""
    composed = unicodedata.normalize("NFC", local)
    return composed if composed.isascii() == local.isascii() else local


class Role(StrEnum):
    """What a key may do: ``agent`` asks, ``operator`` answers, ``admin`` does both and more."""

    AGENT = "agent"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Person:
    """A person in the directory. ``email`` is their identity, and canonical; ``mailbox`` is the address for their
    mail as the directory writes it, if it differs (``alice+work@example.com``)."""

    email: str
    name: str
    accounts: tuple[tuple[str, str], ...] = ()
    """The accounts that the directory names, by channel: ``("slack", "U0ALICE")``."""
    groups: frozenset[str] = frozenset()
    mailbox: str | None = None
    aliases: tuple[str, ...] = ()
    """Further addresses of theirs, as the directory writes them (``people[].aliases``)."""

    def account_on(self, channel: str) -> str | None:
        """The account of theirs that the directory names."""
        return dict(self.accounts).get(channel)

    @property
    def mail_to(self) -> str:
        return self.mailbox or self.email

    @property
    def mailboxes(self) -> tuple[str, ...]:
        """All their mailboxes, the one for their mail first."""
        return (self.mail_to, *self.aliases)

    @property
    def identities(self) -> frozenset[str]:
        """Their possible names in a record: their identity, and each further address in canonical form."""
        return frozenset({self.email, *map(canonical, self.aliases)})


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller: an identity, the roles of its key, and the directory's person if there is one.

    ``key`` is the name of the API key that authenticated, ``None`` if a channel did. ``proven`` are references that the
    channel has just found them behind and that the directory can't know, such as a Slack user group. ``reads_own``: as
    an operator they read only the questions that mean them (``answers.operators_read``).
    """

    identity: str
    roles: frozenset[Role] = frozenset()
    key: str | None = None
    person: Person | None = None
    proven: frozenset[str] = frozenset()
    reads_own: bool = False

    def has(self, role: Role) -> bool:
        return role in self.roles or Role.ADMIN in self.roles

    @property
    def reads_all(self) -> bool:
        """Whether every key's questions and intents may be read. Every narrowing of what is read asks this."""
        return Role.ADMIN in self.roles or (Role.OPERATOR in self.roles and not self.reads_own)

    @property
    def is_narrowed(self) -> bool:
        """Whether this is an operator who reads only the questions that mean them."""
        return Role.OPERATOR in self.roles and not self.reads_all


@dataclass(frozen=True, slots=True)
class Address:
    """One place to send to. ``value`` is in the channel's own words: ``C…``/``U…``, a mailbox, a PagerDuty service.

    ``person`` is the identity behind it, ``None`` for a shared place such as a Slack channel.
    """

    channel: str
    value: str
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Recipient:
    """A parsed reference: ``alice@example.com``, ``group:NAME``, or ``PREFIX:VALUE`` in a form of some channel's. An
    address keeps its sub-address; whose it is says :attr:`identity`. ``channel`` is empty for people and groups."""

    kind: RecipientKind
    value: str
    prefix: str = ""
    channel: str = ""

    @property
    def is_mailbox(self) -> bool:
        """Whether it is one person's address, as a person's own or for mail alone."""
        return self.kind in {RecipientKind.PERSON, RecipientKind.MAILBOX}

    @property
    def identity(self) -> str:
        """The identity of a person or of a mailbox's owner."""
        return canonical(self.value)

    def __str__(self) -> str:
        return f"{self.prefix}:{self.value}" if self.prefix else self.value


GROUP = "group"
_MAILBOX = re.compile(r"[^\s@<>()\[\]\\;:,\"\x00-\x20\x7f]{1,64}@[^\s@<>()\[\]\\;:,\"\x00-\x20\x7f]{1,255}")


def parse_recipient(text: str) -> Recipient:
    """The reference in ``text``; raises :class:`InvalidRecipient` if it has none of the known forms.

    Source: API.md §2, "Whom to ask".
    """
    prefix, colon, rest = text.strip().partition(":")
    if not colon:
        return Recipient(RecipientKind.PERSON, _mailbox(prefix, text))
    if prefix == GROUP and rest:
        return Recipient(RecipientKind.GROUP, rest, GROUP)
    form = form_of(prefix)
    if form is None:
        raise _no_recipient(text)
    if form.kind is RecipientKind.MAILBOX:
        return Recipient(form.kind, _mailbox(rest, text), prefix, form.channel)
    if re.fullmatch(form.value, rest) is None:
        raise _no_recipient(text)
    return Recipient(form.kind, rest, prefix, form.channel)


def _mailbox(address: str, text: str) -> str:
    """A plain ``local@domain``, which no mail header and no pattern of the allow-list could read otherwise."""
    if not _MAILBOX.fullmatch(address):
        raise _no_recipient(text)
    return spelled(address)


def _no_recipient(text: str) -> InvalidRecipient:
    return InvalidRecipient(f"{text!r} is no recipient: expected {recipient_forms()}.", recipient=text)


LONGEST_KEY_NAME = 255
OWN_KEY = "me"
"""Stands for the caller's own key in a path (API.md §1)."""


def key_name(text: str) -> str:
    """The name of an API key, as it is kept: one that looks like an e-mail is in lower case. Raises ``ValueError``,
    whose text follows "The name of a key"."""
    name = text.strip()
    if not name:
        raise ValueError("must not be empty")
    if not name.isprintable():
        raise ValueError("must be one line of printable text")
    if len(name) > LONGEST_KEY_NAME:
        raise ValueError(f"must have at most {LONGEST_KEY_NAME} characters")
    if name.lower() == OWN_KEY:
        raise ValueError(f"must not be {OWN_KEY!r}: that stands for the caller's own")
    return name.lower() if "@" in name else name


def canonical(identity: str) -> str:
    """One spelling for each identity: an e-mail's owner, a key's name unchanged. Only the directory knows which
    addresses belong to one person (:meth:`core.ports.Responders.identity_of`)."""
    return owner(identity) if "@" in identity else identity.strip()


IdentityOf = Callable[[str], str]
"""Whose an address or a name is, as of now: :func:`canonical`, with a person's further addresses taken for theirs."""


LONGEST_MAIL = 254
"""Characters of an address (RFC 5321 §4.5.3.1.3, less the angle brackets)."""


def read_mail_address(text: str) -> str | None:
    """The canonical form of a typed address, ``None`` if it is not one."""
    try:
        recipient = parse_recipient(text)
    except InvalidRecipient:
        return None
    is_mail = recipient.kind is RecipientKind.PERSON and len(recipient.value) <= LONGEST_MAIL
    return recipient.identity if is_mail else None
