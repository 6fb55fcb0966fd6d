"""What came of it (API.md §5, ``outcome``): said once, shown to people, and a failure told to who decided."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from bot.sandbox.slack.faults import RateLimited
from bot.sandbox.slack.world import Message
from core.database.database import Tx
from core.store import outbox
from core.store.outbox import RowStatus
from tests.journeys.pages.test_signin_links import a_link, enter_with
from tests.journeys.questions.test_quorum import cli, send
from tests.journeys.questions.test_roads import page_of
from tests.vendors.mail import Mail
from tests.vendors.slack import shown
from tests.world import CHANNEL, World

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB = "alice@example.com", "bob@example.com"
DONE: dict[str, Any] = {
    "status": "done",
    "text": "Refunded as re_3PX.",
    "url": "https://shop.example/refunds/7?a=1&b=2",
}
FAILED: dict[str, Any] = {"status": "failed", "text": "The card has expired.", "url": None}
OPS = {"notify_to": f"slack:{CHANNEL}", "responders": [ALICE, BOB]}
BY_MAIL = {"channel_hint": "email", "notify_to": ALICE}
SECRET = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"


async def report(
    world: World, asked: dict[str, Any], body: dict[str, Any] = DONE, role: str = "agent", **options: Any
) -> httpx.Response:
    path = f"/v1/suspensions/{asked['suspension_id']}/outcome"
    return await world.call("POST", path, role, json=body, **options)


async def answered(world: World, value: str = "approve", **fields: Any) -> dict[str, Any]:
    """Over the API, by Alice's key."""
    asked = await world.ask(**{"responders": [ALICE], **fields})
    assert (await world.answer(asked, value)).status_code == 200
    await world.settle()
    return asked


def code(refused: httpx.Response) -> tuple[int, str]:
    return refused.status_code, refused.json()["detail"]["error"]


def messages(world: World, asked: dict[str, Any]) -> list[Message]:
    return [one for one in world.slack.workspace.messages if asked["ref"] in shown(one)]


def raw(message: Message) -> str:
    """As Slack gets it."""
    return message.text + json.dumps(message.blocks, ensure_ascii=False)


def about(world: World, asked: dict[str, Any], text: str) -> list[Mail]:
    return [one for one in world.mailbox.mails if asked["ref"] in one.subject and text in one.text]


# --- What is kept -------------------------------------------------------------------------------------------------


