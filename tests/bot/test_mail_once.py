"""However often a mail comes, and wherever the service died with it in hand: one answer, and its writer is told.

Source: facts on mail §B2 (claims by digest and Message-ID); DESIGN.md, "What must be true, always", 1 and 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from core.database.database import Database
from tests.bot.mail_world import ALICE, ask_by_mail, is_open, lines, reasons, signed_reply, take, words_back
from tests.world import World


class Died(BaseException):
    """The process is gone."""


class Dying:
    """A database that is used so many times, and then the process dies: before or after what it was asked to do.

    It counts what is asked in the course of the mail. The service looks at what is due by itself, whenever it likes.
    """

    def __init__(self, database: Database, uses: int, *, after: bool) -> None:
        self._database = database
        self._left = uses
        self._after = after
        self._dies = asyncio.current_task()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, job: Any) -> Any:
        return await self._use(lambda: self._database.write(job))

    async def read(self, job: Any) -> Any:
        return await self._use(lambda: self._database.read(job))

    async def _use(self, use: Callable[[], Awaitable[Any]]) -> Any:
        if asyncio.current_task() is not self._dies:
            return await use()
        self._left -= 1
        if self._left < 0 and not self._after:
            raise Died
        result = await use()
        if self._left < 0:
            raise Died
        return result


async def take_dying(world: World, raw: bytes, to: str, uses: int, *, after: bool) -> bool:
    """Whether the process died before the mail was taken."""
    engine = world.service.engine
    real, queries = engine.database, engine.queries
    dying: Any = Dying(real, uses, after=after)
    engine.database, engine.queries = dying, replace(queries, database=dying)
    try:
        await take(world, raw, sender=ALICE, to=(to,))
    except Died:
        return True
    finally:
        engine.database, engine.queries = real, queries
    return False


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("words", ["approve", "hm", "on it"])
async def test_wherever_the_process_dies_the_mail_comes_again_and_counts_once(
    world: World, words: str, after: bool
) -> None:
    uses = 0
    while True:
        asked, mail = await ask_by_mail(world, f"Refund order {uses}?")
        raw = signed_reply(world, mail, words)
        died = await take_dying(world, raw, mail.answers_to, uses, after=after)
        await take(world, raw, sender=ALICE, to=(mail.answers_to,))

        told = await words_back(world, asked)
        assert len(told) == 1, f"died at use {uses} of the database"
        if words == "approve":
            assert (await world.told(asked))["data"]["value"] == "approve"
        elif words == "on it":
            assert (await world.show(asked))["claimed_by"] == ALICE
        else:
            assert await reasons(world, asked) == [("reply", "no_match")]
        if not died:
            break
        uses += 1
    assert uses >= 3, "the database is used several times for a mail"


async def test_the_same_message_by_two_doors_counts_once(any_world: World) -> None:
    """Other trace fields make other bytes: the Message-ID is the same."""
    asked, mail = await ask_by_mail(any_world)
    raw = signed_reply(any_world, mail, "hm")

    await asyncio.gather(
        take(any_world, b"Received: by lmtp\r\n" + raw, sender=ALICE, to=(mail.answers_to,)),
        take(any_world, b"Received: by imap\r\n" + raw, door="imap"),
        any_world.mailbox.post(raw),
    )

    assert len(await words_back(any_world, asked)) == 1
    assert await reasons(any_world, asked) == [("reply", "no_match")]


async def test_the_first_of_two_mails_with_one_message_id_wins(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail, "hm")

    await take(world, raw, sender=ALICE, to=(mail.answers_to,))
    await take(world, raw.replace(b"hm", b"approve"), sender=ALICE, to=(mail.answers_to,))

    assert await is_open(world, asked)


async def test_nobody_takes_a_reply_away_by_sending_one_of_its_name_first(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    forged = raw.replace(b"dmarc=pass", b"dmarc=fail")

    await take(world, forged, sender=ALICE, to=(mail.answers_to,))
    await take(world, raw, sender=ALICE, to=(mail.answers_to,))

    assert (await world.told(asked))["data"]["value"] == "approve"


# --- Not too often ------------------------------------------------------------------------------------------------


async def test_so_many_mails_of_one_person_within_an_hour_are_acted_upon(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for number in range(25):
        await take(world, signed_reply(world, mail, f"h{'m' * (number + 1)}"), sender=ALICE, to=(mail.answers_to,))

    await take(world, signed_reply(world, mail), sender=ALICE, to=(mail.answers_to,))
    assert await is_open(world, asked)
    assert [line["reason"] for line in await lines(world, asked)] == ["no_match"] * 20 + ["too_many"]
    assert len(await words_back(world, asked)) == 7

    await world.advance(minutes=61)
    await take(world, signed_reply(world, mail), sender=ALICE, to=(mail.answers_to,))
    assert (await world.told(asked))["data"]["value"] == "approve"


async def test_whoever_forges_her_mails_does_not_use_up_what_she_may_send(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for number in range(30):
        await world.mailbox.forge_reply(mail, f"approve {number}", sender=ALICE)

    assert len(await words_back(world, asked)) == 1, "one mail an hour about mails that could not be verified"
    assert len(await lines(world, asked)) == 21
    await world.mailbox.reply(mail, "approve")
    assert (await world.told(asked))["data"]["value"] == "approve"


async def test_machines_fill_no_timeline(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for _ in range(30):
        await world.mailbox.auto_reply(mail)

    assert [line["reason"] for line in await lines(world, asked)] == ["away"] * 20 + ["too_many"]


async def test_a_person_may_be_unclear_claim_and_answer_within_the_hour_and_hears_of_each(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for words in ("hm", "on it", "what?", "approve"):
        await world.mailbox.reply(mail, words)

    told = await words_back(world, asked)
    assert [one.split()[0].rstrip(":") for one in told] == ["Nothing", "Recorded", "Nothing", "Recorded"]


async def test_an_hour_is_counted_from_the_mail_and_not_by_the_clock(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.advance(minutes=59)
    for words in range(6):
        await world.mailbox.reply(mail, f"hm {words}")
    await world.advance(minutes=2)
    for words in range(2):
        await world.mailbox.reply(mail, f"hmm {words}")
    assert len(await words_back(world, asked)) == 7

    await world.advance(minutes=59)
    await world.mailbox.reply(mail, "hmmm")
    assert len(await words_back(world, asked)) == 8
