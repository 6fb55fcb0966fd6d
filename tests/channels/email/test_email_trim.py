"""A reply's own words, out of what the usual mail programs send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.html import read_page
from channels.email.own_words import OwnWords, own_words
from tests.channels.email.reply_shapes import HTML, NOTICE, PLAIN

OWN = ["Approve", "2", "Yes, go ahead.\n\nBest\nAlice", "On it", "Deny, since 2 > 1"]


@pytest.mark.parametrize("shape", PLAIN)
@pytest.mark.parametrize("own", OWN)
def test_words_above_the_quote_are_kept_and_nothing_else(shape: str, own: str) -> None:
    assert own_words(PLAIN[shape](own)).lines == tuple(own.split("\n"))


@pytest.mark.parametrize("shape", HTML)
@pytest.mark.parametrize("own", OWN)
def test_html_gives_the_same_words(shape: str, own: str) -> None:
    lines = own_words(read_page(HTML[shape](own)).text).lines

    assert [line for line in lines if line] == [line for line in own.split("\n") if line]


@pytest.mark.parametrize("shape", PLAIN)
def test_a_reply_without_own_words_has_none(shape: str) -> None:
    assert own_words(PLAIN[shape]("")).lines == ()


@pytest.mark.parametrize("shape", HTML)
def test_an_html_reply_without_own_words_has_none(shape: str) -> None:
    assert own_words(read_page(HTML[shape]("")).text).lines == ()


def test_words_below_the_quote_are_noticed_and_not_read() -> None:
    quoted = "\n".join(f"> {line}" for line in NOTICE.splitlines())

    assert own_words(f"On Sat, Nov 21, 2026 Handraise wrote:\n{quoted}\n\nApprove\n") == OwnWords(
        below=True, beside=("Approve",)
    )


def test_words_below_a_quoted_container_are_noticed_too() -> None:
    page = "<blockquote type='cite'>— reply above this line — Refund?</blockquote><p>Approve</p>"

    assert own_words(read_page(page).text) == OwnWords(below=True, beside=("Approve",))


def test_a_quote_of_anything_but_our_mail_is_read_like_the_words_around_it() -> None:
    page = "<p>Approve</p><blockquote>Do not approve</blockquote>"

    assert own_words(read_page(page).text).lines == ("Approve", "", "", "Do not approve")


def test_a_line_about_being_on_it_is_not_taken_for_the_head_of_a_quote() -> None:
    text = "On it\nOn Sat, Nov 21, 2026 at 9:31 AM Handraise <h@example.com> wrote:\n> Refund?"

    assert own_words(text).lines == ("On it",)


OURS = ("Approve refund", "Deny refund", "Reminder", "12345")


def says_nothing_of_ours(text: str) -> bool:
    return not any(word in text for word in OURS)


@given(
    own=st.sampled_from(OWN),
    shape=st.sampled_from(sorted(PLAIN)),
    junk=st.text(max_size=40).filter(says_nothing_of_ours),
)
def test_no_word_of_our_own_mail_ever_gets_through(own: str, shape: str, junk: str) -> None:
    assert all(map(says_nothing_of_ours, own_words(PLAIN[shape](f"{own}\n{junk}")).lines))


@given(st.text(max_size=300))
def test_any_text_is_trimmed_without_failing(text: str) -> None:
    assert all(isinstance(line, str) for line in own_words(text).lines)


@given(st.text(alphabet=st.sampled_from("<>/=\"'& abdiv\n\0é"), max_size=300))
def test_any_html_is_read_without_failing(text: str) -> None:
    assert isinstance(read_page(text).text, str)


def test_deeply_nested_html_is_read() -> None:
    assert read_page("<div>" * 50_000 + "Approve").text.strip() in {"", "Approve"}
