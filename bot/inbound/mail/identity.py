"""The identity behind a mail: whether the person that its token was made for wrote it, to us.

A mail to nobody of the directory, such as a team's mailbox, may be answered from their own address by any person of the
directory who may answer the question. A mail sent by another person in the writer's name counts for nothing if that
person may not answer.

Source: facts on mail §B1 (authority is the token, the sender and our own MX's word); docs/decisions/0019, 0025, 0087.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.inbound.mail.bounces import CHANNEL
from channels.email.addressing import is_same_mailbox
from channels.email.authentication import SenderAuth
from channels.email.inbound import Inbound, MailRules
from core.domain.people import Address
from core.domain.tokens import TokenPurpose
from core.engine.permissions import Permissions
from core.engine.queries import Holder, Queries
from core.inbound.correspondence import Correspondence

_MOST_TOKENS = 5
"""Tokens of one mail that are looked up."""


class MailIdentity:
    """Looks up the owners of a mail's tokens, and says why a mail is not trusted. Every method raises
    :class:`core.errors.DatabaseUnavailable`."""

    def __init__(self, queries: Queries, permissions: Permissions, mail: Correspondence, rules: MailRules) -> None:
        self._queries = queries
        self._permissions = permissions
        self._responders = permissions.responders
        self._mail = mail
        self._rules = rules

    async def holders(self, mail: Inbound) -> list[Holder]:
        """The owners of the mail's tokens. A mail without a token may name the mail that it answers; more people
        know that id than a token, so an MX has to vouch for the sender."""
        if mail.tokens:
            return await self._held(mail.tokens)
        if not mail.authentic or self._rules.sender_auth is SenderAuth.TOKEN_ONLY:
            return []
        found = [await self._queries.find_by_delivery(one, CHANNEL) for one in mail.answers_to[-_MOST_TOKENS:]]
        return [one for one in found if one is not None][-1:]

    async def others(self, mail: Inbound, holder: Holder) -> list[Holder]:
        """Other questions of the same person that the mail is addressed to: their server may have split it."""
        held = self.written_by(mail, await self._held([one for one in mail.addressed if one not in mail.tokens]))
        return [one for one in held if one.actor.identity == holder.actor.identity]

    def written_by(self, mail: Inbound, held: Sequence[Holder]) -> list[Holder]:
        """Those of ``held`` that are the sender's: made for them, or for nobody in particular if they may answer."""
        found = (one if self._is_from(mail, one) else self._in_their_own_name(mail, one) for one in held)
        return [one for one in found if one is not None]

    def _is_from(self, mail: Inbound, holder: Holder) -> bool:
        """The token's own recipient wrote it: a forwarded mail leaks the token, not the mailbox."""
        sender = mail.sender
        if sender is None:
            return False
        return is_same_mailbox(sender, holder.address.value) or (
            self._responders.identity_of(sender) == holder.actor.identity
        )

    def _in_their_own_name(self, mail: Inbound, holder: Holder) -> Holder | None:
        """A responder of the directory, whom their own server vouches for, answers a mail to a mailbox that is
        nobody's there. The token only says which question is meant: everybody who reads that mailbox has it, so with
        the From alone (``token_only``) each of them could answer as any other."""
        proven = mail.authentic and self._rules.sender_auth in {SenderAuth.DMARC, SenderAuth.DKIM}
        if not proven or mail.sender is None or self._responders.is_known(holder.actor.identity):
            return None
        actor = self._responders.actor(mail.sender)
        if actor.person is None or self._permissions.refusal(holder.suspension, actor) is not None:
            return None
        return Holder(holder.suspension, actor, Address(CHANNEL, actor.person.mail_to, actor.identity))

    def barred(self, mail: Inbound, holder: Holder) -> str | None:
        """The identity of a person who sent the mail in the name of ``holder`` and may not answer the question;
        empty if unreadable, ``None`` if there is none."""
        may_not = (
            one
            for one in self._others_who_sent(mail, holder)
            if self._permissions.refusal(holder.suspension, self._responders.actor(one)) is not None
        )
        return next(may_not, None)

    def sent_by(self, mail: Inbound, holder: Holder) -> str | None:
        """The sender of the mail in the name of ``holder``, ``None`` if they sent it themselves."""
        return next(self._others_who_sent(mail, holder), None)

    def _others_who_sent(self, mail: Inbound, holder: Holder) -> Iterator[str]:
        identities = map(self._responders.identity_of, mail.sent_by)
        return (one for one in identities if one != holder.actor.identity)

    async def distrust(self, mail: Inbound, mine: Sequence[Holder]) -> str | None:
        """Why the mail is not the recipient's own reply, as far as known. ``mine`` are the sender's tokens."""
        if not mine:
            return "sender_is_not_the_recipient"
        if self._rules.sender_auth is SenderAuth.LINK_ONLY:
            return SenderAuth.LINK_ONLY.value
        if not mail.authentic:
            return "not_authenticated"
        return None if await self._is_reply_to(mail, mine[0]) else "not_addressed"

    async def _is_reply_to(self, mail: Inbound, holder: Holder) -> bool:
        """Whether it was written to us, about this question, by the one field that the sender's server has surely
        signed. Otherwise a genuine mail to another person could be sent on to the token's address: it stays genuine,
        whatever fields are added on top."""
        if mail.replied_to:
            return any(one.suspension.id == holder.suspension.id for one in await self._held(mail.replied_to))
        if not mail.is_to_us:
            return False
        if holder.suspension.ask.ref in mail.refs:
            return True
        named = [await self._mail.delivery(one, CHANNEL) for one in mail.answers_to[-_MOST_TOKENS:]]
        return any(row is not None and row.suspension_id == holder.suspension.id for row in named)

    async def _held(self, tokens: Sequence[str]) -> list[Holder]:
        found = [await self._queries.find_by_token(token, TokenPurpose.MAIL) for token in tokens[:_MOST_TOKENS]]
        return [one for one in found if one is not None]
