"""E-mail out: one message for each recipient, over a few kept connections to one SMTP server.

Source: facts on mail §B1, §F; RFC 5321; RFC 3834.
"""

from __future__ import annotations

from channels.email.addressing import Mailboxes, deliverable
from channels.email.mail_server import DEFAULT_SECURITY, Security, SmtpServer
from channels.email.mime import OutgoingMail
from channels.email.render import cut, message_mail, notice_mail
from channels.email.smtp import SmtpLanes
from channels.email.templates import Templates
from core.domain.notice import Ending, Message, Notice, WhenCut
from core.domain.people import Address
from core.domain.suspension import Cut
from core.ports import Ambiguous, Delivered, Delivery, Receipt, Refused, Sending, Unconfirmed


class EmailChannel:
    """The ``email`` channel. An ambiguous send is repeated under the same Message-ID, which receivers collapse."""

    name = "email"
    lane_width: int | None = None
    withdraws = False
    tells_endings = True
    follows_up = False
    reaches_one_person = True
    takes_replies = True
    takes_messages = True
    one_way = False

    def __init__(
        self,
        smtp_url: str,
        sender: str,
        reply_to: str | None = None,
        *,
        returns_key: bytes,
        bounces_to: str | None = None,
        lanes: int = 4,
        security: Security = DEFAULT_SECURITY,
        templates: Templates | None = None,
        when_cut: WhenCut = WhenCut.ANSWER,
        tells_endings: bool = True,
    ) -> None:
        """``sender`` is From as configured. Without ``reply_to`` nobody can answer by mail, only by the link.
        ``returns_key`` makes the ids that mark a mail when it bounces.

        Raises :class:`core.errors.ConfigError`.
        """
        self.lanes = lanes
        self.tells_endings = tells_endings
        self.ours = Mailboxes.of(sender, reply_to, bounces_to, key=returns_key)
        self._templates = templates or Templates()
        self._when_cut = when_cut
        self._smtp = SmtpLanes(SmtpServer.parse(smtp_url, security), lanes, hello=self.ours.domain)

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        reached = deliverable(to)
        if reached is None:
            return _UNREACHABLE
        mail = notice_mail(notice, reached, sending.id, self.ours, self._templates, self._when_cut)
        return await self._deliver(mail, sending)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """A mail can't be taken back. Nothing is sent, so that no phone rings once more for nothing."""
        return Delivered(receipt)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Unconfirmed:
        """Nobody can say whether a mail has arrived. If it has, it looks as if the question were still open."""
        return Unconfirmed({"message_id": self.ours.message_id(sending.id)})

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        reached = deliverable(to)
        if reached is None:
            return _UNREACHABLE
        return await self._deliver(message_mail(message, reached, sending.id, self.ours, self._templates), sending)

    def cut(self, notice: Notice) -> Cut:
        return cut(notice, self._templates)

    async def close(self) -> None:
        await self._smtp.close()

    async def _deliver(self, mail: OutgoingMail, sending: Sending) -> Delivery:
        """A mail in doubt is sent once more, and not a third time: a server that keeps losing its reply would fill
        the mailbox. The ladder goes on instead (facts on mail §F)."""
        outcome = await self._smtp.deliver(mail)
        if isinstance(outcome, Ambiguous) and sending.ambiguous:
            return Refused(f"{outcome.reason}_twice")
        return outcome


_UNREACHABLE = Refused("address_invalid")
