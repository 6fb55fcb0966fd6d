"""A notice may wait for its turn. It is of the question as that is when its turn comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.vendors.smtp import Stage
from tests.world import World, running


@pytest.fixture
async def narrow(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """One mail leaves at a time, and the mail server holds up the first."""
    async with running(tmp_path, sqlite_url, email__max_connections=1) as world:
        world.mailbox.delay_next(Stage.MAIL, timedelta(hours=1))
        yield world


async def asked(world: World, question: str, **fields: Any) -> dict[str, Any]:
    """Ask, and wait for no mail."""
    body = {"question": question, "response_type": "confirm", "channel_hint": "email", **fields}
    response = await world.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 201
    found: dict[str, Any] = response.json()
    return found


async def let_go(world: World) -> None:
    """The mail server closes its connections, and takes what comes next."""
    world.mailbox.hang_up()
    await world.advance(minutes=1)


async def test_a_notice_whose_question_ends_before_its_turn_is_not_sent(narrow: World) -> None:
    await asked(narrow, "Refund order 1?")
    waiting = await asked(narrow, "Refund order 2?")
    assert (await narrow.answer(waiting, "yes")).status_code == 200
    await let_go(narrow)
    assert [mail.subject.partition("] ")[2] for mail in narrow.mailbox.mails] == ["Refund order 1?"]
    [notice] = [item for item in await narrow.timeline(waiting) if item["kind"] == "delivery"]
    assert (notice["status"], notice["reason"]) == ("dropped", "question_ended")


async def test_a_notice_tells_what_was_said_while_it_waited(narrow: World) -> None:
    await asked(narrow, "Refund order 1?")
    waiting = await asked(narrow, "Refund order 2?", answers_required=2)
    assert (await narrow.answer(waiting, "yes")).status_code == 202
    await let_go(narrow)
    [mail] = [one for one in narrow.mailbox.mails if waiting["suspension"]["ref"] in one.subject]
    needed = "2 people have to give the same answer; “No” needs 1. So far: alice@example.com."
    assert needed in " ".join(mail.text.split())
