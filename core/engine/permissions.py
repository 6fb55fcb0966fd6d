"""Permissions: who may answer a question, who holds it, and whether enough people exist who may.

Source: API.md §2, "Who may answer", §4, ``answers_required``; RFC-0025 §11; docs/decisions/0009, 0087.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.domain.answers import GivenAnswer
from core.domain.audience import Audience, audience_of
from core.domain.channels import RecipientKind
from core.domain.people import Actor, Address, Role, canonical, parse_recipient
from core.domain.request import AskRequest
from core.domain.suspension import PlannedAttempt, Suspension
from core.domain.wire import instant
from core.errors import ClaimedByAnother, IdentityMismatch, NotAResponder, SelfResponseForbidden
from core.ports import Responders

MAIL = "email"
"""The channel on which one address may be read by several people."""


def check_claim(suspension: Suspension, by: Actor, now: datetime) -> None:
    """Raises :class:`ClaimedByAnother` if somebody else is on it."""
    held = suspension.claim
    if held is not None and canonical(held.by) != by.identity and now < held.until:
        raise ClaimedByAnother(f"{held.by} is on it.", claimed_by=held.by, claim_until=instant(held.until))


@dataclass(frozen=True, slots=True)
class Permissions:
    """``allow_self``: whether somebody may answer what they asked themselves."""

    responders: Responders
    allow_self: bool = False

    def as_named(self, answer: GivenAnswer) -> GivenAnswer:
        """An admin is a trusted gateway: its answer is that of the person it names (API.md §4). The key stays its own,
        so that a key which asked can't answer in anybody's name.
        """
        if answer.named is None or self._is_named(answer) or not answer.by.has(Role.ADMIN):
            return answer
        return replace(answer, by=replace(self.responders.actor(answer.named), key=answer.by.key))

    def refusal(self, suspension: Suspension, actor: Actor) -> str | None:
        """Why ``actor`` may not answer, as an error code; ``None`` if they may."""
        return self.refusal_of(audience_of(suspension), actor)

    def refusal_of(self, audience: Audience, actor: Actor) -> str | None:
        """As :meth:`refusal`, for the question that ``audience`` belongs to.

        ``responders`` and everybody an attempt has addressed may; where the call named no responders, every operator
        too. Never whoever asked, nor the person it was asked for. Where several answers are needed, only people of the
        directory and named keys: nobody else can be told from somebody who has answered already.
        """
        if not self.allow_self and audience.is_behind(self.responders.identity_of, actor.identity, actor.key):
            return SelfResponseForbidden.code
        if audience.is_shared and not self.responders.is_known(actor.identity):
            return NotAResponder.code
        if any(self.responders.answers_to(reference, actor) for reference in audience.references):
            return None
        if not audience.responders and actor.has(Role.OPERATOR):
            return None
        return NotAResponder.code

    def means(self, suspension: Suspension, actor: Actor) -> bool:
        """Whether ``actor`` may answer the question, is named by it, or has answered it."""
        audience, ended, identity_of = audience_of(suspension), suspension.ended, self.responders.identity_of
        if audience.has_answered(identity_of, actor.identity) or self.refusal_of(audience, actor) is None:
            return True
        if ended is not None and ended.by is not None and identity_of(ended.by) == actor.identity:
            return True
        return any(self.responders.answers_to(reference, actor) for reference in audience.references)

    def may_read(self, suspension: Suspension, actor: Actor) -> bool:
        """Whether somebody is told of the question who is no agent of its intent: whoever reads every question, and
        those that it means, if they are operators. The rule of ``answers.operators_read``."""
        return actor.reads_all or (actor.is_narrowed and self.means(suspension, actor))

    def waits_for(self, audience: Audience, actor: Actor) -> bool:
        """Whether an open question waits for ``actor`` among others: they may answer, and have not."""
        if audience.is_settled:
            return False
        has_answered = audience.has_answered(self.responders.identity_of, actor.identity)
        return not has_answered and self.refusal_of(audience, actor) is None

    def check(self, suspension: Suspension, actor: Actor) -> None:
        """Raises what :meth:`refusal` says."""
        _raise(self.refusal(suspension, actor))

    def check_answer(self, suspension: Suspension, answer: GivenAnswer) -> None:
        """As :meth:`check`, and that the caller is who the answer says; self comes first, as in API.md §4."""
        code = self.refusal(suspension, answer.by)
        if code != SelfResponseForbidden.code and not self._is_named(answer):
            raise IdentityMismatch("responded_by names somebody else than the key's owner.")
        _raise(code)

    def who_could_answer(
        self, request: AskRequest, attempts: Sequence[PlannedAttempt], agents: Sequence[str]
    ) -> frozenset[str]:
        """Everybody who may answer once every attempt has gone out, by the directory and the keys of this moment.

        People count, not spellings, and only those of the directory and those with a key. A group counts as its
        members, a schedule as one person at least; a Slack channel or a PagerDuty service by itself is nobody. With no
        ``responders``, every operator's key counts too. None of ``agents`` does: whoever asks, and whose intent it is.
        """
        references = (*request.responders, *(one for step in attempts for one in step.recipients))
        people = {identity for reference in references for identity in self._people(reference)}
        if not request.responders:
            people.update(self.responders.operators())
        behind = {self.responders.identity_of(name) for name in (*agents, request.on_behalf_of) if name is not None}
        return frozenset(people if self.allow_self else people - behind)

    def silent_beside(self, suspension: Suspension, identity: str) -> int:
        """How many people beside ``identity`` may answer by now, and have not."""
        audience = audience_of(suspension)
        people = {one for reference in audience.references for one in self._people(reference)}
        if not audience.responders:
            people.update(self.responders.operators())
        identity_of = self.responders.identity_of
        answered = {identity_of(name) for name in (*audience.answered, identity)}
        return sum(self.allow_self or not audience.is_behind(identity_of, one) for one in people - answered)

    def _people(self, reference: str) -> frozenset[str]:
        """Those behind ``reference`` whose answer would count."""
        people = {self.responders.identity_of(one) for one in self.responders.people(reference)}
        if parse_recipient(reference).kind is RecipientKind.SCHEDULE:
            return frozenset(one for one in people if one == reference or self.responders.is_known(one))
        return frozenset(one for one in people if self.responders.is_known(one))

    def is_shared_mailbox(self, suspension: Suspension, to: Address) -> bool:
        """Whether ``to`` is a mailbox that several people read, as far as anybody can tell: it is nobody's in the
        directory, and others are to answer, who can sign in. Those are the question's ``responders``, if it is none of
        them; without any, everybody in the directory, if the mailbox is what the configuration asks by default.

        A link that went there is nobody's. An address that is asked for itself answers for itself.
        """
        identity, named = self.responders.identity_of(to.person or to.value), suspension.ask.responders
        if to.channel != MAIL or self.responders.is_known(identity):
            return False
        if named:
            return any(map(self._can_sign_in, named)) and not self._is_among(identity, named)
        return bool(self.responders.everybody()) and self._is_among(identity, self.responders.defaults(MAIL))

    def _can_sign_in(self, reference: str) -> bool:
        """Whether it may mean somebody who can: whom a group or a schedule means is known when it is asked."""
        recipient = parse_recipient(reference)
        return not recipient.is_mailbox or self.responders.is_known(recipient.value)

    def _is_among(self, identity: str, references: Collection[str]) -> bool:
        mailboxes = (one.value for one in map(parse_recipient, references) if one.is_mailbox)
        return identity in map(self.responders.identity_of, mailboxes)

    def asks_for_itself(self, suspension: Suspension, actor: Actor) -> bool:
        """Whether ``actor`` is behind the question: its creator, or on whose behalf it is asked."""
        return audience_of(suspension).is_behind(self.responders.identity_of, actor.identity, actor.key)

    def _is_named(self, answer: GivenAnswer) -> bool:
        return answer.named is None or self.responders.identity_of(answer.named) == answer.by.identity


def _raise(code: str | None) -> None:
    match code:
        case SelfResponseForbidden.code:
            raise SelfResponseForbidden(
                "You asked this question, or it is asked on your behalf: you may not answer it."
            )
        case NotAResponder.code:
            raise NotAResponder("You are not among those who may answer this question.")
