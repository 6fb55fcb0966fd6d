"""RFC-0026 §9: the end-to-end example, row by row of its timeline, over HTTP alone."""

from __future__ import annotations

from typing import Any

from tests.conformance.rfc_0026.containers import complete, events, get, move, post, shown, status, suspend
from tests.world import World

PHASES: list[dict[str, Any]] = [
    {"name": "fetch_data", "outputs": {"rows": "number"}},
    {
        "name": "compliance_review",
        "depends_on": ["fetch_data"],
        "inputs": {"rows": "fetch_data.rows"},
        "outputs": {"verdict": "string"},
    },
    {
        "name": "generate_report",
        "depends_on": ["compliance_review"],
        "inputs": {"verdict": "compliance_review.verdict"},
    },
]
LADDER = [{"attempt": 2, "channel_hint": "email"}]
POLICY = {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": LADDER}


async def give(world: World, intent_id: str, **outputs: Any) -> None:
    headers = {"If-Match": str((await shown(world, intent_id))["version"])}
    patches = [{"op": "set", "path": name, "value": value} for name, value in outputs.items()]
    path = f"/v1/intents/{intent_id}/state"
    assert (await world.call("POST", path, json={"patches": patches}, headers=headers)).status_code == 200


async def task(world: World, task_id: str, wanted: str) -> None:
    headers = {"If-Match": str((await get(world, f"/v1/tasks/{task_id}"))["version"])}
    response = await world.call("PATCH", f"/v1/tasks/{task_id}", json={"status": wanted}, headers=headers)
    assert response.status_code == 200, response.text


async def test_the_timeline_of_the_example(world: World) -> None:
    made = await post(world, "/v1/workflows", name="Compliance", phases=PHASES)
    fetch, review, report = made["phases"]
    folder = (await post(world, "/v1/portfolios", name="Compliance"))["id"]
    await post(world, f"/v1/portfolios/{folder}/intents", intent_id=review["intent_id"])
    for phase in made["phases"]:
        if await status(world, phase["intent_id"]) == "draft":
            assert (await move(world, phase["intent_id"], "active"))[0] == 200
    await give(world, fetch["intent_id"], rows=3)
    await complete(world, fetch["intent_id"])
    assert (await world.call("POST", f"/v1/tasks/{review['task_id']}/claim")).status_code == 200
    await task(world, review["task_id"], "running")

    # T+0
    second, third = review["intent_id"], report["intent_id"]
    asked = await suspend(world, second, question="Compliant?", timeout_seconds=3600, retry_policy=POLICY)
    await world.settle()
    assert await status(world, second) == "suspended_awaiting_input"
    blocked = await get(world, f"/v1/tasks/{review['task_id']}")
    assert (blocked["status"], blocked["blocked_reason"]) == ("blocked", "intent_suspended")
    assert await status(world, third) == "blocked"
    assert len(await events(world, second, "intent.suspended")) == 1
    await world.slack.expect_message("Compliant?")
    seen = await get(world, f"/v1/portfolios/{folder}")
    assert (seen["has_suspended_members"], seen["suspended_member_count"]) == (True, 1)
    assert (await world.call("POST", f"/v1/tasks/{report['task_id']}/claim")).status_code == 409

    # T+3600
    await world.advance(seconds=3600)
    [again] = await events(world, second, "intent.suspension_renotified")
    assert (again["attempt"], again["channel_hint"]) == (2, "email")
    await world.mailbox.expect(subject="Compliant?")
    [escalated] = await events(world, second, "intent.suspension_escalated")
    assert escalated["attempt"] == 2

    # T+5400
    await world.advance(seconds=1800)
    assert (await world.answer(asked, "yes")).status_code == 200
    assert await status(world, second) == "active"
    assert (await get(world, f"/v1/tasks/{review['task_id']}"))["status"] == "running"
    await give(world, second, verdict="compliant")
    await task(world, review["task_id"], "completed")
    await complete(world, second)
    assert await status(world, third) == "active"
    claimed = await world.call("POST", f"/v1/tasks/{report['task_id']}/claim")
    assert (claimed.status_code, claimed.json()["status"]) == (200, "claimed")

    # T+5500
    await world.advance(seconds=100)
    await task(world, report["task_id"], "running")
    await task(world, report["task_id"], "completed")
    await complete(world, third)
    progress = (await get(world, f"/v1/workflows/{made['id']}"))["progress"]
    assert (progress["by_status"]["completed"], progress["suspended_phases"]) == (3, [])
