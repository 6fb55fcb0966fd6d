"""A question that went out by mail, and what its reader may do with it."""

from __future__ import annotations

from typing import Any

from bot.sandbox import mail_replies
from bot.sandbox.mailbox import Mail
from tests.world import World

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
