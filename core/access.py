"""Who may answer a question, and who is on it. Source: API.md §2, "Who may answer"; RFC-0025 §11."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from core.domain.answering import GivenAnswer
from core.domain.people import Actor, Role, canonical
from core.domain.suspension import Suspension
from core.domain.wire import instant
from core.errors import ClaimedByAnother, IdentityMismatch, NotAResponder, SelfResponseForbidden
from core.ports import Responders


def check_claim(suspension: Suspension, by: Actor, now: datetime) -> None:
    """Raises :class:`ClaimedByAnother` where somebody else is on it."""
    held = suspension.claim
    if held is not None and held.by != by.identity and now < held.until:
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
    """Why ``actor`` may not answer, as an error code; ``None`` where they may.

    ``responders`` and everybody an attempt has addressed may; where the call named no responders, every operator
    too. Never whoever asked, nor the person it was asked for.
    """
    ask = suspension.ask
    if not allow_self and asks_for_itself(suspension, actor):
        return SelfResponseForbidden.code
    if any(responders.answers_to(reference, actor) for reference in (*ask.responders, *suspension.asked)):
        return None
    if not ask.responders and actor.has(Role.OPERATOR):
        return None
    return NotAResponder.code


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
    ask = suspension.ask
    behind = {canonical(ask.created_by)} | ({canonical(ask.on_behalf_of)} if ask.on_behalf_of else set())
    return actor.identity in behind or (actor.key is not None and canonical(actor.key) in behind)
