"""Keys: whose they are, whether they may ask here, and the seal of what one call leaves with its client.

A model acts with such a key. One whose role can answer would let it decide what it has asked about itself.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable

from mcp.server.request_state import AESGCMRequestStateCodec

from handraise.client import Handraise
from handraise.environment import api_key_of
from handraise.errors import ConfigurationError, RequestRefused

ASKING_ROLE = "agent"
REMEMBERED_SECONDS = 60.0
"""How long the service's word about a key is good: its roles may change. A revoked key is refused at once, by the
service, since every call is made with it."""

_MOST_REMEMBERED = 1_000
_PATIENCE_SECONDS = 5.0
_SEAL = b"handraise/mcp/request-state"


class KeyRefused(Exception):
    """No tool runs with this key. ``status`` is the one that says so over HTTP; the message has no key in it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Keys:
    """The keys that are used here, at one service."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._owners: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    async def owner(self, key: str, patience_seconds: float = _PATIENCE_SECONDS) -> str:
        """The name of ``key``.

        Raises :class:`KeyRefused` if the service does not know it, or if it can do more than ask, and
        :class:`HandraiseError` if the service does not say.
        """
        digest, now = hashlib.sha256(key.encode()).digest(), time.monotonic()
        said_at, name = self._owners.get(digest, (0.0, ""))
        if name and now - said_at < REMEMBERED_SECONDS:
            return name
        self._owners.pop(digest, None)
        name = await self._asked(key, patience_seconds)
        self._owners[digest] = (now, name)
        while len(self._owners) > _MOST_REMEMBERED:
            self._owners.popitem(last=False)
        return name

    async def _asked(self, key: str, patience_seconds: float) -> str:
        try:
            api_key_of(key)
            async with Handraise(self.url, key, patience_seconds=patience_seconds) as people:
                me = await people.me()
        except ConfigurationError as problem:
            raise KeyRefused(401, str(problem)) from None
        except RequestRefused as refused:
            if refused.status not in {401, 403}:
                raise
            raise KeyRefused(401, "Handraise does not know this API key, or it was revoked.") from None
        if set(me.roles) != {ASKING_ROLE}:
            roles = ", ".join(me.roles) or "none"
            raise KeyRefused(
                403,
                f"The API key {me.name} has the roles {roles}. A model would answer its own questions with it: use a "
                f"key whose only role is {ASKING_ROLE}.",
            )
        return me.name


class KeySeal:
    """Seals ``request_state`` under a key made of the caller's API key.

    So a restarted or a second server opens what another has sealed, and only the same caller can bring it back.
    """

    def __init__(self, key_of_call: Callable[[], str]) -> None:
        self._key_of_call = key_of_call

    def seal(self, payload: bytes) -> str:
        return self._codec().seal(payload)

    def unseal(self, token: str) -> bytes:
        return self._codec().unseal(token)

    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec([hmac.digest(self._key_of_call().encode(), _SEAL, "sha256")])
