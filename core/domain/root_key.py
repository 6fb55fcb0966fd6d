"""The root key: the one secret that is kept. Each use has a derived key of its own, so that one that gets out opens
nothing else.

Source: API.md §5, §8; RFC 5869 §3.2 (``info`` tells the uses apart).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

from core.domain.renewed_key import RenewedKey

_VALID_GENERATIONS = 2
"""How many webhook secrets of a key are valid at once: the newest, and the one before it while receivers change."""


@dataclass(frozen=True, slots=True)
class RootKey:
    """What every other key comes from. Never logged, never shown.

    ``previous`` are those that it has taken the place of: what was made with them is still known where that is safe
    (docs/how-to/secret-key.md).
    """

    secret: bytes = field(repr=False)
    previous: tuple[RootKey, ...] = field(default=(), repr=False)
    _of_api_keys: bytes = field(init=False, repr=False, compare=False)
    """Derived once: every request hashes the key that it brings."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_api_keys", self.derive("api-key"))

    def derive(self, purpose: str) -> bytes:
        """The key for ``purpose``: 32 bytes that tell nothing about those for other purposes."""
        return _mac(self.secret, f"handraise/1/{purpose}".encode())

    def derive_renewed(self, purpose: str) -> RenewedKey:
        """As :meth:`derive`, for what was sealed and has to stay genuine under another root key."""
        return RenewedKey(self.derive(purpose), [old.derive(purpose) for old in self.previous])

    @property
    def check(self) -> str:
        """What a database keeps of the key that it is used with, to know another when it sees one."""
        return self.derive("installation-check").hex()

    def hashes(self, api_key: str) -> tuple[str, ...]:
        """What may be stored of an API key: its hash, and those that it had under the root keys before."""
        return tuple(root.hash_api_key(api_key) for root in (self, *self.previous))

    def hash_api_key(self, api_key: str) -> str:
        """What is stored of an API key, and looked up: HMAC-SHA-256, as 64 hexadecimal digits."""
        return _mac(self._of_api_keys, api_key.encode("utf-8", "surrogatepass")).hex()

    def webhook_secret(self, name: str, generation: int, salt: str | None = None) -> str:
        """The ``whsec_…`` of that generation, from 1, of the API key ``name``. ``salt`` is its row's, which tells it
        from an earlier key of that name; rows of an older version have none."""
        text = f"{generation}\n{name}" if salt is None else f"{salt}\n{generation}\n{name}"
        made = _mac(self.derive("webhook-secret"), text.encode())
        return f"whsec_{base64.b64encode(made).decode()}"

    def webhook_secrets(self, name: str, generation: int, salt: str | None = None) -> tuple[str, ...]:
        """Those that are valid once ``generation`` secrets have been handed out, the newest first."""
        oldest = max(generation - _VALID_GENERATIONS, 0)
        return tuple(self.webhook_secret(name, number, salt) for number in range(generation, oldest, -1))


def _mac(key: bytes, text: bytes) -> bytes:
    """By ``hmac.new``: ``hmac.digest`` lets go of the GIL, and waits up to 5 ms until a thread that computes gives it
    back. The event loop does this several times a question."""
    return hmac.new(key, text, hashlib.sha256).digest()
