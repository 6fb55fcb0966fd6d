"""How large a question may be (API.md §2, "Limits"): what is at the limit is asked, what is above it is 422 and says
which field it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

KIB = 1024
URL = "https://agent.example/"


def holding(size: int, sign: str = "a") -> dict[str, Any]:
    """A value that is ``size`` bytes of compact JSON in UTF-8."""
    room = size - len('{"k":""}')
    return {"k": sign * (room // len(sign.encode())) + "a" * (room % len(sign.encode()))}


def choices(*first: dict[str, Any], count: int = 2) -> dict[str, Any]:
    more = [{"value": f"v{number}", "label": f"Label {number}"} for number in range(len(first), count)]
    return {"response_type": "choice", "choices": [*first, *more]}


LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "the question": ({"question": "q" * 10_000}, {"question": "q" * 10_001}, "question"),
    "a choice's value": (
        choices({"value": "v" * 1000, "label": "L"}),
        choices({"value": "v" * 1001, "label": "L"}),
        "choices.0.value",
    ),
    "a choice's label": (
        choices({"value": "v", "label": "L" * 1000}),
        choices({"value": "v", "label": "L" * 1001}),
        "choices.0.label",
    ),
    "a description": (
        choices({"value": "v", "label": "L", "description": "d" * 3000}),
        choices({"value": "v", "label": "L", "description": "d" * 3001}),
        "choices.0.description",
    ),
    "how many choices": (choices(count=500), choices(count=501), "choices"),
    "how many responders": (
        {"responders": ["alice@example.com"] * 100},
        {"responders": ["alice@example.com"] * 101},
        "responders",
    ),
    "the callback's address": (
        {"resume": {"callback_url": URL + "x" * (2000 - len(URL))}},
        {"resume": {"callback_url": URL + "x" * (2001 - len(URL))}},
        "resume.callback_url",
    ),
    "the context": ({"context": holding(256 * KIB)}, {"context": holding(256 * KIB + 1)}, "context"),
    "the context, beyond ASCII": (
        {"context": holding(256 * KIB, "🙂")},
        {"context": holding(256 * KIB + 1, "🙂")},
        "context",
    ),
    "the action": ({"action": holding(256 * KIB)}, {"action": holding(256 * KIB + 1)}, "action"),
    "the agent's state": (
        {"resume": {"state": holding(512 * KIB)}},
        {"resume": {"state": holding(512 * KIB + 1)}},
        "resume.state",
    ),
}


@pytest.mark.parametrize("path", ["/v1/suspensions", "/v1/suspensions/preview"])
@pytest.mark.parametrize("what", LIMITS)
async def test_what_is_above_a_limit_is_refused_and_the_field_is_named(what: str, path: str, room: World) -> None:
    """Also where the same field holds as much as it may: that one is asked."""
    most, more, field = LIMITS[what]
    base = {"question": "May this be asked?", "response_type": "confirm"}
    taken = await room.call("POST", path, json={**base, **most})
    assert taken.status_code in {200, 201}, taken.text
    refused = await room.call("POST", path, json={**base, **more})
    assert refused.status_code == 422
    assert [one["path"] for one in refused.json()["detail"]["fields"]] == [field]
