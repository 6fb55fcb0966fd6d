"""Renewed keys: seals are kept for years, and outlive the secret that their key was derived from."""

from __future__ import annotations

from collections.abc import Sequence


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
