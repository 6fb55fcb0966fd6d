"""Inbound mail as a value: its kind, its token, its writer, and their words. Pure.

:func:`read_mail` never raises: a mail that can't be read is :attr:`MailKind.UNREADABLE`. :func:`read_reply` is the
grammar's reading of a reply's own words, unless the mail itself casts doubt on it.

:func:`unfit` looks at the bytes first, because some steps of the standard library's parser take quadratic time. Each
limit is far above any mail that people write, and keeps the worst mail of 2 MB below a second and 100 MB
(``tests/channels/email/test_email_limits.py``). The parser also ends a line at a CR alone, and no mail server does. Our
MX never saw a field behind such a CR, so such a mail is not read.

Source: facts on mail §B1 (where the token is looked for), §B3, §F.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email import message_from_bytes
from email.errors import MessageError
from email.message import Message
from email.policy import compat32

from pydantic import JsonValue

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth, is_authentic
from channels.email.body import body_words
from channels.email.called_lines import without_called
from channels.email.classify import MailKind, classify, is_away, is_machine_mail
from channels.email.delivery_reports import Report, read_report
from channels.email.head import MailHead, read_head
from channels.email.own_words import OwnWords
from channels.email.quoting import MARKER
from channels.grammar.names import Names
from channels.grammar.phrases import language_of
from channels.grammar.reader import (
    UNKNOWN,
    Circumstances,
    ClaimWord,
    Matched,
    Nothing,
    Reading,
    Unclear,
    option_alone,
    read_answer,
)
from channels.grammar.signatures import (
    begins_with_name,
    beside_name,
    could_speak,
    decides_by_law,
    is_contact,
    without_farewell,
)
from core.domain.notice import NoticeChoice
from core.domain.signature_lines import NOTHING_CALLED, KnownLines
from core.domain.suspension import ResponseType

LONGEST_HEAD = 256 * 1024
MOST_FIELDS = 1_000
"""Fields in a mail's own head. Real ones have fewer than 200, every relay's trace and signature included."""
MOST_NESTED = 40
"""Multipart and message heads in one mail. Real replies have under ten; each costs the parser a recursion."""
MOST_LINES = 400_000
MOST_LINES_NESTED = 4_000_000
"""Lines times multiparts: what the parser compares."""
MOST_DELIMITERS = 20_000
"""Lines that may begin a part."""
MOST_LIKE_FIELDS = 50_000
"""Lines that may be a field of some part's head."""
LONGEST_CONTENT_FIELD = 8_000
MOST_PARAMETERS = 100
"""Of one ``Content-Type`` or ``Content-Disposition``: a long name of a file comes in pieces (RFC 2231)."""

_HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
_BARE_CR = re.compile(rb"\r(?!\n)")
_NESTING = re.compile(rb"^content-type:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
_LIKE_FIELD = re.compile(rb"^[!-9;-~]{1,80}:", re.MULTILINE)
_CONTENT_FIELD = re.compile(rb"^content-[a-z-]{1,40}:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)


def unfit(raw: bytes) -> str | None:
    """The stable code of why ``raw`` must not be parsed; ``None`` if it may."""
    ends = _HEAD_ENDS.search(raw[: LONGEST_HEAD + 4])
    if ends is None and len(raw) > LONGEST_HEAD:
        return "head_too_long"
    head = raw[: ends.start()] if ends is not None else raw
    if _BARE_CR.search(head):
        return "bare_cr"
    bare = raw.count(b"\r") > raw.count(b"\r\n")
    return _excess(head, _BARE_CR.sub(b"\n", raw) if bare else raw)


def _excess(head: bytes, raw: bytes) -> str | None:
    """The limit that is exceeded, in lines as the parser reads them."""
    lines = raw.count(b"\n")
    nested = len(_NESTING.findall(raw))
    if lines > MOST_LINES:
        return "too_many_lines"
    if nested > MOST_NESTED or lines * nested > MOST_LINES_NESTED:
        return "nested_too_deep"
    if raw.count(b"\n--") > MOST_DELIMITERS:
        return "too_many_parts"
    if _count(_LIKE_FIELD, head, MOST_FIELDS) or _count(_LIKE_FIELD, raw, MOST_LIKE_FIELDS):
        return "too_many_fields"
    return "field_too_long" if any(map(_is_overlong, _CONTENT_FIELD.finditer(raw))) else None


def _count(pattern: re.Pattern[bytes], raw: bytes, most: int) -> bool:
    """Whether there are more than ``most``."""
    return any(number > most for number, _ in enumerate(pattern.finditer(raw), 1))


def _is_overlong(field: re.Match[bytes]) -> bool:
    start, end = field.span()
    return end - start > LONGEST_CONTENT_FIELD or field.string.count(b";", start, end) > MOST_PARAMETERS


_TOKEN_FIELDS = (("Delivered-To",), ("X-Original-To", "Envelope-To", "X-Gm-Original-To"), ("To", "Cc"))
"""Behind the envelope: from what our MX wrote down to what the sender wrote. The first that bears a token decides."""

_BROKEN = (MessageError, LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""Known errors of the standard library's parser on hostile bytes."""


BROKEN = "broken"
"""Why a mail is unreadable that the parser gave up on."""


@dataclass(frozen=True, slots=True)
class MailRules:
    """How this installation reads its mail. ``away_advances``: a recipient who is away counts as refused.
    ``quarantine`` is how long an unreadable mail is kept. Lines that ``gateway_lines`` match as a whole are the
    gateway's, and nobody's words."""

    ours: Mailboxes
    sender_auth: SenderAuth
    authserv_id: str
    away_advances: bool = False
    quarantine: timedelta = timedelta(days=30)
    gateway_lines: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Inbound:
    """One mail. ``digest`` identifies it; ``sender`` is ``None`` unless there is exactly one. Only ``authentic`` is
    verified: that ``sender`` wrote it. ``results`` are its Authentication-Results, top to bottom.

    ``sent_by`` are the addresses that sent it in place of ``sender`` (Sender and similar fields), without ours; an
    empty one is an unreadable address. They prove nothing, and may only ever bar.

    ``tokens`` are those of the most trustworthy place that bears any. ``addressed`` are the tokens in To and Cc,
    ``replied_to`` those in To if there is one such field; ``is_to_us``: any address in it is ours. ``deliveries`` are
    the delivery ids whose return id it bears: in our envelope sender that it came to, or in what its report brings
    back. ``mentioned`` are the bare ids in such an address, which prove nothing. ``answers_to`` are the deliveries and
    ``refs`` the questions that In-Reply-To and References name. ``unfit`` says why it is unreadable.
    """

    digest: str
    kind: MailKind
    tokens: tuple[str, ...] = ()
    sender: str | None = None
    sent_by: tuple[str, ...] = ()
    authentic: bool = False
    results: tuple[str, ...] = ()
    words: OwnWords = field(default_factory=OwnWords)
    addressed: tuple[str, ...] = ()
    replied_to: tuple[str, ...] = ()
    is_to_us: bool = False
    deliveries: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    answers_to: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    message_id: str = ""
    report: Report | None = None
    is_away: bool = False
    unfit: str | None = None


def read_mail(raw: bytes, rules: MailRules, sender: str | None = None, recipients: Sequence[str] = ()) -> Inbound:
    """``raw`` (RFC 5322) as a value, with its envelope: ``sender`` (MAIL FROM) and ``recipients`` (RCPT TO)."""
    digest = hashlib.sha256(raw).hexdigest()
    reason = unfit(raw)
    if reason is None:
        try:
            return _read(digest, message_from_bytes(raw, policy=compat32), rules, sender, recipients)
        except _BROKEN:
            reason = BROKEN
    return Inbound(digest, MailKind.UNREADABLE, unfit=reason)


def unreadable(digest: str, reason: str, ours: Mailboxes, recipients: Sequence[str]) -> Inbound:
    """A mail that can't be read, with its envelope's facts."""
    return Inbound(
        digest,
        MailKind.UNREADABLE,
        _named(ours.token_in, recipients),
        deliveries=_named(ours.delivery_in, recipients),
        mentioned=_named(ours.delivery_mentioned, recipients),
        unfit=reason,
    )


def _read(digest: str, message: Message, rules: MailRules, sender: str | None, recipients: Sequence[str]) -> Inbound:
    ours, head = rules.ours, read_head(message)
    kind = classify(head, ours, sender, recipients)
    came_to = [*recipients, *head.addressed("Delivered-To", "X-Original-To", "To")]
    places = [recipients, *(head.addressed(*names) for names in _TOKEN_FIELDS)]
    mail = Inbound(
        digest,
        kind,
        next((found for one in places if (found := _named(ours.token_in, one))), ()),
        addressed=_named(ours.token_in, head.addressed("To", "Cc")),
        replied_to=_named(ours.token_in, head.to),
        is_to_us=any(map(ours.is_ours, head.to)),
        deliveries=_named(ours.delivery_in, came_to),
        mentioned=_named(ours.delivery_mentioned, came_to),
        answers_to=tuple(ours.deliveries_named(head.answers_to)),
        refs=tuple(ours.refs_named(head.answers_to)),
        message_id=head.message_id,
    )
    if kind is MailKind.REPLY:
        words = body_words(message, head.writer, rules.gateway_lines)
        if is_machine_mail((*words.lines, *words.named)):
            return replace(_with_sender(mail, head, rules), kind=MailKind.AUTO, is_away=is_away(head))
        return replace(_with_sender(mail, head, rules), words=words)
    if kind is MailKind.AUTO:
        return replace(_with_sender(mail, head, rules), is_away=is_away(head))
    if kind in {MailKind.BOUNCE, MailKind.RECEIPT, MailKind.COMPLAINT}:
        report = read_report(message)
        inside = _named(ours.delivery_returned, report.return_ids)
        return replace(mail, report=report, deliveries=tuple(dict.fromkeys([*mail.deliveries, *inside])))
    return mail


def _with_sender(mail: Inbound, head: MailHead, rules: MailRules) -> Inbound:
    sender = head.sender
    authentic = sender is not None and is_authentic(head.results, sender, rules.sender_auth, rules.authserv_id)
    sent_by = tuple(dict.fromkeys(one for one in head.sent_by if not rules.ours.is_ours(one)))
    return replace(mail, sender=sender, sent_by=sent_by, authentic=authentic, results=tuple(head.results))


def _named(read: Callable[[str], str | None], values: Sequence[str]) -> tuple[str, ...]:
    """Everything that ``read`` finds in the values, each once."""
    return tuple(dict.fromkeys(filter(None, map(read, values))))


def read_reply(
    words: OwnWords,
    response_type: ResponseType,
    choices: Sequence[NoticeChoice],
    form_schema: Mapping[str, JsonValue] | None = None,
    question: str = "",
    known: Circumstances = UNKNOWN,
    called: KnownLines = NOTHING_CALLED,
) -> Reading:
    """:func:`channels.grammar.reader.read_answer`, but a doubt about the mail itself leaves nothing that decides.
    ``called`` are the lines that its writer has called their signature."""
    if response_type in _BY_CHOICES:
        words = without_called(words, called, choices)
    known = with_language(words, known)
    reading, names = read_answer(words.lines, response_type, choices, form_schema, question, known), Names.of(choices)
    match reading:
        case Nothing():
            why = words.unreadable or ("below_quote" if words.below else None)
            return reading if why is None else Unclear(why)
        case Unclear():
            return replace(reading, first=_proposable(words, names, reading.first))
        case Matched() | ClaimWord():
            return _beyond_doubt(words, reading, response_type, names)


def with_language(words: OwnWords, known: Circumstances) -> Circumstances:
    """``known`` with the language of the words around the answer or, if that is unknown, of the mail program."""
    own = language_of((*words.lines[1:], *words.named, *words.signed))
    language = own or known.language or language_of(words.quoted[:_MOST_OF_HEAD])
    return replace(known, language=language, writer=words.writer)


def _beyond_doubt(words: OwnWords, reading: Matched | ClaimWord, response_type: ResponseType, names: Names) -> Reading:
    """``reading``, unless the mail says more than that, or something else."""
    speaking = [code for code, lines in _signatures(words, names) if _speaks(lines, words.writer, names)]
    if response_type is ResponseType.TEXT and _quotes_another(words):
        return Unclear("quoted_head", reading.value if isinstance(reading, Matched) else None)
    belonging = ["below_name"] if _may_belong(words, response_type) else []
    doubt = next(iter([*filter(None, [words.doubt]), *speaking, *belonging]), None)
    if doubt is None:
        return reading
    if isinstance(reading, ClaimWord):
        return Unclear(doubt)
    if reading.index is not None:
        return Unclear(doubt, first=_proposable(words, names, reading.index))
    if response_type is not ResponseType.TEXT:
        return Unclear(doubt, reading.value)
    whole = without_farewell("\n".join([*words.lines, *words.named])) if "below_name" in speaking else reading.value
    return Unclear(doubt, None if doubt == "machine" else whole)


def _quotes_another(words: OwnWords) -> bool:
    """Whether the supposed quote of our mail is none, as far as can be seen: it may be part of the text."""
    for line in words.quoted:
        if MARKER[:5] in line.casefold():
            return False
        if not _HEAD.search(line):
            return True
    return len(words.quoted) > _BARE_QUOTE


_HEAD = re.compile(r"[:：@>＞|]|\d{4}|-{5}|_{5}|^\s*[-–—]")
"""What the lines between a text and our own mail's first one have in them: who wrote, when, and a rule."""
_BARE_QUOTE = 2
"""Lines. HTML that quotes us is no more than its mark."""


def _proposable(words: OwnWords, names: Names, first: int | None) -> int | None:
    """``first``, if nothing is wrong with the mail and no line around its words has another option in it."""
    if first is None or words.doubt is not None or names.name_another((*words.named, *words.signed), first):
        return None
    return first


def _signatures(words: OwnWords, names: Names) -> Sequence[tuple[str, Sequence[str]]]:
    """The lines below the writer's words, with the code of the doubt they raise. Of a disclaimer, which always
    speaks, only lines that give or take an approval."""
    decided = [line for line in words.disclaimed if decides_by_law(line) or option_alone(line, names) is not None]
    return ("below_name", words.named), ("below_signature", words.signed), ("below_signature", decided)


def _speaks(lines: Sequence[str], writer: str, names: Names) -> bool:
    """Whether any line of a signature may be about the answer."""
    most = len(lines) > _LONGEST_SIGNATURE
    return most or any(could_speak(line, names.phrases, names.numbers, writer) for line in lines)


def _may_belong(words: OwnWords, response_type: ResponseType) -> bool:
    """Whether a line beside the name may belong to a text, whose lines are anything, or fill in a form. In a form an
    empty line ends a field."""
    beside = beside_name(words.named, words.writer)
    match response_type:
        case ResponseType.TEXT:
            listed = begins_with_name(words.lines, words.writer) or not all(map(is_contact, beside))
            return listed or any(map(_is_sentence, words.signed))
        case ResponseType.FORM:
            is_apart = not words.named or not words.named[0].strip()
            return any(not is_contact(line) and not (is_apart and not _PAIR.search(line)) for line in beside)
        case _:
            return False


_BY_CHOICES = {ResponseType.CHOICE, ResponseType.CONFIRM}
"""A line of a text or a form may be its value, whatever its writer calls their signature."""
_MOST_OF_HEAD = 4
"""Lines of a quote that tell the language of a mail program."""
_PAIR = re.compile("[:：=]")
_LONGEST_SIGNATURE = 60
"""Lines below a signature mark. Nobody's is longer."""
_LONGEST_TITLE = 6


def _is_sentence(line: str) -> bool:
    """Whether a line of a signature may be about the answer. A text is repeated to its writer, so titles may pass."""
    return len(line.split()) > _LONGEST_TITLE or any(mark in line for mark in ",.!?。！？")
