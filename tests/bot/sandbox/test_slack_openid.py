"""The pretend Slack as an OpenID provider refuses what Slack refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from bot.sandbox.serving import loopback_client, serving
from tests.vendors.slack import SlackSandbox

BACK = "https://handraise.example.com/signin/slack/callback"


@dataclass
class Client:
    sandbox: SlackSandbox
    url: str
    http: httpx.AsyncClient

    async def authorize(self, **changes: str) -> httpx.Response:
        own = {"client_id": self.sandbox.openid.client_id, "redirect_uri": BACK, "response_type": "code"}
        asked = {**own, "scope": "openid email", "state": "s", "nonce": "n", **changes}
        return await self.http.get(f"{self.url}/openid/connect/authorize", params=asked)

    async def exchange(self, code: str, **changes: str) -> dict[str, Any]:
        own = {"client_id": self.sandbox.openid.client_id, "client_secret": self.sandbox.openid.client_secret}
        fields = {**own, "code": code, "redirect_uri": BACK, "grant_type": "authorization_code", **changes}
        said: dict[str, Any] = (await self.http.post(f"{self.url}/api/openid.connect.token", data=fields)).json()
        return said

    async def code(self) -> str:
        response = await self.authorize()
        return parse_qs(urlsplit(response.headers["location"]).query)["code"][0]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    sandbox = SlackSandbox()
    sandbox.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    sandbox.openid.redirect_uris.add(BACK)
    sandbox.openid.signed_in = "U0ALICE"
    async with serving(sandbox.app) as url, loopback_client(timeout=30) as http:
        yield Client(sandbox, url, http)


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "another"},
        {"redirect_uri": "https://evil.example/back"},
        {"response_type": "id_token"},
        {"scope": "email"},
        {"scope": "openid chat:write"},
        {"team": "T0OTHER"},
    ],
)
async def test_whoever_asks_wrongly_is_sent_nowhere(client: Client, wrong: dict[str, str]) -> None:
    response = await client.authorize(**wrong)
    assert (response.status_code, "location" in response.headers) == (400, False)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"client_id": "another"}, "invalid_client_id"),
        ({"client_secret": "guessed"}, "bad_client_secret"),
        ({"grant_type": "password"}, "invalid_grant_type"),
        ({"code": "guessed"}, "invalid_code"),
        ({"redirect_uri": "https://evil.example/back"}, "bad_redirect_uri"),
    ],
)
async def test_a_code_is_exchanged_by_its_own_client_alone(client: Client, wrong: dict[str, str], error: str) -> None:
    code = await client.code()
    assert await client.exchange(wrong.pop("code", code), **wrong) == {"ok": False, "error": error}
    assert (await client.exchange(code))["ok"] is True
    assert await client.exchange(code) == {"ok": False, "error": "code_already_used"}


async def test_a_token_says_who_it_is(client: Client) -> None:
    said = await client.exchange(await client.code())
    address = f"{client.url}/api/openid.connect.userInfo"
    about = (await client.http.get(address, headers={"Authorization": f"Bearer {said['access_token']}"})).json()
    assert (about["https://slack.com/user_id"], about["https://slack.com/team_id"]) == ("U0ALICE", "T0SANDBOX")
    assert (about["email"], about["email_verified"]) == ("alice@example.com", True)
    assert (await client.http.get(address)).json() == {"ok": False, "error": "invalid_auth"}
