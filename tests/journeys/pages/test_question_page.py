"""A question's page tells who is asked and when, why nobody was, and keeps what came too late; its end is a record."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from core.engine.notice_progress import progress_of
from tests.journeys.service.test_hot_path_plans import plans, scanned
from tests.statements import executed
from tests.world import World

ALICE, BOB = "alice@example.com", "bob@example.com"
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "slack"}, {"attempt": 3, "channel_hint": "pagerduty"}],
}
FALLS_BACK = {"fallback_policy": "complete_with_fallback", "fallback_value": "deny"}


async def link_of(world: World, person: str, asked: Mapping[str, Any]) -> str:
    mail = await world.mailbox.expect(to=person, subject=asked["ref"])
    found = re.search(r"/a/[a-z2-7]+", mail.text)
    assert found is not None
    return world.url + found[0]


def words(page: str) -> str:
    told = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))
    return re.sub(r" ([,.:])", r"\1", told)


async def looked_at(link: str) -> str:
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        return (await browser.get(link)).text


async def too_late(link: str, meanwhile: Any, **typed: str) -> httpx.Response:
    """Send ``typed`` from a page that was opened before ``meanwhile``."""
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        token = re.search(r'name="form_token" value="([^"]+)"', (await browser.get(link)).text)
        assert token is not None
        await meanwhile()
        return await browser.post(link, data={"form_token": token[1], **typed})


async def test_the_page_tells_who_was_asked_who_is_next_and_what_the_end_is(any_world: World) -> None:
    asked = await any_world.ask(
        channel_hint="email", responders=[ALICE, BOB], retry_policy={**LADDER, "final_fallback_policy": "fail"}
    )
    told = words(await looked_at(await link_of(any_world, ALICE, asked)))
    assert re.search(r"✓ Reached: e-mail to (you and Bob|Bob and you), \d\d:\d\d UTC", told)
    assert re.search(r"→ next: Slack to (you and Bob|Bob and you), \d\d:\d\d UTC", told)
    assert re.search(r"→ next: PagerDuty to [^,]+, \d\d:\d\d UTC", told)
    assert re.search(r"■ end: \d\d:\d\d UTC → the agent stops", told)
    assert told.index("next: Slack") < told.index("next: PagerDuty") < told.index("end:")


async def test_a_person_with_a_link_sees_names_and_no_address_of_others(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=[ALICE, BOB], retry_policy=LADDER)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "second_operator", json={})
    page = await looked_at(await link_of(world, ALICE, asked))
    assert "<bdi>Bob</bdi> is on it" in page
    assert BOB not in page
    assert "U0BOB" not in page


async def test_a_mail_server_that_is_away_is_said_with_the_time_of_the_next_try(any_world: World) -> None:
    by_mail = {**LADDER, "escalation_ladder": []}
    asked = await any_world.ask(channel_hint="email", responders=[ALICE], retry_policy=by_mail)
    link = await link_of(any_world, ALICE, asked)
    any_world.mailbox.refuse_connections()
    any_world.mailbox.hang_up()
    await any_world.advance(hours=1)
    told = words(await looked_at(link))
    assert re.search(r"✗ Not reached: e-mail to you: the server can’t be reached, again \d\d:\d\d UTC", told)


async def test_paused_notices_are_said_here_too(any_world: World) -> None:
    asked = await any_world.ask(channel_hint="email", responders=[ALICE, BOB], retry_policy=LADDER)
    link = await link_of(any_world, ALICE, asked)
    assert (await any_world.call("POST", "/v1/pause", "admin", json={"reason": "drill"})).status_code == 200
    told = words(await looked_at(link))
    assert "Notices are paused since" in told
    assert "waits while notices are paused" in told
    await any_world.advance(hours=1)
    assert re.search(r"… Waits: Slack to .*: notices are paused", words(await looked_at(link)))


async def test_why_nobody_was_asked_is_on_the_page(any_world: World) -> None:
    rung = {"attempt": 2, "channel_hint": "slack", "notify_to": "slack:C0GONE"}
    asked = await any_world.ask(
        channel_hint="email", responders=[ALICE], retry_policy={**LADDER, "escalation_ladder": [rung]}
    )
    link = await link_of(any_world, ALICE, asked)
    await any_world.advance(hours=1)
    told = words(await looked_at(link))
    assert "nobody could be asked by Slack, because there is no such recipient" in told
    assert "✗ Not reached: Slack to a shared place: there is no such recipient" in told
    assert "C0GONE" not in told


@pytest.mark.parametrize("end", ["answered", "expired", "cancelled"])
async def test_a_form_that_comes_too_late_keeps_its_words(any_world: World, end: str) -> None:
    asked = await any_world.ask(channel_hint="email", responders=[ALICE, BOB], timeout_seconds=3600, **FALLS_BACK)

    async def meanwhile() -> None:
        if end == "answered":
            assert (await any_world.answer(asked, "deny", "second_operator")).status_code == 200
        elif end == "expired":
            await any_world.advance(hours=1)
        else:
            path = f"/v1/suspensions/{asked['suspension_id']}/cancel"
            assert (await any_world.call("POST", path, json={"reason": "no"})).status_code == 200

    typed = {"do": "answer", "choice": "0", "reason": "The customer <called> twice.\nPay it."}
    page = await too_late(await link_of(any_world, ALICE, asked), meanwhile, **typed)
    assert page.status_code == 409
    assert "Your words were not sent" in page.text
    assert "readonly" in page.text
    assert "\nThe customer &lt;called&gt; twice.\nPay it.</textarea>" in page.text
    assert "\nApprove refund</textarea>" in page.text
    assert "Your answer was not recorded" in page.text


@pytest.mark.parametrize("do", ["clarify", "assign Bob"])
async def test_so_do_a_question_back_and_a_hand_over(world: World, do: str) -> None:
    asked = await world.ask(channel_hint="email", responders=[ALICE], timeout_seconds=3600, **FALLS_BACK)

    async def meanwhile() -> None:
        assert (await world.answer(asked, "deny")).status_code == 200

    typed = {"do": do, "clarify": "Which card?", "reason": "Because."}
    page = (await too_late(await link_of(world, ALICE, asked), meanwhile, **typed)).text
    assert "\nWhich card?</textarea>" in page
    assert "\nBecause.</textarea>" in page


async def test_the_ended_page_is_a_record(any_world: World) -> None:
    """Who, what, why, when, by which way, the digest, the receipt's use, the callback, and what came of it."""
    action = {"tool": "stripe.refund", "amount": 49999}
    asked = await any_world.ask(channel_hint="email", responders=[ALICE, BOB], action=action, timeout_seconds=3600)
    link = await link_of(any_world, ALICE, asked)
    answered = await any_world.answer(asked, "approve", "second_operator", metadata={"reason": "Paid twice."})
    assert answered.status_code == 200
    told = (await any_world.told(asked))["data"]
    page = words(await looked_at(link))
    assert "Answered: Approve refund by Bob via api" in page
    assert "Reason: Paid twice." in page
    assert told["action_digest"] in page
    assert "Receipt not used; the agent has had it since" in page
    assert "Callback delivered," in page
    assert "Asked by" in page
    assert BOB not in page, "others' addresses are for signed-in operators"
    body = {"receipt": told["receipt"], "action": action, "when": "approve"}
    assert (await any_world.call("POST", "/v1/receipts/verify", json=body)).status_code == 200
    report = {"status": "done", "text": "Refunded.", "url": None}
    path = f"/v1/suspensions/{asked['suspension_id']}/outcome"
    assert (await any_world.call("POST", path, json=report)).status_code == 200
    page = words(await looked_at(link))
    assert "Receipt used," in page
    assert "Done Refunded. refund-agent has said so," in page


