"""The pretend Slack's Socket Mode behaves as Slack documents its own.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from bot.sandbox.serving import serving
from bot.sandbox.slack.faults import AckLost, Duplicated, RateLimited
from bot.sandbox.slack.socket import DISABLED
from tests.vendors.slack import PayloadKind, SlackSandbox
from tests.vendors.slack_faults import CutAfterDelivery, RefreshAfterDelivery

PAYLOAD = {"type": "block_actions", "actions": []}


@dataclass
class Room:
    sandbox: SlackSandbox
    url: str
    http: aiohttp.ClientSession

    async def open(self, token: str | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token or self.sandbox.sockets.app_token}"}
        async with self.http.post(f"{self.url}/api/apps.connections.open", headers=headers) as response:
            said: dict[str, Any] = await response.json()
            return said

    async def socket(self) -> aiohttp.ClientWebSocketResponse:
        """A socket that has been greeted."""
        ws = await self.http.ws_connect((await self.open())["url"], autoping=False)
        assert (await ws.receive_json())["type"] == "hello"
        return ws

    async def post(self) -> asyncio.Task[Any]:
        return asyncio.create_task(self.sandbox.post(PAYLOAD))


async def acknowledge(ws: aiohttp.ClientWebSocketResponse, **more: Any) -> dict[str, Any]:
    """Acknowledge the next envelope, which is returned."""
    envelope: dict[str, Any] = await ws.receive_json(timeout=30)
    await ws.send_json({"envelope_id": envelope["envelope_id"], **more})
    return envelope


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    sandbox = SlackSandbox()
    async with serving(sandbox.app) as url, aiohttp.ClientSession(trust_env=False) as http:
        yield Room(sandbox, url, http)


@pytest.mark.parametrize(
    ("token", "error"),
    [("xoxb-sandbox", "not_allowed_token_type"), ("xapp-1-another", "invalid_auth")],
)
async def test_only_the_apps_own_token_opens_a_socket(room: Room, token: str, error: str) -> None:
    assert await room.open(token) == {"ok": False, "error": error}


async def test_the_token_is_taken_in_the_header_alone(room: Room) -> None:
    data = {"token": room.sandbox.sockets.app_token}
    async with room.http.post(f"{room.url}/api/apps.connections.open", data=data) as response:
        assert await response.json() == {"ok": False, "error": "not_authed"}


async def test_a_token_whose_scope_was_taken_away_opens_nothing(room: Room) -> None:
    room.sandbox.sockets.scopes.clear()
    said = await room.open()
    assert (said["error"], said["needed"]) == ("missing_scope", "connections:write")


async def test_asking_too_often_is_told_when_to_come_back(room: Room) -> None:
    room.sandbox.fail_next(RateLimited(30), "apps.connections.open")
    assert (await room.open())["error"] == "ratelimited"
    assert (await room.open())["ok"]


async def test_an_address_opens_one_socket(room: Room) -> None:
    url = (await room.open())["url"]
    async with room.http.ws_connect(url) as ws:
        hello = await ws.receive_json()
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        assert hello["connection_info"] == {"app_id": room.sandbox.workspace.app_id}
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await room.http.ws_connect(url)


async def test_a_payload_is_an_envelope_and_its_acknowledgement_the_answer(room: Room) -> None:
    ws = await room.socket()
    posting = await room.post()
    envelope = await acknowledge(ws, payload={"response_action": "clear"})
    assert (envelope["type"], envelope["payload"]) == ("interactive", PAYLOAD)
    assert envelope["accepts_response_payload"]
    assert (await posting).json() == {"response_action": "clear"}
    sending = asyncio.create_task(room.sandbox.send(PayloadKind.EVENT, {"type": "event_callback"}))
    assert not (await acknowledge(ws))["accepts_response_payload"]
    assert (await sending).content == b""


async def test_each_payload_goes_to_one_socket_and_all_get_their_share(room: Room) -> None:
    both = [await room.socket(), await room.socket()]
    got: list[dict[str, Any]] = []
    for ws in both:
        posting = await room.post()
        got.append(await acknowledge(ws))
        await posting
    assert got[0]["envelope_id"] != got[1]["envelope_id"]


async def test_the_eleventh_socket_is_one_too_many(room: Room) -> None:
    held = [await room.socket() for _ in range(10)]
    ws = await room.http.ws_connect((await room.open())["url"])
    said = await ws.receive_json()
    assert (said["type"], said["reason"]) == ("disconnect", "too_many_websockets")
    assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE
    await held[0].close()
    await room.sandbox.workspace.until(lambda: len(room.sandbox.sockets.sockets) == 9 or None)
    await room.socket()


async def test_what_went_out_before_a_refresh_is_acknowledged_where_it_went(room: Room) -> None:
    room.sandbox.sockets.fail_next(RefreshAfterDelivery())
    old = await room.socket()
    posting = await room.post()
    envelope = await old.receive_json()
    assert (await old.receive_json())["reason"] == "refresh_requested"
    new = await room.socket()
    await new.send_json({"envelope_id": envelope["envelope_id"]})
    await new.ping()
    await new.receive()
    assert not posting.done()
    await old.send_json({"envelope_id": envelope["envelope_id"]})
    assert (await posting).status_code == 200


async def test_switching_socket_mode_off_ends_every_socket(room: Room) -> None:
    ws = await room.socket()
    await room.sandbox.sockets.disconnect(reason=DISABLED)
    assert (await ws.receive_json())["reason"] == "link_disabled"
    assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_a_ping_is_answered_and_slack_pings_too(room: Room) -> None:
    room.sandbox.sockets.ping_every = 0.02
    ws = await room.socket()
    assert (await ws.receive()).type is aiohttp.WSMsgType.PING
    room.sandbox.sockets.ping_every = 60
    await ws.ping(b"sdk-ping-pong:1.5")
    seen = [(await ws.receive()).type for _ in range(2)]
    assert aiohttp.WSMsgType.PONG in seen


async def test_a_silent_socket_stays_open_and_delivers_and_answers_nothing(room: Room) -> None:
    ws = await room.socket()
    room.sandbox.sockets.silence()
    await ws.ping()
    posting = await room.post()
    with pytest.raises(TimeoutError):
        await ws.receive(timeout=0.1)
    assert not ws.closed
    room.sandbox.sockets.drop()
    with pytest.raises(Exception, match="nobody acknowledged"):
        await posting


@pytest.mark.parametrize("fault", [CutAfterDelivery(), AckLost()])
async def test_without_an_acknowledgement_the_person_is_warned(room: Room, fault: Any) -> None:
    room.sandbox.sockets.fail_next(fault)
    ws = await room.socket()
    posting = await room.post()
    envelope = await ws.receive_json()
    if not ws.closed:
        await ws.send_str(json.dumps({"envelope_id": envelope["envelope_id"]}))
    with pytest.raises(Exception, match="nobody acknowledged"):
        await posting


async def test_without_a_socket_nothing_arrives(room: Room) -> None:
    with pytest.raises(Exception, match="nobody acknowledged"):
        await room.sandbox.post(PAYLOAD)


async def test_a_duplicated_envelope_comes_twice(room: Room) -> None:
    room.sandbox.sockets.fail_next(Duplicated())
    both = [await room.socket(), await room.socket()]
    posting = await room.post()
    assert await acknowledge(both[0]) == await acknowledge(both[1])
    await posting