@in_room
async def test_it_is_in_the_record_the_log_and_the_timeline(any_room: World) -> None:
    world = any_room
    asked = await answered(world)
    assert (await world.show(asked))["reported"] is None
    version = (await world.intent(asked))["version"]
    await world.advance(seconds=30)

    done = await report(world, asked)

    kept = {**DONE, "at": world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert (done.status_code, done.json()["reported"]) == (200, kept)
    assert (await world.show(asked))["reported"] == kept
    waited = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/wait")
    assert waited.json()["reported"] == kept
    [listed] = (await world.call("GET", "/v1/suspensions", params={"q": asked["ref"]})).json()["items"]
    assert listed["reported"] == kept
    [event] = [one for one in await world.events(asked) if one["event_type"] == "action.reported"]
    payload = {"suspension_id": asked["suspension_id"], **DONE, "resolution": "responded"}
    assert (event["actor"], event["payload"]) == ("refund-agent", payload)
    [told] = [one for one in await world.timeline(asked) if one.get("type") == "action.reported"]
    assert told["payload"] == payload
    intent = await world.intent(asked)
    assert (intent["version"], intent["status"]) == (version, "active"), "a report moves nothing"
    assert intent["state"]["_suspension"]["reported"] == kept


@in_room
async def test_status_alone_is_enough(any_room: World) -> None:
    asked = await answered(any_room)
    done = (await report(any_room, asked, {"status": "done"})).json()["reported"]
    assert (done["status"], done["text"], done["url"]) == ("done", None, None)


@in_room
async def test_it_is_said_once_and_a_repeated_request_is_no_second_time(any_room: World) -> None:
    world = any_room
    asked = await answered(world)
    once = {"headers": {"Idempotency-Key": asked["ref"]}}
    first = await report(world, asked, **once)
    again = await report(world, asked, **once)
    assert (again.status_code, again.json()) == (200, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert code(await report(world, asked, FAILED, **once)) == (409, "idempotency_conflict")

    refused = await report(world, asked)

    assert code(refused) == (409, "already_reported")
    assert refused.json()["detail"]["reported_at"] == first.json()["reported"]["at"]
    assert code(await report(world, asked, FAILED)) == (409, "already_reported")
    assert (await world.event_types(asked)).count("action.reported") == 1


@in_room
async def test_of_several_at_once_one_counts(any_room: World) -> None:
    world = any_room
    asked = await answered(world)
    replies = await asyncio.gather(*(report(world, asked) for _ in range(6)))
    assert sorted(one.status_code for one in replies) == [200, *[409] * 5]
    assert (await world.event_types(asked)).count("action.reported") == 1


@in_room
async def test_not_before_the_end_and_after_every_ending(any_room: World) -> None:
    world = any_room
    asked = await world.ask(timeout_seconds=3600)
    refused = await report(world, asked)
    assert (code(refused), refused.json()["detail"]["status"]) == ((409, "invalid_transition"), "open")
    await world.advance(hours=1)
    assert (await report(world, asked, FAILED)).json()["resolution"] == "expired"
    cancelled = await world.ask()
    await world.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={})
    assert (await report(world, cancelled)).json()["resolution"] == "cancelled"


# --- Who may, and what ------------------------------------------------------------------------------------------------


@in_room
async def test_only_the_key_that_asked_may(any_room: World) -> None:
    world = any_room
    asked = await answered(world)
    assert code(await report(world, asked, role="other_agent")) == (404, "not_found")
    for role in ("operator", "admin"):
        assert code(await report(world, asked, role=role)) == (403, "forbidden")
    for role in ("agent", "admin"):
        assert code(await report(world, {"suspension_id": "nobody"}, role=role)) == (404, "not_found")
    assert (await world.show(asked))["reported"] is None


@in_room
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "status"),
        ({"status": "perhaps"}, "status"),
        ({"status": "done", "text": ""}, "text"),
        ({"status": "done", "text": " \n"}, "text"),
        ({"status": "done", "text": "x" * 3001}, "text"),
        ({"status": "done", "more": 1}, "more"),
        *(
            ({"status": "done", "url": url}, "url")
            for url in (
                "",
                "shop.example/refunds",
                "//shop.example/refunds",
                "ftp://shop.example/refunds",
                "javascript:alert(1)",
                "https://",
                "https:///refunds",
                "https://alice@shop.example/",
                "https://shop.example@evil.example/",
                "https://shop.example\\@evil.example/",
                "https://shop.example/a b",
                'https://shop.example/"><script>',
                "https://shop.example/<!channel>|x",
                "https://shop.example/\n",
                "https://shöp.example/",
                "https://shop.example/" + "x" * 2000,
            )
        ),
    ],
)
async def test_what_can_not_be_shown_is_refused_by_its_field(room: World, body: dict[str, Any], path: str) -> None:
    asked = await answered(room)
    refused = await report(room, asked, body)
    assert refused.status_code == 422
    assert [one["path"] for one in refused.json()["detail"]["fields"]] == [path]
    assert "shop.example" not in refused.text
    assert (await room.show(asked))["reported"] is None


@in_room
@pytest.mark.parametrize(
    "url", ["HTTP://Shop.Example", "https://[2001:db8::1]:8443/x?y=%20#z", "https://shop.example/" + "x" * 1979]
)
async def test_any_link_over_http_is_taken(room: World, url: str) -> None:
    asked = await answered(room)
    assert (await report(room, asked, {"status": "done", "url": url})).json()["reported"]["url"] == url


# --- What people see --------------------------------------------------------------------------------------------------


