"""Leases on an intent: a scope of it for one agent alone, renewed while its block runs (RFC-0003).

``sync_held_lease.py`` is generated from this file: ``python sdk/generate_sync.py``.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from handraise.environment import segment
from handraise.errors import HandraiseError, RequestRefused, ScopeLost
from handraise.records import Received
from handraise.renewal import Renewal

if TYPE_CHECKING:
    from handraise.transport import Transport

log = logging.getLogger("handraise")

GIVE_BACK_SECONDS = 5.0
"""How long a block that has ended waits until its lease is given back, while the server can't be reached."""


class _Taken(Received):
    id: str


class Lease:
    """A scope of an intent for this agent alone, as long as the block lasts (:meth:`Handraise.lease`).

    It is renewed after each third of its ``seconds``. If the process dies it lapses by itself after the last of them.
    Entering raises :class:`RequestRefused` if it can't be had: ``lease_held``, ``intent_not_active``; and
    :class:`UpstreamIntentSuspendedError` while an intent that it reads from waits for a person.
    """

    def __init__(self, transport: Transport, intent_id: str, scope: str, seconds: int) -> None:
        self.is_lost = False
        self._transport = transport
        self._leases = f"intents/{segment(intent_id)}/leases"
        self._scope = scope
        self._seconds = seconds
        self._path = ""
        self._renewal: Renewal | None = None

    async def __aenter__(self) -> Self:
        from handraise.exchange import parsed

        asked = json.dumps({"scope": self._scope, "duration_seconds": self._seconds}).encode()
        taken = parsed(_Taken, await self._transport.call("POST", self._leases, asked))
        self._path = f"{self._leases}/{segment(taken.id)}"
        self._renewal = Renewal(self._renew, self._seconds / 3)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewal is not None:
            await self._renewal.stop()
        with suppress(HandraiseError):  # what can't be given back lapses by itself
            await self._transport.call("DELETE", self._path, within=GIVE_BACK_SECONDS)

    def check(self) -> None:
        """Raises :class:`ScopeLost` once the server has said that it is no longer this agent's."""
        if self.is_lost:
            raise ScopeLost("This agent has lost its lease: another one may have taken the scope.")

    async def _renew(self) -> bool:
        """Whether it is still held, as far as is known."""
        said = json.dumps({"duration_seconds": self._seconds}).encode()
        try:
            await self._transport.call("PATCH", self._path, said, within=self._seconds / 3)
        except RequestRefused:
            self.is_lost = True
        except HandraiseError as problem:  # while the server is away nobody else takes it either
            log.warning("A lease could not be renewed (%s).", type(problem).__name__)
        return not self.is_lost
