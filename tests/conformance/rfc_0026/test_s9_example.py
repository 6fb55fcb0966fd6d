"""RFC-0026 §9: the compliance workflow, row by row of its timeline, through REST alone.

``test_the_timeline`` has a function for each row. Phase 1 has run already when it begins, as in the RFC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.world import CHANNEL, World

PHASES = [
    {"name": "fetch_data", "outputs": {"records": "array"}},
    {
        "name": "compliance_review",
        "depends_on": ["fetch_data"],
        "inputs": {"records": "fetch_data.records"},
        "outputs": {"verdict": "string"},
    },
    {
        "name": "generate_report",
        "depends_on": ["compliance_review"],
        "inputs": {"verdict": "compliance_review.verdict"},
        "outputs": {"report": "string"},
    },
]
LADDER = [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}]


@dataclass
class Compliance:
    """The workflow, its portfolio and its coordinator, and what has been asked."""

    world: World
    workflow: dict[str, Any] = field(default_factory=dict)
    portfolio_id: str = ""
    asked: dict[str, Any] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, role: str = "agent") -> dict[str, Any]:
        response = await self.world.call(method, f"/v1{path}", role, json=body)
        assert response.status_code in {200, 201}, response.text
        told: dict[str, Any] = response.json()
        return told

    async def change(self, method: str, path: str, where: str, body: Any) -> dict[str, Any]:
        version = (await self.call("GET", where))["version"]
        response = await self.world.call(method, f"/v1{path}", json=body, headers={"If-Match": str(version)})
        assert response.status_code == 200, response.text
        told: dict[str, Any] = response.json()
        return told

    def phase(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.workflow["phases"][number - 1]
        return found

    async def intent(self, number: int) -> dict[str, Any]:
        return await self.call("GET", f"/intents/{self.phase(number)['intent_id']}")

    async def task(self, number: int) -> dict[str, Any]:
        return await self.call("GET", f"/tasks/{self.phase(number)['task_id']}")

    async def move_task(self, number: int, **said: Any) -> dict[str, Any]:
        path = f"/tasks/{self.phase(number)['task_id']}"
        return await self.change("PATCH", path, path, said)

    async def complete(self, number: int) -> dict[str, Any]:
        path = f"/intents/{self.phase(number)['intent_id']}"
        return await self.change("POST", f"{path}/status", path, {"status": "completed"})

    async def claim(self, number: int) -> Any:
        return await self.world.call("POST", f"/v1/tasks/{self.phase(number)['task_id']}/claim", json={})

    async def types(self, number: int) -> list[str]:
        return await self.world.event_types({"intent_id": self.phase(number)["intent_id"]})

    async def progress(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.call("GET", f"/workflows/{self.workflow['id']}"))["progress"]
        return found

    async def begin(self) -> None:
        """Everything is there, phase 1 has completed, and phase 2 runs."""
        self.workflow = await self.call("POST", "/workflows", {"name": "Compliance", "phases": PHASES})
        self.portfolio_id = (await self.call("POST", "/portfolios", {"name": "Quarter"}))["id"]
        for number in (1, 2, 3):
            added = {"intent_id": self.phase(number)["intent_id"]}
            await self.call("POST", f"/portfolios/{self.portfolio_id}/intents", added)
        await self.work(1, {"records": [1, 2]})
        assert (await self.intent(2))["status"] == "active"
        assert (await self.claim(2)).status_code == 200
        await self.move_task(2, status="running")

    async def work(self, number: int, output: dict[str, Any]) -> None:
        claimed = await self.claim(number)
        assert claimed.status_code == 200, claimed.text
        await self.move_task(number, status="running")
        await self.move_task(number, status="completed", output=output)
        await self.complete(number)


async def test_the_timeline(any_world: World) -> None:
    story = Compliance(any_world)
    await story.begin()
    await the_agent_asks(story)
    await intent_2_is_suspended(story)
    await task_2_is_blocked(story)
    await intent_3_is_blocked(story)
    await it_is_said_and_a_message_goes_to_slack(story)
    await the_portfolio_shows_it(story)
    await any_world.advance(seconds=3600)
    await an_hour_later_it_is_said_again(story)
    await a_mail_goes_out(story)
    await it_has_escalated(story)
    await nobody_claims_phase_3_meanwhile(story)
    await any_world.advance(seconds=1800)
    await an_operator_answers(story)
    await intent_2_goes_on(story)
    await task_2_runs_on_and_completes(story)
    await intent_2_completes(story)
    await intent_3_is_active(story)
    await task_3_takes_the_outputs_of_phase_2(story)
    await any_world.advance(seconds=100)
    await phase_3_completes_and_the_workflow_is_done(story)


async def the_agent_asks(story: Compliance) -> None:
    """T+0: phase 2's agent calls request_input() with retry_policy(max_attempts=3, interval_seconds=3600)."""
    body = {
        "question": "May this be reported?",
        "choices": [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}],
        "timeout_seconds": 3600,
        "channel_hint": "slack",
        "notify_to": f"slack:{CHANNEL}",
        "retry_policy": {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": LADDER},
        "resume": {"callback_url": story.world.agent.url},
    }
    story.asked = await story.call("POST", f"/intents/{story.phase(2)['intent_id']}/suspend", body)
    await story.world.settle()


async def intent_2_is_suspended(story: Compliance) -> None:
    """T+0: intent 2 → suspended_awaiting_input."""
    assert (await story.intent(2))["status"] == "suspended_awaiting_input"


