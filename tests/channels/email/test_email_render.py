"""How a question looks as a mail, and the headers that keep it in one thread (facts on mail §B1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from channels.email.addressing import Mailboxes, deliverable
from channels.email.mime import OutgoingMail
from channels.email.render import LONGEST_SUBJECT, message_mail, notice_mail
from channels.grammar.reader import Matched, read_answer
from core.domain.notice import Message, Notice, NoticeChoice, NoticeLinks, Purpose
from core.domain.people import Address
from core.domain.silence import Comes, Silence
from core.domain.suspension import ResponseType, Style
from core.errors import ConfigError
from tests.channels.email.incoming import OURS, TOKEN

DELIVERY = "0123456789abcdef0123456789abcdef"
ALICE = Address("email", "alice@example.org", "alice@example.org")
NOTICE = Notice(
    ref="HR-7F3K",
    question="Refund order 12345?",
    response_type=ResponseType.CHOICE,
    choices=(
        NoticeChoice(0, "Approve refund", "approve", "All of it", Style.PRIMARY),
        NoticeChoice(1, "Deny <refund> & tell", "deny", None, Style.DANGER),
    ),
    context={"order_id": "12345", "amount": 499.99, "customer": {"name": "Bo"}},
    attempt=1,
    max_attempts=3,
    asked_by="refund-agent",
    asked_at=datetime(2026, 11, 21, 9, tzinfo=UTC),
    expires_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
    silence="If nobody answers by 2026-11-21 12:00 UTC, the agent stops.",
    links=NoticeLinks("https://h.test/q/HR-7F3K", "https://h.test/a/pagetoken", TOKEN),
    next_step="If nobody has answered by 2026-11-21 11:00 UTC, the question goes out again: by mail.",
    unanswered=Silence(Comes.STOPS, datetime(2026, 11, 21, 12, tzinfo=UTC)),
    made_at=datetime(2026, 11, 21, 10, tzinfo=UTC),
)


def parsed(mail: OutgoingMail) -> EmailMessage:
    message = message_from_bytes(mail.content, policy=default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def asked(ours: Mailboxes = OURS, delivery: str = "d1", **changes: Any) -> EmailMessage:
    return parsed(notice_mail(replace(NOTICE, **changes), ALICE, delivery, ours))


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert isinstance(body, EmailMessage)
    return body.get_content().replace("\r\n", "\n")


def page_of(message: EmailMessage) -> lxml_html.HtmlElement:
    body = message.get_body(("html",))
    assert isinstance(body, EmailMessage)
    return lxml_html.document_fromstring(body.get_content())


def test_the_text_holds_everything_a_terminal_needs() -> None:
    assert text_of(asked(attempt=2)) == (
        "— reply above this line · HR-7F3K —\n"
        "\n"
        "Reminder (2 of 3)\n"
        "Silence until 12:00 UTC (in 2 h): the agent stops\n"
        "\n"
        "Refund order 12345?\n"
        "\n"
        "  1) Approve refund\n"
        "     All of it\n"
        "  2) Deny <refund> & tell\n"
        "\n"
        "Reply with the number or the name of your choice on the first line.\n"
        "Reply “on it” to hold further reminders back while you look.\n"
        "\n"
        "Answer in the browser:\n"
        "https://h.test/a/pagetoken\n"
        "\n"
        "  order_id: 12345\n"
        "  amount: 499.99\n"
        "  customer: name: Bo\n"
        "\n"
        "If nobody has answered by 2026-11-21 11:00 UTC, the question goes out again: by mail.\n"
        "If nobody answers by 2026-11-21 12:00 UTC, the agent stops.\n"
        "\n"
        "Asked by refund-agent at 2026-11-21 09:00 UTC.\n"
    )


def test_reminders_keep_the_subject_and_the_thread_and_are_other_mails() -> None:
    first, second = asked(delivery="d1"), asked(delivery="d2", attempt=3)

    assert first["Subject"] == second["Subject"] == "[HR-7F3K] Refund order 12345?"
    assert first["References"] == second["References"] == first["In-Reply-To"] == "<q.HR-7F3K@example.com>"
    assert first["Message-ID"] == "<n.d1@example.com>"
    assert second["Message-ID"] == "<n.d2@example.com>"
    assert "URGENT" in text_of(second)
    assert (first["X-Priority"], second["X-Priority"]) == (None, "1")


def test_the_mail_says_that_no_machine_need_answer_it_but_to_say_that_it_did_not_arrive_or_nobody_is_there() -> None:
    mail = asked()

    assert mail["Auto-Submitted"] == "auto-generated"
    assert not {"All", "NDR", "OOF"} & set(mail["X-Auto-Response-Suppress"].split(", "))
    assert "AutoReply" in mail["X-Auto-Response-Suppress"]
    assert mail["Precedence"] is None


def test_replies_and_bounces_each_find_their_own_way_back() -> None:
    mail = notice_mail(NOTICE, ALICE, "d1", OURS)

    assert parsed(mail)["Reply-To"] == f"answers+r.{TOKEN}@example.com"
    assert mail.sender == f"bounces+{OURS.return_id('d1')}@example.com"
    assert mail.recipient == "alice@example.org"


@pytest.mark.parametrize("bounces_to", ["bot@mail.example", "returns@elsewhere.example"])
def test_bounces_come_to_a_mailbox_that_is_named_and_are_told_from_answers(bounces_to: str) -> None:
    ours = Mailboxes.of("bot@mail.example", "bot@mail.example", bounces_to, key=b"mail")
    mail = notice_mail(NOTICE, ALICE, DELIVERY, ours)
    answers_at = str(parsed(mail)["Reply-To"])

    assert mail.sender == bounces_to.replace("@", f"+{ours.return_id(DELIVERY)}@")
    assert (ours.delivery_in(mail.sender), ours.token_in(mail.sender)) == (DELIVERY, None)
    assert (ours.delivery_in(answers_at), ours.token_in(answers_at)) == (None, TOKEN)
    assert (ours.is_bounce_address(mail.sender), ours.is_bounce_address(answers_at)) == (True, False)
    assert ours.is_ours(mail.sender)
    assert not ours.is_ours("bounces@mail.example")


def test_a_return_id_is_made_with_the_installations_own_key_and_for_one_delivery_alone() -> None:
    mine = OURS.return_id(DELIVERY)
    theirs = replace(OURS, key=b"another").return_id(DELIVERY)

    assert OURS.delivery_returned(mine) == OURS.delivery_returned(mine.upper()) == DELIVERY
    assert DELIVERY not in mine
    for forged in (theirs, OURS.return_id("f" * 32)[:26] + mine[26:], mine[:-1], f"{mine}a", DELIVERY, "", "é" * 40):
        assert OURS.delivery_returned(forged) is None


def test_without_a_mailbox_for_answers_the_link_is_the_only_way() -> None:
    ours = Mailboxes.of("handraise@example.com", None, key=b"mail")
    mail = notice_mail(NOTICE, ALICE, "d1", ours)

    assert parsed(mail)["Reply-To"] is None
    assert mail.sender == "handraise@example.com"
    assert "Please answer in the browser." in text_of(parsed(mail))
    assert "Reply" not in text_of(parsed(mail))
    assert not page_of(parsed(mail)).xpath("//a[starts-with(@href, 'mailto:')]")


def test_each_choice_links_to_the_page_with_itself_preselected() -> None:
    links = page_of(asked()).xpath("//a[contains(@href, '#c=')]")

    assert [(link.get("href"), link.text_content()) for link in links] == [
        ("https://h.test/a/pagetoken#c=0", "1. Approve refund"),
        ("https://h.test/a/pagetoken#c=1", "2. Deny <refund> & tell"),
    ]


def test_each_choice_can_be_mailed_with_one_press_and_is_understood() -> None:
    hrefs = page_of(asked()).xpath("//a[starts-with(@href, 'mailto:')]/@href")

    bodies = [parse_qs(urlsplit(href).query)["body"][0] for href in hrefs]
    readings = [read_answer(body.splitlines(), ResponseType.CHOICE, NOTICE.choices) for body in bodies]
    assert [reading.index for reading in readings if isinstance(reading, Matched)] == [0, 1]
    assert all(unquote(urlsplit(href).path) == f"answers+r.{TOKEN}@example.com" for href in hrefs)
    assert all(parse_qs(urlsplit(href).query)["subject"] == ["Re: [HR-7F3K] Refund order 12345?"] for href in hrefs)


def test_a_label_too_long_for_a_link_is_mailed_as_its_number() -> None:
    mail = asked(choices=(NoticeChoice(0, "long " * 600, "long"),))
    (href,) = page_of(mail).xpath("//a[starts-with(@href, 'mailto:')]/@href")

    assert parse_qs(urlsplit(href).query)["body"] == ["1\r\n\r\nReason: \r\n"]


def test_what_an_agent_wrote_is_text_and_never_html() -> None:
    script = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    page = page_of(asked(question=script, context={script: script}, choices=(NoticeChoice(0, script, "x", script),)))

    assert not page.xpath("//script | //img")
    assert script in page.text_content()


@pytest.mark.parametrize(
    "question",
    [
        "Refund?\r\nBcc: everybody@example.org",
        "Refund?\nX: y\n\nbody",
        "\u202eRefund?\u2066",
        "=?utf-8?q?Refund?=",
        "Größe " * 60,
        "\ud800Refund\x00?",
        "a" * 5_000,
    ],
)
def test_a_question_can_write_no_header_and_turn_no_text(question: str) -> None:
    mail = asked(question=question)
    plain = asked()

    assert mail.keys() == plain.keys()
    assert len(mail["Subject"]) <= LONGEST_SUBJECT
    assert mail["Subject"].startswith("[HR-7F3K] ")
    assert not set("\u202e\u2066\r\n\x00") & set(mail["Subject"] + text_of(mail).replace("\n", ""))


def test_lines_that_begin_with_a_dot_or_from_survive() -> None:
    assert "\n.\n..x\nFrom here\n" in text_of(asked(question="a\n.\n..x\nFrom here\nb"))


def test_a_text_question_asks_for_a_reply_and_a_form_shows_its_fields() -> None:
    text = text_of(asked(response_type=ResponseType.TEXT, choices=()))
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    form = text_of(asked(response_type=ResponseType.FORM, choices=(), form_schema=schema))

    assert "what you write above the quoted text is the answer" in text
    assert "\n  amount:\n" in form


def test_a_form_tells_each_field_by_its_label_what_it_takes_and_whether_it_is_needed() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["zip"],
        "properties": {
            "zip": {"type": "string", "title": "ZIP code", "pattern": "^[0-9]{5}$", "examples": ["12345"]},
            "n": {"type": "integer", "title": "a: b"},
            "note": {"type": "string", "title": "<b>رمز</b>"},
        },
    }
    form = asked(response_type=ResponseType.FORM, choices=(), form_schema=schema)
    text, page = text_of(form), page_of(form)

    assert "\n  ZIP code:\n  n:\n  <b>رمز</b>:\n" in text
    assert "\nZIP code — needed; five digits, such as 12345\nn — a whole number, such as 12\n" in text
    assert "needed; five digits, such as 12345" in page.text_content()
    assert page.xpath("//b[contains(., 'رمز')]") == []


def test_a_huge_context_is_cut_and_says_so() -> None:
    text = text_of(asked(context={f"key{number}": "x" * 100_000 for number in range(60)}))

    assert "…: 10 more on the page" in text
    assert len(text) < 150_000


# --- Short messages -----------------------------------------------------------------------------------------------


def told(purpose: Purpose) -> OutgoingMail:
    message = Message(purpose, "Re: [HR-7F3K] Refund?", "Recorded.", "https://h.test/a/x", "HR-7F3K")
    return message_mail(message, ALICE, "a1", OURS)


@pytest.mark.parametrize("mail", [asked(), *(parsed(told(purpose)) for purpose in Purpose)])
def test_outlook_offers_no_reactions_to_any_mail(mail: EmailMessage) -> None:
    assert mail["x-ms-reactions"] == "disallow"


@pytest.mark.parametrize("purpose", [Purpose.CONFIRMATION, Purpose.TOO_LATE, Purpose.CLARIFICATION])
def test_what_answers_a_mail_can_be_answered_by_no_machine(purpose: Purpose) -> None:
    mail = told(purpose)

    assert mail.sender == ""
    assert parsed(mail)["Auto-Submitted"] == "auto-replied"
    assert parsed(mail)["X-Auto-Response-Suppress"] == "All"
    assert parsed(mail)["References"] == "<q.HR-7F3K@example.com>"


@pytest.mark.parametrize("purpose", [Purpose.SIGN_IN, Purpose.ALERT])
def test_what_was_sent_unasked_bounces_to_us(purpose: Purpose) -> None:
    mail = told(purpose)

    assert mail.sender == f"bounces+{OURS.return_id('a1')}@example.com"
    assert parsed(mail)["Auto-Submitted"] == "auto-generated"


def test_a_sign_in_mail_is_its_text_and_its_link() -> None:
    mail = parsed(
        message_mail(Message(Purpose.SIGN_IN, "Sign in", "Press to sign in.", "https://h.test/s"), ALICE, "a1", OURS)
    )

    assert text_of(mail) == "Press to sign in.\n\nhttps://h.test/s\n"
    assert page_of(mail).xpath("//a/@href") == ["https://h.test/s"] * 2
    assert mail["References"] is None


# --- Addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "reply_to"),
    [("nobody", None), ("a@b, c@d", None), ("h@example.com", "nobody"), ("h@example.com", "x" * 40 + "@example.com")],
)
def test_addresses_that_can_t_work_are_refused_at_the_start(sender: str, reply_to: str | None) -> None:
    with pytest.raises(ConfigError):
        Mailboxes.of(sender, reply_to, key=b"mail")


def test_a_mailbox_for_bounces_that_can_t_work_is_refused_at_the_start() -> None:
    for bounces_to in ("nobody", "x" * 40 + "@example.com"):
        with pytest.raises(ConfigError, match=r"email\.bounces_to"):
            Mailboxes.of("h@example.com", "answers@example.com", bounces_to, key=b"mail")
    with pytest.raises(ConfigError, match=r"email\.bounces_to needs email\.reply_to"):
        Mailboxes.of("h@example.com", None, "returns@example.com", key=b"mail")


@pytest.mark.parametrize(
    "name", ["株式会社ハンドレイズ自動承認システム運用部", "Société à responsabilité limitée " * 3]
)
def test_a_long_name_of_ours_is_folded_and_read_as_it_was(name: str) -> None:
    ours = Mailboxes.of(f"{name.strip()} <h@example.com>", "answers@example.com", key=b"mail")
    head = notice_mail(NOTICE, ALICE, "d1", ours).content.partition(b"\r\nTo:")[0].decode("ascii")

    assert max(map(len, head.split("\r\n"))) <= 76
    written, _, address = head.removeprefix("From: ").partition("\r\n <")
    assert (str(make_header(decode_header(written))), address) == (name.strip(), "h@example.com>")


def test_an_international_domain_is_reached_and_an_impossible_address_is_not() -> None:
    reached = deliverable(Address("email", "bo@bücher.example"))

    assert reached is not None
    assert reached.value == "bo@xn--bcher-kva.example"
    assert deliverable(Address("email", "größe@example.org")) is not None  # where the server has SMTPUTF8
    assert deliverable(Address("email", "a\u202eb@example.org")) is None
    assert deliverable(Address("email", "a b@example.org")) is None
    assert deliverable(Address("email", "a@example.org>\r\nDATA")) is None
    assert deliverable(Address("email", "a@" + ".".join("é" * 100))) is None  # 800 octets on the wire


TEXT = st.text(max_size=80)


@given(question=TEXT, label=TEXT, key=TEXT, value=TEXT, asker=TEXT)
def test_any_words_make_a_well_formed_mail(question: str, label: str, key: str, value: str, asker: str) -> None:
    choices = (NoticeChoice(0, label, "a", value), NoticeChoice(1, "Deny", "deny"))
    mail = notice_mail(
        replace(NOTICE, question=question, choices=choices, context={key: value}, asked_by=asker), ALICE, "d1", OURS
    )

    assert mail.content.isascii()
    assert all(len(line) <= 998 and b"\n" not in line and b"\r" not in line for line in mail.content.split(b"\r\n"))
    assert parsed(mail).keys() == asked().keys()
