"""Mail that nobody should have sent: no answer, no crash, one line on the timeline where it belongs to a question, and
what can't be parsed is kept.

Source: facts on mail §F ("Bad inbound"), through the inbox that every door brings its mail to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from channels.email.inbound import read_mail
from tests.bot.mail_world import (
    ALICE,
    BOB,
    RULES,
    ask_by_mail,
    is_open,
    lines,
    reasons,
    signed_reply,
    take,
    words_back,
    written_back,
)
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS = mail_replies.passing("handraise.example", ALICE)


def with_body(mail: Mail, content_type: str, body: bytes, *more: str) -> bytes:
    """Alice's authentic reply with this body alone."""
    head = [
        f"Delivered-To: {mail.answers_to}",
        f"Authentication-Results: {PASS}",
        f"From: {ALICE}",
        f"To: {mail.answers_to}",
        f"Message-ID: <{abs(hash(body))}@mail.example.com>",
        *more,
        f"Content-Type: {content_type}",
        "",
        "",
    ]
    return "\r\n".join(head).encode() + body


def nested(depth: int) -> bytes:
    parts = (b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1) for n in range(depth))
    return b"".join(parts) + b"--b%d\r\nContent-Type: text/plain\r\n\r\nApprove\r\n" % depth


@dataclass(frozen=True)
class Bad:
    """A mail that answers nothing: how it is made, and what the timeline says of it."""

    made: Callable[[Mail], bytes]
    line: tuple[str, str]


BAD = {
    "no part between its boundaries": Bad(
        lambda mail: with_body(mail, 'multipart/mixed; boundary="x"', b"Approve\r\n"), ("reply", "empty")
    ),
    "no boundary at all": Bad(lambda mail: with_body(mail, "multipart/mixed", b"--\r\n\r\n"), ("reply", "empty")),
    "200 deep": Bad(
        lambda mail: with_body(mail, "multipart/mixed; boundary=b0", nested(200)), ("unreadable", "nested_too_deep")
    ),
    "a million parts": Bad(
        lambda mail: with_body(mail, "multipart/mixed; boundary=x", b"--x\r\n" * 300_000),
        ("unreadable", "too_many_parts"),
    ),
    "a head without an end": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", "X: " + "a" * 300_000),
        ("unreadable", "head_too_long"),
    ),
    "thousands of fields": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", *["X: y"] * 2_000), ("unreadable", "too_many_fields")
    ),
    "a parameter that never ends": Bad(
        lambda mail: with_body(mail, 'text/plain; a="' + ";" * 5_000, b"Approve\r\n"), ("unreadable", "field_too_long")
    ),
    "only an attachment": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", "Content-Disposition: attachment; filename=a.txt"),
        ("reply", "empty"),
    ),
    "a mail within a mail": Bad(
        lambda mail: with_body(mail, "message/rfc822", b"From: x@y.z\r\n\r\nApprove\r\n"), ("reply", "empty")
    ),
    "a folded field with another field in it": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", "Subject: a", " X: y", "X-Autoreply: yes"),
        ("auto", "automatic"),
    ),
    "a bare newline that begins a field": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", "Subject: hi\nFrom: mallory@evil.test"),
        ("reply", "sender_is_not_the_recipient"),
    ),
    "a second From": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", f"From: {BOB}"),
        ("reply", "sender_is_not_the_recipient"),
    ),
    "a From of two": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n").replace(
            f"From: {ALICE}".encode(), f"From: {ALICE}, {BOB}".encode()
        ),
        ("reply", "sender_is_not_the_recipient"),
    ),
    "a verdict below the real one": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n").replace(
            b"Authentication-Results:",
            b"Authentication-Results: handraise.example; dmarc=fail header.from=example.com\r\nAuthentication-Results:",
        ),
        ("reply", "not_authenticated"),
    ),
    "a verdict of another server": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n").replace(
            b": handraise.example;", b": handraise.example.evil.test;"
        ),
        ("reply", "not_authenticated"),
    ),
    "a genuine mail of hers to somebody else, brought to the token": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n").replace(
            f"To: {mail.answers_to}\r\nMessage".encode(), b"To: bob@example.com\r\nMessage"
        ),
        ("reply", "not_addressed"),
    ),
    "another question's choice": Bad(
        lambda mail: with_body(mail, "text/plain", b"Ship it\r\n\r\n> 1) Approve refund\r\n"), ("reply", "no_match")
    ),
    "a list": Bad(
        lambda mail: with_body(mail, "text/plain", b"Approve\r\n", "List-Id: <a.b>"), ("list", "list")
    ),
    "our own mail coming back": Bad(lambda mail: mail.raw, ("auto", "automatic")),
    "our own mail, passed on by a rule that makes it new": Bad(
        lambda mail: mail.raw.replace(b"Auto-Submitted: auto-generated\r\n", b""), ("loop", "loop")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_no_answer_and_one_line_on_the_timeline(room: World, name: str) -> None:
    bad = BAD[name]
    asked, mail = await ask_by_mail(room)
    raw = bad.made(mail)

    await take(room, raw, sender=ALICE, to=(mail.answers_to,))
    await take(room, raw, sender=ALICE, to=(mail.answers_to,))

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [bad.line]
    kept = {one["digest"] for one in (await room.call("GET", "/v1/mail/quarantine", "admin")).json()["items"]}
    assert (read_mail(raw, RULES).digest in kept) is (bad.line[0] == "unreadable")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain; charset=klingon", b"Approve\r\n"),
        ('text/plain; charset="\xff\0"', b"Approve\r\n"),
        ("text/plain; charset=utf-8", b"\0Approve\0\r\n"),
        ('multipart/mixed; boundary="x"', b"--x\r\nContent-Type: text/plain\r\n\r\nApprove\r\n"),
        (
            'multipart/mixed; boundary="x"',
            b"--x\r\nContent-Type: text/plain\r\n\r\nApprove\r\n--x\r\nContent-Type: application/zip\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\n" + b"QUFB" * 18 + b"\r\n" + b"QUFBQUFB\r\n" * 300_000,
        ),
    ],
)
async def test_what_is_only_badly_made_is_read_as_its_writer_meant_it(
    room: World, content_type: str, body: bytes
) -> None:
    """Unknown charsets, NUL bytes, no last boundary, 3 MB attachments: the words are there."""
    asked, mail = await ask_by_mail(room)

    await take(room, with_body(mail, content_type, body), sender=ALICE, to=(mail.answers_to,))

    assert (await room.told(asked))["data"]["value"] == "approve"
    assert len(await words_back(room, asked)) == 1


