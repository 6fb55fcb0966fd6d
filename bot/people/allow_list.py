"""The allow-list: which references ``recipients.allow`` lets this service ask.

Patterns ignore case. For a person in the directory they match any of the person's addresses; for anybody else the
address to send mail to. ``*@example.com`` covers ``email:`` forms too, because a person who may be asked everywhere may
be asked by mail; ``email:*@example.com`` covers only mail.

Source: API.md §2, "Whom to ask"; RFC-0026 §11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import translate

from core.domain.channels import RecipientKind
from core.domain.people import Person, Recipient, comparable_domain, parse_recipient

_NOTHING = r"(?!)"
"""Matches nothing."""


def allow_list(
    patterns: Iterable[str], configured: Collection[str], people: Mapping[str, Person], owners: Mapping[str, str]
) -> Callable[[str], bool]:
    """A function that says whether a reference is ``configured`` or matches one of the shell ``patterns``. ``people``
    are those of the directory by identity, ``owners`` says whose each further address is. The function raises
    :class:`InvalidRecipient` for a reference of no known form.
    """
    any_of = re.compile("|".join(translate(_spelled(one)) for one in patterns) or _NOTHING)

    def allows(reference: str) -> bool:
        recipient = parse_recipient(reference)
        if str(recipient) in configured:
            return True
        return any(any_of.match(form.lower()) for form in _forms(recipient, people, owners))

    return allows


def _spelled(pattern: str) -> str:
    """The pattern in the spelling of references: lower case, the domain in its DNS form."""
    name, at, domain = pattern.lower().rpartition("@")
    return f"{name}@{comparable_domain(domain)}" if at and not domain.isascii() else pattern.lower()


def _forms(recipient: Recipient, people: Mapping[str, Person], owners: Mapping[str, str]) -> Collection[str]:
    """The forms of ``recipient`` that a pattern may match."""
    match recipient.kind:
        case RecipientKind.PERSON:
            person = people.get(owners.get(recipient.identity, recipient.identity))
            return {recipient.value} if person is None else {*person.identities, *person.mailboxes}
        case RecipientKind.MAILBOX:
            return {str(recipient), recipient.value}
        case _:
            return {str(recipient)}
