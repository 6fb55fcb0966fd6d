"""An OpenID provider: the sign-in URL, and the claims of the person who came back. All its I/O.

The issuer comes from the configuration, never from a caller, so that it may be on this machine or in our own network.
Its replies have to be short and in time, and name no address in plain text unless the issuer's own is. Its metadata is
fetched when the first person signs in, not when the service starts.

Source: OpenID Connect Discovery 1.0 §4; OpenID Connect Core 1.0 §3.1, §5.3; RFC 6749 §4.1; RFC 7636; RFC 9207;
https://docs.slack.dev/authentication/sign-in-with-slack.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx

from bot.config.settings import Settings
from bot.openid.registration import Claims, Expected, ProviderFailure, Registration
from channels.http import CAUGHT, client
from core.ports import Clock

SECONDS = 10
MOST_BYTES = 512 * 1024
FRESH = timedelta(hours=1)
"""How long what a provider publishes is not fetched again."""
PAUSE = timedelta(seconds=5)
"""After a provider did not answer, or for a key that it does not publish, it is not asked again for so long."""
SCOPE = "openid email profile"


@dataclass(frozen=True, slots=True)
class Published:
    """A provider's metadata. ``names_itself``: its responses name their issuer (RFC 9207)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    takes_basic: bool
    knows_pkce: bool
    names_itself: bool


