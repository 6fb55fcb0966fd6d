"""A real reply, mangled in any way: it is read without failing, and answers nothing that it does not name."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.email.inbound import read_mail
from channels.grammar.reader import Matched, read_answer
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import RULES, TO
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail

ASKED = datetime(2026, 3, 24, 10, tzinfo=UTC)
NOTICE = (
    "From: Handraise <handraise@example.com>\r\nSubject: [HR-7F3K] Refund order 12345?\r\n"
    f"Message-ID: <n.1@example.com>\r\nReply-To: {TO}\r\n\r\nRefund order 12345?\r\n\r\n  1) Approve\r\n  2) Deny\r\n"
)
CHOICES = (NoticeChoice(0, "Approve", "approve"), NoticeChoice(1, "Deny", "deny"))
NAMES = {0: ("approve", "1", "first"), 1: ("deny", "2", "second")}


def reply(words: str) -> bytes:
    mail = Mail(1, ASKED, "", "alice@example.org", NOTICE.encode())
    passing = mail_replies.passing("mx.example.com", "alice@example.org")
    return mail_replies.reply(mail, words, sender="alice@example.org", at=ASKED, authentication=passing)


REPLIES = (reply("Deny"), reply("2"), reply("Let me look at it first."))
Cut = tuple[int, int, bytes]
CUTS = st.lists(
    st.tuples(st.integers(0, max(map(len, REPLIES))), st.integers(0, 60), st.binary(max_size=30)),
    min_size=1,
    max_size=6,
)


@given(st.sampled_from(REPLIES), CUTS)
@settings(max_examples=3 * settings.default.max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_however_a_reply_is_mangled_it_answers_nothing_that_it_does_not_name(raw: bytes, cuts: list[Cut]) -> None:
    for at, length, instead in cuts:
        raw = raw[:at] + instead + raw[at + length :]

    mail = read_mail(raw, RULES, "alice@example.org", (TO,))
    reading = read_answer(mail.words.lines, ResponseType.CHOICE, CHOICES, None)

    if isinstance(reading, Matched) and reading.index is not None:
        said = " ".join(mail.words.lines).casefold()
        assert any(name in said for name in NAMES[reading.index])