@pytest.mark.parametrize(
    "mistake", ["channels.email.inbound.message_from_bytes", "bot.inbound.mail.answers.read_reply"]
)
async def test_a_crash_of_the_reader_keeps_the_mail_and_is_noted(
    room: World, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    """No such mail is known, so the mistake is put in: the parser fails, or the grammar."""
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)

    def fails(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(mistake, fails)
    await take(room, raw, sender=ALICE, to=(mail.answers_to,))
    monkeypatch.undo()

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("unreadable", "crashed")]
    digest = read_mail(raw, RULES).digest
    kept = await room.call("GET", f"/v1/mail/quarantine/{digest}", "admin")
    assert kept.content == raw


# --- Tokens that go astray ----------------------------------------------------------------------------------------


async def test_a_forwarded_token_answers_nothing_and_its_owner_is_told(room: World) -> None:
    asked, mail = await ask_by_mail(room)

    await room.mailbox.reply(mail, "approve", sender=BOB)

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient")]
    (told,) = await written_back(room, asked)
    assert told.recipient == ALICE
    assert told.links == mail.links


async def test_the_envelope_s_token_stands_above_those_in_the_fields(room: World) -> None:
    first, mail = await ask_by_mail(room)
    second, other = await ask_by_mail(room, "Refund order 999?")
    raw = signed_reply(room, mail)
    elsewhere = raw.replace(b"Delivered-To: " + mail.answers_to.encode(), b"Delivered-To: " + other.answers_to.encode())

    await take(room, elsewhere, sender=ALICE, to=(mail.answers_to,))

    assert (await room.told(first))["data"]["value"] == "approve"
    assert await is_open(room, second)


@pytest.mark.parametrize("split", [True, False])
async def test_one_reply_to_two_questions_answers_neither_and_is_asked_about(room: World, split: bool) -> None:
    """Their server may bring one mail for both, or one for each; both copies name both in To."""
    first, mail = await ask_by_mail(room)
    second, other = await ask_by_mail(room, "Refund order 999?")
    raw = signed_reply(room, mail).replace(
        f"To: {mail.answers_to}\r\nDate".encode(), f"To: {mail.answers_to}, {other.answers_to}\r\nDate".encode()
    )
    if split:
        await take(room, b"Received: a\r\n" + raw, sender=ALICE, to=(mail.answers_to,))
        await take(room, b"Received: b\r\n" + raw, sender=ALICE, to=(other.answers_to,))
    else:
        await take(room, raw, sender=ALICE, to=(mail.answers_to, other.answers_to))

    assert await is_open(room, first)
    assert await is_open(room, second)
    assert ("reply", "two_questions") in await reasons(room, first)
    assert ("reply", "two_questions") in await reasons(room, second)
    assert "It went to two questions at once" in (await words_back(room, first))[0]


async def test_a_reply_to_both_of_one_question_s_tokens_counts_once(room: World) -> None:
    asked, mail = await ask_by_mail(room, notify_to="group:finance")
    bobs = await room.mailbox.expect(to=BOB, subject=asked["ref"])
    raw = signed_reply(room, mail)

    await take(room, b"Received: a\r\n" + raw, sender=ALICE, to=(mail.answers_to,))
    await take(room, b"Received: b\r\n" + raw, sender=ALICE, to=(bobs.answers_to,))

    assert (await room.told(asked))["data"]["responded_by"] == ALICE
    assert [told.startswith("Recorded") for told in await words_back(room, asked)] == [True]


async def test_a_reply_without_any_token_counts_by_the_mail_that_it_answers(room: World) -> None:
    """Some programs reply to From whatever Reply-To says."""
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail).replace(mail.answers_to.encode(), b"handraise@handraise.example")

    await take(room, raw, sender=ALICE)

    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_naming_the_mail_that_it_answers_takes_a_server_that_vouches_for_the_sender(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = mail_replies.reply(mail, "approve", sender=ALICE, at=room.clock.now(), authentication=None)

    await take(room, raw.replace(mail.answers_to.encode(), b"handraise@handraise.example"), sender=ALICE)

    assert await is_open(room, asked)
    assert await lines(room, asked) == []
