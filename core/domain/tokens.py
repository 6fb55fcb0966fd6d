"""Capability tokens: links and mail addresses by which one recipient answers one question.

A token is an HMAC over suspension, purpose and address, so that a repeated send has the same one. Only its SHA-256 is
stored. The ``suspension_id`` itself never leaves (RFC-0025 §11).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum

from core.domain.root_key import keys_of

_LENGTH = 26
"""Characters of base32: 130 bits. Lower case, since mail systems fold the case of local parts."""
_BYTES = 20
"""Of the HMAC: no fewer than the characters need, and a multiple of five, which base32 does not pad."""


class TokenPurpose(StrEnum):
    """What a token opens; one never opens the other."""

    PAGE = "page"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class TokenMaker:
    """Makes tokens under a derived key."""

    key: bytes

    def token(self, purpose: TokenPurpose, suspension_id: str, channel: str, address: str) -> str:
        return _token(self.key, purpose, suspension_id, channel, address)

    def every(self, purpose: TokenPurpose, suspension_id: str, channel: str, address: str) -> list[str]:
        """The token, and the tokens made with the previous keys."""
        return [_token(key, purpose, suspension_id, channel, address) for key in keys_of(self.key)]


def _token(key: bytes, purpose: TokenPurpose, suspension_id: str, channel: str, address: str) -> str:
    text = "\n".join((purpose.value, suspension_id, channel, address))
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return base64.b32encode(digest[:_BYTES]).decode().lower()[:_LENGTH]


def fingerprint(token: str) -> str:
    """The stored form of a token, also used to look it up: SHA-256, whatever its case."""
    return hashlib.sha256(token.strip().lower().encode()).hexdigest()
