"""Who may answer a question. Source: API.md §2, "Who may answer"; RFC-0025 §11."""

from __future__ import annotations

from core.domain.people import Actor, Role, canonical
from core.domain.suspension import Suspension
from core.errors import NotAResponder, SelfResponseForbidden
from core.ports import Responders


def refusal(suspension: Suspension, actor: Actor, responders: Responders, *, allow_self: bool) -> str | None:
    """Why ``actor`` may not answer, as an error code; ``None`` where they may.

    ``responders`` and everybody an attempt has addressed may; where the call named no responders, every operator
    too. Never whoever asked, nor the person it was asked for.
    """
    ask = suspension.ask
    if not allow_self and _asks_for_itself(suspension, actor):
        return SelfResponseForbidden.code
    if any(responders.answers_to(reference, actor) for reference in (*ask.responders, *suspension.asked)):
        return None
    if not ask.responders and actor.has(Role.OPERATOR):
        return None
    return NotAResponder.code


def check(suspension: Suspension, actor: Actor, responders: Responders, *, allow_self: bool) -> None:
    """Raises what :func:`refusal` says."""
    match refusal(suspension, actor, responders, allow_self=allow_self):
        case SelfResponseForbidden.code:
            raise SelfResponseForbidden("Whoever asked, or is asked for, may not answer.")
        case NotAResponder.code:
            raise NotAResponder("You are not among those who may answer this question.")


def _asks_for_itself(suspension: Suspension, actor: Actor) -> bool:
    ask = suspension.ask
    behind = {canonical(ask.created_by)} | ({canonical(ask.on_behalf_of)} if ask.on_behalf_of else set())
    return actor.identity in behind or (actor.key is not None and canonical(actor.key) in behind)
