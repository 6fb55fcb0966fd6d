"""Whether a request is Slack's.

The SDK's verifier raises on a timestamp that is no number and reads the wall clock itself, so this is our own.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime, timedelta

TIMESTAMP = "x-slack-request-timestamp"
SIGNATURE = "x-slack-signature"
LIFETIME = timedelta(minutes=5)

_SECONDS = re.compile(r"[0-9]{1,12}")


def is_signed(raw: bytes, timestamp: str, signature: str, secret: str, now: datetime) -> bool:
    """Whether ``signature`` was made with ``secret`` over this body, at most five minutes from now."""
    if _SECONDS.fullmatch(timestamp) is None or abs(now.timestamp() - int(timestamp)) > LIFETIME.total_seconds():
        return False
    ours = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + raw, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={ours}".encode(), signature.encode())
