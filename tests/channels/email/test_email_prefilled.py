"""A reply that a link of ours begins is read as its option, whatever that is called and the program does to it."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from channels.email.choice_views import Replying, options
from channels.email.inbound import read_mail, read_reply
from channels.email.view_text import ROOMS
from channels.grammar.reader import Matched, Reading
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import RULES, TO
from tests.channels.recogniser import listed

pytestmark = pytest.mark.slow

# --- How a mail program sends what somebody has before them -------------------------------------------------------


def _mail(text: str, encoding: str = "8bit", **parameters: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Alice Doe <alice@example.org>", TO, "Re: x"
    mail.set_content(text, charset="utf-8", cte=encoding)
    for name, value in parameters.items():
        mail.set_param(name, value)
    return mail


def _folded(text: str, width: int, end: str = "\n") -> str:
    lines = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())
    return "\n".join(end.join(line) for line in lines) + "\n"


def _flowed(text: str) -> EmailMessage:
    """Source: RFC 3676 §4.2: lines are broken behind a space, and stuffed with one if they begin with it."""
    lines = _folded(text, 71, " \n").split("\n")
    return _mail("\n".join(f" {one}" if one.startswith((" ", ">", "From ")) else one for one in lines), format="flowed")


def _page(text: str) -> str:
    return "".join(f'<div dir="auto">{html.escape(line) or "<br>"}</div>' for line in text.splitlines())


def _with_page(text: str) -> EmailMessage:
    mail = _mail(_folded(text, 76))
    mail.add_alternative(_page(text), subtype="html")
    return mail


def _page_alone(text: str) -> EmailMessage:
    mail = _mail("")
    mail.set_content(_page(text), subtype="html")
    return mail


PROGRAMS: Mapping[str, Callable[[str], EmailMessage]] = {
    "as it is": _mail,
    "quoted-printable": lambda text: _mail(text, "quoted-printable"),
    "base64": lambda text: _mail(text, "base64"),
    "wrapped at 72": lambda text: _mail(_folded(text, 72)),
    "wrapped at 65": lambda text: _mail(_folded(text, 65)),
    "format=flowed": _flowed,
    "with HTML": _with_page,
    "HTML alone": _page_alone,
}

# --- What options are called --------------------------------------------------------------------------------------

LISTED = sorted({one for name in ("yes", "no", "claim", "polite", "farewell", "reason") for one in listed(name)})
NASTY = (
    "1", "2", "(2)", "#1", "1) Two", "2 %", "$2", "1-2", "½", "２", "②", "٢", "From: Bob", "On it", "Reason: x",
    "-- ", "> quoted", "Sent from my iPhone", "I am out of the office", "Your ticket has been created", "Reason:",
    "¿Sí?", "~~no~~", "*", "Alice Doe", "This mail is in HTML", "Best regards", "-----Original Message-----", "…",
    "On 1 May 2026 Bob wrote:", "👍", "a\nb", "  x  ", "App\u200brove", "\u202eevorppA", "e\u0301", "é", "ﬁne", "'",
    "straße", "İstanbul", "Ⅳ", "Approve", "ａ", '"', "<b>", "&amp;", "x" * 150, "दो", "نعم", "ตกลง", "Ask again?",
    "a very long label that has to be wrapped by every program there is, for it goes on and on", "承認する" * 9,
    "https://h.test/a b",
)  # fmt: skip
LABELS = (
    st.sampled_from(NASTY)
    | st.sampled_from(LISTED)
    | st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)
    | st.text(st.sampled_from("123) #?:>-%$€+.,/ aé"), min_size=1, max_size=8)
    | st.lists(st.sampled_from([*NASTY, *LISTED]), min_size=2, max_size=8).map(" ".join)
).filter(lambda label: bool(label.strip()))


def links(choices: tuple[NoticeChoice, ...], kind: ResponseType) -> list[str | None]:
    """The body that the link of each choice begins a reply with."""
    replying = Replying(TO, "[HR-7F3K] Refund?", kind, choices)
    shown = options(choices, "https://h.test/a/page", replying, ROOMS[0])
    return [None if one.mailto is None else parse_qs(urlsplit(one.mailto).query)["body"][0] for one in shown]


def arrived(body: str, program: str, choices: tuple[NoticeChoice, ...], kind: ResponseType) -> Reading:
    mail = read_mail(PROGRAMS[program](body.replace("\r\n", "\n")).as_bytes(), RULES)
    return read_reply(mail.words, kind, choices, None, "Refund order 12345?")


@pytest.mark.parametrize("kind", [ResponseType.CHOICE, ResponseType.CONFIRM])
@example(labels=["1", "~~no~~"], reason="", program="HTML alone")
@example(labels=["Wait", "I am out of the office"], reason="", program="as it is")
@example(labels=["Wait", NASTY[-3]], reason="", program="wrapped at 72")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    labels=st.lists(LABELS, min_size=2, max_size=4, unique=True),
    reason=st.sampled_from(["", "It is a good customer.", "He called, and 2 weeks is too long"]),
    program=st.sampled_from(sorted(PROGRAMS)),
)
def test_every_reply_that_a_link_begins_is_read_as_its_option(
    kind: ResponseType, labels: list[str], reason: str, program: str
) -> None:
    choices = tuple(NoticeChoice(at, label, f"value-{at}") for at, label in enumerate(labels))
    for choice, body in zip(choices, links(choices, kind), strict=True):
        assert body is not None
        assert body.endswith("\r\n\r\nReason: \r\n")

        reading = arrived(body.rstrip("\r\n") + reason, program, choices, kind)

        assert isinstance(reading, Matched), (body, reading)
        assert (reading.index, reading.reason, reading.spoken) == (choice.index, reason or None, False)
