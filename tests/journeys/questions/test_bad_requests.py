"""Bad requests as bytes on a socket (API.md §1): what no client library would send. One envelope, never a 5xx."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

MIB = 1024 * 1024
KEY = f"X-API-Key: {KEYS['agent']}".encode()


@dataclass(frozen=True)
class Said:
    """A reply, read off the socket."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def error(self) -> str:
        """The code in the envelope; fails where it is not the envelope."""
        assert self.headers["content-type"] == "application/json", self
        detail: dict[str, Any] = json.loads(self.body)["detail"]
        assert isinstance(detail["message"], str) and detail["message"] and b"Traceback" not in self.body
        return str(detail["error"])


async def send(world: World, request: bytes) -> Said:
    """``request`` as it stands; the reply, up to where the server closes."""
    host, port = world.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        async with asyncio.timeout(30):
            raw = await reader.read()
    finally:
        writer.close()
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Said(int(first.split(" ")[1]), headers, body)


def request(method: bytes, target: bytes, *headers: bytes, body: bytes = b"", key: bytes = KEY) -> bytes:
    length = [b"Content-Length: %d" % len(body)] if body else []
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: handraise", b"Connection: close", key, *length, *headers]
    return b"\r\n".join(line for line in lines if line) + b"\r\n\r\n" + body


def posted(body: bytes, *headers: bytes, target: bytes = b"/v1/intents") -> bytes:
    return request(b"POST", target, b"Content-Type: application/json", *headers, body=body)


async def still_serves(world: World) -> None:
    assert (await send(world, request(b"GET", b"/v1/intents"))).status == 200


PATHS = {
    "NUL": b"/v1/suspensions/%00",
    "NUL within": b"/v1/intents/a%00b/events",
    "no UTF-8": b"/v1/suspensions/%ff%fe",
    "half a surrogate": b"/v1/suspensions/%ed%a0%80",
    "an encoded slash": b"/v1/suspensions/a%2Fb",
    "upwards": b"/v1/suspensions/%2e%2e%2f%2e%2e%2fhealthz",
    "a slash behind": b"/v1/suspensions/",
    "two slashes before": b"//v1/suspensions",
    "two slashes within": b"/v1//suspensions",
    "a backslash": b"/v1\\suspensions",
    "no path": b"/",
    "out of the static files": b"/static/..%2f..%2fapp.py",
    "NUL in the static files": b"/static/%00",
}


@pytest.mark.parametrize("what", PATHS)
async def test_a_path_that_leads_nowhere_is_404(room: World, what: str) -> None:
    said = await send(room, request(b"GET", PATHS[what]))
    assert (said.status, said.error()) == (404, "not_found")


@pytest.mark.parametrize("target", [b"/v1/suspensions/", b"/v1/sessions/", b"/v1/agents/x/default-retry-policy/"])
async def test_no_path_is_redirected(room: World, target: bytes) -> None:
    said = await send(room, request(b"GET", target))
    assert said.status == 404 and "location" not in said.headers


QUERIES = {
    "NUL": (b"/v1/suspensions?q=%00", 422),
    "NUL in an id": (b"/v1/suspensions?session_id=a%00", 422),
    "NUL in a parameter that nobody reads": (b"/v1/suspensions?other=%00", 200),
    "no UTF-8": (b"/v1/suspensions?q=%ff", 200),
    "a giant integer": (b"/v1/suspensions?limit=" + b"9" * 40, 422),
    "an integer beyond all": (b"/v1/suspensions?limit=" + b"9" * 5000, 422),
    "an offset beyond all": (b"/v1/intents?offset=99999999999999999999", 422),
    "a negative offset": (b"/v1/intents?offset=-1", 422),
    "an empty integer": (b"/v1/suspensions?limit=", 422),
    "digits of another script": (b"/v1/suspensions?limit=%EF%BC%91", 422),
    "twice, the last one bad": (b"/v1/suspensions?limit=1&limit=x", 422),
    "twice, the first one bad": (b"/v1/suspensions?limit=x&limit=1", 200),
    "a cursor of our making no longer": (b"/v1/suspensions?cursor=MTc3NDM0NjQwMDAwMDAwMCB4", 422),
    "a cursor beyond all": (b"/v1/suspensions?cursor=" + b"9" * 40 + b"-x", 422),
    "the last cursor there is": (b"/v1/suspensions?cursor=9999999999999999-x", 200),
    "five thousand parameters": (b"/v1/intents?" + b"&".join(b"p%d=1" % number for number in range(5000)), 200),
}


@pytest.mark.parametrize("what", QUERIES)
async def test_a_bad_query_is_422_and_an_odd_one_is_read(room: World, what: str) -> None:
    target, status = QUERIES[what]
    said = await send(room, request(b"GET", target))
    assert said.status == status, said
    assert status == 200 or said.error() == "invalid_request"


