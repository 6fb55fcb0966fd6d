"""The mail channel as it is configured. Part of the composition root; paths are the configuration's own."""

from __future__ import annotations

from pathlib import Path

from bot.config.channels import Email
from channels.email.channel import EmailChannel
from channels.email.mail_server import Security
from channels.email.overrides import read_templates
from channels.email.templates import Templates
from core.domain.notice import WhenCut


def email_channel(mail: Email, folder: Path, returns_key: bytes, when_cut: WhenCut = WhenCut.ANSWER) -> EmailChannel:
    """Raises :class:`core.errors.ConfigError` for a template or a certificate that can't work."""
    authorities = None if mail.tls_ca is None else folder / mail.tls_ca
    return EmailChannel(
        mail.smtp_url,
        mail.sender,
        mail.reply_to,
        returns_key=returns_key,
        bounces_to=mail.bounces_to,
        lanes=mail.max_connections,
        security=Security(authorities, mail.require_tls),
        templates=mail_templates(mail, folder),
        when_cut=when_cut,
        tells_endings=mail.tell_endings,
    )


def mail_templates(mail: Email, folder: Path) -> Templates:
    """Ours, and the operator's in their place."""
    if mail.templates is None:
        return Templates()
    return read_templates(folder / mail.templates)
