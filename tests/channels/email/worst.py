"""The worst mails of 2 MB (or of the largest head) that were thought of: for tests, and for the bench to measure."""

from __future__ import annotations

from collections.abc import Mapping

from tests.channels.email.incoming import TO

SIZE = 2 * 1024 * 1024
_HEAD = f"From: alice@example.org\r\nTo: {TO}\r\n".encode()
_MIXED = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"


def worst() -> Mapping[str, bytes]:
    """By what each is bad at."""
    return {**_lines(), **_parts(), **_fields(), **_bodies(), **_reports()}


def _filled(head: bytes, filling: bytes, size: int = SIZE) -> bytes:
    return _HEAD + head + filling * ((size - len(head)) // len(filling))


def _nested(depth: int, filling: bytes) -> bytes:
    heads = (b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (one, one) for one in range(depth))
    return _filled(b"".join(heads) + b"\r\n", filling)


def _lines() -> dict[str, bytes]:
    return {
        "blank lines": _filled(b"\r\n", b"\n"),
        "bare carriage returns": _filled(b"\r\n", b"\r"),
        "as many lines as may be": _HEAD + b"\r\n" + b"abcd\n" * 399_000,
        "quoted lines": _filled(b"\r\n", b"> \r\n"),
        "attributions": _filled(b"\r\n", b"On wrote:\n"),
        "one line": _filled(b"\r\n", b"a"),
        "nothing but NUL": _filled(b"\r\n", b"\0"),
    }


def _parts() -> dict[str, bytes]:
    return {
        "40 deep": _nested(40, b"\n"),
        "10 deep, many lines": _nested(10, b"abcd\n" * 3),
        "39 deep, long lines": _nested(39, b"a" * 70 + b"\r\n"),
        "a million parts": _filled(_MIXED, b"--x\n\na\n"),
        "as many parts as may be": _HEAD + _MIXED + b"--x\n\na\n" * 19_900,
        "a part of fields": _filled(_MIXED + b"--x\n", b"a:\n"),
        "as many fields as may be": _HEAD + _MIXED + b"--x\n" + b"a:b\n" * 49_000,
        "mails within mails": _filled(b"Content-Type: message/rfc822\r\n\r\n" * 30, b"a\n"),
        "parameters in each part": _HEAD
        + _MIXED
        + (b'--x\nContent-Type: text/plain; a="' + b";" * 99 + b"a" * 7_800 + b"\n\nhi\n") * 250,
    }


def _fields() -> dict[str, bytes]:
    def head(line: bytes, body: bytes = b"hi") -> bytes:
        return _HEAD + line + b"\r\n\r\n" + body

    return {
        "thousands of fields": _filled(b"a:\n" * 80_000 + b"\n", b"a"),
        "a parameter without an end": head(b'Content-Type: text/plain; a="' + b";" * 250_000),
        "50,000 parameters": head(b"Content-Type: text/plain" + b"; a=b" * 50_000),
        "10,000 pieces of a name": head(
            b"Content-Disposition: a" + b"".join(b"; n*%d=a" % one for one in range(10_000))
        ),
        "encoded words": head(b"Subject: " + b"=?utf-8?q?a?= " * 18_000),
        "encoded words without an end": head(b"Subject: " + b"=?" * 120_000),
        "quotes": head(b"To: " + b'"\\' * 120_000),
        "quotes in many fields": head(b"\r\n".join([b"Delivered-To: " + b'"\\' * 1_900] * 60)),
        "words in many fields": head(b"\r\n".join([b"Delivered-To: " + b"a" * 3_900] * 60)),
        "angles": head(b"Cc: " + b"<" * 250_000),
        "references": head(b"\r\n".join([b"References: " + b"<n.%s@example.com> " % (b"0" * 32) * 70] * 60)),
        "results": head(b"Authentication-Results: mx.example.com; " + b"dmarc=pass (a) " * 16_000),
        "comments in results": head(b"Authentication-Results: mx.example.com; dkim=pass " + b"(a" * 1_900),
    }


def _bodies() -> dict[str, bytes]:
    def body(kind: bytes, encoding: bytes, filling: bytes) -> bytes:
        head = b"Content-Type: " + kind + b"\r\nContent-Transfer-Encoding: " + encoding + b"\r\n\r\n"
        return _filled(head, filling)

    return {
        "base64": body(b"text/plain", b"base64", b"QUFBQUFBQUFBQUFBQUFBQUFBQUFB\n"),
        "base64 that is none": body(b"text/plain", b"base64", b"Q=====\n"),
        "quoted-printable": body(b"text/plain", b"quoted-printable", b"=0A"),
        "uuencode": body(b"text/plain", b"x-uuencode", b"#86)C\n"),
        "flowed": body(b"text/plain; format=flowed", b"8bit", b"aaaaa \n"),
        "utf-7": body(b"text/plain; charset=utf-7", b"8bit", b"+AGE-"),
        "iso-2022-jp": body(b"text/plain; charset=iso-2022-jp", b"8bit", b"\x1b$B$"),
        "divisions": body(b"text/html", b"8bit", b"<div>"),
        "line breaks": body(b"text/html", b"8bit", b"<br>"),
        "tables": body(b"text/html", b"8bit", b"<table><tr><td>"),
        "angle brackets": body(b"text/html", b"8bit", b"<"),
        "attributes": body(b"text/html", b"8bit", b"<div a=b c=d "),
        "entities": body(b"text/html", b"8bit", b"&amp;"),
        "rules within rules": body(b"text/html", b"8bit", b"<style>" + b"@media all{" * 9_000),
        "rules for many": body(
            b"text/html", b"8bit", b"<style>" + b"p.a{opacity:0}" * 90 + b"</style>" + b"<p class=b>" * 25_000
        ),
        "styles": body(b"text/html", b"8bit", b"<p style='font:((((((((((((((((((((((((a'>"),
        "comments for Outlook": body(b"text/html", b"8bit", b"<!--[if mso]>" + b"<" * 9_000 + b"-->"),
    }


def _reports() -> dict[str, bytes]:
    daemon = b"From: MAILER-DAEMON@mx.example.org\r\n"
    kind = b"Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n"
    status = b"--x\nContent-Type: message/delivery-status\n\n"
    return {
        "recipients": daemon + kind + status + b"Final-Recipient: rfc822; a@b.c\nAction: failed\n\n" * 24_000,
        "words of a daemon": daemon + b"\r\n" + b"<a@b.c>: 5.1.1 --\n" * 110_000,
        "statuses": daemon + b"\r\n" + b"5.1." * 500_000,
    }
