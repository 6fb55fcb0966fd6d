"""Sign in with Slack: the consent page, the tokens that follow, and the user's info.

Slack's Web API answers with 200 and ``{"ok": false}``; the addresses and keys are published as OpenID Connect asks.

Source: https://docs.slack.dev/authentication/sign-in-with-slack, …/reference/methods/openid.connect.token,
…/reference/methods/openid.connect.userInfo.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.sandbox.slack.world import SlackRefusal, User, Workspace
from bot.sandbox.vendor import JsonObject

TOKEN_LIVES = 300
"""Seconds, as in the example of Slack's documentation."""
SCOPES = frozenset({"openid", "email", "profile"})


@dataclass
class Granted:
    """A person's consent; its code is good once."""

    user: User
    redirect_uri: str
    nonce: str | None
    used: bool = False


@dataclass
class OpenId:
    """The workspace's app as an OpenID client. ``signed_in`` is the person at the browser, ``None`` for one who says
    no. ``unverified``: people whose addresses Slack has not verified."""

    workspace: Workspace
    client_id: str = "1000000000.2000000000"
    client_secret: str = "sandbox-client-secret"
    redirect_uris: set[str] = field(default_factory=set)
    signed_in: str | None = None
    unverified: set[str] = field(default_factory=set)
    codes: dict[str, Granted] = field(default_factory=dict)
    tokens: dict[str, User] = field(default_factory=dict)

    @property
    def routes(self) -> list[Route]:
        """To be put before the Web API's own, which takes every unknown method for a wrong one."""
        return [
            Route("/.well-known/openid-configuration", self._published),
            Route("/openid/connect/keys", self._keys),
            Route("/openid/connect/authorize", self._authorize),
            Route("/api/openid.connect.token", self._token, methods=["POST"]),
            Route("/api/openid.connect.userInfo", self._user_info, methods=["GET", "POST"]),
        ]

    @cached_property
    def key(self) -> Any:
        """The key for ID tokens; made when it is first needed."""
        from joserfc.jwk import RSAKey

        return RSAKey.generate_key(2048, {"kid": "slack-sandbox", "use": "sig"}, private=True)

    async def _published(self, request: Request) -> Response:
        url = _here(request)
        return JSONResponse(
            {
                "issuer": url,
                "authorization_endpoint": f"{url}/openid/connect/authorize",
                "token_endpoint": f"{url}/api/openid.connect.token",
                "userinfo_endpoint": f"{url}/api/openid.connect.userInfo",
                "jwks_uri": f"{url}/openid/connect/keys",
                "scopes_supported": sorted(SCOPES),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            }
        )

    async def _keys(self, _request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        """A wrong request is not redirected: Slack shows a page of its own."""
        asked = request.query_params
        scopes = set(asked.get("scope", "").split())
        problem = (
            asked.get("client_id") != self.client_id
            or asked.get("redirect_uri") not in self.redirect_uris
            or asked.get("response_type") != "code"
            or "openid" not in scopes
            or not scopes <= SCOPES
            or asked.get("team", self.workspace.team_id) != self.workspace.team_id
        )
        if problem:
            return Response("Something went wrong when authorizing this app.", 400)
        state = {"state": asked["state"]} if "state" in asked else {}
        if self.signed_in is None:
            return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', **state})}", 302)
        code = f"{secrets.randbelow(10**10)}.{secrets.token_hex(32)}"
        user = self.workspace.users[self.signed_in]
        self.codes[code] = Granted(user, asked["redirect_uri"], asked.get("nonce"))
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, **state})}", 302)

    async def _token(self, request: Request) -> Response:
        try:
            return JSONResponse({"ok": True, **self._exchanged(request, await _fields(request))})
        except SlackRefusal as refusal:
            return JSONResponse({"ok": False, "error": refusal.code})

    def _exchanged(self, request: Request, given: JsonObject) -> JsonObject:
        if given.get("client_id") != self.client_id:
            raise SlackRefusal("invalid_client_id")
        if given.get("client_secret") != self.client_secret:
            raise SlackRefusal("bad_client_secret")
        if given.get("grant_type", "authorization_code") != "authorization_code":
            raise SlackRefusal("invalid_grant_type")
        granted = self.codes.get(str(given.get("code", "")))
        if granted is None:
            raise SlackRefusal("invalid_code")
        if granted.used:
            raise SlackRefusal("code_already_used")
        if granted.redirect_uri != given.get("redirect_uri"):
            raise SlackRefusal("bad_redirect_uri")
        granted.used = True
        access_token = f"xoxp-{secrets.token_hex(16)}"
        self.tokens[access_token] = granted.user
        id_token = self._id_token(_here(request), granted, access_token)
        return {"access_token": access_token, "token_type": "Bearer", "id_token": id_token}

    def _id_token(self, issuer: str, granted: Granted, access_token: str) -> str:
        from joserfc import jwt

        at = int(self.workspace.now().timestamp())
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        claims = {
            "iss": issuer,
            "aud": self.client_id,
            "exp": at + TOKEN_LIVES,
            "iat": at,
            "auth_time": at,
            "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
            **({} if granted.nonce is None else {"nonce": granted.nonce}),
            **self._about(granted.user),
        }
        header = {"typ": "JWT", "alg": "RS256", "kid": self.key.kid}
        return jwt.encode(header, claims, self.key)

    async def _user_info(self, request: Request) -> Response:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        user = self.tokens.get(token) if kind.lower() == "bearer" else None
        if user is None:
            return JSONResponse({"ok": False, "error": "invalid_auth"})
        return JSONResponse({"ok": True, **self._about(user)})

    def _about(self, user: User) -> JsonObject:
        return {
            "sub": user.id,
            "https://slack.com/user_id": user.id,
            "https://slack.com/team_id": user.team_id,
            "email": user.email,
            "email_verified": user.id not in self.unverified,
            "name": user.name,
            "locale": "en-US",
        }


async def _fields(request: Request) -> JsonObject:
    """The fields of a form; the client may authenticate in a header."""
    given: JsonObject = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
    kind, _, basic = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        client, _, secret = base64.b64decode(basic).decode().partition(":")
        given |= {"client_id": client, "client_secret": secret}
    return given


def _here(request: Request) -> str:
    return str(request.base_url).rstrip("/")
