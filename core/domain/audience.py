"""People in a question: the audience of an open one, and the identities in its record as the directory has them now.
Pure.

An audience are the people whose answer a question may wait for. It holds just enough to say whether one person may
answer and has not. It is small, and the same for most questions of one agent, so a very large inbox is counted by it,
without the records.

A record keeps the name that a person had when it was written. The configuration may say later that two addresses belong
to one person. A claim, answer or end under either address is that person's from then on, and counts once.

Source: API.md §1 (``people[].aliases``), §2 ("Who may answer"); docs/decisions/0028, 0043.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.domain.people import IdentityOf, canonical
from core.domain.quorum import is_shared
from core.domain.suspension import PartialAnswer, Suspension

_COMPACT = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Audience:
    """``responders`` are the references that the call named, ``asked`` those that an attempt or a hand-over has
    addressed. ``behind`` are the names of the asker, of the person it is asked for, and of the intent's agents. If
    several people have to answer (``is_shared``), ``answered`` are the names of those who have. ``is_settled``: an
    answer is about to end it."""

    responders: tuple[str, ...]
    asked: tuple[str, ...]
    behind: tuple[str, ...]
    answered: tuple[str, ...] = ()
    is_shared: bool = False
    is_settled: bool = False

    @property
    def references(self) -> Collection[str]:
        return dict.fromkeys((*self.responders, *self.asked))

    def is_behind(self, identity_of: IdentityOf, *names: str | None) -> bool:
        """Whether one of ``names`` asked, is asked for, or works on the intent."""
        behind = set(map(identity_of, self.behind))
        return any(name is not None and identity_of(name) in behind for name in names)

    def has_answered(self, identity_of: IdentityOf, identity: str) -> bool:
        return identity in map(identity_of, self.answered)

    def written(self) -> str:
        """Compact JSON for :meth:`read`."""
        kept = {
            "responders": self.responders,
            "asked": self.asked,
            "behind": self.behind,
            "answered": self.answered,
            "is_shared": self.is_shared,
            **({"is_settled": True} if self.is_settled else {}),
        }
        return _COMPACT.encode(kept)

    @classmethod
    def read(cls, text: str) -> Audience:
        kept = json.loads(text)
        return cls(
            tuple(kept["responders"]),
            tuple(kept["asked"]),
            tuple(kept["behind"]),
            tuple(kept["answered"]),
            kept["is_shared"],
            kept.get("is_settled", False),
        )


def _behind(suspension: Suspension) -> tuple[str, ...]:
    ask = suspension.ask
    asked_for = () if ask.on_behalf_of is None else (ask.on_behalf_of,)
    return (ask.created_by, *asked_for, *suspension.agents)


def audience_of(suspension: Suspension) -> Audience:
    ask = suspension.ask
    return Audience(
        responders=ask.responders,
        asked=suspension.asked,
        behind=_behind(suspension),
        answered=tuple(one.by for one in suspension.answers),
        is_shared=is_shared(suspension),
        is_settled=suspension.undoable is not None,
    )


def as_known(suspension: Suspension, identity_of: IdentityOf) -> Suspension:
    """``suspension`` with each further address of a person replaced by their identity. The same object if it names
    none, whatever its spellings. If two answers to an open question turn out to be one person's, the later one
    stands."""
    claim, ended, undoable = suspension.claim, suspension.ended, suspension.undoable
    given = tuple(_by(one, identity_of) for one in suspension.answers)
    if given != suspension.answers:
        suspension = replace(suspension, answers=_one_each(given) if suspension.is_open else given)
    if claim is not None and (holder := _now(claim.by, identity_of)) != claim.by:
        suspension = replace(suspension, claim=replace(claim, by=holder))
    if undoable is not None and (by := _now(undoable.by, identity_of)) != undoable.by:
        suspension = replace(suspension, undoable=replace(undoable, by=by))
    if ended is not None and ended.by is not None and (by := _now(ended.by, identity_of)) != ended.by:
        suspension = replace(suspension, ended=replace(ended, by=by))
    return suspension


def _now(name: str, identity_of: IdentityOf) -> str:
    """``name`` itself if only its spelling differs."""
    known = identity_of(name)
    return name if known == canonical(name) else known


def _by(given: PartialAnswer, identity_of: IdentityOf) -> PartialAnswer:
    name = _now(given.by, identity_of)
    return given if name == given.by else replace(given, by=name)


def _one_each(answers: tuple[PartialAnswer, ...]) -> tuple[PartialAnswer, ...]:
    latest = {canonical(one.by): one for one in answers}
    return tuple(one for one in answers if latest[canonical(one.by)] is one)
