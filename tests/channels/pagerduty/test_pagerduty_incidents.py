"""What is written into incidents, and what each answer of PagerDuty's REST API means for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from bot.sandbox.serving import serving
from channels.pagerduty.incidents import PATIENCE, IncidentsApi
from channels.pagerduty.rest import AWAY, FAILURES
from core.ports import Deferred, Delivered, RefusalCause, Refused, Sending
from tests.bot.sandbox.pagerduty_sandbox import ALICE, BOB, KEY, enqueue, event
from tests.clock import START, ManualClock
from tests.vendors.pagerduty import API_TOKEN, PagerDutySandbox

pytestmark = pytest.mark.io

SENDING = Sending("d1", 1, ambiguous=False, since=START)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def pager(clock: ManualClock) -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox({"default": KEY}, [ALICE, BOB], now=clock.now)
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def url(pager: PagerDutySandbox) -> AsyncIterator[str]:
    async with serving(pager.app) as url:
        yield url


@pytest.fixture
async def incidents(url: str, clock: ManualClock) -> AsyncIterator[IncidentsApi]:
    incidents = writing(url, clock)
    yield incidents
    await incidents.close()


def writing(url: str, clock: ManualClock, token: str = API_TOKEN, by: str = ALICE.email) -> IncidentsApi:
    return IncidentsApi(token, by, user_ids={}, now=clock.now, api_url=url)


@pytest.fixture
async def opened(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as api:
        await enqueue(api, event())


def notes(pager: PagerDutySandbox) -> list[str]:
    return [note.content for incident in pager.incidents for note in incident.notes]


async def test_an_incident_that_is_not_there_yet_is_waited_for_and_then_given_up(
    incidents: IncidentsApi, clock: ManualClock
) -> None:
    assert await incidents.write_to("k1", "Hello.", SENDING) == Deferred("no_incident", START + timedelta(seconds=5))
    clock.move_by(PATIENCE + timedelta(seconds=1))
    assert await incidents.write_to("k1", "Hello.", SENDING) == Refused("no_incident")
    assert await incidents.call("k1", BOB.email, "Please.", SENDING) == Refused("no_incident")


@pytest.mark.usefixtures("opened")
async def test_a_rate_limit_is_waited_out_as_long_as_it_says(incidents: IncidentsApi, pager: PagerDutySandbox) -> None:
    pager.rest.limit_next(1, reset_seconds=7)

    assert await incidents.write_to("k1", "Hello.", SENDING) == Deferred("http_429", START + timedelta(seconds=7))


@pytest.mark.usefixtures("opened")
async def test_a_token_that_may_not_write_is_refused_for_good(
    url: str, pager: PagerDutySandbox, clock: ManualClock
) -> None:
    for token, reason in ((pager.rest.read_only_token, "http_403"), ("forged", "http_401")):
        incidents = writing(url, clock, token)
        assert await incidents.write_to("k1", "Hello.", SENDING) == Refused(reason, RefusalCause.SETUP)
        await incidents.close()
    assert notes(pager) == []


@pytest.mark.usefixtures("opened")
async def test_nobody_writes_in_the_name_of_a_stranger(url: str, pager: PagerDutySandbox, clock: ManualClock) -> None:
    incidents = writing(url, clock, by="nobody@example.com")

    assert await incidents.write_to("k1", "Hello.", SENDING) == Refused("http_400", RefusalCause.SETUP)
    assert await incidents.call("k1", BOB.email, "Please.", SENDING) == Refused("no_such_user")
    await incidents.close()


@pytest.mark.usefixtures("opened")
async def test_somebody_unknown_can_not_be_called(incidents: IncidentsApi, pager: PagerDutySandbox) -> None:
    assert await incidents.call("k1", "eve@elsewhere.example", "Please.", SENDING) == Refused("no_such_user")
    assert pager.incidents[0].responders == []


@pytest.mark.usefixtures("opened")
async def test_a_second_try_calls_nobody_twice(incidents: IncidentsApi, pager: PagerDutySandbox) -> None:
    assert isinstance(await incidents.call("k1", BOB.email, "Please.", SENDING), Delivered)
    assert isinstance(await incidents.call("k1", BOB.email, "Please.", replace(SENDING, tries=2)), Delivered)

    assert pager.incidents[0].responders == [BOB]


@pytest.mark.usefixtures("opened")
async def test_an_api_that_does_not_answer_is_left_alone_for_a_while(url: str, clock: ManualClock) -> None:
    async with serving(PagerDutySandbox({}).app) as closed:
        pass
    incidents = writing(closed, clock)
    for _ in range(FAILURES):
        assert await incidents.write_to("k1", "Hello.", SENDING) == Deferred("connect_failed")
    assert await incidents.write_to("k1", "Hello.", SENDING) == Deferred("api_away", START + AWAY)
    clock.move_by(AWAY)
    assert await incidents.write_to("k1", "Hello.", SENDING) == Deferred("connect_failed")
    await incidents.close()


@pytest.mark.usefixtures("opened")
async def test_a_note_shows_nothing_invisible_and_fits(incidents: IncidentsApi, pager: PagerDutySandbox) -> None:
    await incidents.write_to("k1", "Hello\n\u202eworld\0" + "x" * 30_000, SENDING)

    [note] = notes(pager)
    assert note.startswith("Handraise: Hello\nworldxxx")
    assert len(note) == 20_000


@pytest.mark.usefixtures("opened")
async def test_what_is_open_is_listed_by_its_keys_over_all_pages(
    incidents: IncidentsApi, url: str, pager: PagerDutySandbox
) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as api:
        for number in range(120):
            await enqueue(api, event(dedup_key=f"n{number}"))
    pager.account.resolve(pager.incidents[0])
    pager.account.merge(pager.incidents[2], pager.incidents[1])
    pager.incidents[1].alerts[0].is_open = False  # it has ended; what was merged in keeps the incident open

    assert await incidents.open_keys() == {f"n{number}" for number in range(1, 120)}
    pager.rest.down_with = 500
    assert await incidents.open_keys() is None
