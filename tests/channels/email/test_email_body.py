"""Which part of a mail holds the words, and in which charset they really are."""

from __future__ import annotations

import pytest

from tests.channels.email.incoming import read

JA, PL = "はい、お願いします", "Zażółć gęślą jaźń"


def lines(body: bytes, kind: str, **changes: str) -> tuple[str, ...]:
    fields = {name.replace("_", "-"): value for name, value in changes.items()}
    return read(body, {"Content-Type": kind, **fields}).words.lines


@pytest.mark.parametrize(
    ("text", "really", "label"),
    [
        (JA, "iso-2022-jp", "iso-2022-jp"),
        (JA, "shift_jis", "shift_jis"),
        (JA, "shift_jis", "utf-8"),
        (JA, "utf-8", "iso-8859-1"),
        (JA, "utf-16", "utf-16"),
        (JA, "utf-16-le", "utf-16le"),
        ("Approve", "utf-16-be", "utf-16"),
        (PL, "windows-1250", "windows-1250"),
        (PL, "utf-8", "us-ascii"),
        ("Да", "koi8-r", "koi8-r"),
        ("同意", "gb18030", "gb2312"),
        ("Sí, “claro”", "windows-1252", "iso-8859-1"),
        ("Sí", "windows-1252", "utf-8"),
        ("Sí", "utf-8", "x-no-such-charset"),
    ],
)
def test_the_words_are_read_whatever_the_label_says(text: str, really: str, label: str) -> None:
    assert lines(text.encode(really), f"text/plain; charset={label}") == (text,)


def test_a_number_in_a_circle_is_read_in_iso_2022_jp_too() -> None:
    assert lines(b"\x1b$B-!\x1b(B", "text/plain; charset=iso-2022-jp") == ("①",)


def test_soft_breaks_and_flowed_lines_are_one_line() -> None:
    quoted = lines(b"Approve =\r\nit", "text/plain", Content_Transfer_Encoding="quoted-printable")

    assert quoted == ("Approve it",)
    assert lines(b"Approve \r\nit", "text/plain; format=flowed") == ("Approve it",)
    assert lines("承 \r\n認".encode(), "text/plain; charset=utf-8; format=flowed; delsp=yes") == ("承認",)


def both(plain: str, html: str) -> tuple[str, ...]:
    parts = "".join(
        f"--b\r\nContent-Type: text/{kind}\r\n\r\n{body}\r\n" for kind, body in (("plain", plain), ("html", html))
    )
    return lines(f"{parts}--b--\r\n".encode(), 'multipart/alternative; boundary="b"')


def test_the_html_is_read_where_the_plain_text_is_empty_or_a_stub() -> None:
    assert both("", "<p>Approve</p>") == ("Approve",)
    assert both("This message needs an HTML reader.", "<p>Approve</p>") == ("Approve",)
    assert both("Approve", "<p>Deny</p>") == ("Approve",)


def doubt_of(plain: str, page: str) -> str | None:
    body = (
        f"--b\r\nContent-Type: text/plain\r\n\r\n{plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n{page}\r\n--b--\r\n"
    )
    return read(body, {"Content-Type": 'multipart/alternative; boundary="b"'}).words.doubt


@pytest.mark.parametrize(
    "page",
    [
        "<p>Do not approve</p>",
        "<p><s>Approve</s></p>",
        '<p><span style="text-decoration: line-through">Approve</span></p>',
        '<p><span style="TEXT-DECORATION:underline LINE-THROUGH">Approve</span></p>',
        "<p>Approve</p><blockquote>Do not</blockquote>",
        "<p>Approve <q>not</q></p>",
        '<style>.x{display:none}</style><p>Approve <b class="x">not</b></p>',
        "<p>Approve <b hidden>not</b></p>",
        '<p>Approve <b style="font-size:0">not</b></p>',
        '<p>Approve <b style="opacity:0">not</b></p>',
        '<p>Approve <b style="position:absolute;left:-9999px">not</b></p>',
        '<p>Approve <b style="color:#fff">not</b></p>',
        "<p>Approve</p><template>not</template><noscript>not</noscript>",
        "<p>Approve</p><p>+1</p>",
    ],
)
def test_a_page_that_says_anything_else_is_a_doubt_whether_it_is_seen_or_not(page: str) -> None:
    assert doubt_of("Approve", page) == "html_differs"


