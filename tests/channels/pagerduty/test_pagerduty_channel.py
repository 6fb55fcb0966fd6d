"""The PagerDuty channel against a server that speaks the Events API: what each thing on the wire means."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.sandbox.pagerduty.world import IncidentStatus
from bot.sandbox.serving import serving
from channels.pagerduty.channel import PagerDutyChannel
from core.domain.notice import Ending, Message, Notice, NoticeChoice, NoticeLinks, Purpose
from core.domain.people import Address
from core.domain.suspension import ResponseType, Status
from core.ports import Ambiguous, Deferred, Delivered, Delivery, Refused, Sending
from tests.vendors.pagerduty import RETRY_AFTER_SECONDS, EventFault, PagerDutySandbox

pytestmark = pytest.mark.io

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SOON = NOW + timedelta(seconds=30)
SENDING = Sending("delivery-1", 1, ambiguous=False, since=NOW)
DEFAULT = Address("pagerduty", "default")
BILLING = Address("pagerduty", "billing")
SERVICES = {"default": "R" * 32, "billing": "Q" * 32}
NOTICE = Notice(
    ref="HR-7F3K",
    question="Refund order 12345?",
    response_type=ResponseType.CHOICE,
    choices=(NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny")),
    context={"order_id": "12345"},
    attempt=1,
    max_attempts=3,
    asked_by="refund-agent",
    asked_at=NOW,
    expires_at=NOW + timedelta(hours=3),
    silence="If nobody answers by 2026-11-21 12:00 UTC, the agent stops.",
    links=NoticeLinks("https://ask.example/q/HR-7F3K", "https://ask.example/a/secret-token"),
)
ENDING = Ending(
    "HR-7F3K", "Refund order 12345?", Status.RESPONDED, NOW, answer="Approve refund", by="alice@example.com"
)
ALERT = Message(Purpose.ALERT, "Nobody could be asked", "Every recipient was refused.", "https://ask.example/q/HR-7F3K")


class StoppedClock:
    def now(self) -> datetime:
        return NOW


@pytest.fixture
async def pager() -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox(SERVICES)
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def channel(pager: PagerDutySandbox) -> AsyncIterator[PagerDutyChannel]:
    async with serving(pager.app) as url:
        channel = PagerDutyChannel(SERVICES, instance="main", clock=StoppedClock(), events_url=url)
        yield channel
        await channel.close()


async def test_a_question_pages_the_service_and_says_how_to_answer(
    pager: PagerDutySandbox, channel: PagerDutyChannel
) -> None:
    outcome = await channel.send(NOTICE, DEFAULT, SENDING)

    assert outcome == Delivered({"dedup_key": "handraise:main:HR-7F3K", "service": "default"})
    incident = await pager.expect_incident("[HR-7F3K] Refund order 12345?")
    assert incident.service.name == "default"
    assert incident.details["choices"] == ["1. Approve refund", "2. Deny refund"]
    assert incident.details["context"] == {"order_id": "12345"}
    assert "https://ask.example/q/HR-7F3K" in incident.details["how_to_answer"]


async def test_the_page_of_one_person_is_never_in_an_incident(
    pager: PagerDutySandbox, channel: PagerDutyChannel
) -> None:
    await channel.send(NOTICE, Address("pagerduty", "default", "alice@example.com"), SENDING)

    assert "secret-token" not in str(pager.events)


async def test_every_attempt_at_one_service_is_one_incident(pager: PagerDutySandbox, channel: PagerDutyChannel) -> None:
    await channel.send(NOTICE, DEFAULT, SENDING)
    await channel.send(replace(NOTICE, attempt=2), DEFAULT, replace(SENDING, id="delivery-2"))

    (incident,) = pager.incidents
    assert incident.log == ["trigger", "trigger"]


async def test_withdrawing_resolves_the_incident_of_that_service_alone(
    pager: PagerDutySandbox, channel: PagerDutyChannel
) -> None:
    await channel.send(NOTICE, DEFAULT, SENDING)
    sent = await channel.send(NOTICE, BILLING, SENDING)
    assert isinstance(sent, Delivered)

    resolved = await channel.withdraw(ENDING, sent.receipt, SENDING)
    assert resolved == replace(sent, awaits=ENDING.ref)
    assert [one.status for one in pager.incidents] == [IncidentStatus.TRIGGERED, IncidentStatus.RESOLVED]
    assert await channel.withdraw(ENDING, sent.receipt, SENDING) == resolved


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (EventFault.RATE_LIMITED, Deferred("http_429", NOW + timedelta(seconds=RETRY_AFTER_SECONDS))),
        (EventFault.SERVER_ERROR, Ambiguous("http_500", SOON)),
        (EventFault.DROP_BEFORE_STORING, Ambiguous("no_valid_response", SOON)),
        (EventFault.DROP_AFTER_STORING, Ambiguous("no_valid_response", SOON)),
    ],
)
async def test_a_page_in_doubt_is_sent_again_and_pages_once(
    pager: PagerDutySandbox, channel: PagerDutyChannel, fault: EventFault, outcome: Delivery
) -> None:
    pager.fail_next(fault)

    assert await channel.send(NOTICE, DEFAULT, SENDING) == outcome
    assert isinstance(await channel.send(NOTICE, DEFAULT, replace(SENDING, tries=2)), Delivered)
    assert len(pager.incidents) == 1


async def test_one_call_is_one_request(pager: PagerDutySandbox, channel: PagerDutyChannel) -> None:
    pager.fail_next(EventFault.SERVER_ERROR)

    await channel.send(NOTICE, DEFAULT, SENDING)

    assert pager.tries == 1


async def test_nobody_there_means_not_sent() -> None:
    async with serving(PagerDutySandbox(SERVICES).app) as url:
        closed = url
    channel = PagerDutyChannel(SERVICES, instance="main", clock=StoppedClock(), events_url=closed)

    assert await channel.send(NOTICE, DEFAULT, SENDING) == Deferred("connect_failed", SOON)
    await channel.close()


async def test_an_event_that_pagerduty_refuses_is_refused_for_good(pager: PagerDutySandbox) -> None:
    async with serving(pager.app) as url:
        channel = PagerDutyChannel({"default": "X" * 32}, instance="main", clock=StoppedClock(), events_url=url)
        assert await channel.send(NOTICE, DEFAULT, SENDING) == Refused("http_400")
        await channel.close()


async def test_a_service_that_is_not_configured_is_refused(pager: PagerDutySandbox, channel: PagerDutyChannel) -> None:
    gone = {"dedup_key": "handraise:main:HR-7F3K", "service": "gone"}

    assert await channel.send(NOTICE, Address("pagerduty", "gone"), SENDING) == Refused("unknown_service")
    assert await channel.withdraw(ENDING, gone, SENDING) == Refused("unknown_service")
    assert pager.tries == 0


async def test_an_alert_is_an_incident_of_its_own_however_often_it_is_tried(
    pager: PagerDutySandbox, channel: PagerDutyChannel
) -> None:
    await channel.send(NOTICE, DEFAULT, SENDING)
    pager.fail_next(EventFault.DROP_AFTER_STORING)
    await channel.tell(ALERT, DEFAULT, replace(SENDING, id="alert-1"))
    await channel.tell(ALERT, DEFAULT, replace(SENDING, id="alert-1", tries=2))

    assert [one.title for one in pager.incidents] == ["[HR-7F3K] Refund order 12345?", "Nobody could be asked"]
    assert pager.incidents[1].payload["severity"] == "error"


@pytest.mark.parametrize("purpose", [one for one in Purpose if one is not Purpose.ALERT])
async def test_nobody_is_woken_up_for_less_than_an_alert(
    pager: PagerDutySandbox, channel: PagerDutyChannel, purpose: Purpose
) -> None:
    message = replace(ALERT, purpose=purpose)

    assert await channel.tell(message, DEFAULT, SENDING) == Refused("not_a_channel_for_this")
    assert pager.tries == 0


async def test_whatever_an_agent_asks_fits_into_an_event(pager: PagerDutySandbox, channel: PagerDutyChannel) -> None:
    choices = tuple(NoticeChoice(index, f"Choice {index} \0", str(index), "\1" * 2_000) for index in range(100))
    context = {"log": "\u2028" * 300_000, "half": "\ud800", "small": "kept"}
    huge = replace(NOTICE, question="ß🙂\n" * 20_000, choices=choices, context=context)

    assert isinstance(await channel.send(huge, DEFAULT, SENDING), Delivered)
    assert len(pager.incidents[0].title) == 1024
    assert "https://ask.example/q/HR-7F3K" in pager.incidents[0].details["how_to_answer"]


async def test_an_address_with_or_without_the_path_is_the_events_api(pager: PagerDutySandbox) -> None:
    async with serving(pager.app) as url:
        for spelled in (url, f"{url}/", f"{url}/v2/enqueue"):
            channel = PagerDutyChannel(SERVICES, instance="main", clock=StoppedClock(), events_url=spelled)
            assert isinstance(await channel.send(NOTICE, DEFAULT, SENDING), Delivered)
            await channel.close()
