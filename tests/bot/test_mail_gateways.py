"""A reply that passed through a company's gateway, and one that is signed as people in companies sign (API.md §6)."""

from __future__ import annotations

from pathlib import Path

from tests.bot.mail_world import ask_by_mail
from tests.world import World, running

SIGNED = """Approve refund

Best regards,
Alice
Senior Vice President, Global Operations
Example Inc.
2 Example Street, London EC3A 8BF
T: +44 20 7946 0018
Moving the world forward."""
BANNER = """CAUTION: This email originated from outside of the organization. Do not click links or open attachments
unless you recognize the sender and know the content is safe.

"""


async def test_an_ordinary_signature_and_a_banner_are_nobody_s_words(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, BANNER + SIGNED)
    assert (await world.told(asked))["data"]["value"] == "approve"


async def test_a_condition_in_the_signature_decides_nothing(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, f"{SIGNED}\nOnly if the goods are back")
    await world.settle()
    assert (await world.show(asked))["status"] == "open"


async def test_the_lines_of_ones_own_gateway_are_set_up(tmp_path: Path, sqlite_url: str) -> None:
    async with running(
        tmp_path, sqlite_url, email__gateway_lines="Scanned by Gate [0-9]{1,3}, never trust it"
    ) as world:
        asked, mail = await ask_by_mail(world)
        await world.mailbox.reply(mail, "Scanned by Gate 7, never trust it\n\nApprove refund")
        assert (await world.told(asked))["data"]["value"] == "approve"