INSTANTS = {
    b"2026-03-24T11:00:00Z": 200,
    b"2026-03-24T11:00:00": 200,
    b"0001-01-01T00:00:00%2B23:59": 200,
    b"9999-12-31T23:59:59.999999-23:59": 200,
    b"2026-02-30T00:00:00Z": 422,
    b"2026-03-24": 422,
    b"0": 422,
    b"1774346400": 422,
    b"1e400": 422,
    b"now": 422,
    b"%00": 422,
}


@pytest.mark.parametrize("text", INSTANTS)
async def test_an_instant_is_written_out_and_may_be_at_the_ends_of_the_calendar(room: World, text: bytes) -> None:
    intent = await room.active_intent()
    target = f"/v1/intents/{intent['id']}/events?since=".encode() + text
    assert (await send(room, request(b"GET", target))).status == INSTANTS[text]


HEADERS = {
    "a huge key": (request(b"GET", b"/v1/intents", key=b"X-API-Key: " + b"k" * 50_000), 401),
    "a key that is no text": (request(b"GET", b"/v1/intents", key=b"X-API-Key: \xff\xfe"), 401),
    "an empty key": (request(b"GET", b"/v1/intents", key=b"X-API-Key:"), 401),
    "a version of any kind": (posted(b'{"status": "active"}', b"If-Match: *", target=b"/v1/intents/x/status"), 422),
    "half a quoted version": (posted(b'{"status": "active"}', b'If-Match: "1', target=b"/v1/intents/x/status"), 422),
    "a giant version": (
        posted(b'{"status": "active"}', b"If-Match: " + b"9" * 5000, target=b"/v1/intents/x/status"),
        422,
    ),
    "no version": (posted(b'{"status": "active"}', target=b"/v1/intents/x/status"), 428),
    "a long idempotency key": (posted(b'{"title": "x"}', b"Idempotency-Key: " + b"k" * 256), 422),
    "an empty idempotency key": (posted(b'{"title": "x"}', b"Idempotency-Key:"), 422),
    "an event id of nobody's": (request(b"GET", b"/v1/events/stream", b"Last-Event-ID: 1-\xb2"), 422),
    "an event id beyond all": (request(b"GET", b"/v1/events/stream", b"Last-Event-ID: " + b"9" * 60), 422),
}


@pytest.mark.parametrize("what", HEADERS)
async def test_a_bad_header_is_refused_in_the_envelope(room: World, what: str) -> None:
    bad, status = HEADERS[what]
    said = await send(room, bad)
    assert said.status == status, said
    assert said.error()


NOT_UTF8 = {
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"title": "x"}'.encode("utf-16-le"),
    "UTF-32": '{"title": "x"}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"title": "x"}',
    "a lone surrogate": b'{"title": "\xed\xa0\x80"}',
    "a lone surrogate, deeper": b'{"title": "x", "state": {"a": ["\xed\xa0\x80"]}}',
    "a lone surrogate in a key": b'{"title": "x", "state": {"\xed\xb0\x80": 1}}',
    "a raw NUL": b'{"title": "a\x00b"}',
}


@pytest.mark.parametrize("what", NOT_UTF8)
async def test_json_is_utf8_and_nothing_else(room: World, what: str) -> None:
    before = await send(room, request(b"GET", b"/v1/intents"))
    said = await send(room, posted(NOT_UTF8[what]))
    assert (said.status, said.error()) == (400, "malformed_json")
    assert (await send(room, request(b"GET", b"/v1/intents"))).body == before.body


@pytest.mark.parametrize("key", [KEY, b""])
async def test_more_than_one_mebibyte_in_chunks_is_413(room: World, key: bytes) -> None:
    chunk = b"%x\r\n" % 65_536 + b"a" * 65_536 + b"\r\n"
    head = request(b"POST", b"/v1/intents", b"Transfer-Encoding: chunked", b"Content-Type: application/json", key=key)
    said = await send(room, head + chunk * 17 + b"0\r\n\r\n")
    assert (said.status, said.error()) == (413, "too_large")


async def test_a_request_that_breaks_off_changes_nothing(room: World) -> None:
    """What has come may read like a whole body; the last chunk says that it is."""
    host, port = room.url.removeprefix("http://").split(":")
    before = await send(room, request(b"GET", b"/v1/intents"))
    _, writer = await asyncio.open_connection(host, int(port))
    head = request(b"POST", b"/v1/intents", b"Transfer-Encoding: chunked", b"Content-Type: application/json")
    writer.write(head + b'e\r\n{"title": "x"}\r\n')
    await writer.drain()
    await still_serves(room)
    writer.close()
    await writer.wait_closed()
    for _ in range(20):  # time enough to act on it
        await still_serves(room)
    assert (await send(room, request(b"GET", b"/v1/intents"))).body == before.body


