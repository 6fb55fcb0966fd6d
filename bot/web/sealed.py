"""What we hand to a browser or a mailbox and want back unchanged: sessions, sign-in links, form tokens. Pure.

A sealed value can be read by whoever holds it and made by nobody else. Every seal names its purpose, and one purpose
never opens another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

LONGEST = 2_048
"""Characters of the longest sealed value that is looked at."""

Content = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Seal:
    """Makes and checks seals under a derived key."""

    key: bytes = field(repr=False)

    def close(self, purpose: str, content: Content) -> str:
        """``content`` as text that is safe in a URL and in a cookie."""
        body = _encoded(json.dumps(dict(content), separators=(",", ":")).encode())
        return f"{body}.{_encoded(self._digest(purpose, body))}"

    def open(self, purpose: str, sealed: str) -> dict[str, str | int] | None:
        """What :meth:`close` was given; ``None`` for anything that it did not make for this purpose."""
        body, dot, digest = sealed.partition(".")
        if not dot or not sealed.isascii() or len(sealed) > LONGEST:
            return None
        if not hmac.compare_digest(digest, _encoded(self._digest(purpose, body))):
            return None
        content: dict[str, str | int] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return content

    def mark(self, purpose: str, *parts: str) -> str:
        """A keyed digest of ``parts``, the same each time."""
        return self._digest(purpose, *parts).hex()

    def is_mark(self, given: str, purpose: str, *parts: str) -> bool:
        return hmac.compare_digest(given.encode(), self.mark(purpose, *parts).encode())

    def _digest(self, purpose: str, *parts: str) -> bytes:
        return hmac.new(self.key, json.dumps(["pages", purpose, *parts]).encode(), hashlib.sha256).digest()


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
