"""What kind of mail came in. Only a reply may ever answer, and nothing else is ever written back to. Pure.

The order matters and is that of the facts on mail §B3: sanity, bounce, auto-reply, list, loop. What comes back to an
envelope sender of ours, or from nobody (``<>``), is never a reply, but it may be an out-of-office note: RFC 3834 §4
sends those there.

Source: RFC 3464 (delivery reports), RFC 8098 (MDN), RFC 5965 (ARF), RFC 3834 (automatic replies), RFC 2919 (List-Id).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.message import Message
from enum import StrEnum

from channels.email.addressing import Mailboxes, header, mailbox_in, mailboxes_in, raw_values
from channels.email.reports import report_type


class MailKind(StrEnum):
    REPLY = "reply"
    UNREADABLE = "unreadable"
    BOUNCE = "bounce"
    RECEIPT = "receipt"
    """A mail program says what became of a mail: shown, deleted (MDN)."""
    COMPLAINT = "complaint"
    """Somebody has called a mail of ours abuse (ARF)."""
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
_AWAY_SUBJECT = re.compile(
    r"\s*(?:automatic reply|auto(?:matic)?[- ]?(?:reply|response|responder)|out of (?:the )?office|ooo\b|i am away|"
    r"away from (?:the )?office|on vacation|vacation reply|"
    r"automatische antwort|abwesenheit|nicht im büro|réponse automatique|absence du bureau|"
    r"respuesta automática|fuera de la oficina|risposta automatica|fuori (?:sede|ufficio)|resposta automática|"
    r"fora do escritório|automatisch antwoord|afwezig|autosvar|automatiskt svar|frånvaro|automatyczna odpowiedź|"
    r"自動返信|自動応答|不在)",
    re.IGNORECASE,
)
_MACHINE_SUBJECT = re.compile(
    r"\s*(?:delivery status notification|undeliverable|undelivered mail|mail delivery (?:failed|failure|subsystem)|"
    r"returned mail|failure notice|read:|unzustellbar)",
    re.IGNORECASE,
)
_LIST_HEADERS = ("List-Id", "List-Post", "Mailing-List", "X-Mailing-List")


def classify(message: Message, ours: Mailboxes, sender: str | None = None, recipients: Sequence[str] = ()) -> MailKind:
    """The kind of a mail that could be parsed. ``sender`` is MAIL FROM (empty for ``<>``, ``None`` where nobody knows)
    and ``recipients`` RCPT TO."""
    reported = _reported(message)
    if reported is not None:
        return reported
    if _is_automatic(message):
        return MailKind.AUTO
    if sender == "" or _came_from_nobody(message) or _came_back(message, ours, recipients):
        return MailKind.BOUNCE
    if any(name in message for name in _LIST_HEADERS):
        return MailKind.LIST
    if _is_our_own(message, ours):
        return MailKind.LOOP
    return MailKind.REPLY


_REPORTS = {"disposition-notification": MailKind.RECEIPT, "feedback-report": MailKind.COMPLAINT}


def _reported(message: Message) -> MailKind | None:
    """What a machine made to report on a mail of ours, in form or by who sent it."""
    if message.get_content_type() == "multipart/report":
        return _REPORTS.get(report_type(message), MailKind.BOUNCE)
    if report_type(message) or "X-Failed-Recipients" in message:
        return MailKind.BOUNCE
    sender = mailbox_in(header(message, "From"))
    return MailKind.BOUNCE if sender is not None and sender.partition("@")[0] in _DAEMONS else None


def _came_from_nobody(message: Message) -> bool:
    return header(message, "Return-Path").strip() == "<>"


def _came_back(message: Message, ours: Mailboxes, recipients: Sequence[str]) -> bool:
    """To an envelope sender of ours, where only machines write."""
    named = [one for name in ("Delivered-To", "To") for one in raw_values(message, name)]
    return any(map(ours.is_bounce_address, [*recipients, *(one for value in named for one in mailboxes_in(value))]))


def is_away(message: Message) -> bool:
    """Whether an automatic reply says that its sender is not there: made by a program that answers for a person
    (RFC 3834 §5), not by a list or a machine that nobody reads."""
    submitted = header(message, "Auto-Submitted").partition(";")[0].strip().casefold()
    sender = mailbox_in(header(message, "From"))
    if sender is None or _NO_REPLY.fullmatch(sender.partition("@")[0]) or any(one in message for one in _LIST_HEADERS):
        return False
    return submitted.startswith("auto-replied") or bool(_AWAY_SUBJECT.match(header(message, "Subject")[:200]))


def _is_automatic(message: Message) -> bool:
    submitted = header(message, "Auto-Submitted").partition(";")[0].strip().casefold()
    if submitted not in {"", "no"} or any(name in message for name in _AUTO_HEADERS):
        return True
    if header(message, "Precedence").strip().casefold() in _AUTO_PRECEDENCE:
        return True
    sender = mailbox_in(header(message, "From"))
    if sender is not None and _NO_REPLY.fullmatch(sender.partition("@")[0]):
        return True
    subject = header(message, "Subject")[:200]
    return bool(_AWAY_SUBJECT.match(subject) or _MACHINE_SUBJECT.match(subject))


def _is_our_own(message: Message, ours: Mailboxes) -> bool:
    """A mail of ours that came back: forwarded by a rule, or sent round by two machines that answer each other."""
    sender = mailbox_in(header(message, "From"))
    return (sender is not None and ours.is_ours(sender)) or ours.is_our_message_id(header(message, "Message-ID"))