@pytest.mark.parametrize(
    ("method", "target", "largest"),
    [
        (b"POST", b"/v1/intents", MIB),
        (b"GET", b"/v1/intents", MIB),
        (b"POST", b"/nowhere", MIB),
        (b"DELETE", b"/v1/suspensions", MIB),
        (b"POST", b"/pagerduty/webhooks", MIB),
        (b"POST", b"/slack/events", MIB),
        (b"POST", b"/email/inbound", 5 * MIB),
    ],
)
async def test_too_large_is_413_whatever_else_is_wrong(room: World, method: bytes, target: bytes, largest: int) -> None:
    said = await send(room, request(method, target, body=b"a" * (largest + 1), key=b""))
    assert (said.status, said.error()) == (413, "too_large")
    said = await send(room, request(method, target, body=b"a" * largest, key=b""))
    assert said.status in {401, 404, 405}, said


METHODS = {
    (b"OPTIONS", b"/v1/intents"): "GET, POST",
    (b"TRACE", b"/api/v1/intents"): "GET, POST",
    (b"PROPFIND", b"/v1/suspensions"): "GET, POST",
    (b"DELETE", b"/v1/suspensions"): "GET, POST",
    (b"PUT", b"/v1/suspensions/x/claim"): "DELETE, POST",
    (b"POST", b"/v1/sessions/x"): "GET, PUT",
    (b"GET", b"/v1/suspensions/preview"): "POST",
    (b"GET", b"/v1/suspensions%2Fpreview"): "POST",
    (b"POST", b"/healthz"): "GET",
    (b"GET", b"/email/inbound"): "POST",
    (b"POST", b"/static/pages.css"): "GET, HEAD",
}


@pytest.mark.parametrize(("method", "target"), METHODS)
async def test_a_method_that_a_path_does_not_take_is_told_all_that_it_does(
    room: World, method: bytes, target: bytes
) -> None:
    said = await send(room, request(method, target))
    assert (said.status, said.error()) == (405, "method_not_allowed")
    assert said.headers["allow"] == METHODS[method, target].lower()


async def test_head_is_answered_without_a_body(room: World) -> None:
    said = await send(room, request(b"HEAD", b"/v1/intents"))
    assert (said.status, said.headers["allow"], said.body) == (405, "get, post", b"")


VENDORS = {
    "Slack's timestamp is no number": (
        b"/slack/events",
        [b"X-Slack-Request-Timestamp: abc", b"X-Slack-Signature: v0="],
    ),
    "Slack's timestamp is no ASCII": (
        b"/slack/events",
        [b"X-Slack-Request-Timestamp: \xb2", b"X-Slack-Signature: \xff"],
    ),
    "Slack's timestamp is giant": (
        b"/slack/events",
        [b"X-Slack-Request-Timestamp: " + b"9" * 5000, b"X-Slack-Signature: v0="],
    ),
    "PagerDuty's signature is no text": (b"/pagerduty/webhooks", [b"X-PagerDuty-Signature: v1=\xff"]),
    "PagerDuty's signature is not there": (b"/pagerduty/webhooks", []),
    "the mail's time is no ASCII": (b"/email/inbound", [b"X-Handraise-Signature: t=\xb2,v1=" + b"a" * 64]),
    "the mail's time is giant": (b"/email/inbound", [b"X-Handraise-Signature: t=" + b"9" * 5000 + b",v1=" + b"a" * 64]),
    "the mail's signature is not there": (b"/email/inbound", []),
}


@pytest.mark.parametrize("what", VENDORS)
async def test_a_vendor_that_does_not_sign_is_401(room: World, what: str) -> None:
    target, headers = VENDORS[what]
    said = await send(room, request(b"POST", target, *headers, body=b"x=1", key=b""))
    assert (said.status, said.error()) == (401, "unauthorized")


NOT_HTTP = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no method": b"get /v1/intents HTTP/1.1\r\nHost: x\r\n\r\n",
    "a raw byte in the target": request(b"GET", b"/v1/suspensions?q=\xff"),
    "a length that is no number": request(b"POST", b"/v1/intents", b"Content-Length: abc"),
    "a negative length": request(b"POST", b"/v1/intents", b"Content-Length: -1"),
    "a length beyond all": request(b"POST", b"/v1/intents", b"Content-Length: 99999999999999999999"),
    "a chunk of no length": request(b"POST", b"/v1/intents", b"Transfer-Encoding: chunked") + b"zz\r\n",
    "NUL in a header": request(b"GET", b"/v1/intents", b"X-Other: a\x00b"),
}


@pytest.mark.parametrize("what", NOT_HTTP)
async def test_what_is_not_http_is_400_and_harms_nobody_else(room: World, what: str) -> None:
    assert (await send(room, NOT_HTTP[what])).status == 400
    await still_serves(room)
