"""ID tokens: verifies that the provider made one for us and for this sign-in, and that it is still valid. Pure.

Only asymmetric signatures are taken: with a symmetric one, the provider's public key would be a secret that everybody
has. A provider's keys for other uses, or of an unknown kind, are ignored.

Source: OpenID Connect Core 1.0 §3.1.3.7, §3.1.3.8; RFC 7517; RFC 8725 §2.1, §3.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, KeySet, RSAKey

from bot.openid.registration import Claims, Expected, ProviderFailure

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
CLOCK_SKEW = timedelta(seconds=60)
"""By how much the provider's clock may differ from ours."""


def keys_in(document: Claims) -> KeySet:
    """The keys of a JWK Set that may sign ID tokens."""
    kinds: Mapping[str, type[RSAKey | ECKey]] = {"RSA": RSAKey, "EC": ECKey}
    found: list[Key] = []
    listed = document.get("keys")
    for one in listed if isinstance(listed, list) else ():
        kind = kinds.get(str(one.get("kty"))) if isinstance(one, dict) and one.get("use", "sig") == "sig" else None
        if kind is None:
            continue
        try:
            found.append(kind.import_key(one))
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    if not found:
        raise ProviderFailure("no_keys")
    return KeySet(found)


def is_signed_by_one_of(id_token: str, keys: KeySet) -> bool:
    """Whether the key that ``id_token`` names is among ``keys``. A token that names none may be signed by the only
    key."""
    head, _, _ = id_token.partition(".")
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return True  # it is refused as what it is
    named = header.get("kid") if isinstance(header, dict) else None
    return named is None or any(key.kid == named for key in keys.keys)


def verified(id_token: str, keys: KeySet, expected: Expected, now: datetime) -> Claims:
    """The claims of a genuine ID token. Raises :class:`ProviderFailure` for any other."""
    options: Any = {
        "iss": {"essential": True, "value": expected.issuer},
        "aud": {"essential": True, "value": expected.client_id},
        "sub": {"essential": True},
    }
    params = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
    try:
        token = jwt.decode(id_token, keys, algorithms=ALGORITHMS)
        claims = CodeIDToken(token.claims, token.header, options=options, params=params)
        claims.validate(now=int(now.timestamp()), leeway=int(CLOCK_SKEW.total_seconds()))
    except (JoseError, ValueError, TypeError, KeyError) as wrong:
        raise ProviderFailure(f"id_token_{_code(wrong)}") from None
    found: Claims = claims
    return found


_CLAIMS = frozenset({"iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "azp", "at_hash"})


def _code(wrong: Exception) -> str:
    """The error, without the token's content: ``bad_signature``, ``invalid_claim_nonce``."""
    error = str(getattr(wrong, "error", "") or "malformed")
    claim = str(getattr(wrong, "claim", "") or "")
    text = f"{error}_{claim}" if claim in _CLAIMS else error
    return text if text.replace("_", "").isalnum() and text.isascii() else "malformed"