@pytest.mark.parametrize(
    "page",
    [
        "<p>Approve</p>",
        "<div>Approve<br></div><div class='gmail_signature'>Alice<br>Head of Refunds</div>",
        "<style>p{color:red}</style><p style='color:red'>Approve</p>",
        "<p>Approve</p><blockquote>— reply above this line · HR-1234 —<p>Do not refund</p></blockquote>",
    ],
)
def test_a_page_that_says_the_same_is_none(page: str) -> None:
    assert doubt_of("Approve", page) is None


@pytest.mark.parametrize(
    ("page", "doubt"),
    [
        ('<div dir="ltr">Approve</div>', None),
        ('<div style="font-family:Arial;font-size:12pt;color:rgb(0, 0, 0)"><p class="a">Approve</p></div>', None),
        ("<p>Approve</p><button>not</button>", "html_alone"),
        ('<p style="display:none">Approve</p>', "html_alone"),
        ('<p style="margin-left:-9999px">Approve</p>', "html_alone"),
        ('<p style="font-size:1px">Approve</p>', "html_alone"),
        ('<p style="color:white">Approve</p>', "html_alone"),
        ('<font color="white">Approve</font>', "html_alone"),
        ("<p><del>Approve</del></p>", "struck_out"),
    ],
)
def test_a_page_alone_is_believed_only_if_it_could_hide_nothing(page: str, doubt: str | None) -> None:
    assert read(page, {"Content-Type": "text/html"}).words.doubt == doubt


def mixed(*parts: tuple[str, str]) -> tuple[str, ...]:
    body = "".join(f"--b\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for kind, text in parts)
    return lines(f"{body}--b--\r\n".encode(), 'multipart/mixed; boundary="b"')


@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
def test_what_stands_below_a_picture_is_read_too(kind: str) -> None:
    """Apple's programs make a part of their own of it."""
    picture = ("image/jpeg; name=a.jpg\r\nContent-Disposition: inline; filename=a.jpg", "AAAA")

    read = mixed((kind, "Approve"), picture, (kind, "but only if Bob agrees"))

    assert [line for line in read if line] == ["Approve", "but only if Bob agrees"]


def test_a_quote_goes_on_below_a_picture_in_it() -> None:
    quoted = "Approve\r\n\r\nOn 21/11/2026 09:31, Handraise wrote:\r\n> Refund?"

    assert mixed(("text/plain", quoted), ("image/png; name=a.png", "AAAA"), ("text/plain", "> 1) Approve")) == (
        "Approve",
    )


def test_the_sender_s_name_at_the_end_is_none_of_the_words() -> None:
    sender = {"From": "Hélène Garnier <helene@example.org>"}

    assert read("Ireland\n\nHélène\n", sender).words.lines == ("Ireland",)
    assert read("Ireland\n\nHélène Garnier\nresponsable SAV\n+33 1 23 45 67\n", sender).words.lines == ("Ireland",)
    assert read("Ireland\n\nMerci, Hélène\n", sender).words.lines == ("Ireland",)
    assert read("Hélène\n", sender).words.lines == ("Hélène",)


def test_what_stands_below_the_name_is_kept_apart() -> None:
    words = read("Ireland\n\nBest,\nAlice\nNo, wait\n").words

    assert (words.lines, words.named) == (("Ireland",), ("", "Best,", "Alice", "No, wait"))


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        (b"I am out of the office.\n", "machine"),
        (b"Approve\n-- \nAlice, but wait for Bob\n", None),
        (b"I am out of the office.\n-- \nAlice, but wait for Bob\n", "machine"),
    ],
)
def test_words_of_a_machine_are_a_doubt(body: bytes, doubt: str | None) -> None:
    assert read(body).words.doubt == doubt


def test_words_above_and_below_a_quote_are_not_read() -> None:
    words = read("Approve\n\nOn 21/11/2026 09:31, Handraise wrote:\n> Refund?\n\nbut ask Bob first\n").words

    assert words.below
    assert not words.lines
