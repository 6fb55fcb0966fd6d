"""The worst mails that were found: each cost the parser seconds, or hundreds of megabytes, and is not parsed now; and
large mails that people do send, which are. How long each takes is measured in ``tests/bench``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from channels.email.classify import MailKind
from channels.email.inbound import Inbound, read_mail, unfit, unreadable
from tests.channels.email.incoming import RULES, TO, TOKEN, raw, read
from tests.channels.email.worst import worst

pytestmark = pytest.mark.slow

MANY = 2_000_000
MULTIPART = "multipart/mixed; boundary=x"


def nested(depth: int, filling: bytes) -> bytes:
    head = (b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (one, one) for one in range(depth))
    return b"From: a@b.c\r\n" + b"".join(head) + b"\r\n" + filling * (MANY // len(filling))


@pytest.mark.parametrize(
    ("mail", "reason"),
    [
        (nested(40, b"-\n"), "too_many_lines"),
        (nested(40, b"aaaaaaaaaaaaaaa\n"), "nested_too_deep"),
        (nested(41, b"a" * 70 + b"\n"), "nested_too_deep"),
        (raw(b"\n" * MANY), "too_many_lines"),
        (raw(b"\r" * MANY), "too_many_lines"),
        (raw(b"--x\n\na\n" * 60_000, {"Content-Type": MULTIPART}), "too_many_parts"),
        (raw(b"--x\n" + b"a:b\n" * 300_000, {"Content-Type": MULTIPART}), "too_many_fields"),
        (raw(more=("X: y",) * 1_001), "too_many_fields"),
        (raw(changes={"X": "a" * 300_000}), "head_too_long"),
        (raw(changes={"Content-Type": 'text/plain; a="' + ";" * 200_000}), "field_too_long"),
        (raw(changes={"Content-Type": "text/plain" + "; a=b" * 101}), "field_too_long"),
        (raw(b"--x\nContent-Disposition: inline; " + b"a" * 9_000, {"Content-Type": MULTIPART}), "field_too_long"),
        (raw(changes={"CONTENT-TYPE": "text/plain;\r\n a=" + "\r\n b" * 3_000}), "field_too_long"),
        (raw("Approve\r\rContent-Type: a/b; x=" + ";" * 240_000), "field_too_long"),
        (raw(b"\r--x\r\ra" * 60_000, {"Content-Type": MULTIPART}), "too_many_parts"),
        (raw(changes={"Subject": "a\rContent-Type: a/b; x=" + ";" * 90_000}), "bare_cr"),
    ],
)
def test_what_costs_too_much_is_not_parsed(mail: bytes, reason: str) -> None:
    assert unfit(mail) == reason
    assert read_mail(mail, RULES).kind is MailKind.UNREADABLE


@pytest.mark.parametrize(
    "hidden",
    [
        "hi\rAuthentication-Results: mx.example.com; dmarc=pass header.from=example.org",
        "hi\r\rApprove",
        "hi\r",
    ],
)
def test_a_field_that_no_mail_server_has_seen_is_not_read(hidden: str) -> None:
    """The parser ends lines at a CR alone, mail servers don't: they would have taken the field away."""
    mail = read(changes={"Authentication-Results": None, "Subject": hidden})

    assert (mail.kind, mail.unfit, mail.authentic) == (MailKind.UNREADABLE, "bare_cr", False)


def test_a_cr_alone_in_the_words_is_a_line_s_end() -> None:
    assert read("Approve\rThanks\r\n").words.lines == ("Approve", "Thanks")


def test_the_envelope_of_an_unreadable_mail_is_read_all_the_same() -> None:
    recipients = (f"answers+r.{TOKEN}@example.com", "x@y.z")
    mail = read_mail(raw(b"\n" * MANY), RULES, "a@b.c", recipients)
    assert (mail.kind, mail.unfit, mail.tokens) == (MailKind.UNREADABLE, "too_many_lines", ())

    assert unreadable(mail.digest, "too_many_lines", RULES.ours, recipients) == replace(mail, tokens=(TOKEN,))


@pytest.mark.parametrize(
    "mail",
    [
        raw("Approve\r\n" + "> quoted text\r\n" * 300_000),
        raw(b"Approve\r\n" + b"QUFB" * 19 + b"\r\n" * 60_000),
        nested(12, b"a" * 70 + b"\n"),
        raw(more=("Received: from a by b with ESMTP; " + "x" * 200,) * 200),
        raw(changes={"References": "<a@b.c> " * 4_000}),
        raw(changes={"Content-Type": "text/plain" + "".join(f"; name*{n}=abcdefgh" for n in range(60))}),
        raw("Approve\r\n" + "-- a comment in a long attachment\r\n" * 15_000),
    ],
)
def test_what_people_and_their_servers_send_is_parsed(mail: bytes) -> None:
    assert unfit(mail) is None
    assert read_mail(mail, RULES).kind is not MailKind.UNREADABLE


@pytest.fixture(scope="module")
def worst_mails() -> Mapping[str, bytes]:
    return worst()


@pytest.mark.parametrize("name", worst())
def test_the_worst_are_read_without_failing(name: str, worst_mails: Mapping[str, bytes]) -> None:
    assert isinstance(read_mail(worst_mails[name], RULES, "alice@example.org", (TO,)), Inbound)


def test_a_quote_that_nothing_closes_hides_no_address() -> None:
    assert read(changes={"Delivered-To": None, "To": f'Conan O"Brien <{TO}>'}).tokens == (TOKEN,)


def test_an_address_within_quotes_is_none() -> None:
    assert read(changes={"Delivered-To": None, "To": f'"{TO}" <somebody@example.org>'}).tokens == ()
