"""What kind of mail came in. Only a reply may ever answer, and nothing else is ever written back to. Pure.

The order matters and is that of the facts on mail §B3: sanity, bounce, auto-reply, list, loop.
Source: RFC 3464 (delivery reports), RFC 3834 (automatic replies), RFC 2919 (List-Id).
"""

from __future__ import annotations

import re
from email.message import Message
from enum import StrEnum

from channels.email.addressing import Mailboxes, header, header_values, mailbox_in


class MailKind(StrEnum):
    REPLY = "reply"
    UNREADABLE = "unreadable"
    BOUNCE = "bounce"
    AUTO = "auto"
    LIST = "list"
    LOOP = "loop"


_DAEMONS = frozenset({"mailer-daemon", "postmaster", "mail-daemon", "mailerdaemon"})
_NO_REPLY = re.compile(r"(?:no|do-?not|dont|never)[-_.]?reply(?:[-_.+].*)?|bounces?(?:[-_.+].*)?|auto-?reply")
_AUTO_HEADERS = (
    "X-Autoreply",
    "X-Autorespond",
    "X-Auto-Reply",
    "X-AutoReply-From",
    "X-Mail-Autoreply",
    "X-Auto-Response-From",
    "X-MS-Exchange-Inbox-Rules-Loop",
)
"""Their presence is enough. ``X-Auto-Response-Suppress`` is not among them: it asks others not to answer."""
_AUTO_PRECEDENCE = frozenset({"bulk", "junk", "list", "auto_reply", "auto-reply"})
_AUTO_SUBJECT = re.compile(
    r"\s*(?:automatic reply|auto(?:matic)?[- ]?(?:reply|response|responder)|out of (?:the )?office|ooo\b|i am away|"
    r"away from (?:the )?office|on vacation|vacation reply|delivery status notification|undeliverable|"
    r"undelivered mail|mail delivery (?:failed|failure|subsystem)|returned mail|failure notice|read:|"
    r"automatische antwort|abwesenheit|nicht im büro|unzustellbar|réponse automatique|absence du bureau|"
    r"respuesta automática|fuera de la oficina|risposta automatica|fuori (?:sede|ufficio)|resposta automática|"
    r"fora do escritório|automatisch antwoord|afwezig|autosvar|automatiskt svar|frånvaro|automatyczna odpowiedź|"
    r"自動返信|自動応答|不在)",
    re.IGNORECASE,
)
_LIST_HEADERS = ("List-Id", "List-Post", "Mailing-List", "X-Mailing-List")


def classify(message: Message, ours: Mailboxes) -> MailKind:
    """The kind of a mail that could be parsed."""
    if _is_bounce(message, ours):
        return MailKind.BOUNCE
    if _is_automatic(message):
        return MailKind.AUTO
    if any(name in message for name in _LIST_HEADERS):
        return MailKind.LIST
    if _is_our_own(message, ours):
        return MailKind.LOOP
    return MailKind.REPLY


def _is_bounce(message: Message, ours: Mailboxes) -> bool:
    """A delivery, disposition or abuse report, or whatever came back to an envelope sender of ours."""
    if message.get_content_type() in {"multipart/report", "message/delivery-status"}:
        return True
    if "X-Failed-Recipients" in message or header(message, "Return-Path").strip() == "<>":
        return True
    sender = mailbox_in(header(message, "From"))
    if sender is not None and sender.partition("@")[0] in _DAEMONS:
        return True
    return any(
        ours.is_bounce_address(value) for name in ("Delivered-To", "To") for value in header_values(message, name)
    )


def _is_automatic(message: Message) -> bool:
    submitted = header(message, "Auto-Submitted").partition(";")[0].strip().casefold()
    if submitted not in {"", "no"} or any(name in message for name in _AUTO_HEADERS):
        return True
    if header(message, "Precedence").strip().casefold() in _AUTO_PRECEDENCE:
        return True
    sender = mailbox_in(header(message, "From"))
    if sender is not None and _NO_REPLY.fullmatch(sender.partition("@")[0]):
        return True
    return bool(_AUTO_SUBJECT.match(header(message, "Subject")[:200]))


def _is_our_own(message: Message, ours: Mailboxes) -> bool:
    """A mail of ours that came back: forwarded by a rule, or sent round by two machines that answer each other."""
    sender = mailbox_in(header(message, "From"))
    return (sender is not None and ours.is_ours(sender)) or ours.is_our_message_id(header(message, "Message-ID"))
