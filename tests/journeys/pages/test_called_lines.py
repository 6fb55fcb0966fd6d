"""Lines around a reply that its writer calls their signature on the echo's page: nobody's words in their later mails,
and in nobody else's. Source: API.md §6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bot.mail_world import ALICE, BOB, Asked, ask_by_mail, is_open, written_back
from tests.bot.web.pages_world import Page
from tests.journeys.questions.test_roads import page_of
from tests.vendors.mail import Mail
from tests.world import World, running

SIGNED = "\n\nAlly from Finance\nNever stop innovating.\nIf you are not the intended recipient, delete this mail."
YES = "They are my signature"


async def echo_of(world: World, asked: Asked) -> Mail:
    *_, latest = await written_back(world, asked)
    return latest


async def opened(world: World, mail: Mail) -> Page:
    return Page(await world.http.get(await page_of(world, mail), follow_redirects=True))


async def press(world: World, echo: Mail, button: str = "signature") -> None:
    page = await opened(world, echo)
    form = next(form for form in page.forms if YES in form.buttons)
    origin = world.service.settings.public_url
    done = await world.http.post(
        world.url + form.action, data=dict(form.fields) | {"do": button}, headers={"Origin": origin}
    )
    assert done.status_code in {200, 303}, done.text


async def taught(world: World, words: str = "1" + SIGNED) -> None:
    """Alice has called what stands around ``words`` her signature, and answered."""
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, words)
    assert await is_open(world, asked)
    await press(world, await echo_of(world, asked), "signature_and_answer")
    assert (await world.told(asked))["data"]["value"] == "approve"


async def value_of(world: World, asked: Asked) -> Any:
    return (await world.told(asked))["data"]["value"]


async def test_one_press_ends_the_loop_for_good(any_world: World) -> None:
    asked, mail = await ask_by_mail(any_world)
    await any_world.mailbox.reply(mail, "Approve" + SIGNED)
    echo = await echo_of(any_world, asked)
    assert "You wrote “Approve”, and more around it." in echo.text
    assert "the page lets you say so, once for all" in echo.text
    page = await opened(any_world, echo)
    assert "Never stop innovating." in page.text
    await press(any_world, echo)
    assert await is_open(any_world, asked)

    await any_world.mailbox.reply(mail, "Deny" + SIGNED)
    assert await value_of(any_world, asked) == "deny"

    later, mail = await ask_by_mail(any_world)
    await any_world.mailbox.reply(mail, "yes, please" + SIGNED)
    assert await value_of(any_world, later) == "approve"


async def test_the_press_answers_too(world: World) -> None:
    await taught(world)


async def test_another_line_beside_them_is_a_condition(world: World) -> None:
    await taught(world)
    asked, mail = await ask_by_mail(world)

    await world.mailbox.reply(mail, "1" + SIGNED + "\nonly if Bob agrees")

    assert await is_open(world, asked)


async def test_one_persons_lines_are_never_anothers(world: World) -> None:
    await taught(world)
    asked = await world.ask("Refund it?", channel_hint="email", responders=[ALICE, BOB], notify_to=BOB)
    mail = await world.mailbox.expect(to=BOB, subject=asked["ref"])

    await world.mailbox.reply(mail, "1" + SIGNED, sender=BOB)

    assert await is_open(world, asked)


async def test_the_first_own_line_is_never_a_signature(world: World) -> None:
    await taught(world)
    asked, mail = await ask_by_mail(world)

    for words in ("Never stop innovating.\n1", "Ally from Finance\n1", "Never stop innovating."):
        await world.mailbox.reply(mail, words)
        assert await is_open(world, asked), words


async def test_a_line_that_is_an_option_is_never_offered_and_never_a_signature(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, "1\n\nAlly from Finance\nDeny")
    echo = await echo_of(world, asked)

    assert YES not in (await opened(world, echo)).text
    assert echo.header("X-Handraise-Proposal") == ""


async def test_nothing_is_learned_without_the_press(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for _ in range(3):
        await world.mailbox.reply(mail, "1\n\nonly if Bob agrees")

    assert await is_open(world, asked)


async def test_a_gateways_line_above_is_called_so_as_well(world: World) -> None:
    banner = "ATTENTION COLLEAGUES: do not trust what you read below this line!\n\n"
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, banner + "1")
    echo = await echo_of(world, asked)
    assert echo.header("X-Handraise-Proposal") == ""
    await press(world, echo)

    await world.mailbox.reply(mail, banner + "2")

    assert await value_of(world, asked) == "deny"


async def test_a_condition_below_that_was_called_above_is_a_condition(world: World) -> None:
    banner = "Do not trust what you read below this line!"
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, f"{banner}\n\n1")
    await press(world, await echo_of(world, asked))

    await world.mailbox.reply(mail, f"1\n\n{banner}")

    assert await is_open(world, asked)


TEAM = "team@example.com"


async def test_nothing_is_offered_to_a_mailbox_that_several_people_read(tmp_path: Path, sqlite_url: str) -> None:
    """What one of them calls a signature would be another's condition."""
    async with running(tmp_path, sqlite_url) as world:
        asked = await world.ask(
            "Refund order 12345?", channel_hint="email", responders=["group:finance"], notify_to=TEAM
        )
        mail = await world.mailbox.expect(to=TEAM, subject=asked["ref"])
        await world.mailbox.reply(mail, "1" + SIGNED, sender=TEAM)
        assert await is_open(world, asked)
        assert not any("once for all" in one.text for one in world.mailbox.mails)
