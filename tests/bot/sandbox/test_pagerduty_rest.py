"""Who may call the pretend PagerDuty's REST API, and what its newer calls answer.

Source: https://developer.pagerduty.com/api-reference, …/docs/errors, …/docs/rest-api-rate-limits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import serving
from tests.bot.sandbox.pagerduty_sandbox import ALICE, BOB, KEY, OTHER_KEY, enqueue, opened, resolve, rest
from tests.clock import START, ManualClock
from tests.vendors.pagerduty import READ_ONLY_TOKEN, PagerDutySandbox, Shift

NOTE = {"note": {"content": "hello"}}
FROM_ALICE = {"From": "alice@example.com"}


@pytest.fixture
async def pager() -> AsyncIterator[PagerDutySandbox]:
    sandbox = PagerDutySandbox({"default": KEY, "billing": OTHER_KEY}, [ALICE, BOB], now=ManualClock().now)
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def api(pager: PagerDutySandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(pager.app) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        yield client


async def test_a_token_that_only_reads_changes_nothing(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    path = f"/incidents/{(await opened(pager, api)).id}"

    assert (await api.get(path, headers=rest(READ_ONLY_TOKEN))).status_code == 200
    said = await api.post(f"{path}/notes", json=NOTE, headers=rest(READ_ONLY_TOKEN, **FROM_ALICE))
    assert (said.status_code, said.json()["error"]["code"]) == (403, 2010)
    assert pager.incidents[0].notes == []


async def test_who_calls_too_often_is_told_how_long_to_wait(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    pager.rest.limit_next(1, reset_seconds=7)

    said = await api.get("/incidents", headers=rest())
    assert (said.status_code, said.json()["error"]["code"], said.headers["ratelimit-reset"]) == (429, 2020, "7")
    assert (await api.get("/incidents", headers=rest())).status_code == 200


async def test_incidents_are_found_by_the_keys_of_their_alerts(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    first, second = await opened(pager, api), await opened(pager, api, dedup_key="k2")

    async def ids(**query: Any) -> list[str]:
        return [one["id"] for one in (await api.get("/incidents", params=query, headers=rest())).json()["incidents"]]

    assert await ids(incident_key="k2") == [second.id]
    await enqueue(api, resolve("k1"))
    assert await ids(**{"statuses[]": ["triggered", "acknowledged"]}) == [second.id]
    assert await ids() == [first.id, second.id]


async def test_a_responder_request_pages_them_and_needs_a_requester(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    incident = await opened(pager, api)
    path = f"/incidents/{incident.id}/responder_requests"
    target = {"responder_request_target": {"id": "PBOB", "type": "user_reference"}}
    body = {"requester_id": "PALICE", "message": "please", "responder_request_targets": [target]}

    assert (await api.post(path, json=body, headers=rest())).status_code == 400
    nobody = {"responder_request_target": {"id": "PNOBODY", "type": "user_reference"}}
    for wrong in ({"responder_request_targets": []}, {"requester_id": "PX"}, {"responder_request_targets": [nobody]}):
        assert (await api.post(path, json=body | wrong, headers=rest(**FROM_ALICE))).status_code == 400
    assert (await api.post(path, json=body, headers=rest(**FROM_ALICE))).status_code == 200
    assert [page.why for page in pager.pages if page.user == BOB] == ["responder"]


async def test_whoever_is_on_call_is_listed_with_level_and_times(
    pager: PagerDutySandbox, api: httpx.AsyncClient
) -> None:
    hour = timedelta(hours=1)
    pager.account.schedules["PSCHED"] = [
        Shift(ALICE, START - hour, START + hour),
        Shift(BOB, START + hour, START + 2 * hour),
        Shift(BOB, level=2),
    ]

    async def on_call(**query: Any) -> list[tuple[str, int, str | None]]:
        found = (await api.get("/oncalls", params={"schedule_ids[]": "PSCHED", **query}, headers=rest())).json()
        return [(one["user"]["id"], one["escalation_level"], one["end"]) for one in found["oncalls"]]

    assert await on_call() == [("PALICE", 1, "2026-03-24T11:00:00Z"), ("PBOB", 2, None)]
    later = (START + timedelta(minutes=90)).isoformat()
    assert await on_call(since=later, until=later) == [("PBOB", 1, "2026-03-24T12:00:00Z"), ("PBOB", 2, None)]
    assert (await api.get("/oncalls?since=soon", headers=rest())).status_code == 400


async def test_users_are_found_by_mail(api: httpx.AsyncClient) -> None:
    found = (await api.get("/users", params={"query": "bob@example.com"}, headers=rest())).json()["users"]

    assert [one["id"] for one in found] == ["PBOB"]


async def test_custom_fields_are_set_and_read(pager: PagerDutySandbox, api: httpx.AsyncClient) -> None:
    path = f"/incidents/{(await opened(pager, api)).id}/custom_fields/values"

    await api.put(path, json={"custom_fields": [{"name": "decision", "value": "Deny"}]}, headers=rest(**FROM_ALICE))

    [field] = (await api.get(path, headers=rest())).json()["custom_fields"]
    assert (field["name"], field["value"]) == ("decision", "Deny")
