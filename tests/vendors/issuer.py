"""A pretend OpenID provider on loopback that checks what a provider has to check, and says whatever a test tells it to.

It stands for one that is broken, or that somebody evil runs. How a provider of others' making behaves is told by
``tests/vendors/real_issuer.py``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT_ID, CLIENT_SECRET = "handraise", "a secret: with % and +"

Claims = dict[str, Any]
Encode = Callable[["Issuer", Claims], str]


@cache
def rsa_key(name: str = "first") -> RSAKey:
    """Made once a run: it takes a tenth of a second."""
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig"}, private=True)


@cache
def ec_key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "curve", "use": "sig"}, private=True)


@dataclass
class Issuer:
    """``person`` is what it knows of whoever signs in there; ``claims`` go over what an ID token says otherwise, and
    ``None`` leaves one out. ``encode`` signs it."""

    now: Callable[[], datetime]
    redirect_uris: set[str]
    url: str = ""
    person: Claims = field(default_factory=lambda: {"email": "alice@example.com", "email_verified": True})
    claims: Claims = field(default_factory=dict)
    published: Claims = field(default_factory=dict)
    keys: list[Any] = field(default_factory=lambda: [rsa_key().as_dict(private=False)])
    user_info: Claims | None = None
    denies: str | None = None
    names_itself: str | None = None
    token_status: int = 200
    padding: int = 0
    encode: Encode = field(default_factory=lambda: signed_by(rsa_key(), "RS256"))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._configuration),
                Route("/keys", self._keys),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/userinfo", self._user_info),
            ]
        )

    async def _configuration(self, request: Request) -> Response:
        self.requests.append(request)
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize?tenant=one",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "userinfo_endpoint": f"{self.url}/userinfo",
                "padding": "x" * self.padding,
                **self.published,
            }
        )

    async def _keys(self, request: Request) -> Response:
        self.requests.append(request)
        return JSONResponse({"keys": self.keys})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        good = {"client_id": CLIENT_ID, "response_type": "code", "code_challenge_method": "S256", "tenant": "one"}
        if asked["redirect_uri"] not in self.redirect_uris or good.items() - asked.items() or not asked.get("nonce"):
            return Response("invalid_request", 400)
        said = {"error": self.denies} if self.denies else {"code": self._code(asked)}
        if self.names_itself is not None:
            said["iss"] = self.names_itself
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({**said, 'state': asked['state']})}", 302)

    def _code(self, asked: dict[str, str]) -> str:
        code = secrets.token_urlsafe(24)
        self.codes[code] = asked
        return code

    async def _token(self, request: Request) -> Response:
        self.requests.append(request)
        if self.token_status != 200:
            return JSONResponse({"error": "server_error"}, self.token_status)
        form = dict(parse_qsl((await request.body()).decode()))
        basic = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        client, _, secret = basic.partition(":")
        if (unquote_plus(client), unquote_plus(secret)) != (CLIENT_ID, CLIENT_SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if b64(hashlib.sha256(form["code_verifier"].encode()).digest()) != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": "access-1", "token_type": "Bearer", "id_token": self._id_token(asked)})

    def _id_token(self, asked: dict[str, str]) -> str:
        at = int(self.now().timestamp())
        said = {
            "iss": self.url,
            "sub": "person-1",
            "aud": CLIENT_ID,
            "iat": at,
            "exp": at + 300,
            "nonce": asked["nonce"],
            "at_hash": b64(hashlib.sha256(b"access-1").digest()[:16]),
            **({} if self.user_info is not None else self.person),
            **self.claims,
        }
        return self.encode(self, {name: value for name, value in said.items() if value is not None})

    async def _user_info(self, request: Request) -> Response:
        self.requests.append(request)
        if request.headers.get("authorization") != "Bearer access-1":
            return JSONResponse({"error": "invalid_token"}, 401)
        return JSONResponse({"sub": "person-1", **(self.user_info or {})})


def signed_by(key: Any, algorithm: str) -> Encode:
    def encode(_issuer: Issuer, claims: Claims) -> str:
        return jwt.encode({"alg": algorithm, "kid": key.kid}, claims, key, algorithms=[algorithm])

    return encode


def unsigned(_issuer: Issuer, claims: Claims) -> str:
    """``alg: none``, without a signature."""
    return f"{b64_json({'alg': 'none'})}.{b64_json(claims)}."


def signed_with_the_public_key(_issuer: Issuer, claims: Claims) -> str:
    """HS256, with the text of the published key for a secret."""
    secret = rsa_key().as_pem(private=False)
    text = f"{b64_json({'alg': 'HS256', 'kid': rsa_key().kid})}.{b64_json(claims)}"
    return f"{text}.{b64(hmac.digest(secret, text.encode(), 'sha256'))}"


def signed_by_a_stranger(_issuer: Issuer, claims: Claims) -> str:
    """By another key, under the name of the published one."""
    return jwt.encode({"alg": "RS256", "kid": rsa_key().kid}, claims, rsa_key("stranger"))


def with_its_own_key(_issuer: Issuer, claims: Claims) -> str:
    """By another key, which the token brings along."""
    key = rsa_key("stranger")
    header = {"alg": "RS256", "jwk": key.as_dict(private=False), "kid": rsa_key().kid}
    return jwt.encode(header, claims, key)


def changed_afterwards(issuer: Issuer, claims: Claims) -> str:
    """Somebody else's address put into a genuine token."""
    head, _, signature = signed_by(rsa_key(), "RS256")(issuer, claims).split(".")
    return f"{head}.{b64_json({**claims, 'email': 'bob@example.com'})}.{signature}"


def no_token(_issuer: Issuer, _claims: Claims) -> str:
    return "x.y"


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64_json(value: Any) -> str:
    return b64(json.dumps(value).encode())
