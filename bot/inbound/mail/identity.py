"""The identity behind a mail: whether the person that its token was made for wrote it, to us.

Source: facts on mail §B1 (authority is the token, the sender and our own MX's word); docs/decisions/0019, 0025.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.inbound.mail.bounces import CHANNEL
from channels.email.addressing import is_same_mailbox
from channels.email.authentication import SenderAuth
from channels.email.inbound import Inbound, MailRules
from core.domain.tokens import TokenPurpose
from core.engine.queries import Holder, Queries
from core.inbound.settle import Correspondence

_MOST_TOKENS = 5
"""Tokens of one mail that are looked up."""


class Senders:
    """Looks up whom a mail's tokens were made for, and says why it is not to be trusted. Every method raises
    :class:`core.errors.DatabaseUnavailable`."""

    def __init__(self, queries: Queries, mail: Correspondence, rules: MailRules) -> None:
        self._queries = queries
        self._mail = mail
        self._rules = rules

    async def holders(self, mail: Inbound) -> list[Holder]:
        """Whom the mail's tokens were made for. One without any may still name the mail that it answers; that is
        known to more people than a token is, so it takes an MX that vouches for the sender."""
        if mail.tokens:
            return await self._held(mail.tokens)
        if not mail.authentic or self._rules.sender_auth is SenderAuth.TOKEN_ONLY:
            return []
        found = [await self._queries.find_by_delivery(one, CHANNEL) for one in mail.answers_to[-_MOST_TOKENS:]]
        return [one for one in found if one is not None][-1:]

    async def others(self, mail: Inbound, holder: Holder) -> list[Holder]:
        """Other questions of the same person that the mail is addressed to: their server may have split it."""
        held = await self._held([token for token in mail.addressed if token not in mail.tokens])
        return [one for one in held if one.actor.identity == holder.actor.identity]

    async def distrust(self, mail: Inbound, mine: Sequence[Holder]) -> str | None:
        """Why the mail is not the recipient's own reply, as far as anybody knows. ``mine`` are the sender's tokens."""
        if not mine:
            return "sender_is_not_the_recipient"
        if self._rules.sender_auth is SenderAuth.LINK_ONLY:
            return SenderAuth.LINK_ONLY.value
        if not mail.authentic:
            return "not_authenticated"
        return None if await self._is_reply_to(mail, mine[0]) else "not_addressed"

    async def _is_reply_to(self, mail: Inbound, holder: Holder) -> bool:
        """Whether it was written to us, about this question, by the one field that the sender's server has surely
        signed: a genuine mail to somebody else, brought to the token's address by whoever knows it, stays genuine,
        whatever else they write on top of it.
        """
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


def is_from(mail: Inbound, holder: Holder) -> bool:
    """The token's own recipient wrote it: a forwarded mail leaks the token, not the mailbox."""
    sender = mail.sender
    return sender is not None and any(
        is_same_mailbox(sender, one) for one in (holder.address.value, holder.actor.identity)
    )
