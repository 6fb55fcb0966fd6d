"""Questions and answers by mail through real servers: postfix, dovecot, and the service's own doors.

What an MX's filter (rspamd, opendmarc) writes about a mail is written here by whoever sends it: postfix alone writes no
Authentication-Results.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosmtplib
import pytest

from tests.mail_servers import MailServers
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail
from tests.world import World, running

pytestmark = pytest.mark.mailservers

T = TypeVar("T")
ALICE = "alice@example.com"


async def until(look: Callable[[], T]) -> T:
    """What ``look`` finds, as soon as it finds something."""
    async with asyncio.timeout(30):
        while not (found := await asyncio.to_thread(look)):
            await asyncio.sleep(0.05)
    return found


def arrived(mx: MailServers, mailbox: str) -> list[Mail]:
    with mx.opened(mailbox) as box:
        _, said = box.client.uid("SEARCH", "ALL")
        uids = said[0].split()
        raws = [box.client.uid("FETCH", uid, "(BODY.PEEK[])")[1][0][1] for uid in uids]
    return [Mail(number, None, "", ALICE, raw) for number, raw in enumerate(raws)]  # type: ignore[arg-type]


async def send(mx: MailServers, sender: str, recipient: str, raw: bytes) -> None:
    client = aiosmtplib.SMTP(hostname="127.0.0.1", port=mx.smtp, start_tls=False)
    async with client:
        await client.sendmail(sender, [recipient], raw)


async def reply(mx: MailServers, world: World, mail: Mail, text: str) -> None:
    verdict = mail_replies.passing("handraise.example", ALICE)
    raw = mail_replies.reply(mail, text, sender=ALICE, at=world.clock.now(), authentication=verdict)
    await send(mx, ALICE, mail.answers_to, raw)


@asynccontextmanager
async def service(mx: MailServers, folder: Path, database_url: str, **mail: Any) -> AsyncIterator[World]:
    section = {
        "smtp_url": f"smtp://127.0.0.1:{mx.smtp}",
        "from": "Handraise <handraise@handraise.example>",
        "default_to": [ALICE],
        **mail,
    }
    async with running(folder, database_url, email=section) as world:
        yield world


LADDER = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}]}


@pytest.mark.parametrize("door", ["lmtp", "imap"])
async def test_a_reminder_goes_out_its_reply_comes_back_and_the_agent_goes_on(
    mx: MailServers, tmp_path: Path, database_url: str, door: str
) -> None:
    async with service(mx, tmp_path, database_url, **_door(mx, door)) as world:
        asked = await world.ask(retry_policy=LADDER, responders=[ALICE], notify_to=ALICE)
        await world.advance(hours=1)
        (question,) = await until(lambda: arrived(mx, "alice"))
        assert asked["ref"] in question.subject

        await reply(mx, world, question, "Approve\n\nReason: he is a good customer.")

        (told,) = await until(lambda: world.agent.told_of(asked))
        data = told.json["data"]
        assert (data["value"], data["responded_by"], data["channel"]) == ("approve", ALICE, "email")
        await world.settle()
        _, confirmation = await until(lambda: found if len(found := arrived(mx, "alice")) == 2 else None)
        assert "Recorded: “Approve refund”" in confirmation.text


async def test_a_reply_to_nobody_is_refused_at_the_edge_by_the_mail_server_that_asks_us(
    mx: MailServers, tmp_path: Path, sqlite_url: str
) -> None:
    async with service(mx, tmp_path, sqlite_url, listen=f"lmtp://127.0.0.1:{mx.listener}"):
        with pytest.raises(aiosmtplib.SMTPRecipientsRefused) as refused:
            await send(
                mx, ALICE, "handraise+r.aaaaaaaaaaaaaaaaaaaaaaaaaa@handraise.example", b"Subject: x\r\n\r\nyes\r\n"
            )
        (why,) = refused.value.recipients
        assert (why.code, "No such address here" in why.message) == (550, True)


async def test_a_real_delivery_report_moves_the_ladder(mx: MailServers, tmp_path: Path, database_url: str) -> None:
    """Postfix takes the mail for ghost@, dovecot refuses it, and RFC 3464's report comes to bounces+…@ by LMTP."""
    door = {"listen": f"lmtp://127.0.0.1:{mx.listener}", "reply_to": "answers@handraise.example"}
    ladder = {
        "max_attempts": 2,
        "interval_seconds": 3600,
        "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": ALICE}],
    }
    async with service(mx, tmp_path, database_url, **door) as world:
        asked = await world.ask(
            channel_hint="email", notify_to="ghost@example.com", responders=[ALICE], retry_policy=ladder
        )
        await until(lambda: "status=sent (250 2.0.0 Taken)" in mx.log())
        line = next(one for one in mx.log().splitlines() if "250 2.0.0 Taken" in one)
        assert "to=<bounces+" in line
        await world.settle()  # no hour goes by

        (question,) = await until(lambda: arrived(mx, "alice"))

        assert asked["ref"] in question.subject
        assert (await world.event_types(asked)).count("intent.suspension_renotified") == 1


