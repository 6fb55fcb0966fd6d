"""Hook listener: calls an agent's hooks for the server's events, in order.

Each question's events are handled one after the other; a slow hook delays no other question's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from handraise.client import Handraise
from handraise.errors import RequestRefused, ServerUnavailable, UnexpectedResponse
from handraise.exchange import LONGEST_PAUSE
from handraise.lifecycle_hooks import HookKind, call_hook, hooks_of
from handraise.records import EngagementDecision, LoggedEvent, SuspensionRecord
from handraise.streams import EventStream

log = logging.getLogger("handraise")

Found = TypeVar("Found")

KINDS: Mapping[str, HookKind] = {
    "intent.suspended": HookKind.INPUT_REQUESTED,
    "intent.suspension_renotified": HookKind.INPUT_REQUESTED,
    "intent.resumed": HookKind.INPUT_RECEIVED,
    "intent.suspension_expired": HookKind.SUSPENSION_EXPIRED,
    "engagement.decision": HookKind.ENGAGEMENT_DECISION,
}
"""What is called, by the type of the event (RFC-0025 §3, §9.3; RFC-0026 §4.4, §4.5)."""

ENDINGS = frozenset({"intent.resumed", "intent.suspension_expired", "intent.suspension_cancelled"})
_ENDINGS_KEPT = 1000


class HookListener:
    """Calls the hooks of ``agent`` for what happens to the intents of its own key."""

    def __init__(self, people: Handraise, agent: object) -> None:
        self._people = people
        self._key_name = ""
        self._hooks = hooks_of(agent)
        self._last: dict[str, asyncio.Task[None]] = {}
        self._ended: deque[str] = deque(maxlen=_ENDINGS_KEPT)
        self._expected: set[str] = set()
        self._news = asyncio.Event()

    @property
    def has_hooks(self) -> bool:
        return any(self._hooks.values())

    async def identify(self) -> None:
        """Learn the key's name; call it before :meth:`listen`."""
        self._key_name = (await self._people.me()).name

    async def listen(self, stream: EventStream) -> None:
        """Runs for ever. Raises :class:`RequestRefused` once the server refuses this key."""
        while True:
            try:
                async for event in stream:
                    self._take(event)
            except UnexpectedResponse as problem:
                log.warning("An event is passed over: %s", problem)
                await asyncio.sleep(LONGEST_PAUSE)
            except RequestRefused as refusal:
                log.error("Hooks are called no more, the server says no: %s", refusal)
                raise

    def expect(self, suspension_id: str) -> None:
        """This question has ended: :meth:`settle` waits until its hooks have been called."""
        if self.has_hooks and suspension_id not in self._ended:
            self._expected.add(suspension_id)

    async def settle(self) -> None:
        """Return when the hooks of every question that was expected have been called."""
        while self._expected or self._last:
            self._news.clear()
            await self._news.wait()

    async def stop(self) -> None:
        """End the hooks that still run."""
        running = list(self._last.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _take(self, event: LoggedEvent) -> None:
        kind, suspension_id = KINDS.get(event.event_type), _suspension_id(event)
        if kind is not None and self._hooks[kind]:
            self._queue(suspension_id or event.id, lambda: self._handle(event, kind, suspension_id))
        if event.event_type in ENDINGS and suspension_id is not None:
            self._ended.append(suspension_id)
            self._expected.discard(suspension_id)
            self._news.set()

    def _queue(self, key: str, work: Callable[[], Awaitable[None]]) -> None:
        """Behind the running work for ``key``."""
        before = self._last.get(key)

        async def in_turn() -> None:
            if before is not None:
                await asyncio.wait([before])
            await work()

        def ended(task: asyncio.Task[None]) -> None:
            if self._last.get(key) is task:
                del self._last[key]
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("An event could not be handled (%s).", type(error).__name__)
            self._news.set()

        task = self._last[key] = asyncio.create_task(in_turn())
        task.add_done_callback(ended)

    async def _handle(self, event: LoggedEvent, kind: HookKind, suspension_id: str | None) -> None:
        try:
            intent = await _patiently(lambda: self._people.intent(event.intent_id))
            if intent.created_by != self._key_name:
                return  # an operator's or admin's key is told of everybody's
            subject = await self._subject(event, kind, suspension_id)
        except RequestRefused as refusal:  # it has left the database since, or the key was revoked
            log.warning("No hook is called for an event of the type %s: %s", event.event_type, refusal)
            return
        if subject is not None:
            for hook in self._hooks[kind]:
                await call_hook(hook, intent, subject)

    async def _subject(self, event: LoggedEvent, kind: HookKind, suspension_id: str | None) -> object:
        """The hook's second argument; ``None`` if the event is of another kind."""
        if kind is HookKind.ENGAGEMENT_DECISION:
            return _decision(event)
        if suspension_id is None:
            return None
        record = await _patiently(lambda: self._people.get(suspension_id))
        match kind:
            case HookKind.INPUT_REQUESTED:
                return at_attempt(record, event.payload)
            case HookKind.INPUT_RECEIVED:
                return record.answer
        return record


def at_attempt(record: SuspensionRecord, payload: Mapping[str, JsonValue]) -> SuspensionRecord:
    """``record`` as it was asked at the attempt in ``payload`` (RFC-0026 §4.5)."""
    attempt = {"_attempt": payload.get("attempt", 1), "_max_attempts": payload.get("max_attempts", 1)}
    asked = {name: payload[name] for name in ("channel_hint", "notify_to", "attempt") if name in payload}
    return record.model_copy(update={**asked, "context": {**record.context, **attempt}})


def _decision(event: LoggedEvent) -> EngagementDecision | None:
    with contextlib.suppress(ValidationError):  # an event that a client has written itself may say anything
        return EngagementDecision.model_validate({**event.payload, "event_id": event.id})
    return None


def _suspension_id(event: LoggedEvent) -> str | None:
    suspension_id = event.payload.get("suspension_id")
    return suspension_id if isinstance(suspension_id, str) else None


async def _patiently(ask: Callable[[], Awaitable[Found]]) -> Found:
    """Waits for a server that is away: no hook is left out for that."""
    while True:
        with contextlib.suppress(ServerUnavailable):
            return await ask()