class Provider:
    """One provider, as one process knows it."""

    def __init__(self, registration: Registration, clock: Clock) -> None:
        self.registration = registration
        self._clock = clock
        self._published: Published | None = None
        self._published_at: datetime | None = None
        self._keys: Any = None
        self._keys_at: datetime | None = None
        self._away_until: datetime | None = None
        self._asking = asyncio.Lock()

    async def authorization_url(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """The URL at which a browser signs in. Raises :class:`ProviderFailure`."""
        await _load()
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        published, own = await self.published(), self.registration
        more = {"nonce": nonce, "response_mode": "query"}
        if self._sends_challenge(published):
            challenge: str = create_s256_code_challenge(verifier)  # type: ignore[no-untyped-call]
            more |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        if own.team is not None:
            more["team"] = own.team
        where = published.authorization_endpoint
        url: str = prepare_grant_uri(where, own.client_id, "code", redirect_uri, SCOPE, state, **more)
        return url

    async def claims(self, code: str, redirect_uri: str, nonce: str, verifier: str) -> Claims:
        """The claims of the person who brought ``code``. Raises :class:`ProviderFailure`."""
        await _load()
        from bot.openid.id_tokens import verified

        published, own = await self.published(), self.registration
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        if self._sends_challenge(published):
            fields["code_verifier"] = verifier
        said = await self._fetch("POST", published.token_endpoint, **self._authenticated(published, fields))
        id_token, access_token = said.get("id_token"), said.get("access_token")
        if not isinstance(id_token, str):
            raise ProviderFailure("code_refused")
        expected = Expected(
            published.issuer, own.client_id, nonce, access_token if isinstance(access_token, str) else None
        )
        claims = verified(id_token, await self._keys_for(id_token, published), expected, self._clock.now())
        if "email" in claims or published.userinfo_endpoint is None or expected.access_token is None:
            return claims
        more = await self._fetch(
            "GET", published.userinfo_endpoint, headers={"Authorization": f"Bearer {expected.access_token}"}
        )
        if more.get("sub") != claims["sub"]:
            raise ProviderFailure("userinfo_of_somebody_else")
        return {**claims, **more}

    def _sends_challenge(self, published: Published) -> bool:
        """Slack gets a PKCE challenge only if it publishes that it knows PKCE: it documents none. Any other provider
        gets one, and has to ignore it if it does not know PKCE."""
        return published.knows_pkce or self.registration.team is None

    def _authenticated(self, published: Published, fields: Mapping[str, str]) -> dict[str, Any]:
        """A request with our client credentials. Source: RFC 6749 §2.3.1."""
        own = self.registration
        if not published.takes_basic:
            return {"data": {**fields, "client_id": own.client_id, "client_secret": own.client_secret}}
        return {"data": fields, "auth": (quote_plus(own.client_id), quote_plus(own.client_secret))}

    # --- What it publishes ----------------------------------------------------------------------------------------

    async def published(self) -> Published:
        """Fetched if unknown or old. Raises :class:`ProviderFailure`."""
        async with self._asking:
            now = self._clock.now()
            if self._published is None or self._published_at is None or now - self._published_at > FRESH:
                self._published, self._published_at = await self._discover(), now
            return self._published

    async def _discover(self) -> Published:
        issuer = self.registration.issuer
        found = await self._fetch("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if str(found.get("issuer")).rstrip("/") != issuer:  # Auth0's ends in a slash, and its tokens say so
            raise ProviderFailure("another_issuer")
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        challenges = found.get("code_challenge_methods_supported", [])
        return Published(
            str(found["issuer"]),
            self._address(found, "authorization_endpoint"),
            self._address(found, "token_endpoint"),
            self._address(found, "jwks_uri"),
            self._address(found, "userinfo_endpoint") if "userinfo_endpoint" in found else None,
            takes_basic="client_secret_basic" in methods,
            knows_pkce="S256" in challenges,
            names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        )

    def _address(self, found: Claims, name: str) -> str:
        """An address in the metadata: over TLS, unless it is on this machine as its issuer is."""
        address = found.get(name)
        if not isinstance(address, str):
            raise ProviderFailure(f"no_{name}")
        parts, issuer = urlsplit(address), urlsplit(self.registration.issuer)
        is_issuers = issuer.scheme == "http" and (parts.scheme, parts.hostname) == ("http", issuer.hostname)
        if parts.scheme != "https" and not is_issuers:
            raise ProviderFailure(f"insecure_{name}")
        return address

    async def _keys_for(self, id_token: str, published: Published) -> Any:
        """The provider's keys; fetched again if the key of ``id_token`` is not among them."""
        from bot.openid.id_tokens import is_signed_by_one_of, keys_in

        async with self._asking:
            now = self._clock.now()
            age = None if self._keys_at is None else now - self._keys_at
            is_known = self._keys is not None and is_signed_by_one_of(id_token, self._keys)
            if age is None or age > FRESH or (not is_known and age >= PAUSE):
                self._keys, self._keys_at = keys_in(await self._fetch("GET", published.jwks_uri)), now
            return self._keys

    # --- The wire -------------------------------------------------------------------------------------------------

    async def _fetch(self, method: str, address: str, **options: Any) -> Claims:
        """The JSON object at ``address``. Raises :class:`ProviderFailure`."""
        now = self._clock.now()
        if self._away_until is not None and now < self._away_until:
            raise ProviderFailure("unreachable", is_away=True)
        try:
            async with (
                asyncio.timeout(SECONDS),
                client(SECONDS, {"Accept": "application/json"}) as http,
                http.stream(method, address, **options) as response,
            ):
                body = await _read(response)
        except CAUGHT:
            self._away_until = now + PAUSE
            raise ProviderFailure("unreachable", is_away=True) from None
        if response.status_code >= 500 or response.status_code == 429:
            raise ProviderFailure(f"http_{response.status_code}", is_away=True)
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            raise ProviderFailure("no_json") from None
        if not isinstance(said, dict):
            raise ProviderFailure("no_json")
        if response.status_code != 200 or said.get("ok") is False:  # Slack says so with 200
            raise ProviderFailure("code_refused" if method == "POST" else f"http_{response.status_code}")
        return said


async def _load() -> None:
    """The libraries take 10 MB, a twelfth of a process: who has no provider never loads them. Nobody waits for them."""
    await asyncio.to_thread(import_module, "bot.openid.id_tokens")


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for some in response.aiter_bytes():
        body += some
        if len(body) > MOST_BYTES:
            raise ProviderFailure("answer_too_long")
    return bytes(body)


def providers_of(settings: Settings, clock: Clock) -> list[Provider]:
    """In the order in which the sign-in page shows them."""
    found = []
    oidc, slack = settings.signin.oidc, settings.signin.slack
    if oidc is not None:
        verified = oidc.verified_claim
        found.append(
            Registration("oidc", oidc.name, oidc.issuer, oidc.client_id, oidc.client_secret, says_verified=verified)
        )
    if slack is not None:
        team = settings.slack_team
        found.append(Registration("slack", "Slack", slack.issuer, slack.client_id, slack.client_secret, team))
    return [Provider(one, clock) for one in found]
