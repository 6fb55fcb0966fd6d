"""An example mail as files that a browser and a mail program open. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from channels.email.addressing import Mailboxes
from channels.email.examples import DELIVERY, TO, Example
from channels.email.render import message_mail, notice_mail
from channels.email.templates import Templates
from core.domain.notice import Notice


def preview_of(example: Example, ours: Mailboxes, templates: Templates) -> Mapping[str, bytes]:
    """The contents of its files by their ending: ``eml``, ``html``, ``txt``."""
    content = example.content
    if isinstance(content, Notice):
        mail = notice_mail(content, TO, DELIVERY, ours, templates)
    else:
        mail = message_mail(content, TO, DELIVERY, ours, templates)
    message = message_from_bytes(mail.content, policy=default)
    return {"eml": mail.content, "html": _body(message, "html"), "txt": _body(message, "plain")}


def _body(message: EmailMessage, kind: str) -> bytes:
    part = message.get_body((kind,))
    return b"" if part is None else str(part.get_content()).encode()
