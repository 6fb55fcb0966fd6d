"""A genuine mail of hers that somebody else brings to her reply address, with fields of his own on top: a signature
covers what she wrote, not what was added (RFC 6376 §5.4.2). It never answers.

Source: facts on mail §B1; docs/decisions/0025.
"""

from __future__ import annotations

import pytest

from tests.bot.mail_world import ALICE, Asked, ask_by_mail, is_open, reasons, take, words_back
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS = mail_replies.passing("handraise.example", ALICE)


def hers(to: str, *on_top: str) -> bytes:
    """What she wrote to somebody, as our MX leaves it: her server's signature still holds."""
    head = [
        f"Authentication-Results: {PASS}",
        *on_top,
        f"From: {ALICE}",
        f"To: {to}",
        "Subject: Re: Lunch on Friday?",
        "Message-ID: <lunch@mail.example.com>",
        "In-Reply-To: <invitation@evil.test>",
        "Content-Type: text/plain",
        "",
        "Approve",
        "",
    ]
    return "\r\n".join(head).encode()


def forged_fields(asked: Asked, mail: Mail) -> dict[str, tuple[str, ...]]:
    return {
        "none": (),
        "references": (f"References: <q.{asked['ref']}@handraise.example>",),
        "in-reply-to": (f"In-Reply-To: {mail.message_id}",),
        "both": (f"In-Reply-To: {mail.message_id}", f"References: <q.{asked['ref']}@handraise.example>"),
        "cc": (f"Cc: {mail.answers_to}",),
        "a second to": (f"To: {mail.answers_to}",),
        "delivered-to": (f"Delivered-To: {mail.answers_to}", f"X-Original-To: {mail.answers_to}"),
    }


@pytest.mark.parametrize("field", ["none", "references", "in-reply-to", "both", "cc", "a second to", "delivered-to"])
async def test_a_mail_to_somebody_else_is_no_answer_whatever_stands_on_top_of_it(room: World, field: str) -> None:
    asked, mail = await ask_by_mail(room)
    raw = hers("Mallory <mallory@evil.test>", *forged_fields(asked, mail)[field])

    await take(room, raw, sender="mallory@evil.test", to=(mail.answers_to,))

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("reply", "not_addressed")]
    (told,) = await words_back(room, asked)
    assert told.startswith("A reply in your name came in that could not be verified")


@pytest.mark.parametrize("field", ["references", "in-reply-to", "both"])
async def test_nor_where_nothing_but_the_notice_s_own_id_is_known(room: World, field: str) -> None:
    """Into a mailbox, without an envelope and without a token."""
    asked, mail = await ask_by_mail(room)

    await take(room, hers("mallory@evil.test", *forged_fields(asked, mail)[field]), door="imap")

    assert await is_open(room, asked)


async def test_a_reply_to_one_question_is_none_to_another(room: World) -> None:
    """Somebody who was in copy of it brings it to the other one's address."""
    first, mail = await ask_by_mail(room)
    second, other = await ask_by_mail(room, "Refund order 999?")
    await room.answer(first, "deny", "second_operator")
    raw = hers(mail.answers_to, f"References: <q.{second['ref']}@handraise.example>")

    await take(room, raw, sender="mallory@evil.test", to=(other.answers_to,))

    assert await is_open(room, second)


async def test_a_reply_to_our_plain_address_takes_what_it_answers_from_fields_that_are_there_once(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    second = f"In-Reply-To: {mail.message_id}"

    await take(room, hers("handraise@handraise.example", second), sender=ALICE)
    assert await is_open(room, asked)

    once = hers("handraise@handraise.example").replace(b"<invitation@evil.test>", mail.message_id.encode())
    await take(room, once, sender=ALICE)
    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_a_reply_whose_own_address_alone_names_the_question_counts(room: World) -> None:
    """Telephones may leave References out."""
    asked, mail = await ask_by_mail(room)
    raw = hers(f"Handraise <{mail.answers_to}>").replace(b"In-Reply-To: <invitation@evil.test>\r\n", b"")

    await take(room, raw, sender=ALICE, to=(mail.answers_to,))

    assert (await room.told(asked))["data"]["value"] == "approve"
