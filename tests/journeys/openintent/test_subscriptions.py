"""Subscriptions to events by webhook (RFC-0006; API.md §5, §7): who hears of what, once, and for how long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.serving import serving_all
from core.openintent.store import subscriptions
from core.store import outbox
from core.store.tables import outbox as outbox_table
from core.store.tables import subscriptions as subscriptions_table
from tests.subscriber import EventReceiver
from tests.world import KEYS, WEBHOOK_SECRET, World, running

OTHER_SECRET = "whsec_c2Vjb25kIHNlY3JldCBvZiB0aGUgdGVzdHM="
API_KEYS = [
    {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
    {"name": "other-agent", "key": KEYS["other_agent"], "roles": ["agent"], "webhook_secrets": [OTHER_SECRET]},
    {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"], "webhook_secrets": [WEBHOOK_SECRET]},
    {"name": "bob@example.com", "key": KEYS["second_operator"], "roles": ["operator"]},
    {"name": "root", "key": KEYS["admin"], "roles": ["admin"], "webhook_secrets": [WEBHOOK_SECRET]},
]
RETRY = {"base_delay_ms": 1000, "max_delay_ms": 8000, "give_up_after_seconds": 30}


@dataclass
class House:
    """A service with two receivers: the agent's and everybody's (``own``), and the other agent's."""

    world: World
    own: EventReceiver
    other: EventReceiver

    async def subscribe(self, role: str = "agent", to: EventReceiver | None = None, **fields: Any) -> dict[str, Any]:
        receiver = to or (self.other if role == "other_agent" else self.own)
        body = {"webhook_url": receiver.url, **fields}
        response = await self.world.call("POST", "/v1/subscriptions", role, json=body)
        assert response.status_code == 200, response.text
        made: dict[str, Any] = response.json()
        return made

    async def note(self, intent: dict[str, Any], event_type: str = "refund.noted", role: str = "agent") -> None:
        body = {"event_type": event_type, "payload": {"order": 7}}
        response = await self.world.call("POST", f"/v1/intents/{intent['id']}/events", role, json=body)
        assert response.status_code == 200, response.text

    async def add(self, intent: dict[str, Any], agent: str = "other-agent") -> None:
        response = await self.world.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": agent})
        assert response.status_code == 200, response.text

    async def listed(self, role: str = "agent") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.world.call("GET", "/v1/subscriptions", role)).json()["subscriptions"]
        return items

    async def statuses(self) -> Counter[str]:
        """What became of every event that was to be sent."""
        wanted = outbox_table.select().where(outbox_table.c.channel == outbox.SUBSCRIBERS)
        rows = await self.world.service.database.read(lambda conn: conn.execute(wanted).all())
        return Counter(row.status for row in rows)

    async def reasons(self) -> set[str | None]:
        """Why what waits was not delivered yet."""
        wanted = outbox_table.select().where(outbox_table.c.channel == outbox.SUBSCRIBERS)
        return {row.reason for row in await self.world.service.database.read(lambda conn: conn.execute(wanted).all())}

    async def all_done(self) -> Counter[str]:
        """The same, once nothing waits or is under way."""
        async with asyncio.timeout(60):
            while (found := await self.statuses()) & Counter({"pending": 1, "sending": 1}):
                await self.world.settle()
                await asyncio.sleep(0.01)  # the senders are tasks of their own
        return found


@asynccontextmanager
async def housed(folder: Path, database_url: str, **overrides: Any) -> AsyncIterator[House]:
    own, other = EventReceiver(WEBHOOK_SECRET), EventReceiver(OTHER_SECRET)
    resume = {"allow_networks": ["127.0.0.0/8"], "retry": RETRY}
    settings = {"api_keys": API_KEYS, "resume": resume, **overrides}
    async with serving_all(own.app, other.app) as urls, running(folder, database_url, **settings) as world:
        own.url, other.url = (f"{url}/events" for url in urls)
        yield House(world, own, other)


@pytest.fixture
async def house(tmp_path: Path, database_url: str) -> AsyncIterator[House]:
    async with housed(tmp_path, database_url) as made:
        yield made


# --- What is heard ----------------------------------------------------------------------------------------------------


