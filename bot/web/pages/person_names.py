"""People on a page: names of the directory for identities, and whose addresses the reader may see. Pure.

A person with a link sees names alone. Where an address has no name, its first letter and its domain stand for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from core.domain.people import Person
from core.domain.suspension import Ended, Suspension


@dataclass(frozen=True, slots=True)
class PersonName:
    """Somebody, for one reader. ``address`` is set if the reader may see it, and it says more than ``text``."""

    text: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class PersonNames:
    """``people`` is the directory, ``reader`` the identity of the reader. ``identity_of`` knows further addresses.
    ``shows_addresses`` to signed-in operators; ``shows_people`` to whom the directory knows."""

    people: Iterable[Person]
    reader: str
    identity_of: Callable[[str], str]
    shows_addresses: bool = False
    shows_people: bool = True
    _known: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        people = list(self.people)
        alike = Counter(one.name for one in people)
        for one in people:
            local = one.email.partition("@")[0]
            self._known[one.email] = one.name if alike[one.name] == 1 else f"{one.name} ({local})"

    def of(self, identity: str) -> PersonName:
        """Whoever has done something: the name of the directory, else of the key, else what stands for an address."""
        name = self._known.get(self.identity_of(identity))
        if name is not None:
            return PersonName(name, identity if self.shows_addresses else None)
        if "@" not in identity or self.shows_addresses or self.identity_of(identity) == self.reader:
            return PersonName(identity)
        return PersonName(masked(identity))

    def text(self, identity: str) -> str:
        return self.of(identity).text

    def asked(self, identity: str) -> PersonName:
        """Whoever was asked, or will be. A reader that the directory does not know learns nobody's name by that."""
        if self.identity_of(identity) == self.reader:
            return PersonName("you")
        return self.of(identity) if self.shows_people else PersonName("somebody else")


def masked(address: str) -> str:
    """``c…@example.com``, as redaction writes it."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def with_names(suspension: Suspension, names: PersonNames) -> Suspension:
    """``suspension`` in which people have their names. Only for what is shown: nobody is compared by a name."""
    name, claim = names.text, suspension.claim
    return replace(
        suspension,
        ask=replace(suspension.ask, created_by=name(suspension.ask.created_by)),
        claim=claim and replace(claim, by=name(claim.by)),
        ended=suspension.ended and _ended(suspension.ended, names),
        undoable=suspension.undoable and replace(suspension.undoable, by=name(suspension.undoable.by)),
        answers=tuple(replace(one, by=name(one.by)) for one in suspension.answers),
        assigned=tuple(replace(one, to=name(one.to), by=name(one.by)) for one in suspension.assigned),
        clarifications=tuple(replace(one, by=name(one.by)) for one in suspension.clarifications),
        earlier=tuple(replace(one, by=name(one.by)) for one in suspension.earlier),
    )


def _ended(ended: Ended, names: PersonNames) -> Ended:
    return ended if ended.by is None else replace(ended, by=names.text(ended.by))
