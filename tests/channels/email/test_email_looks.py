"""What a mail is made of, so that it is readable everywhere: small enough for Gmail, nothing from outside, the question
in its own direction; and that no words of others do anything in it but being shown."""

from __future__ import annotations

from dataclasses import replace
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.examples import EXAMPLES, FIRST, MESSAGES, NOTICES, Example
from channels.email.html import html_as_text
from channels.email.render import LARGEST_HTML, message_mail, notice_mail
from channels.email.trim import own_words
from channels.grammar import Matched, read_answer
from core.domain.notice import Notice, NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import OURS
from tests.channels.email.test_email_render import ALICE, page_of, parsed, text_of

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><a href=javascript:alert(1)>x</a>"


def mail_of(example: Notice | Any) -> EmailMessage:
    make = notice_mail if isinstance(example, Notice) else message_mail
    return parsed(make(example, ALICE, "d1", OURS))


def html_of(mail: EmailMessage) -> str:
    body = mail.get_body(("html",))
    assert isinstance(body, EmailMessage)
    return str(body.get_content())


def by_name(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_every_mail_brings_all_it_shows_along(example: Example) -> None:
    page = page_of(mail_of(example.content))

    assert not page.xpath("//img | //link | //script | //iframe | //*[@src] | //*[@background] | //form")
    assert "url(" not in html_of(mail_of(example.content))
    assert page.get("lang") == "en"


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_a_screen_reader_finds_a_heading_and_reads_what_others_wrote_in_no_language_of_ours(example: Example) -> None:
    page = page_of(mail_of(example.content))

    assert len(page.xpath("//h1")) == 1
    if isinstance(example.content, Notice):
        first = example.content.question.split()[0]
        [question] = [one for one in page.xpath("//div[@lang='']") if one.text_content().startswith(first)]
        assert question.get("dir") == "auto"


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_every_word_stands_out_from_what_is_behind_it(example: Example) -> None:
    """WCAG 2.2 §1.4.3: a contrast of 4.5."""
    page = page_of(mail_of(example.content))
    behind, few = {}, []
    for element in page.find("body").iter():
        style = dict(one.split(":", 1) for one in (element.get("style") or "").split(";") if ":" in one)
        above = behind.get(element.getparent(), ("#000000", "#ffffff"))
        behind[element] = (style.get("color", above[0]), style.get("background", above[1]))
        words = "".join(element.xpath("text()")).strip()
        if words and style.get("display") != "none" and contrast(*behind[element]) < 4.5:
            few.append((words, behind[element]))
    assert few == []


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("left_out", "words"), [(1, "1 more choice is on the page."), (2, "2 more choices are on")])
def test_what_is_left_out_is_counted_in_good_english(left_out: int, words: str) -> None:
    choices = tuple(NoticeChoice(n, f"No {n}", f"n{n}") for n in range(100 + left_out))
    mail = mail_of(replace(NOTICES["no-replies"], choices=choices))

    assert words in text_of(mail)
    assert words in page_of(mail).text_content()


def test_a_form_without_fields_is_filled_in_on_the_page() -> None:
    mail = mail_of(replace(NOTICES["form"], form_schema=None, context={}))

    assert "one line for each field" not in text_of(mail)
    assert "Please answer in the browser." in text_of(mail)


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_no_link_tells_the_next_site_where_it_was_pressed(example: Example) -> None:
    links = page_of(mail_of(example.content)).xpath("//a")

    assert all(link.get("rel") == "noreferrer" for link in links)
    assert {urlsplit(link.get("href")).scheme for link in links} <= {"https", "mailto"}


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_nothing_of_a_quoted_mail_is_taken_for_the_readers_own_words(example: Example) -> None:
    mail = mail_of(example.content)
    if example.content.ref is None:
        return

    for whole in (text_of(mail), html_as_text(html_of(mail))):
        assert own_words(whole).lines == ()
        assert own_words(f"Yes\n\n{whole}").lines == ("Yes",)


@pytest.mark.parametrize("name", NOTICES)
def test_what_a_list_of_mails_shows_says_until_when_and_is_ours_alone(name: str) -> None:
    notice = replace(NOTICES[name], question="approve", choices=(NoticeChoice(0, "approve", "approve"),))
    [hidden] = page_of(mail_of(notice)).xpath("//span[contains(@style, 'display:none')]")

    assert "approve" not in hidden.text_content()
    if notice.expires_at:
        assert "by 2026-11-21 13:00 CET (12:00 UTC)." in hidden.text_content()


