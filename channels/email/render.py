"""Notices and short messages as mail: the headers, and the bodies that the templates make. Pure.

Source: facts on mail §B1.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

from channels.email.addressing import Mailboxes
from channels.email.mime import Envelope, compose, display_address, header_text
from channels.email.room import ROOMS, Room
from channels.email.shown import one_line
from channels.email.templates import Templates, Written
from channels.email.views import View, message_view, notice_view
from core.domain.notice import Message, Notice, Purpose
from core.domain.people import Address

LONGEST_SUBJECT = 120
LARGEST_HTML = 98_000
"""Bytes. Gmail cuts a mail off at about 102 kB, and what it cuts is below: when, what then, and the link."""
_TOLD_IN_REPLY = frozenset({Purpose.CONFIRMATION, Purpose.TOO_LATE, Purpose.CLARIFICATION})
"""Written because a mail came in: marked as such and sent from ``<>``, so that no machine answers (RFC 3834 §3.3)."""

_SUPPRESSED = "DR, RN, NRN, AutoReply"
"""What Exchange need not send back on a mail of its own accord. It may say that the mail did not arrive (NDR) and that
nobody is there (OOF): both move a question on. Source: [MS-OXCMAIL] §2.1.3.2.20."""

_OURS = Templates()


def notice_mail(notice: Notice, to: Address, delivery: str, ours: Mailboxes, templates: Templates = _OURS) -> Envelope:
    """The mail that asks ``to``. The same ``delivery`` makes the same Message-ID."""
    headers = _headers(subject_line(notice.ref, notice.question), to, delivery, notice.ref, ours)
    if answers_at := _answers_at(notice.links.reply_token, ours):
        headers["Reply-To"] = answers_at
    headers |= {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": _SUPPRESSED}
    if notice.attempt == notice.max_attempts > 1:
        headers |= {"X-Priority": "1", "Importance": "high"}
    written = _written(notice, ours, templates)
    return _envelope(headers, written, ours.bounces_to(delivery), to, delivery)


def message_mail(
    message: Message, to: Address, delivery: str, ours: Mailboxes, templates: Templates = _OURS
) -> Envelope:
    """A short mail. Under its question where ``message`` names one."""
    headers = _headers(_message_subject(message), to, delivery, message.ref, ours)
    in_reply = message.purpose in _TOLD_IN_REPLY
    headers["Auto-Submitted"] = "auto-replied" if in_reply else "auto-generated"
    headers["X-Auto-Response-Suppress"] = "All" if in_reply else _SUPPRESSED
    if answers_at := _answers_at(message.reply_token, ours):
        headers["Reply-To"] = answers_at
    written = _written(message, ours, templates)
    return _envelope(headers, written, "" if in_reply else ours.bounces_to(delivery), to, delivery)


def view_of(content: Notice | Message, ours: Mailboxes, room: Room) -> View:
    """What the templates are given."""
    if isinstance(content, Notice):
        subject = subject_line(content.ref, content.question)
        return notice_view(content, subject, _answers_at(content.links.reply_token, ours), room)
    return message_view(content, _message_subject(content), _answers_at(content.reply_token, ours), room)


def _written(content: Notice | Message, ours: Mailboxes, templates: Templates) -> Written:
    """With as much of everything as there is room for."""
    kind = "notice" if isinstance(content, Notice) else "message"
    for room in ROOMS:
        written = templates.write(kind, view_of(content, ours, room))
        if len(written.html.encode("utf-8", "replace")) <= LARGEST_HTML:
            break
    return written


def _envelope(headers: dict[str, str], written: Written, sender: str, to: Address, delivery: str) -> Envelope:
    content = compose(headers, written.text, written.html)
    amiss = f"template_{written.failed}" if written.failed else None
    return Envelope(sender, to.value, headers["Message-ID"], content, delivery, amiss)


def _answers_at(token: str | None, ours: Mailboxes) -> str | None:
    return ours.reply_to(token) if token else None


def subject_line(ref: str, question: str) -> str:
    """One and the same for every mail about a question: Gmail threads by it."""
    return one_line(f"[{ref}] {question}", LONGEST_SUBJECT)


def _message_subject(message: Message) -> str:
    return one_line(message.subject, LONGEST_SUBJECT + len("Re: "))


def _headers(subject: str, to: Address, delivery: str, ref: str | None, ours: Mailboxes) -> dict[str, str]:
    headers = {
        "From": display_address(ours.name, ours.sender),
        "To": to.value,
        "Subject": header_text("Subject", subject),
        "Date": format_datetime(datetime.now(UTC)),
        "Message-ID": ours.message_id(delivery),
    }
    if ref:
        headers["In-Reply-To"] = headers["References"] = ours.root_id(ref)
    return headers
