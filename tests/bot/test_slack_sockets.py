"""Socket Mode's own troubles, through the real engine, bolt and slack_sdk's client: what a person in Slack notices."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.inbound.connection import ConnectionState
from bot.inbound.slack.sockets import SOCKETS_OF_ONE, SocketTiming
from bot.sandbox.slack.faults import AckLost, Duplicated, RateLimited
from bot.sandbox.slack.socket import DISABLED, ServerSocket
from bot.sandbox.slack.world import Message
from tests.bot.slack_service import TEXT, SlackService, slack_service
from tests.vendors.slack_faults import CutAfterDelivery, DropBeforeStoring, RefreshAfterDelivery, SaysNo

OPEN = "apps.connections.open"
SILENCE = timedelta(seconds=1)
"""A socket that says nothing for twice as long is dead. A busy machine lets a living one wait for a while, too."""
QUICK = SocketTiming(
    settled=timedelta(milliseconds=200),
    longest_pause=timedelta(milliseconds=50),
    places=timedelta(milliseconds=50),
    linger=timedelta(milliseconds=50),
    told_after=timedelta(milliseconds=100),
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, "socket", QUICK) as service:
        yield service


async def sockets(service: SlackService, opened: int, now: int = SOCKETS_OF_ONE) -> list[ServerSocket]:
    """The open sockets, as soon as there are ``now``, and have been ``opened`` at least."""
    world = service.sandbox.sockets
    return await service.sandbox.workspace.until(
        lambda: list(world.sockets) if len(world.sockets) == now and world.opened >= opened else None
    )


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not what():
            await asyncio.sleep(0.01)


@contextmanager
def slow_commit(service: SlackService) -> Iterator[None]:
    """No answer is committed before the block ends."""
    with closing(sqlite3.connect(service.database_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def said_to_all(service: SlackService) -> None:
    """Return when the answer is committed: who waits for that longer than Slack does is told so, and goes on."""
    await service.sandbox.expect_message("Answered “Approve refund” by alice@example.com via Slack")


async def a_message(service: SlackService) -> Message:
    return deepcopy(await service.sandbox.expect_message("Refund"))


async def test_an_envelope_that_comes_twice_answers_once(service: SlackService) -> None:
    asked = await service.ask()
    message = await a_message(service)
    service.sandbox.sockets.fail_next(Duplicated())
    response = await service.sandbox.click("U1", message, "ans:0")
    assert response.status_code == 200
    await service.sandbox.expect_private("U1", "Your answer is recorded already.")
    record = await service.record(asked)
    assert (record.version, record.ended and record.ended.value) == (asked.version + 1, "approve")


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_a_refresh_while_a_click_is_under_way_loses_neither_answer_nor_acknowledgement(
    service: SlackService, reason: str
) -> None:
    asked = await service.ask()
    message = await a_message(service)
    service.sandbox.sockets.fail_next(RefreshAfterDelivery(reason))
    with slow_commit(service):
        click = asyncio.create_task(service.sandbox.click("U1", message, "ans:0"))
        await sockets(service, opened=3)
    assert (await click).status_code == 200
    await said_to_all(service)
    assert await service.answered(asked) == "approve"


async def test_while_one_socket_is_opened_anew_the_other_takes_the_clicks(service: SlackService) -> None:
    asked = await service.ask()
    message = await a_message(service)
    service.sandbox.faults.switch_on(SaysNo("internal_error"), OPEN)
    await service.sandbox.sockets.disconnect(service.sandbox.sockets.sockets[0])
    await sockets(service, opened=2, now=1)
    assert (await service.sandbox.click("U1", message, "ans:0")).status_code == 200
    assert await service.answered(asked) == "approve"
    service.sandbox.faults.switch_off(OPEN)
    await sockets(service, opened=3)
    assert service.alerts == []


async def test_a_connection_that_dies_under_a_click_keeps_the_answer(service: SlackService) -> None:
    asked = await service.ask()
    message = await a_message(service)
    service.sandbox.sockets.fail_next(CutAfterDelivery())
    with slow_commit(service), pytest.raises(httpx.ReadTimeout):
        await service.sandbox.click("U1", message, "ans:0")
    await said_to_all(service)
    assert await service.answered(asked) == "approve"
    await sockets(service, opened=3)
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.expect_private("U1", "Your answer is recorded already.")


async def test_an_acknowledgement_that_slack_does_not_hear_changes_nothing(service: SlackService) -> None:
    asked = await service.ask()
    message = await a_message(service)
    service.sandbox.sockets.fail_next(AckLost())
    with pytest.raises(httpx.ReadTimeout):
        await service.sandbox.click("U1", message, "ans:0")
    assert await service.answered(asked) == "approve"
    assert (await service.sandbox.click("U1", message, "ans:0")).status_code == 200


async def test_dropped_sockets_are_opened_again(service: SlackService) -> None:
    asked = await service.ask()
    service.sandbox.sockets.drop()
    await sockets(service, opened=4)
    await service.sandbox.click("U1", await a_message(service), "ans:0")
    assert await service.answered(asked) == "approve"


async def test_silent_sockets_are_given_up_and_opened_again(tmp_path: Path) -> None:
    async with slack_service(tmp_path, "socket", SocketTiming(ping=SILENCE)) as service:
        asked = await service.ask()
        service.sandbox.sockets.silence()
        fresh = await sockets(service, opened=4)
        assert not any(one.silent for one in fresh)
        await service.sandbox.click("U1", await a_message(service), "ans:0")
        assert await service.answered(asked) == "approve"


@pytest.mark.slow
async def test_sockets_that_ping_and_hear_nothing_are_given_up_too(tmp_path: Path) -> None:
    async with slack_service(tmp_path, "socket", SocketTiming(ping=SILENCE)) as service:
        service.sandbox.sockets.ping_every = 0.02
        service.sandbox.sockets.drop()
        await sockets(service, opened=4)
        service.sandbox.sockets.deafen()
        assert not any(one.silent for one in await sockets(service, opened=6))
        asked = await service.ask()
        await service.sandbox.click("U1", await a_message(service), "ans:0")
        assert await service.answered(asked) == "approve"


async def test_a_socket_that_slack_does_not_greet_is_none(tmp_path: Path) -> None:
    pace = SocketTiming(ping=timedelta(milliseconds=150), longest_pause=timedelta(milliseconds=50))
    async with slack_service(tmp_path, "socket", pace) as service:
        service.sandbox.sockets.greets = False
        service.sandbox.sockets.drop()
        await until(lambda: service.sandbox.sockets.opened >= 6)
        assert service.door.standing is ConnectionState.CONNECTING
        service.sandbox.sockets.greets = True
        await until(lambda: service.door.standing is ConnectionState.CONNECTED)


async def test_a_socket_that_has_become_old_is_opened_anew_and_loses_nothing(tmp_path: Path) -> None:
    short = timedelta(milliseconds=100)
    pace = SocketTiming(oldest=timedelta(milliseconds=300), settled=short, linger=short)
    async with slack_service(tmp_path, "socket", pace) as service:
        asked = await service.ask()
        message = await a_message(service)
        with slow_commit(service):
            click = asyncio.create_task(service.sandbox.click("U1", message, "ans:0"))
            await until(lambda: service.sandbox.sockets.opened >= 4)
        assert (await click).status_code == 200
        await said_to_all(service)
        assert await service.answered(asked) == "approve"


@pytest.mark.slow
async def test_a_click_that_slack_gives_to_a_socket_just_replaced_counts(tmp_path: Path) -> None:
    async with slack_service(tmp_path, "socket", SocketTiming(oldest=timedelta(seconds=1))) as service:
        asked = await service.ask()
        message = await a_message(service)
        world = service.sandbox.sockets
        replaced = list(world.sockets)
        await until(lambda: world.opened >= 4)
        world.sockets[:] = replaced  # Slack chooses one of those it has not seen closed
        assert (await service.sandbox.click("U1", message, "ans:0")).status_code == 200
        assert await service.answered(asked) == "approve"


async def test_old_sockets_that_still_work_are_no_alarm_while_the_next_cannot_be_opened(tmp_path: Path) -> None:
    pace = SocketTiming(
        oldest=timedelta(milliseconds=300),
        longest_pause=timedelta(milliseconds=50),
        told_after=timedelta(milliseconds=100),
    )
    async with slack_service(tmp_path, "socket", pace) as service:
        asked = await service.ask()
        message = await a_message(service)
        service.sandbox.faults.switch_on(SaysNo("internal_error"), OPEN)
        await asyncio.sleep(1)  # sockets age by the real clock: both are past their age, and nobody is told
        assert service.door.standing is ConnectionState.CONNECTED
        await service.sandbox.click("U1", message, "ans:0")
        assert await service.answered(asked) == "approve"
        assert service.alerts == []
        service.sandbox.sockets.drop()
        await until(lambda: bool(service.alerts))
        assert service.door.standing is ConnectionState.CONNECTING


async def test_where_slack_allows_one_socket_there_is_one_until_it_allows_more(service: SlackService) -> None:
    service.sandbox.sockets.most = 1
    service.sandbox.sockets.drop()
    await sockets(service, opened=3, now=1)
    asked = await service.ask()
    await service.sandbox.click("U1", await a_message(service), "ans:0")
    assert await service.answered(asked) == "approve"
    service.sandbox.sockets.most = 10
    await sockets(service, opened=4)


@pytest.mark.parametrize("fault", [RateLimited(1), DropBeforeStoring(), SaysNo("internal_error")])
async def test_slack_may_be_away_for_a_while(service: SlackService, fault: RateLimited) -> None:
    service.sandbox.fail_next(fault, OPEN)
    service.sandbox.sockets.drop()
    await sockets(service, opened=4)
    await until(lambda: service.door.standing is ConnectionState.CONNECTED)


async def test_operators_hear_that_slack_has_been_away_for_long(service: SlackService) -> None:
    service.sandbox.faults.switch_on(SaysNo("internal_error"), OPEN)
    service.sandbox.sockets.drop()
    await until(lambda: bool(service.alerts))
    assert set(service.alerts) == {"internal_error"}
    assert service.door.standing is ConnectionState.CONNECTING
    service.sandbox.faults.switch_off(OPEN)
    await sockets(service, opened=4)
    await until(lambda: service.door.standing is ConnectionState.CONNECTED)


async def test_operators_hear_at_once_that_socket_mode_was_switched_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with slack_service(tmp_path, "socket", SocketTiming(told_after=timedelta(hours=1))) as service:
        service.sandbox.sockets.token_trouble = "account_inactive"
        await service.sandbox.sockets.disconnect(reason=DISABLED)
        await until(lambda: bool(service.alerts))
        assert service.alerts[0] == "account_inactive"
    said = capsys.readouterr().out
    assert said.count("reason=account_inactive") == 1
    assert service.sandbox.sockets.app_token not in said


async def test_stopping_finishes_the_click_that_is_under_way(
    service: SlackService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await service.ask()
    message = await a_message(service)
    arrived, take = asyncio.Event(), service.door.take

    async def notice(*what: Any) -> Any:
        arrived.set()
        return await take(*what)

    monkeypatch.setattr(service.door, "take", notice)
    with slow_commit(service):
        click = asyncio.create_task(service.sandbox.click("U1", message, "ans:0"))
        await asyncio.wait_for(arrived.wait(), 30)
        stopping = asyncio.create_task(service.door.stop_taking())
        await asyncio.sleep(0.05)
        assert not stopping.done()
    assert (await click).status_code == 200
    await stopping
    assert service.sandbox.sockets.sockets == []
    await said_to_all(service)
    assert await service.answered(asked) == "approve"


async def test_a_modal_is_mended_and_closed_over_sockets(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    await service.sandbox.click("U1", await a_message(service), "open_modal")
    view = await service.sandbox.expect_view("U1")
    service.sandbox.sockets.fail_next(RefreshAfterDelivery())
    response = await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
    assert response.json() == {"response_action": "clear"}
    assert not view.is_open
    assert await service.answered(asked) == "Because"


async def test_a_proxy_of_the_environment_is_no_way_to_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with slack_service(tmp_path, "socket") as service:
        asked = await service.ask()
        await service.sandbox.click("U1", await a_message(service), "ans:0")
        assert await service.answered(asked) == "approve"