async def test_with_one_mailbox_and_nothing_else_a_delivery_report_comes_to_it_and_moves_the_ladder(
    mx: MailServers, tmp_path: Path, database_url: str
) -> None:
    """Whoever has a mailbox at a provider has no bounces@ there."""
    door = {"imap_url": mx.imap_url("answers"), "imap_poll_seconds": 1500, "from": "Handraise <answers@imap.example>"}
    ladder = {
        "max_attempts": 2,
        "interval_seconds": 3600,
        "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": ALICE}],
    }
    async with service(mx, tmp_path, database_url, **door) as world:
        asked = await world.ask(
            channel_hint="email", notify_to="ghost@example.com", responders=[ALICE], retry_policy=ladder
        )

        (question,) = await until(lambda: arrived(mx, "alice"))

        assert asked["ref"] in question.subject
        assert (await world.event_types(asked)).count("intent.suspension_renotified") == 1
        assert arrived(mx, "bounces") == []


async def test_while_the_service_is_away_the_mail_waits_in_the_queue(
    mx: MailServers, tmp_path: Path, sqlite_url: str
) -> None:
    door = {"listen": f"lmtp://127.0.0.1:{mx.listener}", "reply_to": "answers@handraise.example"}
    async with service(mx, tmp_path, sqlite_url, **door) as world:
        asked = await world.ask(channel_hint="email", notify_to=ALICE, responders=[ALICE])
        (question,) = await until(lambda: arrived(mx, "alice"))
        await reply(mx, world, question, "hm")  # from here on postfix knows that there is such an address
        await until(lambda: "250 2.0.0 Taken" in mx.log())
        listener = world.service.doors["mail_listener"].listener
        assert listener is not None
        await listener.stop_taking()
        await reply(mx, world, question, "approve")
        await until(lambda: "status=deferred" in mx.log())

        await listener.start()

        (told,) = await until(lambda: world.agent.told_of(asked))
        assert told.json["data"]["value"] == "approve"


@pytest.mark.parametrize("door", ["lmtp", "imap"])
async def test_what_decides_nothing_is_proposed_back_and_the_number_resumes_the_agent(
    mx: MailServers, tmp_path: Path, database_url: str, door: str
) -> None:
    async with service(mx, tmp_path, database_url, **_door(mx, door)) as world:
        asked = await world.ask(channel_hint="email", responders=[ALICE], notify_to=ALICE)
        (question,) = await until(lambda: arrived(mx, "alice"))

        await reply(mx, world, question, "2\n\nif he is really too late")

        _, echo = await until(lambda: found if len(found := arrived(mx, "alice")) == 2 else None)
        assert "You wrote “2”, and more around it. Reply “yes” or “2” to take it" in echo.text
        assert echo.header("X-Handraise-Proposal") == "deny"
        assert not world.agent.told_of(asked)

        await reply(mx, world, echo, "2")

        (told,) = await until(lambda: world.agent.told_of(asked))
        assert (told.json["data"]["value"], told.json["data"]["channel"]) == ("deny", "email")


async def test_after_an_echo_that_nobody_answers_the_ladder_goes_on_as_if_nothing_had_come(
    mx: MailServers, tmp_path: Path, database_url: str
) -> None:
    async with service(mx, tmp_path, database_url, **_door(mx, "lmtp")) as world:
        twice = {"max_attempts": 2, "interval_seconds": 3600}
        asked = await world.ask(channel_hint="email", responders=[ALICE], notify_to=ALICE, retry_policy=twice)
        (question,) = await until(lambda: arrived(mx, "alice"))
        await reply(mx, world, question, "Yes, bananas.")
        await until(lambda: len(arrived(mx, "alice")) == 2)
        assert (await world.show(asked))["claimed_by"] is None

        await world.advance(hours=1)
        await until(lambda: len(arrived(mx, "alice")) == 3)
        await world.advance(hours=1)

        types = await world.event_types(asked)
        assert types.count("intent.suspension_renotified") == 1
        assert "intent.suspension_expired" in types


def _door(mx: MailServers, door: str) -> dict[str, Any]:
    if door == "lmtp":
        return {"listen": f"lmtp://127.0.0.1:{mx.listener}", "reply_to": "answers@handraise.example"}
    return {"imap_url": mx.imap_url("answers"), "imap_poll_seconds": 1500, "reply_to": "answers@imap.example"}