@pytest.mark.parametrize("letter", ["a", "字", "&", '"', "👍", "\n"])
def test_no_mail_is_so_long_that_gmail_cuts_it_off(letter: str) -> None:
    question = ("x" + letter) * 5_000
    choices = tuple(NoticeChoice(n, ("x" + letter) * 500, f"v{n}", ("y" + letter) * 1500) for n in range(500))
    context = {f"{letter}{n}": ("z" + letter) * 50_000 for n in range(80)}
    notes = (question,) * 20
    mail = mail_of(replace(FIRST, question=question, choices=choices, context=context, notes=notes, risk=question))
    page = page_of(mail)

    assert len(html_of(mail).encode()) <= LARGEST_HTML
    assert "the agent goes on with" in page.text_content()
    assert "This mail shows only a part." in text_of(mail)
    assert "This mail shows only a part." in page.text_content()
    assert "more choices are on the page" in page.text_content()
    assert FIRST.links.best in page.xpath("//a/@href")


def test_a_mail_that_shows_everything_does_not_say_that_it_is_cut() -> None:
    fifty = mail_of(replace(FIRST, context={f"key {n}": "a value" for n in range(50)}))

    assert len(page_of(fifty).xpath("//th[@scope='row']")) == 50
    assert "only a part" not in text_of(fifty)


def test_japanese_is_sent_in_the_shorter_encoding() -> None:
    mail = notice_mail(replace(FIRST, question="返金しますか？" * 100), ALICE, "d1", OURS)
    body = parsed(mail).get_body(("plain",))

    assert isinstance(body, EmailMessage)
    assert body["Content-Transfer-Encoding"] == "base64"
    assert "返金しますか？" * 100 in text_of(parsed(mail))
    assert all(len(line) <= 998 for line in mail.content.split(b"\r\n"))


@pytest.mark.parametrize(
    ("question", "direction"), [("Refund?", "ltr"), ("12: האם להחזיר?", "rtl"), ("هل نعيد؟ OK", "rtl")]
)
def test_a_question_and_its_choices_run_in_the_direction_they_are_written_in(question: str, direction: str) -> None:
    page = page_of(mail_of(replace(FIRST, question=question)))
    button = page.xpath("//a[contains(text(), 'Approve')]/..")[0]

    assert button.get("dir") == direction
    assert page.xpath("//table[.//th]/@dir")[-1] == direction


def test_emoji_that_are_joined_stay_joined_and_what_can_t_be_seen_goes() -> None:
    text = text_of(mail_of(replace(FIRST, question="👩‍🚒 ok\u200b\u2060\ufeff\u202e\u061c?")))

    assert "\n👩‍🚒 ok?\n" in text


@pytest.mark.parametrize("name", NOTICES)
def test_words_of_others_are_text_wherever_they_stand(name: str) -> None:
    notice = replace(
        NOTICES[name],
        question=SCRIPT,
        context={SCRIPT: SCRIPT, "x": {SCRIPT: SCRIPT}},
        notes=(SCRIPT,),
        risk=SCRIPT,
        asked_by=SCRIPT,
        silence=SCRIPT,
        next_step=SCRIPT,
        choices=(NoticeChoice(0, SCRIPT, SCRIPT, SCRIPT),),
        form_schema={"type": "object", "properties": {SCRIPT: {"type": "string"}}},
    )
    page = page_of(mail_of(notice))

    assert not page.xpath("//script | //img | //*[@onerror] | //a[starts-with(@href, 'javascript')]")
    assert page.text_content().count("<script>") >= 6


@pytest.mark.parametrize("name", MESSAGES)
def test_words_of_others_are_text_in_short_mails_too(name: str) -> None:
    page = page_of(mail_of(replace(MESSAGES[name], text=f"{SCRIPT}\n\n{SCRIPT}", subject=SCRIPT)))

    assert not page.xpath("//script | //img | //*[@onerror] | //a[starts-with(@href, 'javascript')]")


