"""The pretend PagerDuty refuses what the real one refuses, and keeps its promises.

Source: https://developer.pagerduty.com/docs/send-alert-event, …/events-api-v2-overview, …/webhooks-overview.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.world import IncidentStatus
from bot.sandbox.serving import serving
from tests.bot.sandbox.pagerduty_sandbox import (
    ALICE,
    KEY,
    OTHER_KEY,
    Receiver,
    enqueue,
    event,
    resolve,
    rest,
    subscribed,
)
from tests.vendors.pagerduty import API_TOKEN, RETRY_AFTER_SECONDS, WEBHOOK_SECRET, EventFault, PagerDutySandbox


@pytest.fixture
async def pager() -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox({"default": KEY, "billing": OTHER_KEY}, [ALICE])
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def api(pager: PagerDutySandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(pager.app) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        yield client


async def test_a_trigger_is_accepted_with_202_and_opens_an_incident(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    said = await enqueue(api, event())

    assert said.status_code == 202
    assert said.json() == {"status": "success", "message": "Event processed", "dedup_key": "k1"}
    incident = await pager.expect_incident("Refund?")
    assert incident.status is IncidentStatus.TRIGGERED


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (event(routing_key="short"), "routing_key"),
        (event(routing_key="Z" * 32), "Invalid routing key"),
        (event(routing_key=None), "routing_key"),
        (event(event_action="shout"), "event_action"),
        (event(dedup_key="k" * 256), "dedup_key"),
        (event(payload={"summary": "x" * 1025}), "payload.summary"),
        (event(payload={"summary": " "}), "payload.summary"),
        (event(payload={"source": None}), "payload.source"),
        (event(payload={"severity": "urgent"}), "payload.severity"),
        (event(payload={"severity": None}), "payload.severity"),
        (event(payload={"custom_details": "text"}), "custom_details"),
        (event(links=[{"text": "no address"}]), "links"),
        (event(links={"href": "https://a.example"}), "links"),
        (event(links=[{"href": "not an address"}]), "links"),
        (event(images=[{"alt": "no source"}]), "images"),
        (event(images=[{"src": "http://a.example/x.png"}]), "HTTPS"),
        (event(client_url="somewhere"), "client_url"),
        (event(payload={"timestamp": "yesterday"}), "timestamp"),
        (event(payload={"component": 7}), "component"),
        (event(dedup_key=7), "dedup_key"),
        ({"routing_key": KEY, "event_action": "trigger"}, "payload"),
        ({"routing_key": KEY, "event_action": "resolve"}, "dedup_key"),
        ({"routing_key": KEY, "event_action": "acknowledge"}, "dedup_key"),
        (event(payload={"custom_details": {"log": "x" * (512 * 1024)}}), "too large"),
    ],
)
async def test_an_invalid_event_is_refused_with_400_and_opens_nothing(
    pager: PagerDutySandbox, api: httpx.AsyncClient, wrong: dict[str, Any], complaint: str
) -> None:
    said = await enqueue(api, wrong)

    assert said.status_code == 400
    assert said.json()["status"] == "invalid event"
    assert any(complaint in error for error in said.json()["errors"])
    assert pager.incidents == []


async def test_the_longest_fields_that_pagerduty_takes_are_taken(api: httpx.AsyncClient) -> None:
    said = await enqueue(api, event(dedup_key="k" * 255, payload={"summary": "x" * 1024}))

    assert said.status_code == 202


async def test_what_is_not_json_is_refused(api: httpx.AsyncClient) -> None:
    for body in (b"{", b"[]", b"\xff", b"[" * 100_000):
        assert (await api.post("/v2/enqueue", content=body)).status_code == 400


async def test_a_second_trigger_adds_to_the_log_of_the_open_incident(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    await enqueue(api, event())
    await enqueue(api, event())

    (incident,) = pager.incidents
    assert incident.log == ["trigger", "trigger"]


async def test_a_trigger_after_a_resolve_opens_another_incident(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    await enqueue(api, event())
    await enqueue(api, resolve())
    await enqueue(api, event())

    assert [one.status for one in pager.incidents] == [IncidentStatus.RESOLVED, IncidentStatus.TRIGGERED]


async def test_a_resolve_by_another_routing_key_or_of_nothing_is_dropped_without_a_word(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    await enqueue(api, event())

    assert (await enqueue(api, resolve(routing_key=OTHER_KEY))).status_code == 202
    assert (await enqueue(api, resolve("unknown"))).status_code == 202
    assert pager.incidents[0].status is IncidentStatus.TRIGGERED


async def test_an_acknowledge_event_acknowledges(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    await enqueue(api, event())
    await enqueue(api, {**resolve(), "event_action": "acknowledge"})

    assert pager.incidents[0].status is IncidentStatus.ACKNOWLEDGED


async def test_faults_come_one_by_one_and_drops_leave_the_caller_in_doubt(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    pager.fail_next(
        EventFault.RATE_LIMITED, EventFault.SERVER_ERROR, EventFault.DROP_BEFORE_STORING, EventFault.DROP_AFTER_STORING
    )

    limited = await enqueue(api, event())
    assert (limited.status_code, limited.headers["retry-after"]) == (429, str(RETRY_AFTER_SECONDS))
    assert (await enqueue(api, event())).status_code == 500
    with pytest.raises(httpx.TransportError):
        await enqueue(api, event())
    assert pager.incidents == []
    with pytest.raises(httpx.TransportError):
        await enqueue(api, event())
    assert len(pager.incidents) == 1


# --- REST ---------------------------------------------------------------------------------------------------------


async def test_an_incident_has_no_incident_key_and_its_alerts_have_the_dedup_keys(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    await enqueue(api, event())
    path = f"/incidents/{pager.incidents[0].id}"

    incident = (await api.get(path, headers=rest())).json()["incident"]
    assert "incident_key" not in incident
    assert incident["title"] == "Refund?"
    alerts = (await api.get(f"{path}/alerts", headers=rest())).json()
    assert [alert["alert_key"] for alert in alerts["alerts"]] == ["k1"]
    assert alerts["more"] is False


async def test_alerts_come_in_pages(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    for number in range(3):
        await enqueue(api, event(dedup_key=f"k{number}"))
    first, *others = pager.incidents
    for other in others:
        pager.merge(other, first)

    page = (await api.get(f"/incidents/{first.id}/alerts?limit=2&offset=1", headers=rest())).json()

    assert [alert["alert_key"] for alert in page["alerts"]] == ["k1", "k2"]
    assert page["more"] is False
    assert (await api.get(f"/incidents/{first.id}/alerts?limit=2", headers=rest())).json()["more"] is True


@pytest.mark.parametrize("path", ["/incidents/P1", "/incidents/P1/alerts", "/users/PALICE"])
async def test_rest_calls_need_the_token(api: httpx.AsyncClient, path: str) -> None:
    for headers in ({}, rest("wrong"), {"Authorization": f"Bearer {API_TOKEN}"}):
        said = await api.get(path, headers=headers)
        assert said.status_code == 401
        assert said.json()["error"]["code"] == 2006


async def test_unknown_incidents_and_users_are_404(api: httpx.AsyncClient) -> None:
    for path in ("/incidents/P1", "/incidents/P1/alerts", "/users/PNOBODY"):
        assert (await api.get(path, headers=rest())).status_code == 404


async def test_a_user_has_an_email(api: httpx.AsyncClient) -> None:
    user = (await api.get("/users/PALICE", headers=rest())).json()["user"]

    assert user["email"] == "alice@example.com"


async def test_a_note_needs_an_author_and_words(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    await enqueue(api, event())
    path = f"/incidents/{pager.incidents[0].id}/notes"
    by_alice = rest() | {"From": "alice@example.com"}

    assert (await api.post(path, json={"note": {"content": "hello"}}, headers=rest())).status_code == 400
    assert (await api.post(path, json={"note": {"content": " "}}, headers=by_alice)).status_code == 400
    assert (await api.post(path, json={"note": {"content": "hello"}}, headers=by_alice)).status_code == 201
    assert [note.content for note in pager.incidents[0].notes] == ["hello"]


# --- Webhooks -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def receiver(pager: PagerDutySandbox) -> AsyncIterator[Receiver]:
    async with subscribed(pager) as receiver:
        yield receiver


async def test_a_persons_doings_arrive_in_order_signed_and_without_an_incident_key(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    await enqueue(api, event())
    incident = pager.incidents[0]
    assert (await pager.acknowledge(incident, ALICE)).status_code == 202
    await pager.unacknowledge(incident)
    await pager.add_note(incident, ALICE, "yes – ja")
    await pager.resolve(incident, ALICE)

    events = await receiver.events(5)

    kinds = ["triggered", "acknowledged", "unacknowledged", "annotated", "resolved"]
    assert [one["event_type"] for one in events] == [f"incident.{kind}" for kind in kinds]
    assert [one["agent"] and one["agent"]["id"] for one in events] == [None, "PALICE", None, "PALICE", "PALICE"]
    assert all("incident_key" not in one["data"] for one in events)
    assert events[3]["data"]["content"] == "yes – ja"
    assert events[3]["data"]["trimmed"] is False
    assert len({headers["x-webhook-id"] for headers, _ in receiver.got}) == 5
    for headers, raw in receiver.got:
        expected = hmac.new(WEBHOOK_SECRET.encode(), raw, hashlib.sha256).hexdigest()
        assert headers["x-pagerduty-signature"] == f"v1={expected}"


async def test_a_webhook_may_be_delivered_twice_under_one_id(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    pager.webhooks.copies = 2
    await enqueue(api, event())

    first, second = await receiver.events(2)

    assert first == second
    assert receiver.got[0][0]["x-webhook-id"] == receiver.got[1][0]["x-webhook-id"]


async def test_each_secret_of_a_rotation_signs(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    pager.webhooks.secrets = ("old", "new")
    await enqueue(api, event())
    await receiver.events(1)

    ((headers, raw),) = receiver.got
    signatures = [hmac.new(secret, raw, hashlib.sha256).hexdigest() for secret in (b"old", b"new")]
    assert headers["x-pagerduty-signature"] == ",".join(f"v1={one}" for one in signatures)


async def test_a_note_that_does_not_fit_is_cut_and_says_so(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    await enqueue(api, event())
    await pager.add_note(pager.incidents[0], ALICE, "é" * 60_000)

    *_, note = await receiver.events(2)

    assert note["data"]["trimmed"] is True
    assert len(receiver.got[-1][1]) <= 55 * 1024


async def test_nobody_can_act_on_a_resolved_incident(
    pager: PagerDutySandbox, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    await enqueue(api, event())
    await pager.resolve(pager.incidents[0], ALICE)

    with pytest.raises(ValueError, match="resolved"):
        await pager.acknowledge(pager.incidents[0], ALICE)


async def test_waiting_for_an_incident_ends(pager: PagerDutySandbox) -> None:
    with pytest.raises(TimeoutError):
        await pager.expect_incident("never", within=0.05)
