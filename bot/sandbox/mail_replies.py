"""What comes back when people, machines and mail servers react to one of our mails: raw MIME as our own MX leaves it.

Shaped after what Gmail sends (a reply with both parts and the original quoted below), Outlook's out-of-office and
postfix's delivery report. Source: RFC 5322 §3.6.4, RFC 3834 §3, RFC 3464 §2; RFC 8601 §2 (Authentication-Results).
"""

from __future__ import annotations

import html as htmllib
import itertools
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.utils import format_datetime, parseaddr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from bot.sandbox.mailbox import Mail

_numbers = itertools.count(1)


def domain_of(address: str) -> str:
    return parseaddr(address)[1].rpartition("@")[2].lower()


def passing(authserv_id: str, sender: str) -> str:
    """What our MX writes about a mail whose sender is who they say."""
    domain = domain_of(sender)
    return (
        f"{authserv_id}; dkim=pass header.d={domain}; spf=pass smtp.mailfrom={domain}; dmarc=pass header.from={domain}"
    )


def reply(
    mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None, html: str | None = None
) -> bytes:
    """``text`` written above the quoted ``mail``. ``authentication`` is the MX's verdict, ``None`` for none at all."""
    message = _arrived(mail, sender, mail.answers_to, at, authentication)
    message["Subject"] = mail.subject if mail.subject.lower().startswith("re:") else f"Re: {mail.subject}"
    message["In-Reply-To"] = mail.message_id
    message["References"] = " ".join(filter(None, (mail.header("References"), mail.message_id)))
    said = f"On {at:%a, %b %-d, %Y at %-I:%M %p} {mail.header('From')} wrote:"
    quoted = "\n".join(f"> {line}".rstrip() for line in mail.text.splitlines())
    message.set_content(f"{text}\n\n{said}\n\n{quoted}\n", cte="quoted-printable")
    own = html if html is not None else htmllib.escape(text).replace("\n", "<br>")
    message.add_alternative(
        f'<div dir="ltr">{own}</div><br><div class="gmail_quote gmail_quote_container">'
        f'<div dir="ltr" class="gmail_attr">{htmllib.escape(said)}<br></div>'
        f'<blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex">'
        f"{mail.html or htmllib.escape(mail.text)}</blockquote></div>",
        subtype="html",
        cte="quoted-printable",
    )
    return message.as_bytes(policy=WIRE)


def auto_reply(mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None) -> bytes:
    """An out-of-office note. RFC 3834 §4 sends it to the envelope sender; Exchange, as here, to Reply-To."""
    message = _arrived(mail, sender, mail.answers_to, at, authentication)
    message["Subject"] = f"Automatic reply: {mail.subject}"
    message["In-Reply-To"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(f"{text}\n")
    return message.as_bytes(policy=WIRE)


def bounce(mail: Mail, *, at: datetime, mail_server: str) -> bytes:
    """A delivery report to the envelope sender: nobody of that name here."""
    report = EmailMessage(policy=WIRE)
    report["Return-Path"] = "<>"
    report["Delivered-To"] = mail.sender
    report["From"] = f"Mail Delivery System <MAILER-DAEMON@{mail_server}>"
    report["To"] = mail.sender
    report["Subject"] = "Undelivered Mail Returned to Sender"
    report["Date"] = format_datetime(at)
    report["Message-ID"] = f"<{next(_numbers)}.bounce@{mail_server}>"
    report["Auto-Submitted"] = "auto-replied"
    report["Content-Type"] = "multipart/report; report-type=delivery-status"
    words = EmailMessage()
    words.set_content(f"<{mail.recipient}>: host {mail_server} said: 550 5.1.1 User unknown\n")
    status = EmailMessage()
    status["Content-Type"] = "message/delivery-status"
    fields = (
        (("Reporting-MTA", f"dns; {mail_server}"),),
        (("Final-Recipient", f"rfc822; {mail.recipient}"), ("Action", "failed"), ("Status", "5.1.1")),
    )
    for group in fields:
        part = EmailMessage()
        for name, value in group:
            part[name] = value
        status.attach(part)
    original = EmailMessage()
    original.set_content(mail.message)
    for part in (words, status, original):
        report.attach(part)
    return report.as_bytes(policy=WIRE)


def _arrived(mail: Mail, sender: str, to: str, at: datetime, authentication: str | None) -> EmailMessage:
    """A message with the trace fields that the servers on its way have put on top."""
    number = next(_numbers)
    message = EmailMessage(policy=WIRE)
    message["Return-Path"] = f"<{parseaddr(sender)[1]}>"
    message["Delivered-To"] = to
    if authentication is not None:
        message["Authentication-Results"] = authentication
    message["Received"] = (
        f"from mail.{domain_of(sender)} by mx.{domain_of(to)} with ESMTPS id {number}; {format_datetime(at)}"
    )
    message["From"] = sender
    message["To"] = to
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<CA+{number:08d}@mail.{domain_of(sender)}>"
    return message
