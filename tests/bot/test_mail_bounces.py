"""A notice that its channel had accepted, and that comes back: the delivery is refused, and the ladder moves.

Source: API.md §3 ("when every recipient of an attempt is refused for good"); RFC 3464; facts on mail §B3, §F.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from channels.email.addressing import Mailboxes
from channels.email.channel import EmailChannel
from core.ports import Delivered
from core.store import outbox
from core.store.outbox import RowStatus
from tests.bot.mail_world import (
    ALICE,
    BOB,
    Asked,
    ask_by_mail,
    delivery_of,
    inbox_of,
    lines,
    notices,
    reasons,
    take,
    words_back,
)
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail
from tests.world import World, after, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAROL = "carol@example.com"
LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email", "notify_to": CAROL},
        {"attempt": 3, "channel_hint": "slack", "notify_to": BOB},
    ],
}


def bounce_of(world: World, mail: Mail) -> bytes:
    return mail_replies.bounce(mail, at=world.clock.now(), mail_server="mx.example.com")


def ours_in(world: World) -> Mailboxes:
    channel = world.service.channels["email"]
    assert isinstance(channel, EmailChannel)
    return channel.ours


def return_id_of(mail: Mail) -> str:
    return mail.sender.partition("+")[2].partition("@")[0]


def without_the_mail(world: World, mail: Mail, name: str, value: str) -> bytes:
    """A report that brings back nothing of the mail itself, with one more field about all of it."""
    report = bounce_of(world, mail).replace(mail.sender.encode(), b"handraise@handraise.example")
    head, _, copy = report.partition(b"Content-Type: message/rfc822")
    assert copy
    reporting = b"Reporting-MTA: "
    return head.replace(reporting, f"{name}: {value}\r\n".encode() + reporting) + b"Content-Type: message/rfc822\r\n"


async def ask_up_a_ladder(world: World, **fields: Any) -> tuple[Asked, Mail]:
    return await ask_by_mail(world, **({"retry_policy": LADDER, "timeout_seconds": 3600} | fields))


async def attempt_of(world: World, asked: Asked) -> int:
    return int((await world.show(asked))["attempt"])


async def test_a_bounce_moves_the_question_on_at_once(any_room: World) -> None:
    asked, mail = await ask_up_a_ladder(any_room)

    await any_room.mailbox.bounce(mail)

    reminder = await any_room.mailbox.expect(to=CAROL, subject=asked["ref"])
    assert reminder.recipient == CAROL
    assert (await any_room.show(asked))["next_attempt_at"] == after(asked, hours=2), "later times stay"
    assert (await notices(any_room, asked))[0] == (1, "refused", "returned: 5.1.1")


@pytest.mark.asyncio(loop_scope="function")
async def test_nothing_but_the_bounce_itself_is_needed_to_send_the_next_notice(world: World) -> None:
    """No look of the clock, no polling: what the mail's own commit hands to the senders is enough."""
    asked, mail = await ask_up_a_ladder(world)
    await world.service.work.stop()

    await world.mailbox.bounce(mail)

    await world.mailbox.expect(to=CAROL, subject=asked["ref"])


