"""Whom the pretend PagerDuty pages, and what its webhooks say of what people do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from bot.sandbox.pagerduty.world import IncidentStatus
from bot.sandbox.serving import serving
from tests.bot.sandbox.pagerduty_sandbox import (
    ALICE,
    BOB,
    KEY,
    OTHER_KEY,
    Receiver,
    enqueue,
    event,
    opened,
    resolve,
    rest,
    subscribed,
)
from tests.clock import ManualClock
from tests.vendors.pagerduty import EventFault, PagerDutySandbox

SERVICES = {"default": KEY, "billing": OTHER_KEY}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def pager(clock: ManualClock) -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox(SERVICES, [ALICE, BOB], now=clock.now)
    sandbox.account.on_call = {"default": [ALICE, BOB], "billing": [BOB]}
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def api(pager: PagerDutySandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(pager.app) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
async def receiver(pager: PagerDutySandbox) -> AsyncIterator[Receiver]:
    async with subscribed(pager) as receiver:
        yield receiver


def paged(pager: PagerDutySandbox) -> list[tuple[str, str]]:
    return [(page.user.name, page.why) for page in pager.pages]


async def test_a_trigger_pages_whoever_is_on_call_and_a_repeat_pages_nobody(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    await enqueue(api, event())
    await enqueue(api, event())
    await enqueue(api, event(routing_key=OTHER_KEY))

    assert paged(pager) == [("Alice", "triggered"), ("Bob", "triggered")]


async def test_while_it_is_acknowledged_a_repeat_pages_nobody_and_the_timeout_pages_again(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver, clock: ManualClock
) -> None:
    pager.acknowledgement_timeout = timedelta(minutes=30)
    incident = await opened(pager, api)
    await pager.acknowledge(incident, ALICE)
    await enqueue(api, event())
    clock.move_by(timedelta(minutes=29))
    assert await pager.look_at_the_clock() == []
    assert paged(pager) == [("Alice", "triggered")]

    clock.move_by(timedelta(minutes=1))
    await pager.look_at_the_clock()

    assert incident.status is IncidentStatus.TRIGGERED
    assert paged(pager) == [("Alice", "triggered"), ("Alice", "unacknowledged")]
    assert (await receiver.events(3))[-1]["agent"] is None


async def test_a_trigger_after_a_resolve_pages_anew(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    await enqueue(api, event())
    await enqueue(api, resolve())
    await enqueue(api, event())

    assert len(pager.incidents) == len(pager.pages) == 2


async def test_handing_an_incident_on_pages_whoever_has_it_now_and_says_so(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    incident = await opened(pager, api)
    await pager.acknowledge(incident, ALICE)
    await pager.escalate(incident)
    await pager.reassign(incident, BOB, ALICE)
    await pager.delegate(incident, ALICE, to="billing")
    await pager.add_responder(incident, BOB, ALICE, "please")
    await pager.reply_as_responder(incident, ALICE)
    await pager.resolve(incident, BOB)
    await pager.reopen(incident, ALICE)

    events = await receiver.events(9)
    assert receiver.types == [
        "triggered",
        "acknowledged",
        "escalated",
        "reassigned",
        "delegated",
        "responder.added",
        "responder.replied",
        "resolved",
        "reopened",
    ]
    assert [[one["id"] for one in said["data"]["assignees"]] for said in events[2:5]] == [
        ["PBOB"],
        ["PALICE"],
        ["PBOB"],
    ]
    assert (events[5]["data"]["user"]["id"], events[5]["data"]["state"]) == ("PALICE", "pending")
    assert [why for _, why in paged(pager)] == [
        "triggered",
        "escalated",
        "reassigned",
        "reassigned",
        "responder",
        "reopened",
    ]


async def test_a_custom_field_says_what_has_changed(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    incident = await opened(pager, api)
    await pager.set_fields(incident, ALICE, region="EU")
    await pager.set_fields(incident, ALICE, decision="Approve")

    data = (await receiver.events(3))[-1]["data"]
    assert data["type"] == "incident_field_values"
    assert data["incident"]["id"] == incident.id
    assert {one["name"]: one["value"] for one in data["custom_fields"]} == {"region": "EU", "decision": "Approve"}
    assert [one["name"] for one in data["changed_custom_fields"]] == ["decision"]


async def test_a_service_that_groups_has_one_incident_for_several_questions(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    pager.account.grouping.add("default")
    await enqueue(api, event())
    await enqueue(api, event(dedup_key="k2"))

    [incident] = pager.incidents
    assert [alert.alert_key for alert in incident.alerts] == ["k1", "k2"]
    assert len(pager.pages) == 1
    await enqueue(api, resolve("k1"))
    assert incident.is_open
    await enqueue(api, resolve("k2"))
    assert not incident.is_open


async def test_merging_moves_the_alerts_and_says_why_the_other_is_resolved(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    first, second = await opened(pager, api), await opened(pager, api, dedup_key="k2")
    pager.merge(second, first)

    resolved = (await receiver.events(3))[-1]
    assert resolved["event_type"] == "incident.resolved"
    assert resolved["data"]["resolve_reason"]["incident"]["id"] == first.id
    await enqueue(api, resolve("k1"))
    await enqueue(api, resolve("k2"))
    assert not first.is_open


async def test_a_service_without_alerts_gives_its_incidents_a_key(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    pager.account.without_alerts.add("default")
    incident = await opened(pager, api)

    [said] = await receiver.events(1)
    assert said["data"]["incident_key"] == "k1"
    assert (await api.get(f"/incidents/{incident.id}/alerts", headers=rest())).json()["alerts"] == []


async def test_an_event_may_be_accepted_and_lost(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    pager.fail_next(EventFault.LOST)

    assert (await enqueue(api, event())).status_code == 202
    assert pager.incidents == []


async def test_a_key_that_sends_too_much_is_throttled_alone(
    pager: PagerDutySandbox, api: httpx.AsyncClient, clock: ManualClock
) -> None:
    pager.events_a_minute = 2
    said = [(await enqueue(api, event())).status_code for _ in range(3)]

    assert said == [202, 202, 429]
    assert (await enqueue(api, event(routing_key=OTHER_KEY))).status_code == 202
    clock.move_by(timedelta(minutes=1))
    assert (await enqueue(api, event())).status_code == 202
