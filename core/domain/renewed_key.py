"""Renewed keys: what they seal is kept for years, and outlives the secret that they were derived from."""

from __future__ import annotations

from collections.abc import Sequence


class RenewedKey(bytes):
    """A key that seals, and those that it has taken the place of: what they have sealed is still genuine.

    It is the newest key itself wherever something is sealed. Whoever checks a seal asks :func:`keys_of`.
    """

    earlier: tuple[bytes, ...]

    def __new__(cls, newest: bytes, earlier: Sequence[bytes] = ()) -> RenewedKey:
        made = super().__new__(cls, newest)
        made.earlier = tuple(earlier)
        return made


def keys_of(key: bytes) -> tuple[bytes, ...]:
    """Each key by which a seal may have been made, the newest first."""
    return (bytes(key), *key.earlier) if isinstance(key, RenewedKey) else (key,)
