"""Hostile mail: whatever the bytes, reading them neither fails nor hangs, and the worst is not parsed at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.classify import MailKind
from channels.email.inbound import Inbound, read_mail
from tests.channels.email.incoming import RULES, raw


def nested(depth: int) -> bytes:
    head = b"From: a@b.c\r\n"
    parts = (
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (level, level) for level in range(depth)
    )
    return head + b"".join(parts) + b"Content-Type: text/plain\r\n\r\nApprove"


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\0" * 100,
        b"\r\n\r\n",
        b"not a mail at all",
        nested(200),
        nested(5_000),
        b"X: " + b"a" * 300_000,
        raw("Approve", {"Content-Type": 'multipart/mixed; boundary="nowhere"'}),
        raw("Approve", {"Content-Type": "multipart/mixed"}),
        raw("Approve", {"Content-Type": 'text/plain; charset="\0\xff"'}),
        raw("Approve", {"Content-Transfer-Encoding": "base64"}),
        raw("begin 644\r\n!!!!", {"Content-Transfer-Encoding": "x-uuencode"}),
        raw("Approve", {"Subject": "=?utf-8?b?!!!!?= =?x?q?=ZZ?="}),
        raw("Approve", {"From": "=?punycode?q?zzzzz?= <alice@example.org>"}),
        raw("Approve", {"To": "<" * 5_000}),
        raw("Approve", {"Authentication-Results": "mx.example.com; " + "(" * 3_000}),
        raw("<" * 100_000, {"Content-Type": "text/html"}),
    ],
)
def test_hostile_mail_is_read_without_failing(hostile: bytes) -> None:
    assert isinstance(read_mail(hostile, RULES), Inbound)


def test_too_deep_a_mail_is_not_parsed() -> None:
    assert read_mail(nested(200), RULES).kind is MailKind.UNREADABLE


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_failing(data: bytes) -> None:
    assert isinstance(read_mail(data, RULES), Inbound)


NAMES = st.sampled_from(
    [
        "From",
        "To",
        "Delivered-To",
        "Content-Type",
        "Subject",
        "Authentication-Results",
        "Content-Disposition",
        "Content-Transfer-Encoding",
        "Message-ID",
        "Auto-Submitted",
        "Return-Path",
    ]
)
VALUES = st.binary(max_size=60) | st.sampled_from(
    [
        b'multipart/mixed; boundary="b"',
        b"text/html; charset=\xff",
        b"base64",
        b"quoted-printable",
        b"x-uuencode",
        b"text/plain; charset*0=ut; charset*1*=f%ff",
        b"message/rfc822",
        b"multipart/digest; boundary=b",
        b"mx.example.com; dmarc=pass header.from=\xe9",
        b"=?utf-8?b?\xff?= <a@b>",
        b"attachment; filename*=\"'",
    ]
)


@given(
    fields=st.lists(st.tuples(NAMES, VALUES), max_size=8),
    body=st.binary(max_size=200)
    | st.lists(st.sampled_from([b"--b\r\n", b"\r\n", b"x: y\r\n", b"--b--"])).map(b"".join),
)
def test_any_fields_and_body_are_read_without_failing(fields: list[tuple[str, bytes]], body: bytes) -> None:
    head = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in fields)

    assert isinstance(read_mail(head + b"\r\n" + body, RULES), Inbound)
