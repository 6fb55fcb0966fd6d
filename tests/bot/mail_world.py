"""A question that went out by mail, and what its reader may do with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.inbound.mail.inbox import Arrival, MailInbox
from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.channel import EmailChannel
from channels.email.inbound import MailRules
from core.engine.signature_lines import SignatureLines
from core.inbound.correspondence import Correspondence
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail
from tests.world import World

OURS = Mailboxes.of("Handraise <handraise@handraise.example>", "answers@handraise.example", key=b"mail")
RULES = MailRules(OURS, SenderAuth.DMARC, "handraise.example")

ALICE, BOB = "alice@example.com", "bob@example.com"
Asked = dict[str, Any]


async def ask_by_mail(world: World, question: str = "Refund order 12345?", **fields: Any) -> tuple[Asked, Mail]:
    """A question that goes to Alice by mail; Alice and Bob may answer it."""
    fields = {"responders": [ALICE, BOB], "notify_to": ALICE, "timeout_seconds": 7200} | fields
    asked = await world.ask(question, channel_hint="email", **fields)
    return asked, await world.mailbox.expect(to=ALICE, subject=asked["ref"])


async def written_back(world: World, asked: Asked) -> list[Mail]:
    """The mails that replies about this question have caused, oldest first."""
    await world.settle()
    return [mail for mail in world.mailbox.mails if mail.sender == "" and asked["ref"] in mail.subject]


async def words_back(world: World, asked: Asked) -> list[str]:
    """What they say, without the marker line."""
    return [mail.text.partition("\n\n")[2].strip() for mail in await written_back(world, asked)]


async def is_open(world: World, asked: Asked) -> bool:
    return (await world.intent(asked))["status"] == "suspended_awaiting_input"


def signed_reply(world: World, mail: Mail, text: str = "approve", sender: str = ALICE) -> bytes:
    verdict = mail_replies.passing("handraise.example", sender)
    return mail_replies.reply(mail, text, sender=sender, at=world.clock.now(), authentication=verdict)


def signatures_of(world: World) -> SignatureLines:
    """With a key of the tests' own."""
    return SignatureLines(world.service.engine.database, world.service.transitions, b"signatures")


def inbox_of(world: World, **rules: Any) -> MailInbox:
    """An inbox of the test's own on the world's database, for what no webhook says: the envelope, other rules."""
    channel = world.service.channels["email"]
    assert isinstance(channel, EmailChannel)
    own = replace(RULES, **{"ours": channel.ours} | rules)
    observer = world.service.transitions.observer
    return MailInbox(world.service.engine, correspondence_of(world), world.clock, own, signatures_of(world), observer)


def correspondence_of(world: World) -> Correspondence:
    """What writes down what comes in, on the world's database as the engine has it now."""
    return Correspondence(world.service.engine.database, world.service.transitions, world.clock)


def delivery_of(mail: Mail) -> str:
    """The id by which the timeline names the delivery: public, and in the Message-ID."""
    return mail.message_id.removeprefix("<n.").partition("@")[0]


async def take(
    world: World, raw: bytes, *, sender: str | None = None, to: tuple[str, ...] = (), door: str = "lmtp", **rules: Any
) -> None:
    """Bring a mail with its envelope, and let what follows happen."""
    await inbox_of(world, **rules).take(Arrival(raw, door, sender, to))
    await world.settle()


async def lines(world: World, asked: Asked) -> list[dict[str, Any]]:
    """What the question's timeline says of mail that answered nothing, oldest first."""
    found = [
        entry["payload"] | {"actor": entry["actor"]}
        for entry in await world.timeline(asked)
        if entry["kind"] == "event" and entry["type"] == "intent.suspension_message_received"
    ]
    assert all(entry["channel"] == "email" for entry in found)
    return found


async def reasons(world: World, asked: Asked) -> list[tuple[str, str]]:
    return [(line["kind"], line["reason"]) for line in await lines(world, asked)]


async def notices(world: World, asked: Asked) -> list[tuple[int, str, str | None]]:
    """Each notice by its attempt: what became of it, and why."""
    found = [entry for entry in await world.timeline(asked) if entry["kind"] == "delivery"]
    return sorted((one["attempt"], one["status"], one["reason"]) for one in found)
