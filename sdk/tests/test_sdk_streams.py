"""Event streams that can't be had. What they tell is in tests/journeys/sdk/test_sdk_event_streams.py."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from handraise import Handraise, RequestRefused, UnexpectedResponse

from sdk.tests.pretend_server import KEY, PretendServer


@pytest.fixture
async def server() -> AsyncIterator[PretendServer]:
    server = PretendServer()
    await server.start()
    yield server
    await server.stop()


@pytest.mark.parametrize(("status", "named"), [(200, "no event stream"), (307, "307"), (204, "204")])
async def test_another_service_at_that_address_has_no_stream(server, status, named):
    server.faults.append((status, b"<html>It works!</html>"))
    async with Handraise(server.url, KEY) as agent:
        with pytest.raises(UnexpectedResponse, match=named):
            async with agent.follow():
                pass
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_server_that_can_not_serve_it_now_is_asked_again_and_one_that_will_not_is_not(server, status):
    server.faults.extend([(status, b""), "lose"])
    async with Handraise(server.url, KEY) as agent:
        with pytest.raises(RequestRefused) as refused:
            async with agent.follow():
                pass
    assert (refused.value.code, len(server.seen)) == ("not_found", 3)


async def test_a_stream_of_no_intent_is_a_mistake():
    async with Handraise("http://127.0.0.1:1", KEY) as agent:
        with pytest.raises(ValueError, match="empty"):
            agent.follow("")
