"""The published client 0.17.0, with one thing put right.

Its agents call ``set_status(intent_id, status, version)``, and the client takes ``(intent_id, version, status)``. As it
is, ``request_input`` ends in an ``AttributeError`` before it has written anything, and so does ``complete_intent``.
Importing this module lets ``set_status`` take both orders. Nothing else differs from the package on PyPI.
"""

from __future__ import annotations

from typing import Any

from openintent.client import AsyncOpenIntentClient
from openintent.models import Intent, IntentStatus

_published = AsyncOpenIntentClient.set_status


async def _set_status(
    self: AsyncOpenIntentClient, intent_id: str, one: Any, other: Any, reason: str | None = None
) -> Intent:
    status, version = (one, other) if isinstance(one, IntentStatus) else (other, one)
    return await _published(self, intent_id, version, status, reason)


AsyncOpenIntentClient.set_status = _set_status  # type: ignore[method-assign]