async def test_a_question_and_its_answer_are_heard_of_as_the_log_has_them(house: House) -> None:
    intent = await house.world.active_intent()
    made = await house.subscribe(intent_id=intent["id"])
    path = f"/v1/intents/{intent['id']}/suspend"
    asked = (await house.world.call("POST", path, json={"question": "Refund?", "response_type": "confirm"})).json()
    assert (await house.world.answer(asked, "yes")).status_code == 200

    sent = await house.own.expect(2)

    logged = await house.world.events(asked)
    assert house.own.types == ["intent.resumed", "intent.suspended"]
    assert {one.body["subscription_id"] for one in sent} == {made["id"]}
    assert sorted((one.event for one in sent), key=str) == sorted(logged[1:], key=str)
    assert all(one.body["type"] == one.event["event_type"] for one in sent)


async def test_a_subscription_hears_of_nothing_from_before_it(house: House) -> None:
    intent = await house.world.active_intent()
    await house.note(intent, "refund.before")
    early = await house.subscribe(intent_id=intent["id"])
    await house.world.service.follower.stop()  # so that the second is made before the first event is followed
    await house.note(intent, "refund.first")
    late = await house.subscribe(intent_id=intent["id"])
    await house.note(intent, "refund.second")
    house.world.service.follower.start()
    await house.own.expect(3)
    await house.all_done()
    heard = sorted((one.event["event_type"], one.body["subscription_id"]) for one in house.own.accepted)
    assert heard == sorted(
        [("refund.first", early["id"]), ("refund.second", early["id"]), ("refund.second", late["id"])]
    )


async def test_only_the_types_that_were_asked_for_are_heard_of(house: House) -> None:
    intent = await house.world.active_intent()
    await house.subscribe(event_types=["refund.second"])
    for event_type in ("refund.first", "refund.second", "refund.third"):
        await house.note(intent, event_type)
    await house.own.expect(1)
    assert await house.all_done() == {"delivered": 1}
    assert house.own.types == ["refund.second"]


async def test_one_for_everything_hears_of_what_its_key_may_read(house: House) -> None:
    await house.subscribe("agent", event_types=["refund.noted"])
    await house.subscribe("other_agent", event_types=["refund.noted"])
    own, others = await house.world.active_intent(), await house.world.active_intent(role="other_agent")
    await house.add(own)
    await house.note(own)
    await house.note(others, role="other_agent")
    await house.own.expect(1)
    await house.other.expect(2)
    assert await house.all_done() == {"delivered": 3}  # and nothing is written that would be dropped
    assert [one.event["intent_id"] for one in house.own.accepted] == [own["id"]]
    assert {one.event["intent_id"] for one in house.other.accepted} == {own["id"], others["id"]}


async def test_an_operator_hears_of_every_intent(house: House) -> None:
    await house.subscribe("operator", event_types=["intent_created"])
    made = [await house.world.active_intent(role=role) for role in ("agent", "other_agent")]
    await house.own.expect(2)
    assert {one.event["intent_id"] for one in house.own.accepted} == {one["id"] for one in made}


async def test_every_event_comes_once_while_many_are_written(house: House) -> None:
    intents = [await house.world.active_intent() for _ in range(4)]
    made = [await house.subscribe(event_types=["refund.noted"]) for _ in range(3)]
    made += [await house.subscribe(intent_id=intents[0]["id"], event_types=["refund.noted"])]

    await asyncio.gather(*(house.note(intents[number % 4]) for number in range(60)))

    await house.own.expect(195)
    assert await house.all_done() == {"delivered": 195}
    heard = Counter((one.body["subscription_id"], one.event["id"]) for one in house.own.accepted)
    assert set(heard.values()) == {1}
    assert Counter(subscription for subscription, _ in heard) == {
        **{one["id"]: 60 for one in made[:3]},
        made[3]["id"]: 15,
    }


# --- Tries ------------------------------------------------------------------------------------------------------------


