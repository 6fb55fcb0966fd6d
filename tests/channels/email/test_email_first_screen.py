"""What stands at the top of the mail that asks: what silence does, the choices in a list of mails; and that nobody
approves what they were not shown above the button. How high it all is: tests/browser/test_mail_browser.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from email.message import EmailMessage
from textwrap import wrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.examples import FIRST, NOTICES
from channels.email.html import read_page
from channels.email.own_words import own_words
from channels.email.render import notice_mail
from channels.grammar.reader import Matched, read_answer
from core.domain.action import ShownAction
from core.domain.notice import Notice, NoticeChoice, WhenCut
from core.domain.silence import Comes, Silence
from core.domain.suspension import ResponseType, Style
from tests.channels.email.incoming import OURS
from tests.channels.email.test_email_looks import SCRIPT, html_of, mail_of
from tests.channels.email.test_email_render import ALICE, page_of, parsed, text_of

APPROVE_OR_DENY = (
    NoticeChoice(0, "Approve", "approve", None, Style.PRIMARY),
    NoticeChoice(1, "Deny", "deny", None, Style.DANGER, negative=True),
)


def asking(action: Any = None, when_cut: WhenCut = WhenCut.ANSWER, **changes: Any) -> tuple[str, str]:
    """What can be read of a mail that asks to approve, from its headline on, as text and as a page."""
    usual = {"response_type": ResponseType.CONFIRM, "choices": APPROVE_OR_DENY}
    shown = None if action is None else ShownAction(action, "1a2b3c4d")
    notice = replace(FIRST, **{**usual, "action": shown, **changes})
    mail = parsed(notice_mail(notice, ALICE, "d1", OURS, when_cut=when_cut))
    return read_from_headline(mail)


def read_from_headline(mail: EmailMessage) -> tuple[str, str]:
    text = text_of(mail).split("\n\n", 1)[1]
    return text, page_of(mail).xpath("//h1/..")[0].text_content()


def in_order(text: str, parts: Sequence[str]) -> bool:
    """Whether the first places of ``parts`` follow each other."""
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_what_silence_does_stands_right_below_the_headline() -> None:
    page = page_of(mail_of(FIRST))

    assert "\nInput needed\nSilence until 13:00 (in 3 h): Deny refund\n\nRefund order" in text_of(mail_of(FIRST))
    assert page.xpath("//h1/following-sibling::div")[0].text_content() == "Silence until 13:00 (in 3 h): Deny refund"


def test_both_parts_go_from_what_silence_does_to_the_choices_and_only_then_to_the_rest() -> None:
    notice = replace(NOTICES["last-reminder"], action=NOTICES["action"].action, next_step="Nobody is next.")
    order = [
        "URGENT: final reminder",
        "Fewer than 2 answers by 13:00 (in 1 h): Deny refund",
        notice.question,
        "Risk: high",
        "Exactly this will run",
        "stripe.refund",
        "Approve refund",
        "499.99 EUR",
        "2 people have to give the same answer.",
        "Nobody is next.",
        notice.silence,
        "Asked by refund-agent",
    ]

    for body in read_from_headline(mail_of(notice)):
        assert in_order(body, order)


def test_what_an_agent_has_called_its_fallback_is_one_short_line_of_text() -> None:
    wordy = replace(FIRST, unanswered=Silence(Comes.VALUE, FIRST.expires_at, f"{SCRIPT}\n\u202eno " + "x" * 500))
    page = page_of(mail_of(wordy))
    [line] = [one.text_content() for one in page.xpath("//h1/following-sibling::div")[:1]]

    assert not page.xpath("//script | //img")
    assert len(line) <= 100
    assert "\u202e" not in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("first", "1 Approve refund · 2 Refund half of it · 3 Deny refund — silence until 13:00: Deny refund"),
        ("veto", "1 Authorize · 2 Veto — silence until 13:00: the agent goes ahead"),
        ("text", "Answer needed — silence until 13:00: Deny refund"),
        ("no-replies", "1 Approve refund · 2 Refund half of it · 3 Deny refund — no deadline: the agent waits"),
    ],
)
def test_a_list_of_mails_shows_what_can_be_chosen_and_what_silence_does(name: str, said: str) -> None:
    [hidden] = page_of(mail_of(NOTICES[name])).xpath("//span[contains(@style, 'display:none')]")

    assert hidden.text_content().strip() == said


def test_a_list_of_mails_offers_no_approval_that_the_mail_does_not_take() -> None:
    action = ShownAction({"log": "line " * 5_000}, "1a2b3c4d")
    notice = replace(FIRST, choices=APPROVE_OR_DENY, action=action)
    [hidden] = page_of(mail_of(notice)).xpath("//span[contains(@style, 'display:none')]")

    assert hidden.text_content().strip() == "2 Deny — silence until 13:00: Deny refund"


@pytest.mark.parametrize("own", ["", "Please wait\n\n"])
@pytest.mark.parametrize("label", ["Approve refund", "Yes", "OK", "1", "Approve " + "the whole refund " * 4])
def test_no_line_of_what_is_hidden_reads_as_an_answer_however_a_quote_of_it_is_wrapped(label: str, own: str) -> None:
    for choices in ((NoticeChoice(0, label, "approve"),), (NoticeChoice(0, label, "approve"), APPROVE_OR_DENY[1])):
        text = read_page(html_of(mail_of(replace(FIRST, choices=choices)))).text
        first = text[: text.index("Input needed")]
        for width in range(12, 100, 4):
            lines = own_words("\n".join((own, *_wrapped(first, width), "Input needed"))).lines
            assert not isinstance(read_answer(lines, ResponseType.CHOICE, choices), Matched)


def _wrapped(text: str, width: int) -> list[str]:
    return [piece for line in text.splitlines() for piece in wrap(line, width)]


# --- Nobody approves what they were not shown ---------------------------------------------------------------------


JSON = st.recursive(
    st.text(max_size=60) | st.integers(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=8),
    max_leaves=60,
)


@given(action=st.dictionaries(st.text(min_size=1, max_size=12), JSON, min_size=1, max_size=12), long=st.booleans())
def test_whatever_will_run_stands_whole_above_the_button_that_approves_it(action: Any, long: bool) -> None:
    question = "Is this right? " * (60 if long else 1)
    notice = replace(FIRST, question=question, choices=APPROVE_OR_DENY, action=ShownAction(action, "1a2b3c4d"))
    page = page_of(mail_of(notice))
    approve = page.xpath("//a[contains(text(), '1. Approve')]")[0]
    shown = [one.text_content() for one in approve.xpath("preceding::pre")]

    assert ["".join(one.split()) for one in shown] == ["".join(ShownAction(action, "1a2b3c4d").text().split())]
    assert question.strip() in "".join(approve.xpath("preceding::div//text()"))


def test_an_action_that_has_room_is_indented_and_one_that_has_not_is_set_densely_and_says_the_same() -> None:
    fields = {f"field {number}": [1, {"two": "a  b"}] for number in range(9)}
    few, many = {"tool": "refund", "arguments": {"amount": 1}}, {"tool": "refund", "arguments": fields}

    for body in asking(few):
        assert '"arguments": {\n' in body
    text, page = asking(many)
    assert '"field 0": [1, {"two": "a  b"}]' in text
    assert '"field 8": [1, {"two": "a  b"}]' in page


MANY = {"hosts": [f"web-{number}.example.com" for number in range(200)]}


def test_where_a_long_action_is_approved_the_choices_are_named_at_the_top() -> None:
    for body in asking(MANY):
        assert in_order(body, ["Choices, below: 1. Approve · 2. Deny", FIRST.question, "web-0.", "web-199."])
    assert all("Choices, below" not in body for body in asking({"host": "web-1"}))


def test_where_a_long_action_can_not_be_approved_it_begins_above_the_buttons_and_stands_below_them() -> None:
    cut = {"statement": "UPDATE accounts SET balance = 0; " * 1_000}
    for body in asking(cut):
        order = ["This will run, and more (sha256 1a2b3c4d)", "can be approved only on its page", "Reply with 2 (Deny)"]
        assert in_order(body, [*order, "499.99 EUR", "Exactly this will run (sha256 1a2b3c4d)"])
        assert "Choices, below" not in body


def test_a_long_question_is_folded_only_where_nothing_can_be_approved() -> None:
    long = "All of this matters. " * 60 + "The end."
    for body in asking(question=long):
        assert body.count("All of this matters.") == 60
    for body in asking(question=long, response_type=ResponseType.TEXT, choices=()):
        assert in_order(body, ["All of this matters.", "…\n", "Reply to this mail", "The end."])
    for body in asking(MANY, question=long, to_reveal=True):
        assert in_order(
            body, ["All of this matters.", "can be approved only on its page", "Reply with 2 (Deny)", "The end."]
        )


def is_beside(notice: Notice) -> bool:
    return bool(page_of(mail_of(notice)).xpath("//td[@width='50%']//a[contains(@href, '#c=')]"))


def test_short_choices_stand_in_two_columns_only_if_there_is_no_room_for_them_below_each_other() -> None:
    long = replace(FIRST, question="Is this right? " * 19, action=NOTICES["action"].action)

    assert not is_beside(FIRST)
    assert is_beside(long)
    assert not is_beside(replace(long, choices=tuple(replace(one, label="long " * 10) for one in FIRST.choices)))
