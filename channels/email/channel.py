"""E-mail out: one message for each recipient, over a few kept connections to one SMTP server.

Source: facts on mail §B1, §F; RFC 5321; RFC 3834.
"""

from __future__ import annotations

from channels.email.addressing import Mailboxes, deliverable
from channels.email.mime import Envelope
from channels.email.render import message_mail, notice_mail
from channels.email.server import DEFAULT_SECURITY, Security, SmtpServer
from channels.email.smtp import SmtpLanes
from channels.email.templates import Templates
from core.domain.notice import Ending, Message, Notice
from core.domain.people import Address
from core.ports import Ambiguous, Delivered, Delivery, Receipt, Refused, Sending


class EmailChannel:
    """The ``email`` channel. An ambiguous send is repeated under the same Message-ID, which receivers collapse."""

    name = "email"
    withdraws = False
    follows_up = False

    def __init__(
        self,
        smtp_url: str,
        sender: str,
        reply_to: str | None = None,
        *,
        bounces_to: str | None = None,
        lanes: int = 4,
        security: Security = DEFAULT_SECURITY,
        templates: Templates | None = None,
    ) -> None:
        """``sender`` is From as configured. Without ``reply_to`` nobody can answer by mail, only by the link.

        Raises :class:`core.errors.ConfigError`.
        """
        self.lanes = lanes
        self.ours = Mailboxes.of(sender, reply_to, bounces_to)
        self._templates = templates or Templates()
        self._smtp = SmtpLanes(SmtpServer.parse(smtp_url, security), lanes, hello=self.ours.domain)

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        reached = deliverable(to)
        if reached is None:
            return _UNREACHABLE
        return await self._deliver(notice_mail(notice, reached, sending.id, self.ours, self._templates), sending)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """A mail can't be taken back: nothing is sent, so that nobody's phone rings once more for nothing."""
        return Delivered(receipt)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery:
        """Nothing that could be taken back."""
        return Refused("nothing_left")

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        reached = deliverable(to)
        if reached is None:
            return _UNREACHABLE
        return await self._deliver(message_mail(message, reached, sending.id, self.ours, self._templates), sending)

    async def close(self) -> None:
        await self._smtp.close()

    async def _deliver(self, mail: Envelope, sending: Sending) -> Delivery:
        """What may have arrived is sent once more, and not a third time: somebody's mailbox would fill with it while
        the server goes on losing its word. The ladder goes on instead (facts on mail §F).
        """
        outcome = await self._smtp.deliver(mail)
        if isinstance(outcome, Ambiguous) and sending.ambiguous:
            return Refused(f"{outcome.reason}_twice")
        return outcome


_UNREACHABLE = Refused("address_invalid")
