"""Access: who may answer a question, who holds it, and whether enough people exist who may.

Source: API.md §2, "Who may answer", §4, ``answers_required``; RFC-0025 §11; docs/decisions/0009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.answers import GivenAnswer
from core.domain.audience import Audience, audience_of
from core.domain.people import Actor, RecipientKind, Role, canonical, parse_recipient
from core.domain.request import AskRequest
from core.domain.suspension import PlannedAttempt, Suspension
from core.domain.wire import instant
from core.errors import (
    ClaimedByAnother,
    IdentityMismatch,
    NotAResponder,
    SelfResponseForbidden,
)
from core.ports import Responders


def check_claim(suspension: Suspension, by: Actor, now: datetime) -> None:
    """Raises :class:`ClaimedByAnother` where somebody else is on it."""
    held = suspension.claim
    if held is not None and canonical(held.by) != by.identity and now < held.until:
        raise ClaimedByAnother(f"{held.by} is on it.", claimed_by=held.by, claim_until=instant(held.until))


def as_named(answer: GivenAnswer, responders: Responders) -> GivenAnswer:
    """An admin is a trusted gateway: its answer is that of the person it names (API.md §4). The key stays its own,
    so that a key which asked can't answer in anybody's name.
    """
    if answer.named is None or _is_named(answer) or not answer.by.has(Role.ADMIN):
        return answer
    return replace(answer, by=replace(responders.actor(canonical(answer.named)), key=answer.by.key))


def _is_named(answer: GivenAnswer) -> bool:
    return answer.named is None or canonical(answer.named) == answer.by.identity


def refusal(suspension: Suspension, actor: Actor, responders: Responders, *, allow_self: bool) -> str | None:
    """Why ``actor`` may not answer, as an error code; ``None`` where they may."""
    return refusal_of(audience_of(suspension), actor, responders, allow_self=allow_self)


def refusal_of(audience: Audience, actor: Actor, responders: Responders, *, allow_self: bool) -> str | None:
    """As :func:`refusal`, of the question that ``audience`` is that of.

    ``responders`` and everybody an attempt has addressed may; where the call named no responders, every operator
    too. Never whoever asked, nor the person it was asked for. Where several answers are needed, only people of the
    directory and named keys: nobody else can be told from somebody who has answered already.
    """
    if not allow_self and audience.is_behind(actor.identity, actor.key):
        return SelfResponseForbidden.code
    if audience.is_shared and not responders.is_known(actor.identity):
        return NotAResponder.code
    if any(responders.answers_to(reference, actor) for reference in audience.references):
        return None
    if not audience.responders and actor.has(Role.OPERATOR):
        return None
    return NotAResponder.code


def waits_for(audience: Audience, actor: Actor, responders: Responders, *, allow_self: bool) -> bool:
    """Whether an open question waits for ``actor`` among others: they may answer, and have not."""
    if audience.has_answered(actor.identity):
        return False
    return refusal_of(audience, actor, responders, allow_self=allow_self) is None


def check(suspension: Suspension, actor: Actor, responders: Responders, *, allow_self: bool) -> None:
    """Raises what :func:`refusal` says."""
    _raise(refusal(suspension, actor, responders, allow_self=allow_self))


def check_answer_by(suspension: Suspension, answer: GivenAnswer, responders: Responders, *, allow_self: bool) -> None:
    """As :func:`check`, and that the caller is who the answer says; self comes first, as in API.md §4."""
    code = refusal(suspension, answer.by, responders, allow_self=allow_self)
    if code != SelfResponseForbidden.code and not _is_named(answer):
        raise IdentityMismatch("responded_by names somebody else than the key's owner.")
    _raise(code)


def _raise(code: str | None) -> None:
    match code:
        case SelfResponseForbidden.code:
            raise SelfResponseForbidden("Whoever asked, or is asked for, may not answer.")
        case NotAResponder.code:
            raise NotAResponder("You are not among those who may answer this question.")


def asks_for_itself(suspension: Suspension, actor: Actor) -> bool:
    """Whether ``actor`` is behind the question: its creator, or on whose behalf it is asked."""
    return audience_of(suspension).is_behind(actor.identity, actor.key)


def who_could_answer(
    request: AskRequest,
    attempts: Sequence[PlannedAttempt],
    created_by: str,
    responders: Responders,
    *,
    allow_self: bool,
) -> frozenset[str]:
    """Everybody who may answer once every attempt has gone out, by the directory and the keys of this moment.

    People count, not spellings, and only those of the directory and those with a key. A group counts as its members, a
    schedule as one person at least; a Slack channel or a PagerDuty service by itself is nobody. With no ``responders``,
    every operator's key counts too.
    """
    references = (*request.responders, *(one for step in attempts for one in step.recipients))
    people = {identity for reference in references for identity in _people(reference, responders)}
    if not request.responders:
        people.update(responders.operators())
    behind = {canonical(name) for name in (created_by, request.on_behalf_of) if name is not None}
    return frozenset(people if allow_self else people - behind)


def _people(reference: str, responders: Responders) -> frozenset[str]:
    """Those behind ``reference`` whose answer would count."""
    people = {canonical(one) for one in responders.people(reference)}
    if parse_recipient(reference).kind is RecipientKind.SCHEDULE:
        return frozenset(one for one in people if one == reference or responders.is_known(one))
    return frozenset(one for one in people if responders.is_known(one))
