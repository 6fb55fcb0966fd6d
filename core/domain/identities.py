"""Identities in a record, resolved by the directory as it is now. Pure.

A record keeps the name that a person had when it was written. The configuration may say later that two addresses belong
to one person. A claim, answer or end under either address is that person's from then on, and counts once.

Source: API.md §1, ``people[].aliases``; docs/decisions/0028.
"""

from __future__ import annotations

from dataclasses import replace

from core.domain.people import IdentityOf, canonical
from core.domain.suspension import PartialAnswer, Suspension


def as_known(suspension: Suspension, identity_of: IdentityOf) -> Suspension:
    """``suspension`` with each further address of a person replaced by their identity. The same object if it names
    none, whatever its spellings. If two answers to an open question turn out to be one person's, the later one
    stands."""
    claim, ended = suspension.claim, suspension.ended
    given = tuple(_by(one, identity_of) for one in suspension.answers)
    if given != suspension.answers:
        suspension = replace(suspension, answers=_one_each(given) if suspension.is_open else given)
    if claim is not None and (holder := _now(claim.by, identity_of)) != claim.by:
        suspension = replace(suspension, claim=replace(claim, by=holder))
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
