"""Receipts (API.md §5): what a person approved is what runs, once, on both databases."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import zlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.store.tables import answer_receipts
from tests.world import World, after, running

in_room = pytest.mark.asyncio(loop_scope="module")

ACTION = {"tool": "stripe.refund", "amount": 49.0}
FALLBACK = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"}


async def verify(world: World, token: str, role: str | None = "agent", **body: Any) -> httpx.Response:
    options = {"headers": body.pop("headers", {})}
    said = {"receipt": token, "action": ACTION, "when": "approve", **body}
    return await world.call("POST", "/v1/receipts/verify", role, json=said, **options)


async def approved(world: World, value: Any = "approve", **fields: Any) -> tuple[dict[str, Any], str]:
    """A question whose action was answered, and the receipt that its callback brought."""
    asked = await world.ask(action=ACTION, **fields)
    assert (await world.answer(asked, value)).status_code == 200
    receipt: str = (await world.told(asked))["data"]["receipt"]
    return asked, receipt


async def read(world: World, asked: dict[str, Any], role: str = "agent", wait: bool = False) -> dict[str, Any]:
    path = f"/v1/suspensions/{asked['suspension_id']}{'/wait' if wait else ''}"
    shown: dict[str, Any] = (await world.call("GET", path, role)).json()
    return shown


def is_refused(response: httpx.Response, reason: str) -> None:
    detail = response.json()["detail"]
    assert (response.status_code, detail["error"], detail["reason"]) == (422, "receipt_invalid", reason), detail


def claims(receipt: str) -> dict[str, Any]:
    """What anybody can read of it."""
    text = receipt.removeprefix(".").split(".")[0]
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    read: dict[str, Any] = json.loads(zlib.decompress(content) if receipt.startswith(".") else content)
    return read


def expires_at(receipt: str) -> datetime:
    return datetime.fromisoformat(claims(receipt)["expires_at"])


@in_room
async def test_a_receipt_is_used_once(any_room: World) -> None:
    _, receipt = await approved(any_room)
    first = await verify(any_room, receipt)
    assert (first.status_code, first.json()) == (200, {"valid": True})
    again = await verify(any_room, receipt)
    assert (again.status_code, again.json()["detail"]["error"]) == (409, "receipt_used")


@in_room
async def test_of_several_at_once_one_wins(any_room: World) -> None:
    asked, receipt = await approved(any_room)
    another = (await read(any_room, asked))["receipt"]
    replies = await asyncio.gather(*(verify(any_room, one) for one in (receipt, another) * 4))
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 7


@in_room
async def test_a_lost_reply_can_be_had_again(any_room: World) -> None:
    _, receipt = await approved(any_room)
    once = {"Idempotency-Key": "run-1"}
    first, again = [await verify(any_room, receipt, headers=once) for _ in range(2)]
    assert (first.status_code, again.status_code, again.json()) == (200, 200, {"valid": True})
    assert (await verify(any_room, receipt, headers={"Idempotency-Key": "run-2"})).status_code == 409


@in_room
async def test_it_names_what_was_answered(room: World) -> None:
    asked, receipt = await approved(room)
    said = claims(receipt)
    assert len(said.pop("kid")) == 8
    assert said == {
        "suspension_id": asked["suspension_id"],
        "action_digest": asked["suspension"]["action_digest"],
        "value": "approve",
        "person": "alice@example.com",
        "channel": "api",
        "responded_at": asked["suspended_at"],
        "expires_at": after(asked, minutes=15),
    }


@in_room
async def test_another_action_or_another_answer_is_refused_and_uses_nothing_up(room: World) -> None:
    _, receipt = await approved(room)
    is_refused(await verify(room, receipt, action={**ACTION, "amount": 49999}), "other_action")
    is_refused(await verify(room, receipt, when="deny"), "other_value")
    is_refused(await verify(room, receipt, when=None), "other_value")
    same = {"amount": 49, "tool": "stripe.refund"}
    assert (await verify(room, receipt, action=same)).status_code == 200, "the same action, written in another way"


@in_room
@pytest.mark.parametrize("value", [True, 1, "1"])
async def test_a_value_is_compared_as_json(room: World, value: Any) -> None:
    _, receipt = await approved(room, {"n": value}, response_type="form")
    for other in (True, 1, "1"):
        if type(other) is not type(value):
            is_refused(await verify(room, receipt, when={"n": other}), "other_value")
    assert (await verify(room, receipt, when={"n": value})).status_code == 200


@in_room
async def test_a_long_value_is_named_by_its_digest(room: World) -> None:
    text = secrets.token_hex(20_000)
    _, receipt = await approved(room, text, response_type="text")
    assert len(receipt) <= 1024
    is_refused(await verify(room, receipt, when=text + "!"), "other_value")
    assert (await verify(room, receipt, when=text)).status_code == 200


@in_room
async def test_only_the_key_that_asked_has_and_uses_it(room: World) -> None:
    asked, receipt = await approved(room)
    assert [(await read(room, asked, role))["receipt"] for role in ("operator", "admin")] == [None, None]
    assert isinstance((await read(room, asked))["receipt"], str)
    assert isinstance((await read(room, asked, wait=True))["receipt"], str)
    is_refused(await verify(room, receipt, "other_agent"), "other_key")
    is_refused(await verify(room, receipt, "admin"), "other_key")
    assert (await verify(room, receipt, "operator")).status_code == 403
    assert (await verify(room, receipt, None)).status_code == 401
    assert (await verify(room, receipt)).status_code == 200


@in_room
async def test_every_copy_ends_fifteen_minutes_after_the_first_was_given(room: World) -> None:
    asked, receipt = await approved(room)
    await room.advance(minutes=14, seconds=59)
    later = (await read(room, asked))["receipt"]
    assert claims(later)["expires_at"] == claims(receipt)["expires_at"]
    await room.advance(seconds=1)
    for one in (receipt, later, (await read(room, asked))["receipt"]):
        is_refused(await verify(room, one), "expired")


@in_room
async def test_the_time_begins_when_the_agent_has_it(room: World) -> None:
    asked = await room.ask(action=ACTION, resume=None)
    await room.answer(asked, "approve")
    await room.advance(days=2)
    receipt = (await read(room, asked))["receipt"]
    await room.advance(minutes=14)
    assert (await verify(room, receipt)).status_code == 200


async def test_a_callback_that_comes_late_brings_one_that_still_counts(world: World) -> None:
    world.agent.answers = [503, 503, 503]
    asked = await world.ask(action=ACTION)
    await world.answer(asked, "approve")
    await world.advance(hours=3)
    told = world.agent.told_of(asked)
    assert len(told) == 4
    assert {one.headers["webhook-id"] for one in told} == {told[0].headers["webhook-id"]}
    given = [expires_at(one.json["data"]["receipt"]) for one in told]
    assert given == [one.at + timedelta(minutes=15) for one in told]
    assert expires_at((await read(world, asked))["receipt"]) == given[-1]


async def test_a_callback_after_the_first_reading_moves_no_end(world: World) -> None:
    world.agent.answers = [503]
    asked = await world.ask(action=ACTION)
    await world.answer(asked, "approve")
    first = (await read(world, asked))["receipt"]
    await world.advance(minutes=5)
    assert len(world.agent.told_of(asked)) == 2
    assert expires_at((await read(world, asked))["receipt"]) == expires_at(first)


async def test_how_long_it_counts_is_configured(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, receipts={"ttl_seconds": 60}) as world:
        _, receipt = await approved(world)
        await world.advance(seconds=60)
        is_refused(await verify(world, receipt), "expired")


@in_room
async def test_silence_counts_only_where_the_agent_says_so(room: World) -> None:
    asked = await room.ask(action=ACTION, **FALLBACK)
    await room.advance(seconds=60)
    receipt = (await room.told(asked))["data"]["receipt"]
    assert claims(receipt)["person"] is None
    is_refused(await verify(room, receipt, when="deny"), "expired_window")
    is_refused(await verify(room, receipt, when="approve", allow_silence=True), "other_value")
    assert (await verify(room, receipt, when="deny", allow_silence=True)).status_code == 200


@in_room
async def test_a_veto_window_without_objection_gives_one_for_silence(room: World) -> None:
    asked = await room.ask(action=ACTION, kind="veto", timeout_seconds=60)
    await room.advance(seconds=60)
    told = (await room.told(asked))["data"]
    is_refused(await verify(room, told["receipt"], when=told["value"]), "expired_window")
    assert (await verify(room, told["receipt"], when=told["value"], allow_silence=True)).status_code == 200


@in_room
async def test_what_allows_nothing_has_none(room: World) -> None:
    failed = await room.ask(action=ACTION, timeout_seconds=60)
    cancelled = await room.ask(action=ACTION)
    await room.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={})
    bare = await room.ask()
    await room.answer(bare, "approve")
    still_open = await room.ask(action=ACTION)
    await room.advance(seconds=60)
    for asked in (failed, cancelled, bare):
        assert (await room.told(asked))["data"]["receipt"] is None
    assert [(await read(room, one))["receipt"] for one in (failed, cancelled, bare, still_open)] == [None] * 4


@in_room
async def test_what_was_not_made_here_is_forged(room: World) -> None:
    _, receipt = await approved(room)
    content, signature = receipt.rsplit(".", 1)
    other = "A" if signature[0] != "A" else "B"
    changed = base64.urlsafe_b64encode(json.dumps({**claims(receipt), "value": "deny"}).encode()).decode().rstrip("=")
    texts = [receipt[:-1], content, f"{content}.{other}{signature[1:]}", f"{changed}.{signature}", "x", "ä", " "]
    texts += [f"{receipt}=", f"{content}.{signature[:9]}~{signature[9:]}"]
    for text in texts:
        is_refused(await verify(room, text), "forged")
    assert (await verify(room, receipt)).status_code == 200


@in_room
@pytest.mark.parametrize(
    ("body", "field"),
    [({"receipt": ""}, "receipt"), ({"action": None}, "action"), ({"allow_silence": "yes"}, "allow_silence")],
)
async def test_bad_input_names_the_field(room: World, body: dict[str, Any], field: str) -> None:
    response = await verify(room, "x", **body)
    assert (response.status_code, response.json()["detail"]["fields"][0]["path"]) == (422, field)


@in_room
async def test_when_is_needed(room: World) -> None:
    response = await room.call("POST", "/v1/receipts/verify", json={"receipt": "x", "action": ACTION})
    assert (response.status_code, response.json()["detail"]["fields"][0]["path"]) == (422, "when")


async def test_a_receipt_outlives_its_signing_key(tmp_path: Path, sqlite_url: str) -> None:
    old, new = "0123456789abcdef" * 4, "fedcba9876543210" * 4
    async with running(tmp_path, sqlite_url, secret_key=old) as world:
        asked, receipt = await approved(world)
        clock = world.clock
    async with running(tmp_path, sqlite_url, clock, secret_key=new, secret_key_previous=[old]) as world:
        fresh = (await read(world, asked))["receipt"]
        assert claims(fresh)["kid"] != claims(receipt)["kid"]
        assert (await verify(world, receipt)).status_code == 200
        assert (await verify(world, fresh)).status_code == 409, "used, whichever key has signed it"


async def test_it_leaves_with_its_question(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, retention={"ended_days": 1}) as world:
        _, receipt = await approved(world)
        await world.advance(days=3)
        is_refused(await verify(world, receipt), "other_key")
        assert await world.service.database.read(lambda conn: conn.execute(answer_receipts.select()).all()) == []
