"""The root key: the one stored secret. Each use has a derived key of its own, so that one leaked key opens nothing
else. Keys of seals are renewed: seals are kept for years, and outlive the secret that their key was derived from.

Source: API.md §5, §8; RFC 5869 §3.2 (``info`` tells the uses apart).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field


class RenewedKey(bytes):
    """A key for seals, with the keys that it has replaced: their seals are still genuine.

    It behaves as the newest key wherever something is sealed. Checks of a seal use :func:`keys_of`.
    """

    earlier: tuple[bytes, ...]

    def __new__(cls, newest: bytes, earlier: Sequence[bytes] = ()) -> RenewedKey:
        made = super().__new__(cls, newest)
        made.earlier = tuple(earlier)
        return made


def keys_of(key: bytes) -> tuple[bytes, ...]:
    """Each key that a seal may have been made with, the newest first."""
    return (bytes(key), *key.earlier) if isinstance(key, RenewedKey) else (key,)


_VALID_GENERATIONS = 2
"""How many webhook secrets of a key are valid at once: the newest, and the one before it while receivers change."""


@dataclass(frozen=True, slots=True)
class RootKey:
    """The key that every other key is derived from. Never logged, never shown.

    ``previous`` are the root keys that it has replaced: what was made with them is still accepted if that is safe
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
        """:meth:`derive`, for seals that have to stay genuine under another root key."""
        return RenewedKey(self.derive(purpose), [old.derive(purpose) for old in self.previous])

    @property
    def check(self) -> str:
        """A fingerprint for the database, which recognises another root key by it."""
        return self.derive("installation-check").hex()

    def hashes(self, api_key: str) -> tuple[str, ...]:
        """The possible stored hashes of an API key: under this root key, and under the previous ones."""
        return tuple(root.hash_api_key(api_key) for root in (self, *self.previous))

    def hash_api_key(self, api_key: str) -> str:
        """The stored hash of an API key, also used to look it up: HMAC-SHA-256, as 64 hexadecimal digits."""
        return _mac(self._of_api_keys, api_key.encode("utf-8", "surrogatepass")).hex()

    def webhook_secret(self, name: str, generation: int, salt: str | None = None) -> str:
        """The ``whsec_…`` of generation ``generation`` (from 1) of the API key ``name``. ``salt`` is its row's,
        which tells it from an earlier key of that name; rows of an older version have none."""
        text = f"{generation}\n{name}" if salt is None else f"{salt}\n{generation}\n{name}"
        made = _mac(self.derive("webhook-secret"), text.encode())
        return f"whsec_{base64.b64encode(made).decode()}"

    def webhook_secrets(self, name: str, generation: int, salt: str | None = None) -> tuple[str, ...]:
        """The secrets that are valid once ``generation`` of them have been issued, the newest first."""
        oldest = max(generation - _VALID_GENERATIONS, 0)
        return tuple(self.webhook_secret(name, number, salt) for number in range(generation, oldest, -1))


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()
