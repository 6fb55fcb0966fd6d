"""The lease that keeps a second process from resuming the same invocation.

It is a lease on the intent (:mod:`handraise.held_lease`), renewed while the nodes run. If the process dies, the lease
lapses; the callback is sent again and finds the invocation free.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from handraise.client import Handraise
from handraise.held_lease import Lease
from handraise.suspension.errors import SuspensionRecordInvalid

DURATION = timedelta(minutes=1)
"""How long an invocation stays taken after its process has died."""

_LONGEST_NAME = 200


@dataclass(frozen=True)
class InvocationLease:
    """The invocation, as long as this process holds it."""

    lease: Lease

    def check(self) -> None:
        """Raises :class:`SuspensionRecordInvalid` if another process may have gone on meanwhile."""
        if self.lease.is_lost:
            raise SuspensionRecordInvalid("running", "This process has lost its lease on the invocation.")


@asynccontextmanager
async def held(
    client: Handraise, intent_id: str, invocation_id: str, duration: timedelta | None = None
) -> AsyncIterator[InvocationLease]:
    """Hold the invocation for as long as the block lasts.

    Raises :class:`RequestRefused`: ``lease_held`` if somebody else does, ``intent_not_active`` if its intent is over.
    """
    seconds = int((duration or DURATION).total_seconds())
    async with client.lease(intent_id, _scope(invocation_id), seconds=seconds) as lease:
        yield InvocationLease(lease)


def _scope(invocation_id: str) -> str:
    """A valid name for the server."""
    name = invocation_id if len(invocation_id) <= _LONGEST_NAME else sha256(invocation_id.encode()).hexdigest()
    return f"invocation:{name}"
