"""Opening: the checks before a question is asked, and the transaction that asks it.

``POST …/suspend`` and ``POST /suspensions`` (:meth:`Engine.request`) open a question here. The published client's
record (``core.openintent.intents.client_steps``) is drafted here, and opened there.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.database.database import Tx
from core.domain.intent import Intent, IntentStatus, check_suspendable, check_version, title_of
from core.domain.machine import open_suspension
from core.domain.policy import PolicyFields, policy_fields
from core.domain.redaction.kinds import Finding
from core.domain.request import AskRequest, Opened, action_digest
from core.domain.same_ask import digests_of
from core.engine.drafting import Draft, Drafter
from core.engine.quotas import NO_QUOTAS, Quotas
from core.engine.repeats import RepeatedAsks
from core.engine.transitions import Transitions
from core.errors import NotFound, SignalIdInUse
from core.store import intent_agents, intents, sessions, suspensions


@dataclass(frozen=True, slots=True)
class Opening:
    """Drafts a question and refuses one that may not be asked; what it opens is kept by ``transitions``."""

    drafter: Drafter
    transitions: Transitions
    quotas: Quotas = NO_QUOTAS
    repeats: RepeatedAsks = field(default_factory=RepeatedAsks)

    def open(
        self,
        tx: Tx,
        request: AskRequest,
        creator: str,
        now: datetime,
        found: Sequence[Finding],
        intent_id: str | None = None,
        expected_version: int | None = None,
    ) -> Opened:
        """Open a question of ``creator``'s by its own policy. With no ``intent_id`` the intent is made too. Raises as
        :meth:`draft`, and :class:`NotFound` or :class:`Conflict` for an intent that can't be suspended."""
        default = policy_fields(sessions.agent_policy(tx.conn, creator))
        agents = () if intent_id is None else others_of(tx, intent_id, creator)
        draft = self.draft(tx, request, creator, default, now, found, agents)
        if intent_id is None:
            intent = intents.new(str(uuid.uuid4()), title_of(request.question), creator, now, IntentStatus.ACTIVE)
        else:
            intent = _intent_to_suspend(tx, intent_id, creator, expected_version)
            agents = others_of(tx, intent_id, creator)  # once more: held still from here on
        self.repeats.check(tx, action_digest(request.action), creator, now)
        self.check_quota(tx, creator, now)
        ask = draft.ask(
            suspension_id=str(uuid.uuid4()),
            ref=suspensions.free_ref(tx.conn),
            intent_id=intent.id,
            created_by=creator,
            now=now,
        )
        ask = replace(ask, digests=digests_of(request))
        keep = intents.insert if intent_id is None else intents.advance
        opened = self.transitions.open(tx, open_suspension(ask, agents), intent, now, keep).suspension
        return Opened(opened, draft.plan.problems)

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
        return draft

    def check_quota(self, tx: Tx, creator: str, now: datetime) -> None:
        """Raises :class:`QuotaExceeded` if one more question of ``creator`` would be too many. An intent that is to be
        suspended must be locked: callers of one key wait for each other here, and whoever is first waits no more."""
        self.quotas.check(tx, creator, now)


def _intent_to_suspend(tx: Tx, intent_id: str, creator: str, version: int | None) -> Intent:
    found = intents.lock(tx, intent_id)
    if found is None or not intent_agents.belongs(tx.conn, intent_id, creator):
        raise NotFound("There is no such intent.")
    if version is not None:
        check_version(found, version)
    check_suspendable(found)
    return found


def others_of(tx: Tx, intent_id: str, creator: str) -> tuple[str, ...]:
    """Whose intent it is beside ``creator``."""
    return tuple(name for name in intent_agents.names(tx.conn, intent_id) if name != creator)
