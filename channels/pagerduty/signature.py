"""Whether a webhook is PagerDuty's.

The signature covers the raw body alone and has no time in it: a replay is recognised by its id, not here.

Source: https://developer.pagerduty.com/docs/webhook-signatures.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

HEADER = "x-pagerduty-signature"
_SCHEME = "v1="
_MOST_SIGNATURES = 16


def is_signed(raw: bytes, header: str, secrets: Sequence[str]) -> bool:
    """Whether any ``v1=`` in ``header`` was made with any of ``secrets``; there are several while one is replaced."""
    parts = [part.strip() for part in header.split(",", _MOST_SIGNATURES)[:_MOST_SIGNATURES]]
    given = [part.removeprefix(_SCHEME).encode() for part in parts if part.startswith(_SCHEME)]
    ours = [hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest().encode() for secret in secrets]
    return any(hmac.compare_digest(one, other) for one in ours for other in given)