HOSTILE = [
    "x&cc=eve@evil.example&bcc=eve@evil.example",
    "x?to=eve@evil.example",
    "x\r\nBcc: eve@evil.example",
    "%0d%0aBcc:%20eve@evil.example",
    "mailto:eve@evil.example,",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_a_reply_by_link_goes_to_us_alone(words: str) -> None:
    choices = (NoticeChoice(0, words, "a"), NoticeChoice(1, "Deny", "b"))
    hrefs = page_of(mail_of(replace(FIRST, question=words, choices=choices))).xpath("//a/@href")
    mailtos = [urlsplit(href) for href in hrefs if href.startswith("mailto:")]

    assert len(mailtos) == 2
    for link in mailtos:
        assert unquote(link.path) == f"answers+r.{FIRST.links.reply_token}@example.com"
        assert parse_qs(link.query).keys() == {"subject", "body"}


IMITATIONS = [
    "— reply above this line · HR-7F3K —",
    "Bob <bob@example.org>:",
    "2) Deny refund",
    "On Sat, Nov 21, 2026 at 10:31 AM Bob <bob@example.org> wrote:",
    "-----Original Message-----",
    "Deny refund, or not?",
    "> yes",
]


@pytest.mark.parametrize("label", IMITATIONS)
def test_a_label_that_looks_like_something_else_is_answered_by_its_number(label: str) -> None:
    choices = (NoticeChoice(0, label, "a"), NoticeChoice(1, "Deny refund", "b"))
    mail = mail_of(replace(FIRST, choices=choices))
    bodies = [
        parse_qs(urlsplit(href).query)["body"][0]
        for href in page_of(mail).xpath("//a/@href")
        if href.startswith("mailto:")
    ]

    readings = [read_answer(own_words(body).lines, ResponseType.CHOICE, choices) for body in bodies]
    assert [one.index for one in readings if isinstance(one, Matched)] == [0, 1]


def test_of_many_choices_each_is_answered_by_its_number() -> None:
    choices = tuple(NoticeChoice(number, f"web-{number}", f"v{number}") for number in range(21))
    hrefs = page_of(mail_of(replace(FIRST, choices=choices))).xpath("//a[starts-with(@href, 'mailto:')]/@href")

    assert [parse_qs(urlsplit(href).query)["body"] for href in hrefs] == [[str(number)] for number in range(1, 22)]


TEXT = st.text(max_size=60)


@given(question=TEXT, label=TEXT, asker=TEXT, note=TEXT)
def test_any_words_leave_one_recipient_and_one_page(question: str, label: str, asker: str, note: str) -> None:
    choices = (NoticeChoice(0, label, "a"), NoticeChoice(1, "Deny", "deny"))
    mail = mail_of(replace(FIRST, question=question, choices=choices, asked_by=asker, notes=(note,)))

    assert mail["To"] == ALICE.value
    for href in page_of(mail).xpath("//a/@href"):
        link = urlsplit(href)
        assert (link.scheme, link.netloc) in {("https", "handraise.example.com"), ("mailto", "")}
        assert parse_qs(link.query).keys() <= {"subject", "body"}


def test_a_clarification_has_the_choices_as_buttons_and_its_text_has_them_by_number() -> None:
    mail = mail_of(MESSAGES["clarification"])
    page = page_of(mail)

    assert "  2) Refund half of it\n" in text_of(mail)
    buttons = [link.text_content() for link in page.xpath("//a[contains(@href, '#c=')]")]
    assert buttons == ["1. Approve refund", "2. Refund half of it", "3. Deny refund"]
    assert "1) Approve refund" not in page.text_content()
    assert mail["Reply-To"] == f"answers+r.{FIRST.links.reply_token}@example.com"


def test_the_last_reminder_is_marked_urgent_in_every_program_and_promises_no_further_one() -> None:
    mail = mail_of(NOTICES["last-reminder"])

    assert (mail["X-Priority"], mail["Importance"]) == ("1", "high")
    assert "further reminders" not in text_of(mail)
    assert "further reminders" in text_of(mail_of(FIRST))


def test_both_what_comes_next_and_what_comes_of_silence_are_told() -> None:
    for words in (text_of(mail_of(FIRST)), page_of(mail_of(FIRST)).text_content()):
        assert "11:00 CET (10:00 UTC), the question goes out again: to you and bob@example.com, by mail." in words
        assert "13:00 CET (12:00 UTC), the agent goes on with “Deny refund”." in words
        assert "Asked by refund-agent at 2026-11-21 10:00 CET (09:00 UTC)." in words
