"""The lease that keeps a second process from resuming the same invocation.

It is a lease on the intent (RFC-0003), renewed while the nodes run. If the process dies, the lease lapses; the callback
is sent again and finds the invocation free.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from handraise.client import Handraise
from handraise.environment import segment
from handraise.errors import HandraiseError, RequestRefused
from handraise.records import Received
from handraise.suspension.errors import SuspensionRecordInvalid

log = logging.getLogger("handraise")

DURATION = timedelta(minutes=1)
"""How long an invocation stays taken after its process has died."""

_LONGEST_NAME = 200


class _Taken(Received):
    id: str


@dataclass
class InvocationLease:
    """A lease that this process holds. ``is_lost``: the server has said that it no longer does."""

    client: Handraise
    path: str
    duration: timedelta
    is_lost: bool = False

    def check(self) -> None:
        """Raises :class:`SuspensionRecordInvalid` if another process may have gone on meanwhile."""
        if self.is_lost:
            raise SuspensionRecordInvalid("running", "This process has lost its lease on the invocation.")

    async def _renew_until_cancelled(self) -> None:
        said = _duration(self.duration)
        while not self.is_lost:
            await asyncio.sleep(self.duration.total_seconds() / 3)
            try:
                await self.client._transport.call("PATCH", self.path, said)
            except RequestRefused:
                self.is_lost = True
            except HandraiseError as problem:  # while the server is away nobody else takes it either
                log.warning("A lease on an invocation could not be renewed (%s).", type(problem).__name__)

    async def _give_back(self) -> None:
        # What can't be given back lapses by itself.
        with suppress(HandraiseError):
            await self.client._transport.call("DELETE", self.path)


@asynccontextmanager
async def held(
    client: Handraise, intent_id: str, invocation_id: str, duration: timedelta | None = None
) -> AsyncIterator[InvocationLease]:
    """Hold the invocation for as long as the block lasts.

    Raises :class:`RequestRefused`: ``lease_held`` if somebody else does, ``intent_not_active`` if its intent is over.
    """
    from handraise.exchange import parsed

    duration = duration or DURATION
    leases = f"intents/{segment(intent_id)}/leases"
    asked = json.dumps({"scope": _scope(invocation_id), **json.loads(_duration(duration))}).encode()
    taken = parsed(_Taken, await client._transport.call("POST", leases, asked))
    lease = InvocationLease(client, f"{leases}/{segment(taken.id)}", duration)
    renewing = asyncio.create_task(lease._renew_until_cancelled())
    try:
        yield lease
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        await lease._give_back()


def _duration(duration: timedelta) -> bytes:
    return json.dumps({"duration_seconds": int(duration.total_seconds())}).encode()


def _scope(invocation_id: str) -> str:
    """A valid name for the server."""
    name = invocation_id if len(invocation_id) <= _LONGEST_NAME else sha256(invocation_id.encode()).hexdigest()
    return f"invocation:{name}"
