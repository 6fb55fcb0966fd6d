"""The mail webhook: ``POST /email/inbound``, for mail that another mail server posts (API.md §6)."""

from __future__ import annotations

import hashlib
import hmac
import re

import structlog

from bot.inbound.mail.inbox import Arrival, MailInbox
from channels.email.lmtp_server import LARGEST_MAIL
from core.ports import Clock

log = structlog.get_logger(__name__)

_SIGNATURE_SECONDS = 300
_SIGNATURE = re.compile(r"\s*t=([0-9]{1,12})\s*,\s*v1=([0-9a-f]{64})\s*")


class MailWebhook:
    """Verifies a posted mail, then hands it to the inbox."""

    def __init__(self, inbox: MailInbox, clock: Clock, secret: str) -> None:
        self._inbox = inbox
        self._clock = clock
        self._secret = secret.encode()

    async def receive(self, raw: bytes, signature: str | None) -> int:
        """The status of the reply: 202 once signed and acted upon, 401 or 413. Raises only
        :class:`core.errors.DatabaseUnavailable`: nothing was lost then, and the same mail may come again.
        """
        if len(raw) > LARGEST_MAIL:
            return 413
        if not self._is_signed(raw, signature):
            log.info("mail.signature_refused")
            return 401
        await self._inbox.take(Arrival(raw, "webhook"))
        return 202

    def may_be_signed(self, signature: str | None) -> bool:
        """A check without the body: the signature has the right shape, and is new."""
        found = _SIGNATURE.fullmatch(signature or "")
        return found is not None and abs(self._clock.now().timestamp() - int(found[1])) <= _SIGNATURE_SECONDS

    def _is_signed(self, raw: bytes, signature: str | None) -> bool:
        found = _SIGNATURE.fullmatch(signature or "")
        if found is None or not self.may_be_signed(signature):
            return False
        digest = hmac.new(self._secret, f"{found[1]}.".encode(), hashlib.sha256)
        digest.update(raw)
        return hmac.compare_digest(digest.hexdigest(), found[2])
