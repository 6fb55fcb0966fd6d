"""Receipts as a reader sees them: the question that one is about. Nothing is proven here: only the server can.

A receipt is ``payload.signature``. The payload is base64url of JSON, with a dot in front if that is compressed (zlib).

Source: API.md §5; https://itsdangerous.palletsprojects.com/en/stable/url_safe/.
"""

from __future__ import annotations

import base64
import json
import zlib

_LARGEST = 64 * 1024
"""Bytes of JSON: a receipt has a thousand at most."""


def suspension_of(receipt: str) -> str | None:
    """The id of the suspension that ``receipt`` is about; ``None`` if it is unreadable."""
    payload, _, _ = receipt.rpartition(".")
    is_compressed, text = payload.startswith("."), payload.removeprefix(".")
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        claims = json.loads(zlib.decompressobj().decompress(content, _LARGEST) if is_compressed else content)
        found = claims["suspension_id"]
    except (ValueError, LookupError, TypeError, RecursionError, zlib.error):
        return None
    return found if isinstance(found, str) and found else None
