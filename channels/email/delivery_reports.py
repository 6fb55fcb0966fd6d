"""Reports of mail servers and mail programs about our mail: delivered, delayed, failed, read, complained of. Pure.

A delivery report names each recipient with an action and a status. Mail servers without delivery reports (qmail, old
Exim) write text. Of it, only the server's own words count: those above the copy of our mail.

Source: RFC 3464 (delivery reports), RFC 3463 (status codes), RFC 8098 (disposition), RFC 5965 (abuse), RFC 6522
(multipart/report); facts on mail §B3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from email.policy import compat32
from enum import StrEnum

from channels.email.head import header, header_values, mailboxes_in
from core.domain.people import small

RETURN_ID = "X-Handraise-Return"
"""The header of our mail that names it, as its envelope does."""

_MOST_PARTS = 50
_MOST_FATES = 100
_LONGEST_TEXT = 20_000
_LONGEST_HEADERS = 100_000

_STATUS = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])")
_GIVEN_UP = re.compile(r"permanent (?:fatal )?error|i've given up|could not be delivered to one or more", re.IGNORECASE)
_STILL_TRYING = re.compile(
    r"\bdelayed?\b|\bwarning\b|will be (?:re)?tried|still trying|not yet been delivered", re.IGNORECASE
)
_COPY_BEGINS = re.compile(
    r"^(?:-{2,}.{0,80}\b(?:copy|original|below|returned|headers)\b|(?:Received|Return-Path|Message-ID):)",
    re.IGNORECASE | re.MULTILINE,
)
_REPLY_CODE = re.compile(r"\b[245]\d\d[ -]#?[245]\.\d")
"""A mail server's reply, quoted: "550 5.1.1". A date may look like a status by itself."""
_BLAMED = re.compile(r"^\s*<([^<>\s]{1,320})>:", re.MULTILINE)
_PERMANENT = "5.0.0"


class ReportVerdict(StrEnum):
    """A report's verdict on one recipient."""

    REFUSED = "refused"
    """It will never be delivered: ``failed`` with a status of class 5."""
    DELAYED = "delayed"
    TEMPORARY = "temporary"
    """Given up for a reason of class 4, which may have gone by the next attempt."""
    DELIVERED = "delivered"
    OTHER_RECIPIENT = "other_recipient"
    """It is about somebody whom we did not write to: a mail that was passed on."""
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Fate:
    """One recipient, under every address that the report gives them (lower case). ``status`` is ``5.1.1`` or empty."""

    addresses: frozenset[str]
    action: str
    status: str

    @property
    def verdict(self) -> ReportVerdict:
        if self.action in {"delivered", "relayed", "expanded"}:
            return ReportVerdict.DELIVERED
        if self.action == "delayed":
            return ReportVerdict.DELAYED
        if self.action != "failed":
            return ReportVerdict.UNCLEAR
        return {"5": ReportVerdict.REFUSED, "4": ReportVerdict.TEMPORARY}.get(self.status[:1], ReportVerdict.UNCLEAR)


@dataclass(frozen=True, slots=True)
class Report:
    """``original`` is the Message-ID of the reported mail, empty if the report does not have it. ``return_ids`` are
    all ids that it brings back from that mail's envelope and header."""

    fates: tuple[Fate, ...]
    original: str = ""
    return_ids: tuple[str, ...] = ()

    def about(self, addresses: frozenset[str]) -> tuple[ReportVerdict, str]:
        """The verdict and status code for the recipient with any of ``addresses``: the worst if there are two. A
        text that names nobody is about the mail's own recipient."""
        mine = [one for one in self.fates if not one.addresses or one.addresses & addresses]
        if not mine:
            return (ReportVerdict.OTHER_RECIPIENT if self.fates else ReportVerdict.UNCLEAR), ""
        worst = min(mine, key=lambda one: list(ReportVerdict).index(one.verdict))
        return worst.verdict, worst.status


def read_report(message: Message) -> Report:
    """The delivery report in ``message``: in its fields if it has any, else in its text."""
    parts = list(_parts(message))
    fates = [fate for part in parts for fate in _fates(part)][:_MOST_FATES]
    copies = [copy for part in parts if (copy := _copy(part)) is not None]
    original = next(filter(None, (header(copy, "Message-ID").strip() for copy in copies)), "")
    named = [one for part in parts for one in _envelope_ids(part)]
    named += [header(copy, RETURN_ID).strip() for copy in copies]
    return Report(tuple(fates) or _told(message, parts), original, tuple(dict.fromkeys(filter(None, named))))


def _parts(message: Message) -> Iterator[Message]:
    """The parts of the report itself, without those inside the returned mail."""
    waiting = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        yield part
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting[:0] = [one for one in inner if isinstance(one, Message)]


def _fates(part: Message) -> Iterator[Fate]:
    """From a ``message/delivery-status``: a group of fields for the mail, then one for each recipient."""
    groups = part.get_payload()
    if part.get_content_type() not in {"message/delivery-status", "message/global-delivery-status"}:
        return
    for group in groups if isinstance(groups, list) else []:
        if not isinstance(group, Message) or "Action" not in group:
            continue
        named = [*header_values(group, "Final-Recipient")[:3], *header_values(group, "Original-Recipient")[:3]]
        addresses = frozenset(one for value in named for one in mailboxes_in(value.partition(";")[2] or value))
        found = _STATUS.search(header(group, "Status"))
        action = header(group, "Action").partition("(")[0].strip().casefold()
        yield Fate(addresses, action, found[0] if found else "")


def _envelope_ids(part: Message) -> Iterator[str]:
    """Our ENVIDs in the report (RFC 3464 §2.2.1)."""
    groups = part.get_payload()
    if part.get_content_type() not in {"message/delivery-status", "message/global-delivery-status"}:
        return
    for group in groups[:1] if isinstance(groups, list) else []:
        if isinstance(group, Message):
            yield header(group, "Original-Envelope-Id").strip()


def _copy(part: Message) -> Message | None:
    """The returned mail, whole or only its head."""
    inner = part.get_payload()
    if part.get_content_type() in {"message/rfc822", "message/global"} and isinstance(inner, list) and inner:
        return inner[0] if isinstance(inner[0], Message) else None
    if part.get_content_type() in {"text/rfc822-headers", "message/global-headers"} and isinstance(inner, str):
        return message_from_string(inner[:_LONGEST_HEADERS], policy=compat32)
    return None


def _told(message: Message, parts: list[Message]) -> tuple[Fate, ...]:
    """One fate for all recipients, from the server's own words."""
    text = next((_text(part) for part in parts if part.get_content_type() == "text/plain"), "")
    copy = _COPY_BEGINS.search(text)
    said = text[: copy.start()] if copy else text
    failed = mailboxes_in(header(message, "X-Failed-Recipients"))
    named = frozenset(failed or map(small, _BLAMED.findall(said)))
    subject = header(message, "Subject")[:200]
    if _STILL_TRYING.search(subject):
        return (Fate(named, "delayed", ""),)
    if not (named or _GIVEN_UP.search(said) or _REPLY_CODE.search(said)):
        return ()
    statuses = {found[0] for found in _STATUS.finditer(said)}
    if any(status.startswith(("2", "4")) for status in statuses):
        return (Fate(named, "failed", next(iter(sorted(statuses)))),)
    if statuses or failed or _GIVEN_UP.search(said):
        return (Fate(named, "failed", next(iter(sorted(statuses)), _PERMANENT)),)
    return ()


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return (
        payload[:_LONGEST_TEXT].decode("utf-8", "replace").replace("\r\n", "\n") if isinstance(payload, bytes) else ""
    )
