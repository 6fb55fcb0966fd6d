"""When PagerDuty's REST API is left alone: not for a lost connection, but for failures in a row, until one call gets
through.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from bot.sandbox.serving import serving
from channels.pagerduty.incidents import IncidentsApi
from channels.pagerduty.rest import AWAY, FAILURES, ApiUnavailable, PagerDutyApi
from core.ports import Ambiguous, Delivered, Sending
from tests.bot.sandbox.pagerduty_sandbox import ALICE, KEY, enqueue, event
from tests.clock import START, ManualClock
from tests.vendors.pagerduty import API_TOKEN, PagerDutySandbox

pytestmark = pytest.mark.io

SENDING = Sending("d1", 1, ambiguous=False, since=START)
TRIES = 2
"""Of one call whose connection is lost."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def pager(clock: ManualClock) -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox({"default": KEY}, [ALICE], now=clock.now)
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def url(pager: PagerDutySandbox) -> AsyncIterator[str]:
    async with serving(pager.app) as url:
        async with httpx.AsyncClient(base_url=url, trust_env=False) as api:
            await enqueue(api, event())
        yield url


@pytest.fixture
async def api(url: str, clock: ManualClock) -> AsyncIterator[PagerDutyApi]:
    api = PagerDutyApi(API_TOKEN, now=clock.now, api_url=url)
    yield api
    await api.close()


async def is_known(api: PagerDutyApi) -> bool:
    try:
        return await api.email_of(ALICE.id) == ALICE.email
    except ApiUnavailable:
        return False


async def opened(api: PagerDutyApi, pager: PagerDutySandbox) -> None:
    """The breaker: so many calls in a row had no answer."""
    pager.rest.drop_next(FAILURES * TRIES)
    assert [await is_known(api) for _ in range(FAILURES)] == [False] * FAILURES
    pager.rest.calls.clear()


async def test_a_lost_connection_is_tried_again_at_once(api: PagerDutyApi, pager: PagerDutySandbox) -> None:
    pager.rest.drop_next(1)
    assert await is_known(api)


async def test_a_call_that_failed_holds_the_next_one_back_in_nothing(
    api: PagerDutyApi, pager: PagerDutySandbox
) -> None:
    pager.rest.drop_next(TRIES)
    assert not await is_known(api)
    assert await is_known(api)


async def test_calls_that_fail_together_are_one_failure(api: PagerDutyApi, pager: PagerDutySandbox) -> None:
    """Of a server that starts anew every connection is lost in the same moment."""
    together = FAILURES * 2
    pager.rest.drop_next(together * TRIES)
    assert await asyncio.gather(*(is_known(api) for _ in range(together))) == [False] * together
    assert await is_known(api)


async def test_after_failures_in_a_row_nobody_asks_for_a_while(api: PagerDutyApi, pager: PagerDutySandbox) -> None:
    await opened(api, pager)
    assert not await is_known(api)
    assert pager.rest.calls == []


async def test_an_answer_in_between_begins_the_row_anew(api: PagerDutyApi, pager: PagerDutySandbox) -> None:
    for _ in range(FAILURES):
        pager.rest.drop_next(TRIES)
        assert not await is_known(api)
        assert await is_known(api)


async def test_then_one_call_finds_out_whether_it_is_back_and_the_others_wait_for_it(
    api: PagerDutyApi, pager: PagerDutySandbox, clock: ManualClock
) -> None:
    await opened(api, pager)
    clock.move_by(AWAY + timedelta(seconds=1))
    assert sorted(await asyncio.gather(*(is_known(api) for _ in range(5)))) == [False] * 4 + [True]
    assert len(pager.rest.calls) == 1
    assert await asyncio.gather(*(is_known(api) for _ in range(5))) == [True] * 5


async def test_a_probe_that_fails_is_the_only_one(
    api: PagerDutyApi, pager: PagerDutySandbox, clock: ManualClock
) -> None:
    await opened(api, pager)
    clock.move_by(AWAY + timedelta(seconds=1))
    pager.rest.drop_next(TRIES)
    assert not await is_known(api)
    assert len(pager.rest.calls) == TRIES
    assert not await is_known(api)
    assert len(pager.rest.calls) == TRIES


async def test_a_probe_that_is_given_up_leaves_its_place(
    api: PagerDutyApi, pager: PagerDutySandbox, clock: ManualClock
) -> None:
    await opened(api, pager)
    clock.move_by(AWAY + timedelta(seconds=1))
    pager.rest.answering.clear()
    probe = asyncio.create_task(is_known(api))
    while not pager.rest.calls:
        await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    pager.rest.answering.set()
    assert await is_known(api)


async def test_what_may_have_been_written_is_not_written_again_at_once(
    url: str, pager: PagerDutySandbox, clock: ManualClock
) -> None:
    incidents = IncidentsApi(API_TOKEN, ALICE.email, user_ids={}, now=clock.now, api_url=url)
    pager.rest.cut_off_next()
    assert isinstance(await incidents.write_to("k1", "Hello.", SENDING), Ambiguous)
    assert isinstance(
        await incidents.write_to("k1", "Hello.", Sending("d1", 2, ambiguous=True, since=START)), Delivered
    )
    assert [len(incident.notes) for incident in pager.incidents] == [1]
    await incidents.close()
