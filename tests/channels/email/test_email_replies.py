"""A mail that came in, as a value: token, sender, authenticity, words."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from channels.email.authentication import SenderAuth
from tests.channels.email.incoming import OTHER_TOKEN, PASS, RULES, TO, TOKEN, read
from tests.channels.email.reply_shapes import HTML, PLAIN

# --- Token --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"Delivered-To": None},
        {"Delivered-To": "archive@example.com"},
        {"Delivered-To": None, "To": "boss@example.org", "Cc": f"Bo <bo@example.org>, {TO}"},
        {"Delivered-To": None, "To": "x@y.z", "X-Original-To": TO},
        {"Delivered-To": TO.upper()},
        {"To": f'"answers, Handraise" <{TO}>'},
    ],
)
def test_the_token_is_found_wherever_the_mail_servers_left_it(changes: dict[str, str]) -> None:
    assert read(changes=changes).tokens == (TOKEN,)


def test_what_our_mail_server_wrote_comes_before_what_the_sender_wrote() -> None:
    assert read(changes={"To": f"answers+r.{OTHER_TOKEN}@example.com"}).tokens == (TOKEN,)


def test_only_the_first_twenty_fields_of_a_name_are_looked_at() -> None:
    said = (f"X-Original-To: answers+r.{OTHER_TOKEN}@example.com",)
    without = {"Delivered-To": None, "To": None}

    assert read(changes=without, more=("X-Original-To: x@y.z",) * 19 + said).tokens == (OTHER_TOKEN,)
    assert read(changes=without, more=("X-Original-To: x@y.z",) * 20 + said).tokens == ()


def test_a_reply_to_all_bears_every_token_in_order() -> None:
    changes = {"Delivered-To": None, "To": f"{TO}, answers+r.{OTHER_TOKEN}@example.com, {TO}"}

    assert read(changes=changes).tokens == (TOKEN, OTHER_TOKEN)


@pytest.mark.parametrize(
    "address",
    [
        "answers@example.com",
        f"answers+r.{TOKEN[:-1]}@example.com",
        f"answers+r.{TOKEN}x@example.com",
        f"answers+r.{TOKEN}@example.org",
        f"others+r.{TOKEN}@example.com",
        f"answers+r.{TOKEN[:-1]}1@example.com",
    ],
)
def test_an_address_that_is_none_of_ours_bears_no_token(address: str) -> None:
    assert read(changes={"Delivered-To": address, "To": address}).tokens == ()


# --- Sender -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        "alice@example.org",
        "Alice <alice@example.org>",
        "<ALICE@Example.ORG>",
        '"Doe, Alice" <alice@example.org>',
        "=?utf-8?q?Al=C3=AFce?= <alice@example.org>",
        "alice@example.org (Alice)",
        '"mallory@evil.test" <alice@example.org>',
    ],
)
def test_the_sender_is_the_address_in_from(field: str) -> None:
    assert read(changes={"From": field}).sender == "alice@example.org"


@pytest.mark.parametrize(
    "field",
    [
        "mallory@evil.test, alice@example.org",
        "Mallory <mallory@evil.test>, Alice <alice@example.org>",
        "mallory@evil.test, <alice@example.org>",
        "<mallory@evil.test> <alice@example.org>",
        "Alice",
        "<>",
        "undisclosed:;",
        "team: alice@example.org;",
        "=?utf-8?q?alice=40example=2Eorg?=",
        "=?utf-8?q?=3Calice=40example=2Eorg=3E?=",
        "=?utf-8?q?A_=3Calice=40example=2Eorg=3E?= <mallory@evil.test>, x",
        "alice@example.org <mallory@evil.test> (alice@example.org) <alice@example.org>",
        "alice(mallory@evil.test)@example.org",
        '"alice"@example.org',
    ],
)
def test_a_from_that_could_mean_two_is_nobody(field: str) -> None:
    mail = read(changes={"From": field})

    assert mail.sender is None
    assert not mail.authentic


def test_two_from_fields_are_nobody() -> None:
    assert read(more=("From: Alice <alice@example.org>",)).sender is None


# --- Authenticity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verdict",
    [
        PASS,
        "MX.example.com 1; dmarc=pass header.from=Example.ORG",
        "mx.example.com;\r\n\tdkim=pass header.d=evil.test;\r\n\tdmarc=pass action=none header.from=example.org",
        "mx.example.com; spf=fail smtp.mailfrom=x@y.z; dmarc=pass (p=REJECT sp=NONE) header.from=example.org",
    ],
)
def test_our_mail_server_s_word_makes_the_sender_authentic(verdict: str) -> None:
    assert read(changes={"Authentication-Results": verdict}).authentic


@pytest.mark.parametrize(
    "verdict",
    [
        None,
        "mx.example.com; none",
        "mx.example.com; dmarc=fail header.from=example.org",
        "mx.example.com; dmarc=none header.from=example.org",
        "mx.example.com; dmarc=pass header.from=evil.test",
        "mx.example.com; dmarc=pass",
        "mx.example.com; spf=pass smtp.mailfrom=example.org; dkim=pass header.d=example.org",
        "mx.example.com; dmarc=fail header.from=example.org; dmarc=pass header.from=example.org",
        "mx.evil.test; dmarc=pass header.from=example.org",
        "mx.example.com.evil.test; dmarc=pass header.from=example.org",
        'mx.evil.test; x="mx.example.com"; dmarc=pass header.from=example.org',
        "mx.example.com; dmarc=pass header.from=",
        "mx.example.com; dmarc=pass (((((((",
        "mx.example.com dmarc=pass header.from=example.org",
        "=?utf-8?q?mx=2Eexample=2Ecom?=; dmarc=pass header.from=example.org",
        "(mx) mx.example.com; dmarc=pass header.from=example.org",
        '"mx.example.com"; dmarc=pass header.from=example.org',
        "mx.examp\u217ee.com; dmarc=pass header.from=example.org",
        "mx.example.com.; dmarc=pass header.from=example.org",
        "mx.example.com; dmarc=pass header.from=example.org; dmarc=pass header.from=evil.test",
        "mx.example.com; dmarc=pass header.from=evil.test header.from=example.org",
        "",
    ],
)
def test_without_our_mail_server_s_word_nobody_is_authentic(verdict: str | None) -> None:
    assert not read(changes={"Authentication-Results": verdict}).authentic


def test_only_the_topmost_of_our_mail_server_s_words_counts() -> None:
    forged_below = read(more=("Authentication-Results: mx.example.com; dmarc=fail header.from=example.org",))
    foreign_above = read(more=("Authentication-Results: mx.other.test; dmarc=fail header.from=example.org",))

    assert not forged_below.authentic
    assert foreign_above.authentic


@pytest.mark.parametrize(
    ("signer", "authentic"),
    [("example.org", True), ("org", False), ("mail.example.org", False), ("ample.org", False), ("evil.test", False)],
)
def test_dkim_must_be_by_the_sender_s_own_domain(signer: str, authentic: bool) -> None:
    rules = replace(RULES, sender_auth=SenderAuth.DKIM)
    changes = {"Authentication-Results": f"mx.example.com; dkim=pass header.d={signer}"}

    assert read(changes=changes, rules=rules).authentic is authentic


@pytest.mark.parametrize(
    ("sender", "signer"),
    [
        ("alice@example.co.uk", "co.uk"),
        ("alice@alice.github.io", "github.io"),
        ("alice@eu.example.org", "example.org"),
        ("alice@example.org", "eu.example.org"),
    ],
)
def test_dkim_by_the_domain_above_or_below_is_somebody_else_s(sender: str, signer: str) -> None:
    """Whose a name above is takes a list (the Public Suffix List) that would have to be up to date."""
    rules = replace(RULES, sender_auth=SenderAuth.DKIM)
    changes = {"From": sender, "Authentication-Results": f"mx.example.com; dkim=pass header.d={signer}"}

    assert not read(changes=changes, rules=rules).authentic


def test_one_good_signature_of_several_is_enough_and_gmail_names_it_by_identity() -> None:
    rules = replace(RULES, sender_auth=SenderAuth.DKIM)
    several = (
        "mx.example.com; dkim=fail header.d=example.org; dkim=pass header.d=e.test; dkim=pass header.d=EXAMPLE.org"
    )
    identity = "mx.example.com; dkim=pass header.i=@example.org header.s=s1 header.b=abc"

    assert read(changes={"Authentication-Results": several}, rules=rules).authentic
    assert read(changes={"Authentication-Results": identity}, rules=rules).authentic


def test_a_domain_that_is_not_ascii_is_the_one_that_the_dns_knows() -> None:
    verdict = "mx.example.com; dmarc=pass header.from=xn--bcher-kva.example"

    assert read(changes={"From": "alice@b\u00fccher.example", "Authentication-Results": verdict}).authentic


def test_token_only_asks_for_nothing_and_link_only_takes_nothing() -> None:
    bare: dict[str, str | None] = {"Authentication-Results": None}

    assert read(changes=bare, rules=replace(RULES, sender_auth=SenderAuth.TOKEN_ONLY)).authentic
    assert not read(rules=replace(RULES, sender_auth=SenderAuth.LINK_ONLY)).authentic


# --- Words --------------------------------------------------------------------------------------------------------


def multipart(*parts: tuple[str, str], kind: str = "alternative") -> tuple[str, dict[str, str | None]]:
    body = "".join(f"--b1\r\nContent-Type: {content_type}\r\n\r\n{text}\r\n" for content_type, text in parts)
    return body + "--b1--\r\n", {"Content-Type": f'multipart/{kind}; boundary="b1"'}


@pytest.mark.parametrize("shape", PLAIN)
def test_plain_replies_are_read(shape: str) -> None:
    assert read(PLAIN[shape]("Approve")).words.lines == ("Approve",)


@pytest.mark.parametrize("shape", HTML)
def test_html_only_replies_are_read(shape: str) -> None:
    assert read(HTML[shape]("Approve"), {"Content-Type": "text/html; charset=utf-8"}).words.lines == ("Approve",)


def test_the_plain_part_comes_before_the_html_part() -> None:
    assert read(*multipart(("text/html", "<p>Deny</p>"), ("text/plain", "Approve"))).words.lines == ("Approve",)


def test_an_empty_plain_part_leaves_the_word_to_the_html_part() -> None:
    assert read(*multipart(("text/plain", " \r\n"), ("text/html", "<p>Approve</p>"))).words.lines == ("Approve",)


@pytest.mark.parametrize(
    "attached",
    [
        "text/plain; name=note.txt",
        "text/plain\r\nContent-Disposition: attachment",
        "message/rfc822\r\n\r\nFrom: x@y.z\r\nContent-Type: text/plain",
    ],
)
def test_attachments_and_forwarded_mails_are_not_the_person_s_words(attached: str) -> None:
    body, changes = multipart((attached, "Approve"), kind="mixed")

    assert read(body, changes).words.lines == ()


@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("utf-8", "Größe".encode()),
        ("iso-8859-1", "Größe".encode("latin-1")),
        ("utf-16", "Größe".encode("utf-16")),
        ("x-no-such-charset", "Größe".encode()),
        ("punycode", "Größe".encode()),
        ("zlib", "Größe".encode()),
    ],
)
def test_words_are_decoded_in_any_charset(charset: str, data: bytes) -> None:
    encoded = base64.b64encode(data) + b"\r\n"
    changes = {"Content-Type": f"text/plain; charset={charset}", "Content-Transfer-Encoding": "base64"}

    assert read(encoded, changes).words.lines == ("Größe",)


def test_lines_that_the_mail_program_wrapped_are_one_line() -> None:
    flowed = {"Content-Type": "text/plain; charset=utf-8; format=flowed"}

    assert read("I would \r\nlike to see it.\r\n> Refund?\r\n", flowed).words.lines == ("I would like to see it.",)


def test_the_same_bytes_have_the_same_digest_and_others_have_not() -> None:
    assert read().digest == read().digest != read("Approve!").digest
