"""What people reply by mail, and what becomes of the question: real SMTP out, signed MIME into a running service.

Source: API.md §3, §4, §6; facts on mail §B3, §B4, §F.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.bot.mail_world import ALICE, BOB, ask_by_mail, is_open, signed_reply, words_back, written_back
from tests.vendors import mail as mail_replies
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


# --- Answers ------------------------------------------------------------------------------------------------------


async def test_a_reply_above_the_quote_answers_and_is_confirmed(room: World) -> None:
    asked, mail = await ask_by_mail(room)

    assert (await room.mailbox.reply(mail, "Approve\n\nReason: he is a good customer.\n\nAlice")).status_code == 202

    told = (await room.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["channel"]) == ("approve", ALICE, "email")
    assert told["reason"] == "he is a good customer."
    (told,) = await words_back(room, asked)
    assert told.splitlines()[0] == "Recorded: “Approve refund”. Your reason goes with it: “he is a good customer.”"
    assert told.endswith("The agent will be told. Thank you.")


async def test_the_confirmation_stands_in_the_thread_of_the_question(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    await room.mailbox.reply(mail, "1")

    (back,) = await written_back(room, asked)
    assert back.subject == f"Re: {mail.subject}"
    assert back.header("References") == mail.header("References") == f"<q.{asked['ref']}@handraise.example>"


@pytest.mark.parametrize(
    ("response_type", "words", "value"),
    [
        ("choice", "2", "deny"),
        ("confirm", "Yes, go ahead", "yes"),
        ("text", "Ship it to Oslo.\n\nNot before Monday.", "Ship it to Oslo.\n\nNot before Monday."),
        ("form", "carrier: DHL\nOrder id: 12", {"carrier": "DHL", "order_id": "12"}),
    ],
)
async def test_every_kind_of_question_is_answered_by_mail(
    room: World, response_type: str, words: str, value: Any
) -> None:
    context = {"carrier": "", "order_id": ""} if response_type == "form" else {}
    asked, mail = await ask_by_mail(room, response_type=response_type, context=context)

    await room.mailbox.reply(mail, words)

    assert (await room.told(asked))["data"]["value"] == value


async def test_an_html_only_reply_from_a_telephone_answers(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail, text="")

    await room.mailbox.post(raw.replace(b'<div dir=3D"ltr"></div>', b'<div dir=3D"ltr">Approve</div>', 1))

    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_claim_words_hold_reminders_back_and_answer_nothing(room: World) -> None:
    asked, mail = await ask_by_mail(room, retry_policy={"max_attempts": 3, "interval_seconds": 900})

    await room.mailbox.reply(mail, "I'm on it")

    assert (await room.show(asked))["claimed_by"] == ALICE
    assert await is_open(room, asked)
    (told,) = await words_back(room, asked)
    assert told.startswith("Recorded: you are on it. Reminders are held back until 2026-03-24 10:30 UTC.")


async def test_a_claim_on_what_another_has_claimed_says_who_has(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "second_operator", json={})

    await room.mailbox.reply(mail, "on it")

    assert (await room.show(asked))["claimed_by"] == BOB
    assert await words_back(room, asked) == [f"{BOB} is on it. You can still answer."]


# --- Doubts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "approve or deny?",
        "yes but not today",
        "Do not approve",
        "approve\ndeny",
        "what is this?",
        "7",
        "",
        "on it, approve",
    ],
)
async def test_a_doubt_is_asked_about_and_answers_nothing(room: World, words: str) -> None:
    asked, mail = await ask_by_mail(room)

    assert (await room.mailbox.reply(mail, words)).status_code == 202

    assert await is_open(room, asked)
    (told,) = await words_back(room, asked)
    assert told.startswith(("Your reply was not recorded", "Nothing has been recorded"))
    assert "  1) Approve refund\n  2) Deny refund\n" in told
    assert mail.links[0] in told


async def test_the_link_in_a_clarification_is_the_person_s_own_page(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    await room.mailbox.reply(mail, "hm")

    (back,) = await written_back(room, asked)
    assert back.links == mail.links


async def test_after_a_doubt_a_clear_reply_still_answers(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    await room.mailbox.reply(mail, "hm")

    await room.mailbox.reply(mail, "Deny")

    assert (await room.told(asked))["data"]["value"] == "deny"
    assert (await words_back(room, asked))[-1].startswith("Recorded: “Deny refund”.")


async def test_words_below_the_quote_are_not_taken_and_the_person_is_told(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    quoted = "".join(f"> {line}\r\n" for line in mail.text.splitlines())
    head = signed_reply(room, mail).partition(b"Content-Type: multipart")[0]

    await room.mailbox.post(
        head + b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + quoted.encode() + b"\r\nApprove\r\n"
    )

    assert await is_open(room, asked)
    assert (await words_back(room, asked))[0].startswith("Nothing has been recorded. It is written below")


async def test_a_form_that_does_not_fit_the_schema_is_not_taken(room: World) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    asked, mail = await ask_by_mail(room, response_type="form", form_schema=schema)

    await room.mailbox.reply(mail, "amount: a dozen")
    assert await is_open(room, asked)
    assert "“amount” must be a whole number, such as 12." in (await words_back(room, asked))[0]

    await room.mailbox.reply(mail, "amount: 12")
    assert (await room.told(asked))["data"]["value"] == {"amount": 12}


# --- Too late -----------------------------------------------------------------------------------------------------


async def test_whoever_comes_second_is_told_who_was_first(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    await room.answer(asked, "deny", "second_operator")

    assert (await room.mailbox.reply(mail, "approve")).status_code == 202

    assert (await room.told(asked))["data"]["value"] == "deny"
    (told,) = await words_back(room, asked)
    assert told.startswith(
        "Too late: your reply was not recorded.\n\nAnswered “Deny refund” by bob@example.com via api"
    )


async def test_the_same_mail_again_answers_once_and_is_confirmed_once(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)

    statuses = [(await room.mailbox.post(raw)).status_code for _ in range(3)]

    assert statuses == [202] * 3
    await room.told(asked)
    assert len(await words_back(room, asked)) == 1


async def test_the_same_mail_at_the_same_instant_answers_once_and_is_confirmed_once(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)

    responses = await asyncio.gather(*(room.mailbox.post(raw) for _ in range(6)))

    assert {response.status_code for response in responses} == {202}
    await room.told(asked)
    assert len(await words_back(room, asked)) == 1


async def test_a_mail_that_comes_again_after_a_crash_is_not_lost(room: World) -> None:
    """The database went away between the answer and the reply to the MX: the MX brings the same mail again."""
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)
    await room.answer(asked, "approve", "operator")  # the answer had been committed, and nothing after it

    assert (await room.mailbox.post(raw)).status_code == 202

    assert [told.splitlines()[0] for told in await words_back(room, asked)] == ["Recorded: “Approve refund”."]


# --- Who it is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "verdict"),
    [
        (ALICE, None),
        (ALICE, "handraise.example; dmarc=fail header.from=example.com"),
        (ALICE, "handraise.example; dmarc=pass header.from=evil.test"),
        (ALICE, "mx.evil.test; dmarc=pass header.from=example.com"),
        (BOB, mail_replies.passing("handraise.example", BOB)),
        ("mallory@evil.test", mail_replies.passing("handraise.example", "mallory@evil.test")),
        (f"{ALICE}, mallory@evil.test", mail_replies.passing("handraise.example", ALICE)),
        (f'"{ALICE}" <mallory@evil.test>', mail_replies.passing("handraise.example", "mallory@evil.test")),
    ],
)
async def test_nobody_but_the_recipient_answers_with_the_token_and_the_recipient_alone_hears_of_it(
    room: World, sender: str, verdict: str | None
) -> None:
    asked, mail = await ask_by_mail(room)

    response = await room.mailbox.forge_reply(mail, "approve", sender=sender, verdict=verdict)

    assert response.status_code == 202
    assert await is_open(room, asked)
    (told,) = await written_back(room, asked)
    assert told.recipient == ALICE
    assert "could not be verified, so nothing was recorded" in told.text
    assert told.links == mail.links


@pytest.mark.parametrize("reaction", ["auto_reply", "bounce"])
async def test_machines_never_answer_and_are_never_written_to(room: World, reaction: str) -> None:
    asked, mail = await ask_by_mail(room)
    reacted = await (
        room.mailbox.auto_reply(mail, "Approve") if reaction == "auto_reply" else room.mailbox.bounce(mail)
    )

    assert reacted.status_code == 202
    assert await is_open(room, asked)
    assert await words_back(room, asked) == []


@pytest.mark.parametrize(
    "field",
    [
        b"Auto-Submitted: auto-replied",
        b"List-Id: <ops.example.com>",
        b"Precedence: bulk",
        b"X-Autoreply: yes",
        b"Message-ID: <n.d1@handraise.example>",
    ],
)
async def test_an_authentic_reply_that_a_machine_sent_never_answers(room: World, field: bytes) -> None:
    asked, mail = await ask_by_mail(room)
    name = field.partition(b":")[0]
    lines = [line for line in signed_reply(room, mail).split(b"\r\n") if not line.startswith(name + b":")]

    assert (await room.mailbox.post(b"\r\n".join([field, *lines]))).status_code == 202

    assert await is_open(room, asked)
    assert await words_back(room, asked) == []


async def test_our_own_mail_coming_back_changes_nothing(room: World) -> None:
    asked, mail = await ask_by_mail(room)

    assert (await room.mailbox.post(mail.raw)).status_code == 202

    assert await is_open(room, asked)
    assert await words_back(room, asked) == []


async def test_a_token_that_we_never_made_is_accepted_and_changes_nothing(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    token = mail.answers_to.partition("+r.")[2].partition("@")[0].encode()

    assert (await room.mailbox.post(signed_reply(room, mail).replace(token, b"a" * 26))).status_code == 202

    assert await is_open(room, asked)
    assert await words_back(room, asked) == []


async def test_the_token_in_capitals_is_the_same_token(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)
    address = mail.answers_to.encode()

    await room.mailbox.post(raw.replace(address, address.upper()))

    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_one_reply_to_two_questions_answers_neither(room: World) -> None:
    first, mail = await ask_by_mail(room)
    second, other = await ask_by_mail(room, "Refund order 999?")
    raw = signed_reply(room, mail)
    both = f"{mail.answers_to}, {other.answers_to}".encode()

    for field in (b"Delivered-To: ", b"To: "):
        raw = raw.replace(field + mail.answers_to.encode(), field + both, 1)
    await room.mailbox.post(raw)

    assert await is_open(room, first)
    assert await is_open(room, second)


async def test_an_agent_s_own_mailbox_does_not_answer_its_question(room: World) -> None:
    asked, mail = await ask_by_mail(room, on_behalf_of=ALICE)

    await room.mailbox.reply(mail, "approve")

    assert await is_open(room, asked)


# --- The door -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "v1=0",
        "t=abc,v1=" + "0" * 64,
        "t=1774346400,v1=" + "0" * 64,
        "t=-1,v1=" + "0" * 64,
        "t=²,v1=" + "0" * 64,
        "t=9" * 20,
        "t=1774346400," * 500,
    ],
)
async def test_a_wrong_signature_is_shown_the_door(room: World, signature: str) -> None:
    response = await room.http.post(
        f"{room.url}/email/inbound", content=b"x", headers={"X-Handraise-Signature": signature.encode()}
    )

    assert response.status_code == 401
    assert response.json()["detail"]["error"] == "unauthorized"


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\0\r\n\r\n\0",
        b"From: " + b"<" * 10_000,
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + b"--x\r\n" * 10_000,
        b"Content-Type: text/html; charset=\xff\r\n\r\n" + b"<div>" * 100_000,
        b"Subject: a\r\nBcc: b\rX: c\n\r\n.\r\n",
    ],
)
async def test_a_signed_mail_is_accepted_whatever_is_in_it(room: World, hostile: bytes) -> None:
    assert (await room.mailbox.post(hostile)).status_code == 202


async def test_a_mail_above_the_limit_is_too_large_and_one_below_is_not(room: World) -> None:
    asked, mail = await ask_by_mail(room)
    raw = signed_reply(room, mail)

    too_large = await room.mailbox.post(raw + b"x" * (5 * 1024 * 1024))
    large = await room.mailbox.post(raw.replace(b"\r\n--", b"\r\n" + b"> quoted\r\n" * 300_000 + b"--", 1))

    assert too_large.status_code == 413
    assert large.status_code == 202
    assert (await room.told(asked))["data"]["value"] == "approve"
