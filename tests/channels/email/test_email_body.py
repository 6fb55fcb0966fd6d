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


def test_what_was_struck_through_is_seen_to_be() -> None:
    assert both("Approve", "<p><s>Approve</s></p>") == ("~~Approve~~",)


@pytest.mark.parametrize(
    "style",
    [
        "text-decoration: line-through",
        "color:red;text-decoration-line:line-through;",
        "TEXT-DECORATION:underline LINE-THROUGH",
    ],
)
def test_what_was_struck_through_by_its_style_is_seen_to_be(style: str) -> None:
    assert both("Approve", f'<p><span style="{style}">Approve</span></p>') == ("~~Approve~~",)
    assert lines(f'<p style="{style}">Approve</p>'.encode(), "text/html") == ("~~Approve~~",)


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


def test_a_reaction_holds_no_words_of_the_person_s() -> None:
    """As Gmail sends one to whoever does not use Gmail."""
    said = mixed(
        ("text/plain", "\U0001f44d\r\n\r\nAlice reacted via Gmail"),
        ("text/vnd.google.email-reaction+json", '{"emoji": "x", "version": 1}'),
        ("text/html", "<p>\U0001f44d</p><p>Alice reacted via Gmail</p>"),
    )

    assert said == ()


def test_the_sender_s_name_at_the_end_is_none_of_the_words() -> None:
    sender = {"From": "Hélène Garnier <helene@example.org>"}

    assert read("Ireland\n\nHélène\n", sender).words.lines == ("Ireland",)
    assert read("Ireland\n\nHélène Garnier\n12 rue de Rivoli, Paris\n", sender).words.lines == ("Ireland",)
    assert read("Hélène\n", sender).words.lines == ("Hélène",)


def test_a_retraction_below_the_name_is_kept() -> None:
    words = read("Ireland\n\nAlice\nNo, wait\n").words

    assert words.lines[-1] == "No, wait"


def test_words_above_and_below_a_quote_are_not_read() -> None:
    words = read("Approve\n\nOn 21/11/2026 09:31, Handraise wrote:\n> Refund?\n\nbut ask Bob first\n").words

    assert words.below
    assert not words.lines