async def test_at_the_end_each_says_what_and_the_dissent_why(any_world: World) -> None:
    choices = [{"value": "a", "label": "Raise it"}, {"value": "b", "label": "Leave it"}]
    asked = await any_world.ask(
        channel_hint="email", responders=[ALICE, BOB, "carol@example.com"], choices=choices, answers_required=2
    )
    link = await link_of(any_world, "carol@example.com", asked)
    await any_world.answer(asked, "b", "operator", metadata={"reason": "Card 4111 1111 1111 1111 is not his."})
    while_open = words(await looked_at(link))
    assert "Answers so far: 1" in while_open
    assert "Card" not in while_open
    assert "Alice by" in while_open
    await any_world.answer(asked, "a", "second_operator")
    await too_late(link, any_world.settle, do="answer", choice="0")
    page = words(await looked_at(link))
    assert re.search(
        r"Alice: Leave it by [^·]+ · not what was decided Card \[redacted: card number\] is not his\.", page
    )
    assert re.search(r"Bob: Raise it by ", page)


async def test_what_the_page_reads_is_found_by_indexes(any_world: World) -> None:
    asked = await any_world.ask(channel_hint="email", responders=[ALICE], retry_policy=LADDER)
    database, engine = any_world.service.database, any_world.service.engine
    await any_world.answer(asked, "approve")
    await any_world.settle()
    suspension = await engine.queries.get(asked["suspension_id"])
    assert suspension is not None
    async with executed(database) as statements:
        progress = await progress_of(database, suspension)
    assert [row.channel for row in progress.rows if row.attempt == 1] == ["email"]
    own = ("FROM outbox", "FROM events", "FROM answer_receipts")
    mine = {
        text: given for text, given in statements.items() if text.startswith("SELECT") and any(map(text.count, own))
    }
    found = plans(database, mine)
    assert {statement: plan for statement, plan in found.items() if scanned(plan)} == {}
