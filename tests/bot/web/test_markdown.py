"""Markdown of a question: a text looks as it was written, a safe subset is shown as it is meant, and nothing of it goes
unseen. Source: docs/decisions/0121."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.pages.markdown import SCREEN, destination, is_diff, prose, title_of


def shown(text: str) -> str:
    return str(prose(text).shown)


def words(text: str) -> str:
    """What a person reads of the whole, line by line."""
    found = prose(text)
    told = re.sub(r"<br>", "\n", f"{found.shown}\n{found.folded}")
    return html.unescape(re.sub(r"<[^>]+>", "", told)).strip("\n")


@pytest.mark.parametrize(
    "plain",
    [
        "2*3*4 = 24, a_b_c, __init__, ~/x, 5 < 6 & 7 > 2",
        "C:\\_temp\\*.py \\\\server\\share",
        "&lt;b&gt; &amp; &#106;",
        "name     amount\n  Alice  12.00\n   Bob    7.50",
        "first line\nsecond line\n\ttabbed",
        "[not a link] (nor this) [x]: nor that",
        "![no picture](nor a link)",
        "<b>bold?</b> <!-- hidden? -->",
        "https://ci.example.com/runs/81",
        "日本語\nالعربية 👨‍👩‍👧‍👦",
        "~~not struck~~ ==nor marked==",
    ],
)
def test_a_plain_text_looks_as_it_was_written(plain: str) -> None:
    assert words(plain) == plain
    assert prose(plain).source is None
    assert "<a " not in shown(plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*so* and **so**", "<em>so</em> and <strong>so</strong>"),
        ("`x < y`", "<code>x &lt; y</code>"),
        ("- a\n- b", '<ul><li dir="auto">a</li><li dir="auto">b</li></ul>'),
        ("3. a\n7. b", '<ol><li dir="auto" value="3">a</li><li dir="auto" value="7">b</li></ol>'),
        ("> q", '<blockquote dir="auto"><p dir="auto">q</p></blockquote>'),
        ("### h", '<h2 dir="auto">h</h2>'),
        ("```diff\n+a\n-b\n c\n```", '<span class="added">+a</span>\n<span class="removed">-b</span>'),
        ("```sh who reads this\nls\n```", '<p class="lang">sh who reads this</p>'),
    ],
)
def test_the_subset_is_shown_as_it_is_meant_and_as_it_was_written_too(text: str, expected: str) -> None:
    assert expected in shown(text)
    assert prose(text).source == text


def test_a_link_has_its_host_beside_it_and_tells_nobody_where_it_was_followed() -> None:
    assert shown("[your bank](https://evil.example/login)") == (
        '<p dir="auto"><a href="https://evil.example/login" rel="noopener noreferrer nofollow"><bdi>your bank</bdi></a>'
        ' <bdi class="host">(evil.example)</bdi></p>'
    )


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://Ci.Example.com:8443/x", "ci.example.com:8443"),
        ("http://exämple.com/", "xn--exmple-cua.com"),
        ("mailto:ops@example.com?subject=x", "ops@example.com"),
        ("https://bank.example@evil.example/", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//evil.example", None),
        ("/signout", None),
        ("https://", None),
        ("https://a.example/\u202ex", None),
        ("https://[::1", None),
        ("https://a.example:99999/", None),
        ("mailto:nobody", None),
        ("ftp://a.example/", None),
    ],
)
def test_only_a_host_by_http_or_a_mailbox_is_ever_led_to(url: str, told: str | None) -> None:
    assert destination(url) == told


@pytest.mark.parametrize(
    "hiding",
    [
        "| a |\n|---|\n| fine | and pay 10,000 |",
        "> " * 60 + "and pay 10,000",
        "- " * 60 + "and pay 10,000",
        "[x]: https://a.example 'and pay 10,000'",
        "<!-- and pay 10,000 -->",
        "``` and pay 10,000\nx\n```",
    ],
)
def test_nothing_that_an_agent_writes_goes_unseen(hiding: str) -> None:
    assert "and pay 10,000" in words(hiding)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=300))
def test_every_letter_of_any_text_is_shown(text: str) -> None:
    found = prose(text)
    told = words(text) + (found.source or "")
    assert [sign for sign in text if sign.isalnum() and sign not in told] == []


def test_what_is_longer_than_a_screen_is_folded_and_whole() -> None:
    code = "\n".join(f"line {number}" for number in range(3 * SCREEN))
    found = prose(f"See:\n\n```\n{code}\n```\n\nThe end.")
    assert "line 1\n" in found.shown
    assert f"line {3 * SCREEN - 1}" not in found.shown
    assert f"line {3 * SCREEN - 1}" in found.folded
    assert "The end." in found.folded
    assert found.lines > SCREEN


def test_a_short_text_is_not_folded() -> None:
    assert not prose("a\n\nb").folded


@pytest.mark.parametrize(
    ("question", "title", "rest"),
    [
        ("Refund?", "Refund?", ""),
        ("\n\nRefund?\nPlease.\n", "Refund?", "Please."),
        ("# of refunds: 3\nOK?", "# of refunds: 3", "OK?"),
    ],
)
def test_the_first_line_is_the_title_as_it_was_written(question: str, title: str, rest: str) -> None:
    assert title_of(question) == (title, rest)


def test_of_a_line_that_is_no_title_the_beginning_is_one_and_the_rest_has_it_whole() -> None:
    title, rest = title_of("word " * 200)
    assert title.endswith(" …")
    assert len(title) < 170
    assert rest == "word " * 200


@pytest.mark.parametrize("bad", ["[" * 10_000, "*a " * 3_300, "`" * 9_999, "> " * 5_000, "[a](b" * 2_000, "|a" * 5_000])
def test_the_longest_odd_text_is_shown(bad: str) -> None:
    assert prose(bad)


@pytest.mark.parametrize("text", ["--- a\n+++ b\n", "@@ -1,2 +1 @@\n-x", "diff --git a/x b/x\n"])
def test_a_diff_is_known_by_its_head(text: str) -> None:
    assert is_diff(text)


@pytest.mark.parametrize("text", ["- a\n+ b", "---\n", "a -- b", "+1"])
def test_other_texts_are_none(text: str) -> None:
    assert not is_diff(text)