async def test_a_failing_webhook_is_tried_again_under_one_id_and_then_given_up(house: House) -> None:
    intent = await house.world.active_intent()
    await house.subscribe(event_types=["refund.noted"])
    house.own.answers = [500, 302]
    await house.note(intent)
    await asyncio.wait_for(_sent(house.own, 1), 60)
    await house.world.advance(seconds=5)
    await house.own.expect(1)
    assert [one.status for one in house.own.sent] == [500, 302, 204]
    assert len({one.webhook_id for one in house.own.sent}) == 1

    house.own.usual = 503
    await house.note(intent)
    await asyncio.wait_for(_sent(house.own, 4), 60)
    await house.world.advance(minutes=2)
    assert await house.statuses() == {"delivered": 1, "dead": 1}


async def _sent(receiver: EventReceiver, count: int) -> None:
    while len(receiver.sent) < count:
        await asyncio.sleep(0.01)  # a send is a task of its own


async def test_gone_ends_the_subscription_and_what_waits_for_it(house: House) -> None:
    intent = await house.world.active_intent()
    made = await house.subscribe(event_types=["refund.noted"])
    house.own.answers = [500, 410]
    await house.note(intent)
    await asyncio.wait_for(_sent(house.own, 1), 60)
    await house.world.advance(seconds=5)
    assert [one["active"] for one in await house.listed()] == [False]
    await house.subscribe("operator", event_types=["refund.noted"])
    await house.note(intent)
    await house.own.expect(1)
    assert await house.all_done() == {"refused": 1, "delivered": 1}
    assert [one["id"] for one in await house.listed()] == [made["id"]]


async def test_a_dead_subscriber_holds_up_neither_others_nor_callbacks(house: House) -> None:
    await house.subscribe(webhook_url="http://127.0.0.1:1/nobody")
    await house.subscribe("other_agent")
    intents = [await house.world.active_intent() for _ in range(5)]
    for intent in intents:
        await house.add(intent)
    await house.other.expect(5)
    asked = await house.world.ask(response_type="confirm")
    assert (await house.world.answer(asked, "yes")).status_code == 200
    assert (await house.world.agent.expect(1)).value == "yes"


async def test_events_that_wait_for_a_dead_subscriber_do_not_stop_the_heartbeat(house: House) -> None:
    await house.subscribe(webhook_url="http://127.0.0.1:1/nobody")
    await house.world.active_intent()
    async with asyncio.timeout(60):
        while not await house.statuses():
            await asyncio.sleep(0.01)  # the follower is a task of its own
    await house.world.settle()
    house.world.clock.move_to(house.world.clock.now() + timedelta(minutes=20))  # and nobody looks
    later, grace = house.world.clock.now(), timedelta(minutes=5)
    assert await house.world.service.database.read(lambda conn: outbox.overdue(conn, later, grace)) is None


async def test_no_event_reaches_a_private_address_whatever_was_subscribed(tmp_path: Path, sqlite_url: str) -> None:
    async with housed(tmp_path, sqlite_url) as open_house:
        made = await open_house.subscribe(event_types=["refund.noted"])
    async with housed(tmp_path, sqlite_url, resume={"retry": RETRY}) as house:
        intent = await house.world.active_intent()
        here = subscriptions_table.update().where(subscriptions_table.c.id == made["id"])
        moved = here.values(webhook_url=house.own.url)  # as a name may come to lead there
        await house.world.service.database.write(lambda tx: tx.conn.execute(moved).rowcount)
        await house.note(intent)
        async with asyncio.timeout(60):
            while "address_refused" not in await house.reasons():
                await asyncio.sleep(0.01)  # a send is a task of its own
        assert house.own.sent == []


# --- Whose rights count -----------------------------------------------------------------------------------------------


async def test_a_member_that_was_removed_hears_of_nothing_more(house: House) -> None:
    intent = await house.world.active_intent()
    await house.add(intent)
    await house.subscribe("other_agent", intent_id=intent["id"])
    await house.subscribe("operator", intent_id=intent["id"])
    await house.world.call("DELETE", f"/v1/intents/{intent['id']}/agents/other-agent")
    await house.note(intent)
    await house.own.expect(2)
    await house.all_done()
    assert house.other.sent == []


