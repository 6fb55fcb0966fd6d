"""Veto windows that can't be: refused before anything is stored (API.md §2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


def choice(value: str, **metadata: Any) -> dict[str, Any]:
    return {"value": value, "label": value.title(), "metadata": metadata}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"timeout_seconds": None}, id="no timeout"),
        pytest.param({"timeout_seconds": None, "retry_policy": {"interval_seconds": 600}}, id="an interval only"),
        pytest.param({"retry_policy": {"max_attempts": 3, "interval_seconds": 201}}, id="attempts longer than it"),
        pytest.param({"deadline_seconds": 599}, id="a deadline before its end"),
        pytest.param({"fallback_policy": "fail"}, id="fallback_policy"),
        pytest.param({"fallback_policy": "complete_with_fallback", "fallback_value": "authorize"}, id="fallback"),
        pytest.param({"fallback_value": "authorize"}, id="fallback_value"),
        pytest.param({"retry_policy": {"final_fallback_policy": "fail"}}, id="final_fallback_policy"),
        pytest.param({"choices": [choice("go"), choice("stop")]}, id="no choice is the veto"),
        pytest.param({"choices": [choice("no", veto=True), choice("stop", veto=True)]}, id="two vetoes"),
        pytest.param({"choices": [choice("go"), choice("stop", veto="yes")]}, id="veto is no boolean"),
        pytest.param({"choices": [choice("go", veto=1), choice("stop", veto=1)]}, id="veto is a number"),
        pytest.param({"kind": "vetoed"}, id="unknown kind"),
    ],
)
async def test_it_is_refused_and_nothing_is_stored(room: World, fields: dict[str, Any]) -> None:
    body = {"question": "Refund $50?", "kind": "veto", "timeout_seconds": 600, **fields}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422, response.text
    assert response.json()["detail"]["message"]
    assert (await room.call("GET", "/v1/suspensions", "admin")).json()["items"] == []
    assert (await room.call("GET", "/v1/intents", "admin")).json()["intents"] == []


async def test_null_fallback_fields_are_absent_ones(room: World) -> None:
    body: dict[str, Any] = {"question": "Refund $50?", "kind": "veto", "timeout_seconds": 600}
    body |= {"fallback_policy": None, "fallback_value": None, "choices": None}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert (response.status_code, response.json()["status"]) == (201, "pending_veto")
