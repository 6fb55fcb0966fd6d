"""Rendering: notices and short messages as mail: headers, and bodies from the templates. Pure.

Source: facts on mail §B1.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

from channels.email import template_views as views
from channels.email.addressing import Mailboxes
from channels.email.delivery_reports import RETURN_ID
from channels.email.mime import OutgoingMail, compose, display_address, header_text
from channels.email.template_views import View, message_view, notice_view
from channels.email.templates import MailBodies, Templates
from channels.email.view_text import ROOMS, MailBudget, of_both, one_line
from core.domain.notice import Message, Notice, NoticeLinks, Proposal, Purpose, WhenCut, sight_needed
from core.domain.people import Address
from core.domain.suspension import Cut, Sight

LONGEST_SUBJECT = 120
LARGEST_HTML = 98_000
"""Bytes. Gmail cuts a mail off at about 102 kB, and what it cuts is below: when, what then, and the link."""
LARGEST_SENT = 300_000
"""Bytes of a whole mail, at most: two bodies, which grow by two fifths as they are encoded, and a head. The text is
never the longer."""
OWN_WORDS = 10_000
"""Bytes of these that are kept for our words: what silence means, who is asked next, what happened so far."""
_A_LINK = NoticeLinks("https://handraise.example.com/" + "x" * 90)
_TOLD_IN_REPLY = frozenset({Purpose.CONFIRMATION, Purpose.TOO_LATE, Purpose.CLARIFICATION})
"""Written because a mail came in: marked as such and sent from ``<>``, so that no machine answers (RFC 3834 §3.3)."""
_NOTHING_COMES_BACK = _TOLD_IN_REPLY | {Purpose.ENDED, Purpose.UNTOLD, Purpose.FAILED}
"""There is nothing left to answer, not even that nobody is there."""

_SUPPRESSED = "DR, RN, NRN, AutoReply"
"""What Exchange need not send back on a mail of its own accord. It may say that the mail did not arrive (NDR) and that
nobody is there (OOF): both move a question on. Source: [MS-OXCMAIL] §2.1.3.2.20."""

_OURS = Templates()


def notice_mail(
    notice: Notice,
    to: Address,
    delivery: str,
    ours: Mailboxes,
    templates: Templates = _OURS,
    when_cut: WhenCut = WhenCut.ANSWER,
) -> OutgoingMail:
    """The mail that asks ``to``. The same ``delivery`` makes the same Message-ID."""
    headers = _headers(subject_line(notice.ref, notice.question), to, delivery, notice.ref, ours)
    if answers_at := _answers_at(notice.links.reply_token, ours):
        headers["Reply-To"] = answers_at
    headers |= {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": _SUPPRESSED}
    if notice.attempt == notice.max_attempts > 1:
        headers |= {"X-Priority": "1", "Importance": "high"}
    written = _asking(notice, ours, templates, when_cut)
    return _envelope(headers, written, ours.bounces_to(delivery), to, ours.return_id(delivery))


def cut(notice: Notice, templates: Templates = _OURS) -> Cut:
    """What the mail leaves out of the agent's words: the same at every attempt and for every reader."""
    return views.cut_in(notice, _agents_room(notice, templates))


def message_mail(
    message: Message, to: Address, delivery: str, ours: Mailboxes, templates: Templates = _OURS
) -> OutgoingMail:
    """A short mail, in its question's thread if ``message`` names one."""
    headers = _headers(_message_subject(message), to, delivery, message.ref, ours)
    in_reply = message.purpose in _TOLD_IN_REPLY
    headers["Auto-Submitted"] = "auto-replied" if in_reply else "auto-generated"
    headers["X-Auto-Response-Suppress"] = "All" if message.purpose in _NOTHING_COMES_BACK else _SUPPRESSED
    if answers_at := _answers_at(message.reply_token, ours):
        headers["Reply-To"] = answers_at
    if message.proposal is not None:
        headers["X-Handraise-Proposal"] = _proposed(message.proposal)
    written = _telling(message, ours, templates)
    return _envelope(headers, written, "" if in_reply else ours.bounces_to(delivery), to, ours.return_id(delivery))


def view_of(content: Notice | Message, ours: Mailboxes, room: MailBudget) -> View:
    if isinstance(content, Notice):
        subject = subject_line(content.ref, content.question)
        return notice_view(content, subject, _answers_at(content.links.reply_token, ours), room)
    return message_view(content, _message_subject(content), _answers_at(content.reply_token, ours), room)


def _asking(notice: Notice, ours: Mailboxes, templates: Templates, when_cut: WhenCut) -> MailBodies:
    """The bodies, with as many of the agent's words as fit, and then of ours."""
    room = _agents_room(notice, templates)
    needed = sight_needed(notice, views.cut_in(notice, room), when_cut)
    takes_replies = needed is Sight.MESSAGE or notice.negatives
    answers_at = _answers_at(notice.links.reply_token, ours) if takes_replies else None
    subject = subject_line(notice.ref, notice.question)
    for own in ROOMS:
        written = templates.write("notice", notice_view(notice, subject, answers_at, of_both(room, own), needed))
        if _fits(written, LARGEST_HTML):
            break
    return written


def _agents_room(notice: Notice, templates: Templates) -> MailBudget:
    """The most room for the agent's words that leaves enough for ours. It depends only on the agent's words: so when
    a reply comes in, it is known what its mail left out, without anything stored."""
    if templates.are_ours and views.is_brief(notice):
        return ROOMS[0]
    bare = replace(
        notice, attempt=1, max_attempts=1, notes=(), earlier=(), next_step=None, silence="", zone=None, links=_A_LINK
    )
    for room in ROOMS:
        written = templates.write("notice", notice_view(bare, "", "answers@example.com", of_both(room, ROOMS[-1])))
        if _fits(written, LARGEST_HTML - OWN_WORDS):
            break
    return room


def _telling(message: Message, ours: Mailboxes, templates: Templates) -> MailBodies:
    for room in ROOMS:
        written = templates.write("message", view_of(message, ours, room))
        if _fits(written, LARGEST_HTML):
            break
    return written


def _fits(written: MailBodies, most: int) -> bool:
    """Whether its HTML has at most ``most`` bytes on the wire, where line ends take two. No character takes five."""
    html = written.html
    return 5 * len(html) <= most or len(html.encode("utf-8", "replace")) + html.count("\n") <= most


def _envelope(headers: dict[str, str], written: MailBodies, sender: str, to: Address, return_id: str) -> OutgoingMail:
    headers[RETURN_ID] = return_id  # a report that lost the envelope may still bring the headers back
    content = compose(headers, written.text, written.html)
    amiss = f"template_{written.failed}" if written.failed else None
    return OutgoingMail(sender, to.value, headers["Message-ID"], content, return_id, amiss)


def _proposed(proposal: Proposal) -> str:
    """The proposed value. If a text or a form's fields are redacted, they stand only in the body."""
    own = "text" if isinstance(proposal.value, str) else "form"
    value = own if proposal.index is None else str(proposal.value)
    return header_text("X-Handraise-Proposal", one_line(value, LONGEST_SUBJECT))


def _answers_at(token: str | None, ours: Mailboxes) -> str | None:
    return ours.reply_to(token) if token else None


def subject_line(ref: str, question: str) -> str:
    """The same for every mail about a question: Gmail threads by it."""
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
        "x-ms-reactions": "disallow",  # a thumbs-up in Outlook never reaches us, and looks like an answer
    }
    if ref:
        headers["In-Reply-To"] = headers["References"] = ours.root_id(ref)
    return headers
