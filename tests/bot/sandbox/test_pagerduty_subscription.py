"""How the pretend PagerDuty's webhooks go out when the receiver has trouble.

Source: https://developer.pagerduty.com/docs/webhooks-behavior.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from bot.sandbox.serving import serving
from tests.bot.sandbox.pagerduty_sandbox import ALICE, KEY, Receiver, opened, rest, subscribed
from tests.clock import ManualClock
from tests.vendors.pagerduty import Off, PagerDutySandbox


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def pager(clock: ManualClock) -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox({"default": KEY}, [ALICE], now=clock.now)
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


def ids(receiver: Receiver) -> list[str]:
    return [headers["x-webhook-id"] for headers, _ in receiver.got]


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_what_may_pass_is_tried_again_under_the_same_id_and_later_ones_wait_behind_it(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver, status: int
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    receiver.status = status
    await pager.acknowledge(incident, ALICE)
    await pager.unacknowledge(incident, ALICE)
    receiver.status = 202
    await pager.webhooks.retry()

    assert receiver.types == ["triggered", "acknowledged", "acknowledged", "acknowledged", "unacknowledged"]
    assert len(set(ids(receiver))) == 3
    assert pager.webhooks.undelivered == []


async def test_nobody_there_is_tried_again_too(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    async with subscribed(pager):
        pass
    await opened(pager, api)
    with pytest.raises(httpx.TransportError):
        await pager.acknowledge(pager.incidents[0], ALICE)

    async with subscribed(pager) as receiver:
        await pager.webhooks.retry()
        assert receiver.types == ["triggered", "acknowledged"]


async def test_what_is_older_than_two_days_is_dropped(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver, clock: ManualClock
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    receiver.status = 503
    await pager.acknowledge(incident, ALICE)
    clock.move_by(timedelta(hours=49))
    await pager.webhooks.retry()

    assert pager.webhooks.undelivered == []
    assert len(pager.webhooks.dropped) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_the_third_refusal_in_a_row_switches_the_subscription_off_for_a_day(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver, clock: ManualClock, status: int
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    receiver.status = status
    for number in range(3):
        assert not pager.webhooks.is_off
        assert (await pager.add_note(incident, ALICE, f"note {number}")).status_code == status
    receiver.status = 202

    with pytest.raises(Off):
        await pager.add_note(incident, ALICE, "nobody hears this")
    shown = (await api.get("/webhook_subscriptions/PWHSUB1", headers=rest())).json()["webhook_subscription"]
    assert shown["delivery_method"]["temporarily_disabled"] is True
    clock.move_by(timedelta(hours=24))
    assert (await pager.add_note(incident, ALICE, "again")).status_code == 202


async def test_one_that_is_taken_in_between_keeps_it_on(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    for status in (401, 401, 202, 401, 401):
        receiver.status = status
        await pager.add_note(incident, ALICE, "note")

    assert not pager.webhooks.is_off


async def test_somebody_may_switch_it_on_again(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    receiver.status = 401
    for _ in range(3):
        await pager.add_note(incident, ALICE, "note")
    receiver.status = 202

    assert (await api.post("/webhook_subscriptions/PWHSUB1/enable", headers=rest())).status_code == 200
    assert (await pager.add_note(incident, ALICE, "again")).status_code == 202


async def test_webhooks_may_come_twice_and_in_any_order(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    incident = await opened(pager, api)
    await receiver.events(1)
    pager.webhooks.hold_back()
    await pager.acknowledge(incident, ALICE)
    await pager.unacknowledge(incident)
    assert receiver.types == ["triggered"]
    await pager.webhooks.release(lambda held: [held[1], held[0], held[1]])

    assert receiver.types[1:] == ["unacknowledged", "acknowledged", "unacknowledged"]


async def test_a_test_event_can_be_sent(pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver) -> None:
    assert (await api.post("/webhook_subscriptions/PWHSUB1/ping", headers=rest())).status_code == 202

    assert json.loads(receiver.got[0][1])["event"]["event_type"] == "pagey.ping"