async def test_the_timeline_says_what_came_back_and_why(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    await quiet_room.mailbox.bounce(mail)

    (line,) = await lines(quiet_room, asked)
    assert (line["kind"], line["reason"], line["about"], line["why"]) == ("bounce", "refused", ALICE, "5.1.1")
    assert line["attempt"] == 1
    assert line["actor"] == "handraise"


async def test_the_same_bounce_again_moves_nothing_more(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail)

    for _ in range(3):
        await quiet_room.mailbox.post(raw)
    await quiet_room.mailbox.bounce(mail)  # the same fate in another report
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2
    assert await reasons(quiet_room, asked) == [("bounce", "refused"), ("bounce", "refused_before")]


async def test_one_who_was_reached_is_enough_to_wait_for(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room, notify_to="group:finance")
    others = await quiet_room.mailbox.expect(to=BOB, subject=asked["ref"])

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()
    assert await attempt_of(quiet_room, asked) == 1

    await quiet_room.mailbox.bounce(others)
    await quiet_room.settle()
    assert await attempt_of(quiet_room, asked) == 2


async def test_a_bounce_of_an_older_attempt_refuses_it_and_moves_nothing(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    await quiet_room.advance(hours=1)
    assert await attempt_of(quiet_room, asked) == 2

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2
    assert [status for _, status, _ in await notices(quiet_room, asked)] == ["refused", "delivered"]


async def test_a_bounce_after_the_end_is_noted_and_changes_nothing(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    await quiet_room.answer(asked, "deny")
    told = await quiet_room.told(asked)

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()

    assert (await quiet_room.show(asked))["status"] == "responded"
    assert await quiet_room.told(asked) == told
    assert await reasons(quiet_room, asked) == [("bounce", "refused")]


async def test_a_claim_holds_back_what_a_bounce_would_send_until_it_is_given_back(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    await quiet_room.call("POST", path, "second_operator", json={"seconds": 600})

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()
    assert await attempt_of(quiet_room, asked) == 1

    await quiet_room.call("DELETE", path, "second_operator")
    await quiet_room.settle()
    assert await attempt_of(quiet_room, asked) == 2


async def test_what_a_bounce_sends_waits_while_notices_are_paused(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    await quiet_room.call("POST", "/v1/pause", "admin", json={"reason": "test"})

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()
    assert quiet_room.mailbox.of(CAROL) == []

    await quiet_room.call("DELETE", "/v1/pause", "admin")
    await quiet_room.settle()
    assert [asked["ref"] in one.subject for one in quiet_room.mailbox.of(CAROL)] == [True]


async def test_where_one_of_two_has_answered_a_bounce_of_the_other_leaves_the_answer(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room, notify_to="group:finance", answers_required=2)
    others = await quiet_room.mailbox.expect(to=BOB, subject=asked["ref"])
    await quiet_room.mailbox.reply(mail, "approve")

    await quiet_room.mailbox.bounce(others)
    await quiet_room.settle()
    assert (await quiet_room.show(asked))["answers_received"] == 1

    await quiet_room.answer(asked, "approve", "second_operator")
    assert (await quiet_room.told(asked))["data"]["value"] == "approve"


async def test_after_the_last_attempt_the_operators_are_told(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, alerts={"notify": ["email:ops@example.com"]}) as world:
        asked, mail = await ask_by_mail(world)
        await world.mailbox.bounce(mail)

        alert = await world.mailbox.expect(to="ops@example.com")
        assert alert.subject == f"[{asked['ref']}] nobody could be reached"
        assert (await world.show(asked))["status"] == "open"


async def test_a_veto_window_whose_only_notice_came_back_authorises_nothing(quiet_room: World) -> None:
    asked = await quiet_room.ask(
        "Delete it?", kind="veto", channel_hint="email", notify_to=ALICE, responders=[ALICE], timeout_seconds=3600
    )
    mail = await quiet_room.mailbox.expect(to=ALICE, subject=asked["ref"])

    await quiet_room.mailbox.bounce(mail)
    await quiet_room.advance(hours=1)

    data = (await quiet_room.told(asked))["data"]
    assert (data["resolution"], data["error"], data["event"]) == ("expired", "notice_undelivered", None)


async def test_a_bounce_that_overtakes_the_end_of_its_own_send_counts(quiet_room: World) -> None:
    """The report is there before the sender has written down that the notice was taken."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    delivery = delivery_of(mail)
    row = await quiet_room.service.database.read(lambda conn: outbox.get(conn, delivery))
    assert row is not None
    sending = outbox.outbox.update().where(outbox.outbox.c.id == delivery).values(status="sending", receipt=None)
    await quiet_room.service.database.write(lambda tx: tx.conn.execute(sending))

    await quiet_room.mailbox.bounce(mail)
    late = replace(row, status=RowStatus.SENDING, receipt=None)
    await quiet_room.service.database.write(
        lambda tx: quiet_room.service.relay._delivered(
            tx, late, Delivered({"message_id": "<n.x@y>"}), quiet_room.clock.now()
        )
    )
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2
    assert [one for one in await notices(quiet_room, asked) if one[0] == 1] == [(1, "refused", "returned: 5.1.1")]


# --- What moves nothing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ((b"Action: failed", b"Action: delayed"), "delayed"),
        ((b"Status: 5.1.1", b"Status: 4.4.7"), "temporary"),
        ((b"Action: failed", b"Action: relayed"), "delivered"),
        ((b"Action: failed", b"Action: expanded"), "delivered"),
        ((b"Status: 5.1.1", b"Status: five"), "unclear"),
        ((b"Action: failed", b"Action: lost"), "unclear"),
        ((b"rfc822; alice@example.com", b"rfc822; somebody@else.example"), "other_recipient"),
    ],
)
async def test_what_is_no_refusal_of_the_notice_s_own_recipient_is_noted_only(
    quiet_room: World, changes: tuple[bytes, bytes], reason: str
) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail)
    assert changes[0] in raw

    await quiet_room.mailbox.post(raw.replace(*changes))
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", reason)]
    assert (await notices(quiet_room, asked)) == [(1, "delivered", None)]


async def test_the_original_recipient_counts_where_the_address_was_an_alias(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail)
    alias = b"Final-Recipient: rfc822; a.liddell@internal.example\r\nOriginal-Recipient: rfc822;Alice@Example.com"

    await quiet_room.mailbox.post(raw.replace(b"Final-Recipient: rfc822; alice@example.com", alias))
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2


@pytest.mark.parametrize("delivery", ["0" * 32, "1" * 32])
async def test_a_bounce_of_a_mail_that_we_never_sent_moves_nothing(quiet_room: World, delivery: str) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    stranger = ours_in(quiet_room).return_id(delivery)

    raw = bounce_of(quiet_room, mail).replace(return_id_of(mail).encode(), stranger.encode())
    response = await quiet_room.mailbox.post(raw.replace(delivery_of(mail).encode(), delivery.encode()))

    assert response.status_code == 202
    assert await attempt_of(quiet_room, asked) == 1
    assert await lines(quiet_room, asked) == []


async def test_the_public_name_of_a_question_is_not_enough_to_move_it(quiet_room: World) -> None:
    """``ref`` is in every subject, and the thread's root in every reply to anybody."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    forged = bounce_of(quiet_room, mail).replace(mail.sender.encode(), b"answers@handraise.example")
    forged = forged.replace(return_id_of(mail).encode(), asked["ref"].encode())

    await quiet_room.mailbox.post(forged.replace(f"n.{delivery_of(mail)}".encode(), f"q.{asked['ref']}".encode()))
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 1


async def test_a_reply_token_is_not_enough_to_move_a_question(quiet_room: World) -> None:
    """It stands in the notice's links, and whoever gets it passed on has it; the return id is in its head alone."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    forged = bounce_of(quiet_room, mail).replace(mail.sender.encode(), mail.answers_to.encode())
    forged = forged.replace(return_id_of(mail).encode(), b"none")

    await quiet_room.mailbox.post(forged.replace(delivery_of(mail).encode(), b"0" * 32))
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", "unproven")]


async def test_however_often_a_notice_comes_back_the_timeline_ends(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail)

    for number in range(30):
        await quiet_room.mailbox.post(raw + f"{number}\r\n".encode())
    await quiet_room.settle()

    said = ["refused", *["refused_before"] * 19, "too_many"]
    assert await reasons(quiet_room, asked) == [("bounce", reason) for reason in said]


async def test_a_bounce_that_names_the_mail_inside_alone_counts(quiet_room: World) -> None:
    """A relay that writes an envelope sender of its own gets the report, and a mailbox of ours that mail."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail).replace(mail.sender.encode(), b"handraise@handraise.example")

    await quiet_room.mailbox.post(raw)
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2


async def test_a_bounce_that_brings_nothing_of_the_mail_but_its_envelope_id_counts(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = without_the_mail(quiet_room, mail, "Original-Envelope-Id", return_id_of(mail))

    await quiet_room.mailbox.post(raw)
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 2


# --- What an agent can read of its own notices --------------------------------------------------------------------


async def test_an_agent_finds_nothing_on_its_timeline_that_makes_a_bounce_count(quiet_room: World) -> None:
    """Its notice, its delivery id, its Message-ID: every place of a report that could name them does."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    path = f"/v1/suspensions/{asked['suspension_id']}/timeline"
    [seen] = [one for one in (await quiet_room.call("GET", path, "agent")).json()["items"] if one["kind"] == "delivery"]
    message_id = seen["receipt"]["message_id"]
    envelope = f"bounces+{seen['id']}@handraise.example"
    forged = without_the_mail(quiet_room, mail, "Original-Envelope-Id", seen["id"])
    forged = forged.replace(b"handraise@handraise.example", envelope.encode())
    named = f"In-Reply-To: {message_id}\r\nReferences: {message_id}\r\nX-Handraise-Return: {seen['id']}\r\n".encode()
    inside = b"Content-Type: text/rfc822-headers\r\n\r\nMessage-ID: " + message_id.encode() + b"\r\n" + named

    for raw in (forged, named + forged, forged.replace(b"Content-Type: message/rfc822\r\n", inside)):
        await take(quiet_room, raw, sender="", to=(envelope,))

    assert await attempt_of(quiet_room, asked) == 1
    assert await notices(quiet_room, asked) == [(1, "delivered", None)]
    assert {reason for _, reason in await reasons(quiet_room, asked)} == {"unproven"}


async def test_the_api_shows_no_return_id_to_anybody(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    await quiet_room.mailbox.bounce(mail)
    await quiet_room.settle()
    one = f"/v1/suspensions/{asked['suspension_id']}"
    intent = f"/v1/intents/{asked['intent_id']}"

    for path in (one, f"{one}/timeline", "/v1/suspensions", "/v1/callbacks", intent, f"{intent}/events"):
        for who in ("agent", "admin"):
            said = await quiet_room.call("GET", path, who)
            assert said.status_code in {200, 403}, path
            assert return_id_of(mail) not in said.text, path


async def test_a_bounce_of_a_mail_that_an_older_version_sent_is_noted_only(quiet_room: World) -> None:
    """Its envelope sender was the bare delivery id: the agent could have made it."""
    asked, mail = await ask_up_a_ladder(quiet_room)
    older = f"bounces+{delivery_of(mail)}@handraise.example"
    raw = bounce_of(quiet_room, mail).replace(mail.sender.encode(), older.encode())
    raw = raw.replace(f"X-Handraise-Return: {return_id_of(mail)}\r\n".encode(), b"")
    assert await inbox_of(quiet_room).knows(older)

    await take(quiet_room, raw, sender="", to=(older,))

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", "unproven")]


async def test_a_bounce_of_a_short_message_is_noted_and_refuses_no_notice(quiet_room: World) -> None:
    asked, _ = await ask_up_a_ladder(quiet_room)
    path = f"/v1/suspensions/{asked['suspension_id']}"
    await quiet_room.call("POST", f"{path}/clarify", "operator", json={"question": "Why?"})
    await quiet_room.call("POST", f"{path}/clarification", "agent", json={"text": "Because."})
    await quiet_room.settle()
    told = next(mail for mail in reversed(quiet_room.mailbox.of(ALICE)) if "Because." in mail.text)

    await quiet_room.mailbox.bounce(told)
    await quiet_room.settle()

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", "not_a_notice")]


@pytest.mark.parametrize("kind", ["disposition-notification", "feedback-report"])
async def test_a_receipt_and_a_complaint_are_noted_and_refuse_nothing(quiet_room: World, kind: str) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    raw = bounce_of(quiet_room, mail).replace(b"report-type=delivery-status", f"report-type={kind}".encode())
    raw = raw.replace(b'report-type="delivery-status"', f'report-type="{kind}"'.encode())

    await quiet_room.mailbox.post(raw)
    await quiet_room.settle()

    noted = "receipt" if kind == "disposition-notification" else "complaint"
    assert await reasons(quiet_room, asked) == [(noted, noted)]
    assert await attempt_of(quiet_room, asked) == 1


# --- Mail servers that write no report ----------------------------------------------------------------------------

QMAIL = """From: MAILER-DAEMON@mx.example.com
To: {to}
Subject: failure notice

Hi. This is the qmail-send program at mx.example.com.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<{who}>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

Return-Path: <{to}>
"""
EXIM = """X-Failed-Recipients: {who}
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@mx.example.com>
To: {to}
Subject: Mail delivery failed: returning message to sender

This message was created automatically by mail delivery software.
A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.

  {who}
    unknown user

------ This is a copy of the message, including all the headers. ------
"""


@pytest.mark.parametrize("shape", [QMAIL, EXIM])
async def test_a_bounce_in_words_alone_counts_by_the_address_that_it_came_to(quiet_room: World, shape: str) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)

    await take(quiet_room, shape.format(to=mail.sender, who=ALICE).encode(), sender="", to=(mail.sender,))

    assert await attempt_of(quiet_room, asked) == 2


@pytest.mark.parametrize("shape", [QMAIL, EXIM])
async def test_a_bounce_in_words_about_somebody_else_is_noted_only(quiet_room: World, shape: str) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)

    await take(quiet_room, shape.format(to=mail.sender, who="b@else.example").encode(), sender="", to=(mail.sender,))

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", "other_recipient")]


async def test_a_warning_in_words_is_no_refusal(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)
    warning = EXIM.replace("Mail delivery failed: returning message to sender", "Warning: message delayed 24 hours")

    await take(quiet_room, warning.format(to=mail.sender, who=ALICE).encode(), sender="", to=(mail.sender,))

    assert await attempt_of(quiet_room, asked) == 1
    assert await reasons(quiet_room, asked) == [("bounce", "delayed")]


# --- Out of office ------------------------------------------------------------------------------------------------


async def test_an_out_of_office_note_is_noted_and_holds_nothing_up(quiet_room: World) -> None:
    asked, mail = await ask_up_a_ladder(quiet_room)

    await quiet_room.mailbox.auto_reply(mail)
    await quiet_room.settle()

    assert await reasons(quiet_room, asked) == [("auto", "away")]
    assert await attempt_of(quiet_room, asked) == 1
    assert await words_back(quiet_room, asked) == []


async def test_where_it_is_configured_an_out_of_office_note_is_a_refusal(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, email__out_of_office_advances=True) as world:
        asked, mail = await ask_up_a_ladder(world)

        await world.mailbox.auto_reply(mail)
        await world.settle()

        assert await attempt_of(world, asked) == 2
        assert (await notices(world, asked))[0] == (1, "refused", "returned: away")
        assert await reasons(world, asked) == [("auto", "refused")]


async def test_nobody_but_the_recipient_says_that_they_are_away(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, email__out_of_office_advances=True) as world:
        asked, mail = await ask_up_a_ladder(world)
        now = world.clock.now()
        forged = [
            mail_replies.auto_reply(mail, "Away.", sender=ALICE, at=now, authentication=None),
            mail_replies.auto_reply(
                mail, "Away.", sender=BOB, at=now, authentication=mail_replies.passing("handraise.example", BOB)
            ),
        ]
        for raw in forged:
            await world.mailbox.post(raw)
        await world.settle()

        assert await attempt_of(world, asked) == 1
        assert await reasons(world, asked) == [("auto", "away")] * 2


async def test_a_note_to_the_envelope_sender_is_an_out_of_office_note_too(tmp_path: Path, sqlite_url: str) -> None:
    """RFC 3834 §4: that is where it belongs."""
    async with running(tmp_path, sqlite_url, email__out_of_office_advances=True) as world:
        asked, mail = await ask_up_a_ladder(world)
        passing = mail_replies.passing("handraise.example", ALICE)
        raw = mail_replies.auto_reply(mail, "Away.", sender=ALICE, at=world.clock.now(), authentication=passing)

        await take(
            world, raw.replace(mail.answers_to.encode(), mail.sender.encode()), sender="", to=(mail.sender,),
            away_advances=True,
        )  # fmt: skip

        assert await attempt_of(world, asked) == 2