async def test_what_waits_for_another_try_is_dropped_once_its_key_may_not_read_it(house: House) -> None:
    intent = await house.world.active_intent()
    await house.add(intent)
    await house.subscribe("other_agent", intent_id=intent["id"], event_types=["refund.noted"])
    house.other.answers = [500]
    await house.note(intent)
    await asyncio.wait_for(_sent(house.other, 1), 60)
    await house.world.call("DELETE", f"/v1/intents/{intent['id']}/agents/other-agent")
    await house.world.advance(seconds=5)
    assert await house.statuses() == {"dropped": 1}
    assert len(house.other.sent) == 1


async def test_a_revoked_keys_subscriptions_stop(house: House) -> None:
    intent = await house.world.active_intent()
    await house.add(intent)
    await house.subscribe("other_agent", event_types=["refund.noted"])
    await house.subscribe("operator", event_types=["refund.noted"])
    assert (await house.world.call("DELETE", "/v1/keys/other-agent", "admin")).status_code == 200
    await house.note(intent)
    await house.own.expect(1)
    assert await house.all_done() == {"delivered": 1}
    assert house.other.sent == []


async def test_a_subscription_ends_when_it_expires(house: House) -> None:
    intent = await house.world.active_intent()
    end = (house.world.clock.now() + timedelta(hours=1)).isoformat()
    made = await house.subscribe(event_types=["refund.noted"], expires_at=end)
    assert made["expires_at"] == end.replace("+00:00", "Z")
    await house.world.advance(minutes=59)
    await house.note(intent)
    await house.own.expect(1)
    await house.subscribe("operator", event_types=["refund.noted"])
    await house.world.advance(minutes=1)
    await house.note(intent)
    await house.own.expect(2)
    assert await house.all_done() == {"delivered": 2}


async def test_a_removed_subscription_hears_of_nothing_more(house: House) -> None:
    intent = await house.world.active_intent()
    gone = await house.subscribe(event_types=["refund.noted"])
    kept = await house.subscribe(event_types=["refund.noted"])
    assert (await house.world.call("DELETE", f"/v1/subscriptions/{gone['id']}")).status_code == 200
    await house.note(intent)
    await house.own.expect(1)
    await house.all_done()
    assert [one.body["subscription_id"] for one in house.own.accepted] == [kept["id"]]


# --- Beside -----------------------------------------------------------------------------------------------------------


async def test_events_are_no_callbacks_of_questions(house: House) -> None:
    await house.subscribe()
    asked = await house.world.ask(response_type="confirm", resume=None)
    await house.own.expect(1)
    assert (await house.world.call("GET", "/v1/callbacks", "admin")).json()["items"] == []
    assert {item["kind"] for item in await house.world.timeline(asked)} == {"event", "attempt", "delivery"}


async def test_what_was_sent_leaves_the_database_after_a_week(house: House) -> None:
    intent = await house.world.active_intent()
    await house.subscribe(event_types=["refund.noted"])
    await house.note(intent)
    await house.own.expect(1)
    assert await house.all_done() == {"delivered": 1}
    await house.world.advance(days=6)
    assert await house.statuses() == {"delivered": 1}
    await house.world.advance(days=1, hours=1)
    assert await house.statuses() == {}


async def test_the_next_start_goes_on_where_the_last_one_ended(tmp_path: Path, database_url: str) -> None:
    async with housed(tmp_path, database_url) as first:
        intent = await first.world.active_intent()
        await first.world.service.follower.stop()  # what is written from here on, nobody follows any more
        await first.subscribe(webhook_url="http://127.0.0.1:1/later", event_types=["refund.noted"])
        await first.note(intent)
        assert await first.statuses() == {}
    async with housed(tmp_path, database_url) as second:
        async with asyncio.timeout(60):
            while not await second.statuses():
                await asyncio.sleep(0.01)  # another process's work: only real time shows it
        assert sum((await second.statuses()).values()) == 1


async def test_ended_subscriptions_make_room(house: House) -> None:
    for _ in range(100):
        await house.subscribe()
    body = {"webhook_url": house.own.url}
    refused = await house.world.call("POST", "/v1/subscriptions", json=body)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (429, "quota_exceeded")
    ended = (await house.listed())[0]["id"]
    await house.world.service.database.write(lambda tx: subscriptions.end(tx, ended))
    await house.subscribe()
