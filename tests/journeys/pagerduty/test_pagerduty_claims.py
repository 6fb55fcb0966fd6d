"""Who is on it, where that also changes outside PagerDuty; and what is paged again where somebody has resolved.

Source: API.md §3 (claims); docs/decisions/0024, 0027.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.webhooks import envelope, incident_data
from bot.sandbox.pagerduty.world import Incident, Service, User
from tests.vendors.pagerduty import Shift
from tests.world import World, running

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PEOPLE = ["alice@example.com", "bob@example.com"]
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
PAYMENTS = "Q" * 32


async def page(world: World, **fields: Any) -> tuple[dict[str, Any], Incident]:
    call = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": PEOPLE, "retry_policy": HOURLY}
    asked = await world.ask(**call | fields)
    return asked, await world.pager.expect_incident(asked["ref"])


async def claimed_by(world: World, asked: dict[str, Any]) -> str | None:
    return (await world.show(asked))["claimed_by"]  # type: ignore[no-any-return]


# --- Given back elsewhere -----------------------------------------------------------------------------------------


async def test_who_gave_it_back_on_the_page_is_not_on_it_again_because_somebody_else_acknowledges(
    any_world: World,
) -> None:
    asked, incident = await page(any_world)
    await any_world.pager.acknowledge(incident, ALICE)
    await any_world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    assert await claimed_by(any_world, asked) is None
    await any_world.advance(minutes=1)

    await any_world.pager.acknowledge(incident, BOB)

    assert await claimed_by(any_world, asked) == "bob@example.com"


async def test_who_gave_it_back_and_acknowledges_again_is_on_it(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.acknowledge(incident, ALICE)
    await world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    await world.advance(minutes=1)

    await world.pager.acknowledge(incident, ALICE)

    assert await claimed_by(world, asked) == "alice@example.com"


async def test_who_gave_one_of_two_answers_has_done_their_part_and_holds_nothing_back(world: World) -> None:
    asked, incident = await page(world, answers_required=2)
    await world.pager.acknowledge(incident, ALICE)
    await world.pager.add_note(incident, ALICE, "approve")
    await world.advance(minutes=1)

    await world.pager.acknowledge(incident, BOB)

    assert await claimed_by(world, asked) == "bob@example.com"


# --- Paged once more ----------------------------------------------------------------------------------------------


async def test_resolved_without_an_answer_whoever_is_on_call_is_paged_once_more(
    tmp_path: Path, sqlite_url: str
) -> None:
    allow = ["*@example.com", "pagerduty-schedule:*"]
    async with running(tmp_path, sqlite_url, pagerduty__retrigger_when_resolved=True, recipients__allow=allow) as world:
        world.pager.account.schedules["PSCHED1"] = [Shift(BOB)]
        asked, incident = await page(world, notify_to="pagerduty-schedule:PSCHED1")

        await world.pager.resolve(incident, ALICE)
        await world.settle()

        again = await world.pager.expect_incident(asked["ref"])
        assert again is not incident
        assert [user.id for user in again.responders] == ["PBOB"]


async def test_resolved_at_one_of_two_services_it_is_paged_once_more_there(tmp_path: Path, sqlite_url: str) -> None:
    services = {"pagerduty__services": {"payments": PAYMENTS}, "pagerduty__retrigger_when_resolved": True}
    async with running(tmp_path, sqlite_url, **services) as world:
        world.pager.account.services[PAYMENTS] = Service("PSVCPAY", "payments", PAYMENTS)
        ladder = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "pagerduty:payments"}]
        _, incident = await page(world, retry_policy=HOURLY | {"escalation_ladder": ladder})
        await world.advance(hours=1)
        assert [one.service.name for one in world.pager.incidents] == ["default", "payments"]

        await world.pager.resolve(incident, ALICE)
        await world.settle()

        assert [one.service.name for one in world.pager.incidents if one.is_open] == ["payments", "default"]


# --- Assignment ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told_of_it", [True, False])
async def test_to_whom_it_was_assigned_counts_as_of_the_acknowledgement_in_whatever_order_that_is_told(
    tmp_path: Path, sqlite_url: str, told_of_it: bool
) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__assignees_may_answer=True) as world:
        asked, incident = await page(world, responders=["alice@example.com"])
        await world.pager.webhooks.answered()
        await world.advance(minutes=1)
        world.pager.account.reassign(incident, [BOB], "reassign", "reassigned")
        reassigned = envelope("incident.reassigned", incident_data(incident), ALICE, world.clock.now())
        if told_of_it:
            await world.pager.webhooks.send(reassigned)

        await world.pager.acknowledge(incident, BOB)

        assert await claimed_by(world, asked) == "bob@example.com"
