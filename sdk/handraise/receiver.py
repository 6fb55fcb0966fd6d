"""The receiver of callbacks: verifies each, and runs it once, as a new turn of the same session.

Source: API.md §5; issue 186. Readings: ``docs/decisions/0051-yield-and-resume.md``.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Generic, overload

from handraise.asgi import Receive, ReceiverReply, Scope, Send, refused, serve
from handraise.callback_stores import CallbackState, CallbackStore, MemoryCallbackStore, utc_now
from handraise.callbacks import MALFORMED_BODY, Headers, Resumed, check_secrets, verify_callback
from handraise.errors import ConfigurationError, HandraiseError, InvalidCallback
from handraise.session_turn import ASKED_BACK, ENDINGS, Session, Turn
from handraise.suspension.errors import SuspensionRecordInvalid

log = logging.getLogger("handraise")

LONGEST_BODY = 4 * 1024 * 1024
AGAIN_SECONDS = 1
"""When the server may try again while a turn of the session is running; it waits longer by itself each time."""

Handler = Callable[[Turn[Session]], object]
"""``async def`` or a plain function, which runs in a thread. What it returns is not used."""

SessionLoader = Callable[[str], Session | Awaitable[Session | None] | None]


class SessionEnded(HandraiseError):
    """Raise it from ``load_session`` or from the handler if the session will never go on: the server stops trying
    (410), and records a failure of the intent."""


class ResumeReceiver(Generic[Session]):
    """Receives the callbacks of a server and runs your handler as a new turn of the session that has asked.

    It is an ASGI application of its own, to be mounted at any path. In other frameworks call :meth:`receive`, or
    :meth:`receive_sync` without an event loop.

    - ``secrets``: the asking key's ``webhook_secrets``; two while one replaces the other.
    - ``on_resumed`` is called with a :class:`Turn` for every ending, ``on_clarification`` if a person asks back.
      Without the latter such a callback is accepted and ignored.
    - ``load_session`` gets the ``session_id`` of the question. ``None`` means that the session is not there (yet): the
      server tries again. :class:`SessionEnded` means never: it stops. Without a loader ``turn.session`` is ``None``.
    - ``store`` remembers what is done; in memory if you give none.
    - ``context_stale_after``: if the question was asked longer ago, ``turn.stale`` is true. The callback's
      ``suspended_at`` counts; if there is none, the turn is stale.

    Promised: the handler never sees a callback that is forged, old or too long. Of one callback it runs at least once
    until it has returned, never twice at the same time, and not again afterwards for as long as the store keeps the id.
    One turn of a session runs at a time. A 2xx is sent when the handler has returned and the store knows. If it raises
    :class:`SuspensionRecordInvalid`, ``resumed`` counts as having returned, and ``running`` is a 503.

    Raises :class:`ConfigurationError` if a secret can't be one.
    """

    @overload
    def __init__(
        self: ResumeReceiver[None],
        secrets: str | Sequence[str],
        on_resumed: Handler[None],
        *,
        load_session: None = None,
        on_clarification: Handler[None] | None = None,
        store: CallbackStore | None = None,
        context_stale_after: timedelta | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None: ...

    @overload
    def __init__(
        self,
        secrets: str | Sequence[str],
        on_resumed: Handler[Session],
        *,
        load_session: SessionLoader[Session],
        on_clarification: Handler[Session] | None = None,
        store: CallbackStore | None = None,
        context_stale_after: timedelta | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None: ...

    def __init__(
        self,
        secrets: str | Sequence[str],
        on_resumed: Handler[Any],
        *,
        load_session: SessionLoader[Any] | None = None,
        on_clarification: Handler[Any] | None = None,
        store: CallbackStore | None = None,
        context_stale_after: timedelta | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._secrets = [secrets] if isinstance(secrets, str) else list(secrets)
        check_secrets(self._secrets)
        if context_stale_after is not None and context_stale_after <= timedelta(0):
            raise ConfigurationError("context_stale_after must be longer than nothing.")
        self._handlers = dict.fromkeys(ENDINGS, on_resumed)
        if on_clarification is not None:
            self._handlers[ASKED_BACK] = on_clarification
        self._load_session = load_session
        self._store = MemoryCallbackStore() if store is None else store
        self._stale_after = context_stale_after
        self._now = now
        self._turns: set[asyncio.Task[ReceiverReply]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await serve(scope, receive, send, self.receive, LONGEST_BODY, closing=self.aclose)

    async def receive(self, headers: Headers, body: bytes) -> ReceiverReply:
        """The reply to a POST with exactly these headers and this body. Never raises.

        If the caller is cancelled meanwhile, because the server has hung up, the turn goes on.
        """
        if len(body) > LONGEST_BODY:
            return refused(413, "too_long")
        try:
            resumed = verify_callback(headers, body, self._secrets, now=self._now())
        except InvalidCallback as refusal:
            return _not_believed(refusal, body)
        handler = self._handlers.get(resumed.type)
        if handler is None:
            return ReceiverReply(202)
        # A task of its own: a server that has waited long enough, and hangs up, must not cut the handler off.
        turn = asyncio.create_task(self._once(resumed, handler))
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)
        return await asyncio.shield(turn)

    def receive_sync(self, headers: Headers, body: bytes) -> ReceiverReply:
        """:meth:`receive` for a framework without an event loop, such as Flask."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.receive(headers, body))
        raise RuntimeError("There is an event loop here: await receive() instead.")

    async def aclose(self) -> None:
        """Return when every turn that is running on this event loop has ended."""
        loop = asyncio.get_running_loop()
        while turns := [turn for turn in list(self._turns) if turn.get_loop() is loop]:
            await asyncio.wait(turns)

    async def _once(self, resumed: Resumed, handler: Handler[Any]) -> ReceiverReply:
        """Run the handler unless it is done or running. After any failure, the server tries again."""
        holder = uuid.uuid4().hex
        try:
            state = await self._store.begin(resumed.webhook_id, resumed.session_id, holder)
            if state is CallbackState.DONE:
                return ReceiverReply(204)
            if state is CallbackState.RUNNING:
                return _again("running")
            return await self._run(resumed, handler, holder)
        except Exception as problem:  # noqa: BLE001 (the author's code)
            # Only the place of the failure: its message may quote the answer.
            where = "".join(traceback.format_tb(problem.__traceback__)).rstrip()
            name = type(problem).__name__
            log.error("The callback %s could not be handled (%s).\n%s", resumed.webhook_id, name, where)
            return refused(500, "handler_failed")

    async def _run(self, resumed: Resumed, handler: Handler[Any], holder: str) -> ReceiverReply:
        try:
            async with self._held(resumed.webhook_id, holder):
                refusal = await self._take_turn(resumed, handler)
            if refusal is None:
                await self._store.finish(resumed.webhook_id, holder)
                return ReceiverReply(204)
        except BaseException:
            await self._store.release(resumed.webhook_id, holder)
            raise
        await self._store.release(resumed.webhook_id, holder)
        return refusal

    async def _take_turn(self, resumed: Resumed, handler: Handler[Any]) -> ReceiverReply | None:
        """``None`` once the handler has returned, or the invocation has gone on already; else why it was not called,
        or has to be called again."""
        session = None
        if self._load_session is not None:
            if resumed.session_id is None:
                log.error("The callback %s names no session; its question had no session_id.", resumed.webhook_id)
                return refused(410, "no_session_id")
            try:
                session = await _called(self._load_session, resumed.session_id)
            except SessionEnded:
                return refused(410, "session_ended")
            if session is None:
                log.warning("The callback %s is for a session that is not there.", resumed.webhook_id)
                return _again("no_session")
        try:
            await _called(handler, Turn(session, resumed, self._is_stale(resumed)))
        except SessionEnded:
            return refused(410, "session_ended")
        except SuspensionRecordInvalid as refusal:
            if refusal.reason == "running":
                return _again("running")
            if refusal.reason != "resumed":
                raise
        return None

    def _is_stale(self, resumed: Resumed) -> bool:
        if self._stale_after is None:
            return False
        return resumed.suspended_at is None or self._now() - resumed.suspended_at > self._stale_after

    @asynccontextmanager
    async def _held(self, webhook_id: str, holder: str) -> AsyncIterator[None]:
        """Keep the callback this holder's for as long as the block lasts."""
        lease = self._store.lease
        if lease is None:
            yield
            return
        renewing = asyncio.create_task(self._renew(webhook_id, holder, lease / 3))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    async def _renew(self, webhook_id: str, holder: str, every: timedelta) -> None:
        while True:
            await asyncio.sleep(every.total_seconds())
            try:
                await self._store.renew(webhook_id, holder)
            except Exception as problem:  # noqa: BLE001 (the next one may go through, and the handler works on)
                log.warning("The callback %s could not be renewed (%s).", webhook_id, type(problem).__name__)


async def _called(function: Callable[..., Any], given: object) -> Any:
    """Its result. A plain function runs in a thread, so that it holds up no other session."""
    called = getattr(function, "__call__", function)  # noqa: B004 (an object may have an async __call__)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return await function(given)
    result = await asyncio.to_thread(function, given)
    return await result if inspect.isawaitable(result) else result


def _not_believed(refusal: InvalidCallback, body: bytes) -> ReceiverReply:
    """An unreadable signed body comes from a newer server if its type is unknown here."""
    if refusal.reason != MALFORMED_BODY:
        log.info("A callback was refused (%s).", refusal.reason)
        return refused(401, refusal.reason)
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        kind = json.loads(body)["type"]
        if isinstance(kind, str) and kind not in ENDINGS | {ASKED_BACK}:
            return ReceiverReply(202)
    log.warning("A signed callback can't be read.")
    return refused(400, refusal.reason)


def _again(code: str) -> ReceiverReply:
    return refused(503, code, retry_after=str(AGAIN_SECONDS))
