"""Opening: what has to hold before a question is asked, and who is shut out of answering it.

``POST …/suspend`` and ``POST /suspensions`` (:meth:`Engine.request`) and the published client's record
(``core.intents.client_steps``) open a question here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.domain.policy import PolicyFields
from core.domain.redaction.kinds import Finding
from core.domain.request import AskRequest
from core.engine.drafting import Draft, Drafter
from core.engine.quotas import NO_QUOTAS, Quotas
from core.errors import SignalIdInUse
from core.store import intent_agents, suspensions
from core.store.database import Tx


@dataclass(frozen=True, slots=True)
class Opening:
    """Drafts a question and refuses one that may not be asked."""

    drafter: Drafter
    quotas: Quotas = NO_QUOTAS

    def draft(
        self,
        tx: Tx,
        request: AskRequest,
        creator: str,
        default: PolicyFields,
        now: datetime,
        found: Sequence[Finding],
        agents: Sequence[str] = (),
    ) -> Draft:
        """The question as ``creator`` may ask it now. ``default`` is what its policy inherits, ``found`` what is
        sensitive in it, ``agents`` whose intent it is beside ``creator``.

        Raises the :class:`CallerError` that refuses it.
        """
        draft = self.drafter.draft(request, creator, default, now, found, agents)
        draft.plan.check()
        signal_id = request.resume.signal_id
        if signal_id is not None and suspensions.open_by_signal(tx.conn, signal_id, creator):
            message = "An open suspension of this key has registered this signal_id."
            raise SignalIdInUse(message, signal_id=signal_id)
        self.quotas.check(tx, creator, now)
        return draft


def others_of(tx: Tx, intent_id: str, creator: str) -> tuple[str, ...]:
    """Whose intent it is beside ``creator``."""
    return tuple(name for name in intent_agents.names(tx.conn, intent_id) if name != creator)
