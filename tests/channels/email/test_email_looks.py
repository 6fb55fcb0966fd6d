"""What a mail is made of, so that it is readable everywhere: small enough for Gmail, nothing from outside, the question
in its own direction; and that no words of others do anything in it but being shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.examples import EXAMPLES, FIRST, MESSAGES, NOTICES, Example
from channels.email.html import read_page
from channels.email.mime import compose
from channels.email.own_words import own_words
from channels.email.render import LARGEST_HTML, LARGEST_SENT, OWN_WORDS, cut, message_mail, notice_mail
from channels.email.template_views import is_brief
from channels.email.view_text import one_line
from channels.grammar.reader import Matched, read_answer
from core.domain.action import ShownAction
from core.domain.notice import Notice, NoticeChoice, WhenCut
from core.domain.suspension import Cut, ResponseType
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

    for whole in (text_of(mail), read_page(html_of(mail)).text):
        assert own_words(whole).lines == ()
        assert own_words(f"Yes\n\n{whole}").lines == ("Yes",)


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["a", "字", "&", '"', "👍", "\n"])
def test_no_mail_is_so_long_that_gmail_cuts_it_off(letter: str) -> None:
    question = ("x" + letter) * 5_000
    choices = tuple(NoticeChoice(n, ("x" + letter) * 500, f"v{n}", ("y" + letter) * 1500) for n in range(500))
    context = {f"{letter}{n}": ("z" + letter) * 50_000 for n in range(80)}
    notes = (question,) * 20
    action = ShownAction({question: [question] * 5}, "1a2b3c4d")
    said = {"context": context, "notes": notes, "risk": question, "action": action}
    mail = mail_of(replace(FIRST, question=question, choices=choices, **said))
    page = page_of(mail)

    assert len(html_of(mail).encode()) <= LARGEST_HTML
    assert len(mail.as_bytes()) <= LARGEST_SENT  # which doctor compares with what the mail server takes
    assert "the agent goes on with" in page.text_content()
    assert "This mail shows only a part." in text_of(mail)
    assert "This mail shows only a part." in page.text_content()
    assert "can be approved only on its page" in page.text_content()
    without = page_of(mail_of(replace(FIRST, question=question, choices=choices, **{**said, "action": None})))
    assert "more choices are on the page" in without.text_content()
    assert FIRST.links.best in page.xpath("//a/@href")


_TEN = tuple(NoticeChoice(number, f"No {number}", f"n{number}") for number in range(10))
_TWENTY = {f"key {number}": "a value" for number in range(20)}
_FORM = {"type": "object", "properties": {f"{number} " + "&" * 80: {"type": "string"} for number in range(60)}}
BRIEF: dict[str, Callable[[str], dict[str, Any]]] = {
    "the question": lambda sign: {"question": "Why? " + sign * 3_600, "choices": _TEN, "context": _TWENTY},
    "values": lambda sign: {"context": dict.fromkeys(_TWENTY, sign * 175)},
    "keys": lambda sign: {"context": {key + sign * 175: "a value" for key in _TWENTY}},
    "labels": lambda sign: {"choices": tuple(replace(one, label=sign * 380) for one in _TEN)},
    "descriptions": lambda sign: {"choices": tuple(replace(one, description=sign * 380) for one in _TEN)},
    "a form": lambda sign: {
        "question": "Why? " + sign * 3_000,
        "response_type": ResponseType.FORM,
        "form_schema": _FORM,
        "context": _TWENTY,
    },
    "the action": lambda sign: {"action": ShownAction({"log": sign * 600}, "1a2b3c4d")},
}


@pytest.mark.parametrize("sign", ["&", '"', "💶", "漢", "\u202e", "x"])
@pytest.mark.parametrize("where", BRIEF)
def test_a_brief_question_is_shown_whole_in_a_mail_that_gmail_shows_whole_whatever_it_is_written_in(
    where: str, sign: str
) -> None:
    notice = replace(FIRST, **{"context": {}, "choices": (), **BRIEF[where](sign)})
    wordy = replace(notice, attempt=2, notes=("&" * 10_000,) * 50, next_step="&" * 900, silence="&" * 900)

    assert is_brief(notice)
    assert not cut(notice) or where == "keys"
    assert len(html_of(mail_of(notice)).encode()) <= LARGEST_HTML - OWN_WORDS
    assert len(html_of(mail_of(wordy)).encode()) <= LARGEST_HTML


def test_a_mail_that_shows_everything_does_not_say_that_it_is_cut() -> None:
    fifty = mail_of(replace(FIRST, context={f"key {n}": "a value" for n in range(50)}))

    assert len(page_of(fifty).xpath("//th[@scope='row']")) == 50
    assert "only a part" not in text_of(fifty)


@pytest.mark.parametrize("question", ["Refund?", "Refund 5 € to “Zoë”?"])
def test_html_goes_as_it_is_with_references_for_the_few_letters_that_are_not_ascii(question: str) -> None:
    mail = notice_mail(replace(FIRST, question=question), ALICE, "d1", OURS)
    body = parsed(mail).get_body(("html",))

    assert isinstance(body, EmailMessage)
    assert body["Content-Transfer-Encoding"] == "7bit"
    assert mail.content.isascii()
    assert question in page_of(parsed(mail)).text_content()


@pytest.mark.parametrize(
    "text",
    ["x" * 991, "a\x00b", "--=_handraise_alternative", "Zoë", "a\u2028b"],
    ids=["a long line", "a control character", "the boundary", "a letter", "a line end of its own"],
)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_what_can_t_go_as_it_is_is_encoded_and_arrives_whole(text: str, kind: str) -> None:
    html = f"<style>p {{ content: '{text}' }}</style>" + "<p>A line of a page that has many.</p>\n" * 40
    content = compose({"Subject": "s"}, "a text" if kind == "html" else text, html)
    body = message_from_bytes(content, policy=policy.default).get_body((kind,))

    assert isinstance(body, EmailMessage)
    assert body["Content-Transfer-Encoding"] in {"quoted-printable", "base64"}
    assert text in body.get_content()
    assert all(len(line) <= 78 for line in content.split(b"\r\n"))


@pytest.mark.parametrize(
    ("text", "line"), [(" a  b ", "a b"), ("a\tb\n\nc", "a b c"), (" ab ", "ab"), ("abcde", "abc…"), ("a\u200bb", "ab")]
)
def test_a_text_is_one_line(text: str, line: str) -> None:
    assert one_line(text, 4 if line.endswith("…") else 9) == line


def test_a_plain_line_goes_as_it_is_up_to_what_a_line_may_have() -> None:
    content = compose({"Subject": "s"}, "x" * 990)

    assert b"Content-Transfer-Encoding: 7bit" in content
    assert content.endswith(b"\r\n" + b"x" * 990)


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
        action=ShownAction({SCRIPT: SCRIPT}, "1a2b3c4d"),
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


def test_of_many_choices_each_is_answered_with_room_for_a_reason() -> None:
    choices = tuple(NoticeChoice(number, f"web-{number}", f"v{number}") for number in range(21))
    hrefs = page_of(mail_of(replace(FIRST, choices=choices))).xpath("//a[starts-with(@href, 'mailto:')]/@href")

    bodies = [parse_qs(urlsplit(href).query)["body"][0] for href in hrefs]
    assert bodies == [f"{number}) web-{number - 1}\r\n\r\nReason: \r\n" for number in range(1, 22)]


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


ACTION = ShownAction(
    {"tool": "stripe.refund", "amount": 49999, SCRIPT: SCRIPT, "card": "[redacted: card number]", "\u202e": "\x1b[1m"},
    "1a2b3c4d",
)


def test_what_will_run_is_shown_in_both_parts_under_its_heading_with_its_digest() -> None:
    mail = mail_of(replace(FIRST, action=ACTION))
    [code] = page_of(mail).xpath("//pre")

    assert code.text_content() == ACTION.text()
    assert code.get("dir") == "ltr"
    assert "Exactly this will run (sha256 1a2b3c4d)" in page_of(mail).text_content()
    assert "Exactly this will run (sha256 1a2b3c4d):\n" in text_of(mail)
    assert "\n".join(f"    {line}" for line in ACTION.text().splitlines()) in text_of(mail)
    assert not page_of(mail).xpath("//pre/*")


def test_a_part_of_what_will_run_that_is_hidden_is_said_to_be() -> None:
    plain = mail_of(replace(FIRST, action=ShownAction({"amount": 1}, "1a2b3c4d")))
    hidden = mail_of(replace(FIRST, action=ACTION))

    for mail, said in ((hidden, True), (plain, False)):
        assert ("is hidden here" in text_of(mail)) is said
        assert ("is hidden here" in page_of(mail).text_content()) is said


MUCH: dict[str, dict[str, Any]] = {
    "the question": {"question": "All of this matters. " * 2_000},
    "a value": {"context": {"log": "line " * 1_000}},
    "values": {"context": {str(number): "x" for number in range(51)}},
    "a key": {"context": {"k" * 81: "x"}},
    "the action": {"action": ShownAction({"log": "line " * 5_000}, "1a2b3c4d")},
    "many choices": {"choices": tuple(NoticeChoice(number, f"No {number}", "n") for number in range(101))},
    "a label": {"choices": (NoticeChoice(0, "Yes " * 300, "yes"),)},
    "a description": {"choices": (NoticeChoice(0, "Yes", "yes", "because " * 500),)},
    "all together": {
        "question": "All of this matters. " * 400,
        "context": {str(number): "<&>" * 500 for number in range(30)},
    },
    "long values in a few rows": {"context": {str(number): "&" * 1_900 for number in range(18)}},
    "what was left out before": {"in_part": Cut.WORDS},
}


@pytest.mark.parametrize("what", MUCH)
def test_what_is_cut_is_cut_at_every_attempt_and_whatever_else_there_is_to_say(what: str) -> None:
    notice = replace(FIRST, **MUCH[what])
    late = replace(notice, attempt=3, notes=("A note. " * 500,) * 20, next_step=None, silence="x" * 5_000)

    assert cut(notice)
    assert cut(late)
    assert "only a part" in text_of(mail_of(notice))
    assert not cut(FIRST)
    assert not cut(replace(late, **{name: getattr(FIRST, name) for name in MUCH[what]}))


@pytest.mark.parametrize("what", MUCH)
def test_where_it_has_to_be_opened_a_mail_that_is_cut_asks_for_no_reply(what: str) -> None:
    notice = replace(FIRST, **MUCH[what])
    mail = parsed(notice_mail(notice, ALICE, "d1", OURS, when_cut=WhenCut.OPEN))

    offered = [choice.number for choice in notice.choices if choice.negative]
    mailed = [href for href in page_of(mail).xpath("//a/@href") if href.startswith("mailto:")]
    assert len(mailed) == len(offered)
    assert ("Please answer in the browser." in text_of(mail)) == (not offered)
    assert "can be approved only on its page" in text_of(mail)
    whole = parsed(notice_mail(FIRST, ALICE, "d1", OURS, when_cut=WhenCut.OPEN))
    assert "Reply with the number" in text_of(whole)
