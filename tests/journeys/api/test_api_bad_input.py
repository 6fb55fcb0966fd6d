"""Bad input (API.md §1): one envelope everywhere, never a 5xx, never a stack trace, nothing half stored."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN = "3f0c1b1e-0000-4000-8000-000000000000"
POSTS = [
    "/suspensions",
    "/suspensions/preview",
    f"/intents/{UNKNOWN}/suspend",
    f"/intents/{UNKNOWN}/suspend/respond",
    f"/intents/{UNKNOWN}/engagement",
    f"/intents/{UNKNOWN}/status",
    f"/intents/{UNKNOWN}/state",
    f"/intents/{UNKNOWN}/events",
    f"/suspensions/{UNKNOWN}/cancel",
    f"/suspensions/{UNKNOWN}/claim",
    "/signals/unknown",
    "/intents",
    "/subscriptions",
]
DEEP = b'{"question": ' + b"[" * 5000 + b"]" * 5000 + b"}"

NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "no json": b"question=Deploy",
    "half a json": b'{"question": "Deploy?"',
    "two jsons": b"{} {}",
    "NaN": b'{"question": NaN}',
    "infinity": b'{"question": -Infinity}',
    "a number beyond all": b'{"question": "Deploy?", "context": {"amount": 1e999}}',
    "bad UTF-8": b'{"question": "\xff\xfe"}',
    "overlong UTF-8": b'{"question": "\xc0\xaf"}',
    "an array": b"[]",
    "an array of objects": b'[{"question": "Deploy?"}]',
    "a text": b'"Deploy?"',
    "a number": b"5",
    "null": b"null",
    "true": b"true",
}

UNUSABLE: dict[str, bytes] = {
    "NUL in a text": json.dumps({"question": "Deploy\0?", "response_type": "confirm"}).encode(),
    "NUL in a key": json.dumps({"question": "Deploy?", "response_type": "confirm", "context": {"a\0": 1}}).encode(),
    "a lone surrogate": b'{"question": "Deploy \\ud800?", "response_type": "confirm"}',
    "a lone surrogate in the context": b'{"question": "D?", "response_type": "confirm", "context": {"a": ["\\udfff"]}}',
    "deep": b'{"question": "D?", "response_type": "confirm", "context": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}",
}


def is_envelope(response: httpx.Response, *statuses: int) -> dict[str, Any]:
    """The details, if this is the one shape that errors have."""
    assert response.status_code in statuses, (response.status_code, response.text[:500])
    assert response.headers["content-type"].startswith("application/json")
    detail: dict[str, Any] = response.json()["detail"]
    assert isinstance(detail["error"], str) and detail["error"]
    assert isinstance(detail["message"], str) and detail["message"]
    assert "Traceback" not in response.text
    return detail


async def nothing_is_stored(world: World) -> None:
    assert (await world.call("GET", "/v1/suspensions", "admin")).json()["items"] == []
    assert (await world.call("GET", "/v1/intents", "admin")).json()["intents"] == []


async def post(world: World, path: str, content: bytes, content_type: str = "application/json") -> httpx.Response:
    headers = {"Content-Type": content_type, "If-Match": "1"}
    return await world.call("POST", path, "admin", content=content, headers=headers)


@pytest.mark.parametrize("what", NOT_JSON)
async def test_what_is_no_json_object_is_400(room: World, what: str) -> None:
    for path in ("/v1/suspensions", "/api/v1/suspensions", f"/v1/intents/{UNKNOWN}/suspend/respond"):
        detail = is_envelope(await post(room, path, NOT_JSON[what]), 400)
        assert detail["error"] == "malformed_json", path
    await nothing_is_stored(room)


@pytest.mark.parametrize("path", POSTS)
async def test_every_door_wants_a_json_object(room: World, path: str) -> None:
    for what in ("nothing", "no json", "an array", "null"):
        assert is_envelope(await post(room, "/v1" + path, NOT_JSON[what]), 400)["error"] == "malformed_json"
    await nothing_is_stored(room)


@pytest.mark.parametrize("what", UNUSABLE)
async def test_text_that_no_database_keeps_is_422(room: World, what: str) -> None:
    for path in ("/v1/suspensions", "/v1/suspensions/preview"):
        is_envelope(await post(room, path, UNUSABLE[what]), 422)
    await nothing_is_stored(room)


@pytest.mark.parametrize("path", POSTS)
async def test_nesting_without_end_is_refused(room: World, path: str) -> None:
    is_envelope(await post(room, "/v1" + path, DEEP), 400, 422)
    is_envelope(await post(room, "/v1" + path, b"[" * 500_000), 400, 422)
    await nothing_is_stored(room)


@pytest.mark.parametrize(
    "body",
    [
        b'{"question": "D?", "response_type": "confirm", "timeout_seconds": %s}',
        b'{"question": "D?", "response_type": "confirm", "context": {"amount": %s}}',
        b'{"question": "D?", "response_type": "confirm", "confidence": %s}',
        b'{"question": "D?", "response_type": "confirm", "retry_policy": {"max_attempts": %s}}',
    ],
)
async def test_integers_of_five_thousand_digits_are_refused(room: World, body: bytes) -> None:
    is_envelope(await post(room, "/v1/suspensions", body % (b"9" * 5000)), 400, 422)
    await nothing_is_stored(room)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**300, 1.7976931348623157e308, 5e-324])
async def test_large_numbers_in_opaque_values_are_kept_or_refused(room: World, number: float) -> None:
    body = {"question": "D?", "response_type": "confirm", "context": {"amount": number}}
    response = await room.call("POST", "/v1/suspensions/preview", json=body)
    assert response.status_code == 200 or is_envelope(response, 422)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_the_body_counts_rather_than_its_declared_type_or_it_is_refused(room: World, content_type: str) -> None:
    is_envelope(await post(room, "/v1/suspensions", b"question=Deploy", content_type), 400, 415, 422)
    await nothing_is_stored(room)


@pytest.mark.parametrize("role", ["admin", None])
@pytest.mark.parametrize(
    "path", ["/v1/suspensions", "/api/v1/intents", "/v1/nowhere", f"/v1/intents/{UNKNOWN}/suspend"]
)
async def test_more_than_one_mebibyte_is_413_whatever_else_is_wrong(room: World, path: str, role: str | None) -> None:
    response = await room.call("POST", path, role, content=b"x" * (1024 * 1024 + 1))
    assert is_envelope(response, 413)["error"] == "too_large"


async def test_more_than_one_mebibyte_is_413_where_the_length_is_not_declared(room: World) -> None:
    async def chunks() -> Any:
        for _ in range(40):
            yield b" " * 32 * 1024

    response = await room.call("POST", "/v1/suspensions", "agent", content=chunks())
    assert is_envelope(response, 413)["error"] == "too_large"


async def test_one_mebibyte_is_not_too_large(room: World) -> None:
    body = b'{"question": 5' + b" " * (1024 * 1024 - 15) + b"}"
    assert len(body) == 1024 * 1024
    is_envelope(await post(room, "/v1/suspensions", body), 422)


@pytest.mark.parametrize(
    "path", ["/v1/nowhere", "/api/v1/nowhere", "/nowhere", "/v1", "/v1/suspensions/", "/v2/intents"]
)
async def test_an_unknown_path_is_404_in_the_envelope(room: World, path: str) -> None:
    assert is_envelope(await room.call("GET", path, "admin"), 404)["error"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/v1/suspensions"),
        ("PUT", "/api/v1/suspensions"),
        ("GET", "/v1/suspensions/preview/x/y"),
        ("PATCH", f"/v1/intents/{UNKNOWN}"),
        ("GET", f"/v1/intents/{UNKNOWN}/suspend"),
        ("POST", "/v1/server/config"),
        ("DELETE", "/healthz"),
    ],
)
async def test_a_method_that_a_path_does_not_take_is_405_in_the_envelope(room: World, method: str, path: str) -> None:
    detail = is_envelope(await room.call(method, path, "admin"), 405, 404)
    expected = "not_found" if path.endswith("/x/y") else "method_not_allowed"
    assert detail["error"] == expected


@pytest.mark.parametrize(
    "path",
    [
        "/v1/intents/%00",
        "/v1/suspensions/%00/timeline",
        "/v1/intents/%FF%FE",
        "/v1/suspensions/%ED%A0%80",
        "/v1/intents/" + "x" * 5000,
        "/v1/sessions/%00",
        "/v1/agents/%00/default-retry-policy",
        "/v1/suspensions?q=%00",
        "/v1/suspensions?q=%FF",
        "/v1/suspensions?session_id=%00",
        "/v1/suspensions?cursor=%00",
        "/v1/suspensions?channel=%ED%A0%80",
        f"/v1/intents/{UNKNOWN}/events?event_type=%00",
        f"/v1/intents/{UNKNOWN}/events?since=yesterday",
        f"/v1/intents/{UNKNOWN}/events?since=9999999-01-01T00:00:00Z",
        "/v1/callbacks?status=%00",
        "/v1/callbacks?cursor=zzz",
    ],
)
async def test_strange_bytes_in_the_address_are_a_callers_mistake(room: World, path: str) -> None:
    response = await room.call("GET", path, "admin")
    assert response.status_code == 200 or is_envelope(response, 404, 422)


@pytest.mark.parametrize("value", [b"x" * 5000, b"a b", b"\xc3\xbc", b"\xff", b""])
@pytest.mark.parametrize("name", [b"Idempotency-Key", b"If-Match", b"X-API-Key", b"Last-Event-ID"])
async def test_strange_headers_are_a_callers_mistake(room: World, name: bytes, value: bytes) -> None:
    body = {"question": "D?", "response_type": "confirm"}
    path = f"{room.url}/v1/intents/{UNKNOWN}/suspend"
    headers = {b"X-API-Key": b"agent-key-1"} | {name: value}
    is_envelope(await room.http.post(path, json=body, headers=headers), 401, 404, 422)


async def test_a_422_names_every_field_that_is_wrong(room: World) -> None:
    body = {"question": 5, "timeout_seconds": "60", "choices": [{"value": "a"}], "surprise": 1}
    detail = is_envelope(await room.call("POST", "/v1/suspensions", json=body), 422)
    paths = {field["path"] for field in detail["fields"]}
    assert {"question", "timeout_seconds", "choices.0.label", "surprise"} <= paths
    assert all(field["message"] for field in detail["fields"])


async def test_a_422_does_not_repeat_what_was_given(room: World) -> None:
    body = {"question": "D?", "response_type": "confirm", "timeout_seconds": "s3cret-value"}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert "s3cret-value" not in response.text


async def test_409s_repeat_message_and_current_version_at_the_top(room: World) -> None:
    """API.md §7: older clients read them there."""
    intent = (await room.call("POST", "/v1/intents", json={"title": "once", "status": "active"})).json()
    for prefix in ("/v1", "/api/v1"):
        path = f"{prefix}/intents/{intent['id']}/status"
        response = await room.call("POST", path, json={"status": "completed"}, headers={"If-Match": "7"})
        detail = is_envelope(response, 409)
        assert response.json()["message"] == detail["message"]
        assert response.json()["current_version"] == detail["current_version"] == intent["version"]
