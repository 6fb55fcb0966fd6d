"""Recipients: whom an attempt asks now, and where one person is reached directly.

An attempt's references are frozen with the question. The people behind them and the allow-list are not: they are read
again for each send. :func:`personal_address` is for a hand-over, and for telling one person the result of their action.

Source: API.md §2, "Whom to ask"; RFC-0026 §11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from core.domain.audience import as_known
from core.domain.channels import RecipientKind
from core.domain.people import Address, parse_recipient
from core.domain.quorum import answer_of
from core.domain.suspension import Suspension
from core.ports import Channel, Responders

NOT_ALLOWED = "recipient_not_allowed"
GONE = "recipient_gone"
UNREACHABLE = "recipient_unreachable"
EMPTY = "group_empty"


def references_of(suspension: Suspension, attempt: int) -> tuple[str, ...]:
    """Whom the attempt was planned for, and whoever the question has been handed over to."""
    assignee = () if suspension.assigned_to is None else (suspension.assigned_to,)
    return (*suspension.ask.planned(attempt).recipients, *assignee)


def addresses_of(
    suspension: Suspension, references: Iterable[str], channel: str, responders: Responders
) -> tuple[Address, ...]:
    """Every address that may be asked there, once; but for people who have answered already. A place that several
    people share (a PagerDuty service) is asked once too, and is nobody's in particular then."""
    places: dict[str, Address] = {}
    suspension = as_known(suspension, responders.identity_of)
    for address in _allowed(references, channel, responders):
        if address.person is None or answer_of(suspension, address.person) is None:
            there = places.setdefault(address.value, address)
            if there.person != address.person:
                places[address.value] = replace(address, person=None)
    return tuple(places.values())


def why_no_address(suspension: Suspension, attempt: int, responders: Responders) -> tuple[str, ...]:
    """Why ``attempt`` has nobody to ask, as stable codes, each once."""
    return tuple(dict.fromkeys(_why_unreached(one, responders) for one in references_of(suspension, attempt)))


def _why_unreached(reference: str, responders: Responders) -> str:
    if not responders.allowed(reference):
        return NOT_ALLOWED
    is_group = parse_recipient(reference).kind is RecipientKind.GROUP
    return EMPTY if is_group and not responders.people(reference) else UNREACHABLE


def no_longer_asked(suspension: Suspension, attempt: int, to: Address, responders: Responders) -> str | None:
    """Why a message that has waited is not to be sent to ``to`` any more, as a stable code; ``None`` if it is.

    Asked before each send, since the configuration may have changed while the row waited. An address that is the
    person's own identity is theirs as long as they are meant, whatever the directory knows of it just now.
    """
    references = (*suspension.ask.planned(attempt).recipients, *(one.to for one in suspension.assigned))
    person = None if to.person is None else responders.identity_of(to.person)
    if any(_is_at(to.value, person, address) for address in _allowed(references, to.channel, responders)):
        return None
    meant = (name for name in references if to.value == to.person and person in responders.people(name))
    if any(responders.allowed(name) for name in meant):
        return None
    anyway = (address for name in references for address in responders.addresses(name, to.channel))
    return NOT_ALLOWED if any(_is_at(to.value, person, address) for address in anyway) else GONE


def _is_at(value: str, person: str | None, address: Address) -> bool:
    """Whether ``value`` is this place, and ``person``'s; shared, where it is nobody's in particular."""
    return value == address.value and person in {None, address.person}


def _allowed(references: Iterable[str], channel: str, responders: Responders) -> dict[Address, None]:
    return dict.fromkeys(
        address
        for reference in references
        if responders.allowed(reference)
        for address in responders.addresses(reference, channel)
    )


def telling(channels: Mapping[str, Channel]) -> dict[str, Channel]:
    """Those by which somebody can be told something beside a question."""
    return {name: one for name, one in channels.items() if one.takes_messages}


def personal_address(
    responders: Responders, channels: Mapping[str, Channel], identity: str, preferred: str | None = None
) -> Address | None:
    """An address of ``identity`` on the ``preferred`` channel, else on the first that has one; ``None`` if none has.

    ``identity`` is an e-mail or a key's name; only the former has addresses.
    """
    if "@" not in identity:
        return None
    for channel in sorted(channels, key=lambda name: name != preferred):
        if channels[channel].reaches_one_person and (found := responders.addresses(identity, channel)):
            return found[0]
    return None