async def test_every_slack_message_that_shows_the_end_shows_what_came_of_it(any_world: World) -> None:
    world = any_world
    policy = {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": [{"attempt": 2, "notify_to": ALICE}]}
    asked = await world.ask(notify_to=f"slack:{CHANNEL}", responders=[ALICE], retry_policy=policy)
    await world.advance(minutes=1)
    assert {one.channel for one in messages(world, asked)} == {CHANNEL, "D0ALICE"}
    await world.press("U0ALICE", messages(world, asked)[0], "Approve refund")
    mails = len(world.mailbox.mails)

    assert (await report(world, asked)).status_code == 200
    await world.settle()

    there = messages(world, asked)
    assert len(there) == 2, "no new message: nobody is interrupted by what went well"
    for one in there:
        assert "Answered “Approve refund” by alice@example.com via Slack" in shown(one)
        assert "Done: Refunded as re_3PX." in shown(one)
        assert "Done: Refunded as re_3PX." in one.text, "for screen readers"
        assert "<https://shop.example/refunds/7?a=1&amp;b=2|shop.example>" in raw(one)
        assert one.button("ans:0") is None
    assert len(world.mailbox.mails) == mails


async def test_an_edit_that_slack_does_not_take_is_tried_again(world: World) -> None:
    asked = await answered(world, **OPS)
    world.slack.fail_next(RateLimited(30), "chat.update")
    await report(world, asked)
    await world.settle()
    [message] = messages(world, asked)
    assert "Done" not in shown(message)
    rows = await world.service.database.write(lambda tx: _pending(tx, asked["suspension_id"]))
    assert rows == ["withdraw"], "what is to be done stands in the outbox"
    await world.advance(minutes=1)
    assert "Done: Refunded as re_3PX." in shown(message)


def _pending(tx: Tx, suspension_id: str) -> list[str]:
    rows = outbox.of_suspension(tx.conn, suspension_id)
    return [row.kind.value for row in rows if row.status is RowStatus.PENDING]


async def test_the_page_shows_it_with_a_link_that_names_its_host(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**BY_MAIL)
    page = await page_of(world, await world.mailbox.expect(to=ALICE))
    await send(world.http, page, "0")
    text = "<b>Refunded</b> & closed\n[x](https://evil.example)"
    await report(world, asked, {**DONE, "text": text})

    html = (await world.http.get(page)).text

    assert "<h2>Done</h2>" in html
    assert "&lt;b&gt;Refunded&lt;/b&gt; &amp; closed\n[x](https://evil.example)" in html
    link = 'href="https://shop.example/refunds/7?a=1&amp;b=2" rel="nofollow noopener noreferrer">shop.example</a>'
    assert link in html
    assert 'href="https://evil.example' not in html
    assert "<bdi>refund-agent</bdi> has said so" in html


async def test_what_must_not_leave_the_house_is_hidden_wherever_it_is_shown(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**OPS)
    await world.press("U0ALICE", messages(world, asked)[0], "Approve refund")
    url = f"https://shop.example/?key={SECRET}"
    await report(world, asked, {"status": "failed", "text": f"{SECRET} was refused <!channel>", "url": url})
    await world.settle()
    told = messages(world, asked)
    assert len(told) == 2
    for one in told:
        assert "was refused &lt;!channel&gt;" in raw(one)
        assert "<!channel>" not in raw(one)
        assert SECRET not in raw(one)
        assert "|shop.example>" not in raw(one), "a link without its secret leads nowhere"
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False, timeout=30) as browser:
        await enter_with(browser, await a_link(world))
        html = (await browser.get(f"{world.url}/q/{asked['ref']}")).text
    assert "was refused &lt;!channel&gt;" in html
    assert SECRET not in html
    assert (await world.show(asked))["reported"]["url"] == url, "the record keeps it"


@in_room
async def test_the_command_line_reports_and_shows_it(room: World) -> None:
    asked = await answered(room)
    said = await cli(room, "agent", "report", asked["ref"], "failed", "No money left.", "--url", "https://x.example/1")
    assert said.endswith(f"{asked['ref']}: reported failed\n")
    card = await cli(room, "operator", "show", asked["ref"])
    at = f"{room.clock.now():%Y-%m-%d %H:%M} UTC"
    assert f"reported failed at {at}: No money left., https://x.example/1" in card


# --- Who hears of a failure -------------------------------------------------------------------------------------------


async def test_who_pressed_in_a_channel_is_told_by_themselves(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**OPS)
    await world.press("U0BOB", messages(world, asked)[0], "Approve refund")
    mails = len(world.mailbox.mails)

    await report(world, asked, FAILED)
    await world.settle()

    in_channel, told = messages(world, asked)
    assert (in_channel.channel, told.channel) == (CHANNEL, "D0BOB")
    assert "❗ Failed: The card has expired." in shown(in_channel)
    assert "You answered “Approve refund”. refund-agent reports:\nFailed: The card has expired." in shown(told)
    assert "Refund order 12345?" in shown(told)
    assert len(world.mailbox.mails) == mails


