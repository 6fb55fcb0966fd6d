"""What stands around an answer, and is neither a signature nor a banner: disclaimers, quotes that are none of ours, the
language of the rest. And when the first line may be proposed (API.md §6).
"""

from __future__ import annotations

import pytest

from channels.email.called_lines import offer_of
from channels.email.inbound import read_reply
from channels.grammar.reader import Circumstances, Matched, Reading, Unclear
from core.domain.notice import shown_choices
from core.domain.signature_lines import NOTHING_CALLED, KnownLines, Side, digest
from tests.channels.email.incoming import read
from tests.corpus.load import QUESTIONS

QUOTE = (
    "\n\nOn Sat, Nov 21, 2026 at 7:44 PM Handraise <handraise@example.com> wrote:\n\n"
    "> — reply above this line · HR-7F3K —\n>\n> Refund order 12345?\n"
)


def reading(
    text: str, question: str = "refund", signature: KnownLines = NOTHING_CALLED, language: str | None = None
) -> Reading:
    ask = QUESTIONS[question]
    words = read(text, {"From": "Alice Winter <alice@example.org>"}).words
    circumstances = Circumstances(language=language)
    return read_reply(
        words, ask.response_type, shown_choices(ask), ask.form_schema, ask.question, circumstances, signature
    )


DISCLAIMER = (
    "This message is confidential and intended only for the addressee. If you have received it in error, please tell "
    "the sender and delete it. "
)


@pytest.mark.parametrize("above", ["1\n\nAlice Winter\n\n", "1\n\n", "1\n-- \nAlice Winter\n\n"])
def test_a_disclaimer_is_nobodys_words_unless_it_gives_or_takes_an_approval(above: str) -> None:
    assert isinstance(reading(above + DISCLAIMER + QUOTE), Matched)
    condition = "My approval is subject to the consent of the committee."

    assert reading(above + DISCLAIMER + condition + QUOTE) == Unclear("below_signature", first=0)
    assert reading(f"{above}{DISCLAIMER}\n{condition}{QUOTE}") == Unclear("below_signature", first=0)


def test_a_line_below_a_disclaimer_that_says_approve_is_asked_about() -> None:
    assert isinstance(reading(f"2\n\n{DISCLAIMER}\n\nApproved, I meant{QUOTE}"), Unclear)


@pytest.mark.parametrize(
    "text",
    [
        "Tell them:\n\nOn Monday, 23 Nov 2026 at 9:00, DHL <info@dhl.example> wrote:\nyour parcel is on its way",
        "Sehr geehrte Damen und Herren,\n\nVon: Hamburg\nAn: München\nGesendet: am 20.11.2026\n\nIhre Ware kommt.",
    ],
)
def test_a_quote_that_is_none_of_ours_may_be_part_of_a_text(text: str) -> None:
    read_as = reading(text + QUOTE, "note")

    assert isinstance(read_as, Unclear)
    assert read_as.reason == "quoted_head"


def test_our_own_mail_below_a_text_is_no_part_of_it() -> None:
    assert reading("It comes on Friday." + QUOTE, "note") == Matched("It comes on Friday.", value="It comes on Friday.")


def test_the_language_of_a_mail_program_tells_what_a_short_word_means() -> None:
    polish = "\n\nW dniu 21.11.2026 o 19:44, Handraise pisze:\n> — reply above this line · HR-9PQ4 —\n> Deploy?\n"

    assert isinstance(reading("No" + polish, "deploy"), Unclear), "a Pole says yes by it, or nothing"
    assert isinstance(reading("No" + QUOTE, "deploy"), Matched)
    assert isinstance(reading("Tak" + polish, "deploy"), Matched)
    assert isinstance(reading("Tak" + QUOTE, "deploy"), Unclear), "a Dane says thanks by it"


def test_the_directory_is_believed_before_the_mail_program() -> None:
    assert isinstance(reading("Tak" + QUOTE, "deploy", language="pl"), Matched)


@pytest.mark.parametrize("value", ["not DE", "nicht DE", "pas DE", "non DE"])
def test_a_field_that_says_what_it_is_not_is_asked_about(value: str) -> None:
    assert isinstance(reading(f"iban_country: {value}\nnet_days: 30\nurgent: no" + QUOTE, "form"), Unclear)
    assert isinstance(reading("iban_country: DE\nnet_days: 30\nurgent: no" + QUOTE, "form"), Matched)


def called(*lines: str) -> KnownLines:
    """Alice has called them her signature, below an answer."""
    return KnownLines("alice", frozenset(digest(b"key", "alice", Side.BELOW, line) for line in lines), b"key")


def test_a_called_line_that_is_an_option_of_this_question_is_one() -> None:
    signature = called("Paris", "Never stop innovating.")

    assert isinstance(reading("1\n\nParis\nNever stop innovating." + QUOTE, signature=signature), Matched)
    assert isinstance(reading("Frankfurt\n\nParis" + QUOTE, "region", signature=signature), Unclear)


def test_a_called_line_of_a_form_or_a_text_is_its_value() -> None:
    signature = called("urgent: no", "It comes on Friday.")

    form = reading("iban_country: DE\nnet_days: 30\nurgent: no" + QUOTE, "form", signature=signature)
    assert isinstance(form, Matched)
    assert form.value == {"iban_country": "DE", "net_days": 30, "urgent": False}
    text = "Say this:\nIt comes on Friday."
    assert reading(text + QUOTE, "note", signature=signature) == Matched(text, value=text)


@pytest.mark.parametrize("line", ["Don't", "wait", "Stop."])
def test_one_short_word_that_speaks_is_not_offered_as_a_signature(line: str) -> None:
    ask = QUESTIONS["refund"]
    words = read(f"1\n\n{line}\nNever stop innovating." + QUOTE).words

    offer = offer_of(words, shown_choices(ask), 0)
    assert offer is not None
    assert offer.below == ("Never stop innovating.",)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("1\nonly if Bob agrees", 0),
        ("Hi Robin,\n\n2\n\nonly if Bob agrees", 1),
        ("1\n\nAlice Winter\nor else 2", None),
        ("1\n2", None),
        ("only if Bob agrees\n1", None),
        ("I can't approve this", None),
    ],
)
def test_what_the_first_line_names_by_itself_may_be_proposed(text: str, first: int | None) -> None:
    read_as = reading(text + QUOTE)

    assert isinstance(read_as, Unclear)
    assert read_as.first == first


def test_nothing_is_proposed_of_a_mail_whose_html_says_something_else() -> None:
    ask = QUESTIONS["refund"]
    parts = '--b\nContent-Type: {}; charset="utf-8"\n\n{}\n'
    body = parts.format("text/plain", "1") + parts.format("text/html", "<p>2</p>") + "--b--\n"
    words = read(body, {"Content-Type": "multipart/alternative; boundary=b"}).words

    read_as = read_reply(words, ask.response_type, shown_choices(ask))
    assert read_as == Unclear("html_differs")
