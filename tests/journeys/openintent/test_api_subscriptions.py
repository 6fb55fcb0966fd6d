"""Making, listing and removing subscriptions (RFC-0006; API.md §7): whose they are, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.world import KEYS, WEBHOOK_SECRET, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

URL = "https://agent.example/events?token=own"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service that calls no private network."""
    folder = tmp_path_factory.mktemp("office")
    keys = [
        {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "other-agent", "key": KEYS["other_agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["admin"]},
    ]
    database = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, database, api_keys=keys, resume__allow_networks=[]) as world:
        yield world


async def asked_for(world: World, role: str = "agent", **fields: Any) -> httpx.Response:
    return await world.call("POST", "/v1/subscriptions", role, json={"webhook_url": URL, **fields})


async def made(world: World, role: str = "agent", **fields: Any) -> dict[str, Any]:
    response = await asked_for(world, role, **fields)
    assert response.status_code == 200, response.text
    subscription: dict[str, Any] = response.json()
    return subscription


async def ids(world: World, role: str, query: str = "") -> set[str]:
    response = await world.call("GET", f"/v1/subscriptions{query}", role)
    assert response.status_code == 200, response.text
    return {one["id"] for one in response.json()["subscriptions"]}


async def test_a_subscription_is_as_it_was_asked_for(office: World) -> None:
    intent = await office.active_intent()
    fields = {"intent_id": intent["id"], "event_types": ["intent.resumed", "own.type", "own.type"]}
    subscription = await made(office, **fields, expires_at="2030-01-01T00:00:00")
    assert subscription == {
        "id": subscription["id"],
        "subscriber_id": "refund-agent",
        "intent_id": intent["id"],
        "portfolio_id": None,
        "event_types": ["intent.resumed", "own.type"],
        "webhook_url": URL,
        "active": True,
        "expires_at": "2030-01-01T00:00:00Z",
        "created_at": subscription["created_at"],
    }
    listed = (await office.call("GET", f"/v1/subscriptions?intent_id={intent['id']}")).json()
    assert listed == {"subscriptions": [subscription], "next_cursor": None}


async def test_the_published_clients_body_is_taken_under_its_prefix(office: World) -> None:
    body = {
        "intent_id": None,
        "portfolio_id": None,
        "subscriber_id": "probe-agent",
        "event_types": [],
        "webhook_url": URL,
        "expires_at": None,
    }
    response = await office.call("POST", "/api/v1/subscriptions", json=body)
    assert (response.status_code, response.json()["subscriber_id"]) == (200, "refund-agent")


async def test_lists_go_on_page_by_page(office: World) -> None:
    intent = await office.active_intent()
    wanted = {(await made(office, intent_id=intent["id"]))["id"] for _ in range(5)}
    path, found, pages = f"/v1/subscriptions?intent_id={intent['id']}&limit=2", list[str](), 0
    cursor: str | None = ""
    while cursor is not None:
        page = (await office.call("GET", path + (f"&cursor={cursor}" if cursor else ""))).json()
        found += [one["id"] for one in page["subscriptions"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert (sorted(found), pages) == (sorted(wanted), 3)


async def test_agents_see_their_own_and_operators_all_without_what_is_secret_in_an_url(office: World) -> None:
    own, others = await made(office), await made(office, "other_agent")
    assert own["id"] in await ids(office, "agent")
    assert others["id"] not in await ids(office, "agent")
    assert {own["id"], others["id"]} <= await ids(office, "operator")
    listed = (await office.call("GET", "/v1/subscriptions", "operator")).json()["subscriptions"]
    assert {one["webhook_url"] for one in listed} == {"https://agent.example/events"}


async def test_only_the_subscriber_and_admins_remove_one(office: World) -> None:
    subscription, second = await made(office), await made(office)
    path = f"/v1/subscriptions/{subscription['id']}"
    assert (await office.call("DELETE", path, "other_agent")).status_code == 404
    assert (await office.call("DELETE", path, "operator")).status_code == 403
    assert subscription["id"] in await ids(office, "agent")
    assert (await office.call("DELETE", path)).status_code == 200
    assert (await office.call("DELETE", path)).status_code == 404
    assert (await office.call("DELETE", f"/v1/subscriptions/{second['id']}", "admin")).status_code == 200
    assert not {subscription["id"], second["id"]} & await ids(office, "agent")


async def test_an_admin_subscribes_for_another_key(office: World) -> None:
    subscription = await made(office, "admin", subscriber_id="other-agent")
    assert subscription["subscriber_id"] == "other-agent"
    assert subscription["id"] in await ids(office, "other_agent")
    unknown = await asked_for(office, "admin", subscriber_id="nobody")
    assert (unknown.status_code, unknown.json()["detail"]["fields"][0]["path"]) == (422, "subscriber_id")
    intent = await office.active_intent()  # which the admin may read, and the other agent may not
    assert (await asked_for(office, "admin", subscriber_id="other-agent", intent_id=intent["id"])).status_code == 404


async def test_an_intent_that_the_key_may_not_read_is_not_found(office: World) -> None:
    intent = await office.active_intent()
    assert (await asked_for(office, "other_agent", intent_id=intent["id"])).status_code == 404
    assert (await asked_for(office, intent_id="unknown")).status_code == 404
    assert (await asked_for(office, portfolio_id="unknown")).status_code == 404


async def test_a_key_without_a_secret_subscribes_to_nothing(office: World) -> None:
    refused = await asked_for(office, "operator")
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "callback_not_allowed")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/events",
        "http://localhost:8080/events",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://0.0.0.0/",
        "http://2130706433/",
        "http://user:password@agent.example/",
        "ftp://agent.example/",
        "file:///etc/passwd",
        "agent.example",
    ],
)
async def test_a_webhook_leads_to_the_public_internet(office: World, url: str) -> None:
    refused = await asked_for(office, webhook_url=url)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "callback_not_allowed")
    assert refused.json()["detail"]["fields"][0]["path"] == "webhook_url"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"webhook_url": None}, "webhook_url"),
        ({"webhook_url": ""}, "webhook_url"),
        ({"webhook_url": "https://agent.example/" + "x" * 2000}, "webhook_url"),
        ({"webhook_url": 7}, "webhook_url"),
        ({"event_types": "intent.resumed"}, "event_types"),
        ({"event_types": [""]}, "event_types.0"),
        ({"event_types": ["intent resumed"]}, "event_types.0"),
        ({"event_types": ["x" * 201]}, "event_types.0"),
        ({"event_types": [7]}, "event_types.0"),
        ({"event_types": ["x"] * 101}, "event_types"),
        ({"expires_at": "2026-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"expires_at": 1893456000}, "expires_at"),
        ({"expires_at": True}, "expires_at"),
        ({"intent_id": ""}, "intent_id"),
        ({"intent_id": 7}, "intent_id"),
        ({"intent_id": "one", "portfolio_id": "two"}, "portfolio_id"),
        ({"subscriber_id": ["refund-agent"]}, "subscriber_id"),
        ({"active": True}, "active"),
    ],
)
async def test_what_can_be_no_subscription_is_refused(office: World, fields: dict[str, Any], path: str) -> None:
    before = await ids(office, "admin")
    refused = await asked_for(office, **fields)
    assert refused.status_code == 422, refused.text
    assert refused.json()["detail"]["fields"][0]["path"] == path
    assert await ids(office, "admin") == before


async def test_a_repeated_request_makes_one(office: World) -> None:
    headers = {"Idempotency-Key": "subscribe-once"}
    body = {"webhook_url": URL}
    first, second = [await office.call("POST", "/v1/subscriptions", json=body, headers=headers) for _ in range(2)]
    assert first.json() == second.json()
    assert second.headers["Idempotency-Replayed"] == "true"
    other = await office.call("POST", "/v1/subscriptions", json={"webhook_url": URL + "2"}, headers=headers)
    assert (other.status_code, other.json()["detail"]["error"]) == (409, "idempotency_conflict")


async def test_without_a_key_there_is_nothing_to_see(office: World) -> None:
    for method, path in (("POST", ""), ("GET", ""), ("DELETE", "/unknown")):
        assert (await office.call(method, f"/v1/subscriptions{path}", None, json={})).status_code == 401