async def test_who_pressed_in_their_own_message_is_told_below_it(any_world: World) -> None:
    world = any_world
    asked = await world.ask(notify_to=ALICE)
    [message] = messages(world, asked)
    await world.press("U0ALICE", message, "Deny refund")
    await report(world, asked, FAILED)
    await world.settle()
    _, told = messages(world, asked)
    assert (told.channel, told.thread_ts) == ("D0ALICE", message.ts)
    assert "You answered “Deny refund”." in shown(told)


async def test_who_replied_by_mail_is_told_in_that_thread(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**BY_MAIL)
    mail = await world.mailbox.expect(to=ALICE)
    await world.mailbox.reply(mail, "1")
    await world.settle()

    await report(world, asked, {**FAILED, "url": DONE["url"]})
    await world.settle()

    [told] = about(world, asked, "Failed: The card has expired.")
    assert (told.recipient, told.subject) == (ALICE, f"Re: {mail.subject}")
    assert told.header("In-Reply-To") == mail.header("References") or mail.message_id in str(told.header("References"))
    assert f"More: {DONE['url']}" in told.text
    assert told.header("Auto-Submitted") == "auto-generated"
    assert (await world.http.get(await page_of(world, told))).status_code == 200
    assert messages(world, asked) == []


async def test_who_decided_on_a_page_is_told_where_its_link_was_sent(world: World) -> None:
    asked = await world.ask(**BY_MAIL)
    await send(world.http, await page_of(world, await world.mailbox.expect(to=ALICE)), "0")
    await report(world, asked, FAILED)
    await world.settle()
    [told] = about(world, asked, "Failed: The card has expired.")
    assert told.recipient == ALICE
    assert messages(world, asked) == []


@pytest.mark.parametrize("way", ["pagerduty", "api"])
async def test_who_decided_elsewhere_is_told_where_they_are_reached_first(world: World, way: str) -> None:
    asked = await world.ask(**{**BY_MAIL, "channel_hint": "pagerduty" if way == "pagerduty" else "email"})
    if way == "pagerduty":
        incident = await world.pager.expect_incident(asked["ref"])
        await world.pager.add_note(incident, world.pager.account.users["PALICE"], "approve")
    else:
        await world.answer(asked, "approve")
    await world.settle()
    assert (await world.show(asked))["responded_by"] == ALICE
    await report(world, asked, FAILED)
    await world.settle()
    [told] = messages(world, asked)
    assert (told.channel, told.thread_ts) == ("D0ALICE", None)
    assert "Failed: The card has expired." in shown(told)
    assert about(world, asked, "Failed: The card has expired.") == []


async def test_each_who_gave_the_answer_that_counts_is_told_once_and_nobody_else(world: World) -> None:
    people = [ALICE, BOB, "carol@example.com"]
    asked = await world.ask(notify_to=f"slack:{CHANNEL}", responders=people, answers_required=2, choices=["a", "b"])
    await world.answer(asked, "a")
    await world.settle()
    [message] = messages(world, asked)
    await world.press("U0CAROL", message, "b")
    await world.press("U0BOB", message, "a")
    assert (await world.show(asked))["resolution"] == "responded"

    await report(world, asked, FAILED)
    await world.settle()

    in_channel, *told = messages(world, asked)
    assert in_channel.channel == CHANNEL
    assert sorted(one.channel for one in told) == ["D0ALICE", "D0BOB"]
    assert all("You answered “a”." in shown(one) for one in told)


async def test_nobody_hears_of_a_failure_that_nobody_decided(world: World) -> None:
    silence = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"}
    asked = await world.ask(**OPS, **silence)
    await world.advance(minutes=1)
    mails = len(world.mailbox.mails)
    await report(world, asked, FAILED)
    await world.settle()
    [message] = messages(world, asked)
    assert "Failed: The card has expired." in shown(message)
    assert len(world.mailbox.mails) == mails


async def test_an_ending_is_counted_once_whatever_is_said_after_it(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to=ALICE)
    mail = await world.mailbox.expect(to=ALICE)
    await world.answer(asked, "approve")
    await report(world, asked)
    await world.mailbox.reply(mail, "2")
    await world.advance(seconds=2)
    assert (await world.event_types(asked))[-1] == "intent.suspension_message_received"
    counted = (await world.call("GET", "/metrics", None)).text
    assert 'suspension_resolutions_total{resolution="responded"} 1.0' in counted