async def task_2_is_blocked(story: Compliance) -> None:
    """T+0: task 2 → blocked (blocked_reason: "intent_suspended")."""
    task = await story.task(2)
    found = (task["status"], task["blocked_reason"], task["suspended_intent_id"])
    assert found == ("blocked", "intent_suspended", story.phase(2)["intent_id"])


async def intent_3_is_blocked(story: Compliance) -> None:
    """T+0: intent 3 → blocked: its upstream is suspended and does not satisfy the completion gate."""
    assert (await story.intent(3))["status"] == "blocked"


async def it_is_said_and_a_message_goes_to_slack(story: Compliance) -> None:
    """T+0: intent.suspended emitted; @on_input_requested fires (attempt=1) → Slack message sent."""
    assert "intent.suspended" in await story.types(2)
    [message] = story.world.slack.workspace.messages
    assert "May this be reported?" in str(message.blocks)


async def the_portfolio_shows_it(story: Compliance) -> None:
    """T+0: portfolio: has_suspended_members: true, suspended_member_count: 1."""
    portfolio = await story.call("GET", f"/portfolios/{story.portfolio_id}")
    assert (portfolio["has_suspended_members"], portfolio["suspended_member_count"]) == (True, 1)
    assert portfolio["aggregate_status"]["status"] == "in_progress"
    assert (await story.call("GET", f"/portfolios/{story.portfolio_id}"))["status"] == "active"
    [phase] = (await story.progress())["suspended_phases"]
    assert (phase["phase_name"], phase["intent_id"]) == ("compliance_review", story.phase(2)["intent_id"])
    assert phase["expires_at"] == story.asked["expires_at"]


async def an_hour_later_it_is_said_again(story: Compliance) -> None:
    """T+3600: no response. intent.suspension_renotified emitted (attempt=2)."""
    events = await story.world.events({"intent_id": story.phase(2)["intent_id"]})
    [again] = [event for event in events if event["event_type"] == "intent.suspension_renotified"]
    assert (again["payload"]["attempt"], again["payload"]["channel_hint"]) == (2, "email")


async def a_mail_goes_out(story: Compliance) -> None:
    """T+3600: @on_input_requested fires again (attempt=2, channel_hint="email") → email sent."""
    [mail] = story.world.mailbox.mails
    assert "May this be reported?" in mail.text


async def it_has_escalated(story: Compliance) -> None:
    """T+3600: intent.suspension_escalated emitted (attempt=2)."""
    events = await story.world.events({"intent_id": story.phase(2)["intent_id"]})
    [escalated] = [event for event in events if event["event_type"] == "intent.suspension_escalated"]
    assert escalated["payload"]["attempt"] == 2


async def nobody_claims_phase_3_meanwhile(story: Compliance) -> None:
    """What did not happen: phase 3 was not claimed while phase 2 was suspended."""
    refused = await story.claim(3)
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (409, "upstream_intent_suspended")
    assert (detail["task_id"], detail["phase_name"]) == (story.phase(3)["task_id"], "generate_report")
    assert detail["suspended_intent_id"] == story.phase(2)["intent_id"]


async def an_operator_answers(story: Compliance) -> None:
    """T+5400: operator responds via POST /intents/{id}/suspend/respond."""
    answered = await story.world.answer(story.asked, "yes")
    assert answered.status_code == 200, answered.text
    at = story.world.clock.now() - timedelta(seconds=5400)
    assert story.asked["suspended_at"] == at.strftime("%Y-%m-%dT%H:%M:%SZ")


async def intent_2_goes_on(story: Compliance) -> None:
    """T+5400: intent 2 → active."""
    assert (await story.intent(2))["status"] == "active"


async def task_2_runs_on_and_completes(story: Compliance) -> None:
    """T+5400: task 2 → running → completed."""
    task = await story.task(2)
    assert (task["status"], task["blocked_reason"], task["suspended_intent_id"]) == ("running", None, None)
    assert (await story.intent(3))["status"] == "blocked", "a resume alone unblocks nobody"
    done = await story.move_task(2, status="completed", output={"verdict": "yes"})
    assert done["status"] == "completed"


async def intent_2_completes(story: Compliance) -> None:
    """T+5400: … → completed."""
    assert (await story.complete(2))["status"] == "completed"


async def intent_3_is_active(story: Compliance) -> None:
    """T+5400: intent 3 → active (dependency now completed)."""
    assert (await story.intent(3))["status"] == "active"
    portfolio = await story.call("GET", f"/portfolios/{story.portfolio_id}")
    assert (portfolio["has_suspended_members"], portfolio["suspended_member_count"]) == (False, 0)


async def task_3_takes_the_outputs_of_phase_2(story: Compliance) -> None:
    """T+5400: task 3 claims phase 3's inputs from phase 2's outputs; validate_claim_inputs() succeeds."""
    claimed = await story.claim(3)
    assert claimed.status_code == 200, claimed.text
    assert claimed.json()["input"]["verdict"] == "yes"


async def phase_3_completes_and_the_workflow_is_done(story: Compliance) -> None:
    """T+5500: phase 3 completes. Workflow done."""
    await story.move_task(3, status="running")
    await story.move_task(3, status="completed", output={"report": "fine"})
    await story.complete(3)
    progress = await story.progress()
    assert (progress["completion_percentage"], progress["suspended_phases"]) == (100, [])
    portfolio = await story.call("GET", f"/portfolios/{story.portfolio_id}")
    assert portfolio["aggregate_status"]["status"] == "completed"
