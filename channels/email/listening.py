"""Where mail servers bring mail to, as ``email.listen`` has it. Pure.

Source: API.md §8 (``HANDRAISE_EMAIL__LISTEN``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

LOOKS_LIKE = "must look like lmtp://127.0.0.1:2424 or smtp://127.0.0.1:2525"

Protocol = Literal["lmtp", "smtp"]


@dataclass(frozen=True, slots=True)
class ListenAddress:
    protocol: Protocol
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> ListenAddress:
        """Raises :class:`ValueError` with the end of the sentence that begins with the key."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:  # a port that is no number, brackets that don't close
            raise ValueError(LOOKS_LIKE) from None
        beside = parts.username or parts.password or parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme == "lmtp" and host and port and not beside:
            return cls("lmtp", host, port)
        if parts.scheme == "smtp" and host and port and not beside:
            return cls("smtp", host, port)
        raise ValueError(LOOKS_LIKE)
