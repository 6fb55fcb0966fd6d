"""RFC-0026 §9, as far as Intent 2's status, events and attempts go: the timeline of the table, row by row."""

from __future__ import annotations

from typing import Any

from tests.world import World

LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email", "notify_to": None},
        {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "supervisor@example.com"},
    ],
    "final_fallback_policy": "fail",
}


async def test_the_compliance_review_of_rfc_0026_section_9(any_world: World) -> None:
    world = any_world
    created = await world.call("POST", "/v1/intents", json={"title": "compliance_review", "status": "active"})
    intent_id = created.json()["id"]

    # T+0: Phase 2 agent calls request_input() with retry_policy(max_attempts=3, interval_seconds=3600)
    body = {
        "question": "Sign off on the compliance review?",
        "response_type": "confirm",
        "timeout_seconds": 3600,
        "retry_policy": LADDER,
        "resume": {"callback_url": world.agent.url, "state": {"phase": 2}},
    }
    response = await world.call("POST", f"/v1/intents/{intent_id}/suspend", json=body)
    assert response.status_code == 201
    asked = response.json()
    await world.settle()

    # T+0: Intent 2 → suspended_awaiting_input
    assert (await world.intent(asked))["status"] == "suspended_awaiting_input"
    # T+0: intent.suspended emitted; attempt=1 → Slack message sent
    assert "intent.suspended" in await world.event_types(asked)
    message = await world.slack.expect_message("Sign off on the compliance review?")
    assert [mail.subject for mail in world.mailbox.mails] == []

    # T+3599: silence, and nothing more is sent
    await world.advance(seconds=3599)
    assert len(world.slack.workspace.posted()) == 1

    # T+3600: intent.suspension_renotified (attempt=2), channel_hint=email → email sent; intent.suspension_escalated
    await world.advance(seconds=1)
    mail = await world.mailbox.expect(subject="Sign off on the compliance review?", to="alice@example.com")
    events = {event["event_type"]: event["payload"] for event in await world.events(asked)}
    assert events["intent.suspension_renotified"] == {
        "suspension_id": asked["suspension_id"],
        "attempt": 2,
        "max_attempts": 3,
        "channel_hint": "email",
        "notify_to": None,
        "next_attempt_at": "2026-03-24T12:00:00Z",
    }
    assert events["intent.suspension_escalated"] == {
        "suspension_id": asked["suspension_id"],
        "attempt": 2,
        "escalated_to": None,
        "channel_hint": "email",
    }

    # T+5400: Operator responds via POST /intents/{id}/suspend/respond
    await world.advance(minutes=30)
    answered = await world.answer(asked, "yes")
    assert answered.status_code == 200

    # T+5400: Intent 2 → active (→ completed)
    intent = await world.intent(asked)
    assert intent["status"] == "active"
    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by) == ("yes", "alice@example.com")
    done = await world.call(
        "POST",
        f"/v1/intents/{intent_id}/status",
        json={"status": "completed"},
        headers={"If-Match": str(intent["version"])},
    )
    assert done.json()["status"] == "completed"

    # What did NOT happen: no third attempt, no page, nobody asked again after the answer.
    await world.advance(hours=4)
    assert world.pager.incidents == []
    assert len(world.mailbox.mails) == 1 and mail.recipient == "alice@example.com"
    assert await world.event_types(asked) == [
        "intent_created",
        "intent.suspended",
        "intent.suspension_renotified",
        "intent.suspension_escalated",
        "intent.resumed",
        "status_changed",
    ]
    edited = world.slack.workspace.at(message.channel, message.ts)
    assert edited is not None and "alice@example.com" in edited.text
