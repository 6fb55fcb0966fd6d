"""RFC-0025 §7: should a person be asked? API.md §4 says in which order the modes are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def decide(world: World, **signals: Any) -> dict[str, Any]:
    intent = await world.active_intent()
    response = await world.call("POST", f"/v1/intents/{intent['id']}/engagement", json=signals)
    assert response.status_code == 200, response.text
    decision: dict[str, Any] = response.json()
    return decision


@pytest.mark.parametrize(
    ("signals", "mode", "should_ask", "action"),
    [
        ({}, "autonomous", False, "proceed"),
        ({"confidence": 0.85, "risk": 0.20, "reversibility": 0.50}, "autonomous", False, "proceed"),
        ({"confidence": 0.84}, "request_input", True, "ask"),
        ({"risk": 0.21}, "request_input", True, "ask"),
        ({"reversibility": 0.49}, "request_input", True, "ask"),
        ({"confidence": 0.50, "risk": 0.50}, "request_input", True, "ask"),
        ({"reversibility": 0.11}, "request_input", True, "ask"),
        ({"confidence": 0.49}, "require_input", True, "must_ask"),
        ({"risk": 0.51}, "require_input", True, "must_ask"),
        ({"confidence": 0.55, "risk": 0.60, "reversibility": 0.80}, "require_input", True, "must_ask"),
        ({"risk": 0.79}, "require_input", True, "must_ask"),
        ({"risk": 0.80}, "defer", False, "defer"),
        ({"reversibility": 0.10}, "defer", False, "defer"),
        ({"confidence": 0.0, "risk": 1.0}, "defer", False, "defer"),
        ({"confidence": 0.3, "reversibility": 0.0}, "defer", False, "defer"),
    ],
)
async def test_the_signals_decide_the_mode(
    room: World, signals: dict[str, Any], mode: str, should_ask: bool, action: str
) -> None:
    decision = await decide(room, **signals)
    assert (decision["mode"], decision["should_ask"], decision["action"]) == (mode, should_ask, action)


async def test_absent_and_null_signals_have_the_defaults_of_the_rfc(room: World) -> None:
    nulls = {"confidence": None, "risk": None, "reversibility": None, "context": None}
    assert (await decide(room, **nulls))["mode"] == "autonomous"


async def test_the_decision_is_in_the_event_log(room: World) -> None:
    intent = await room.active_intent()
    signals = {"confidence": 0.4, "context": {"order": "12345"}}
    await room.call("POST", f"/v1/intents/{intent['id']}/engagement", json=signals)
    events = await room.events({"intent_id": intent["id"]})
    [event] = [event for event in events if event["event_type"] == "engagement.decision"]
    assert (event["payload"]["mode"], event["payload"]["should_ask"]) == ("require_input", True)


async def test_the_decision_changes_nothing_else(room: World) -> None:
    intent = await room.active_intent()
    await room.call("POST", f"/v1/intents/{intent['id']}/engagement", json={"confidence": 0.1})
    after = await room.intent({"intent_id": intent["id"]})
    assert (after["status"], after["version"]) == ("active", intent["version"])


@pytest.mark.parametrize("name", ["confidence", "risk", "reversibility"])
@pytest.mark.parametrize("value", [-0.01, 1.01, "0.5", True, [0.5], {}])
async def test_signals_are_numbers_between_nothing_and_one(room: World, name: str, value: Any) -> None:
    intent = await room.active_intent()
    response = await room.call("POST", f"/v1/intents/{intent['id']}/engagement", json={name: value})
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == name


async def test_an_agent_decides_for_its_own_intents_only(room: World) -> None:
    intent = await room.active_intent()
    path = f"/v1/intents/{intent['id']}/engagement"
    assert (await room.call("POST", path, "other_agent", json={})).status_code == 404
    assert (await room.call("POST", path, None, json={})).status_code == 401


async def test_the_configured_thresholds_decide_and_are_shown_to_clients(tmp_path: Path, database_url: str) -> None:
    own = {"autonomous_min_confidence": 0.95, "require_input_above_risk": 0.4, "defer_min_risk": 0.6}
    async with running(tmp_path, database_url, engagement=own) as world:
        assert (await decide(world, confidence=0.94))["mode"] == "request_input"
        assert (await decide(world, confidence=0.95))["mode"] == "autonomous"
        assert (await decide(world, risk=0.41))["mode"] == "require_input"
        assert (await decide(world, risk=0.6))["mode"] == "defer"
        for prefix in ("/v1", "/api/v1"):
            config = (await world.call("GET", f"{prefix}/server/config", None)).json()
            assert config["engagement"] == {
                "autonomous_min_confidence": 0.95,
                "autonomous_max_risk": 0.2,
                "autonomous_min_reversibility": 0.5,
                "require_input_below_confidence": 0.5,
                "require_input_above_risk": 0.4,
                "defer_min_risk": 0.6,
                "defer_max_reversibility": 0.1,
            }
            assert config["suspension"] == {"default_retry_policy": None}
