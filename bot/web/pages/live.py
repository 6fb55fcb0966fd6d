"""``/live``: tells an open page of a signed-in person that something has changed, never what. The page then fetches
itself.

Of one question (``?q=HR-…``), or of all for the inbox. Server-sent events, for the session's cookie alone. A page works
without it.

Source: API.md §6; the WHATWG's server-sent events.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.web.pages.rendering import BrowserSession, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import REF
from core.hub import EVERYTHING, Hub, Wakeup, first_of

HEARTBEAT_SECONDS = 15.0
"""After so long without news the session is looked at again."""
GATHER_SECONDS = 1.0
"""The least time between two pieces of news: what happens meanwhile is one."""
MOST_STREAMS = 12
"""Open pages of one session that are told."""

CHANGED = "data: changed\n\n"
STILL_HERE = ": still here\n\n"
GONE = "event: gone\ndata: signed out\n\n"


@dataclass(frozen=True, slots=True)
class LivePages:
    """``closing`` is set when the server stops."""

    room: PageContext
    sessions: Sessions
    hub: Hub
    closing: Wakeup
    heartbeat: float = HEARTBEAT_SECONDS
    _open: Counter[str] = field(default_factory=Counter)

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return Response(status_code=403)
        topic = await self._topic(request.query_params.get("q"), session)
        if topic is None:
            return Response(status_code=404)
        if self._open[session.id] >= MOST_STREAMS:
            return Response(status_code=429, headers={"Retry-After": "60"})
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._news(request, session, topic), media_type="text/event-stream", headers=headers)

    async def _topic(self, ref: str | None, session: BrowserSession) -> str | None:
        """``None`` for a question that there is not, and for one that they may not know of."""
        if ref is None:
            return EVERYTHING
        suspension = await self.room.queries.find(ref) if REF.fullmatch(ref) else None
        permissions = self.room.permissions
        if suspension is None:
            return None
        may = permissions.may_read(suspension, session.actor) or permissions.refusal(suspension, session.actor) is None
        return suspension.id if may else None

    async def _news(self, request: Request, session: BrowserSession, topic: str) -> AsyncIterator[str]:
        self._open[session.id] += 1
        try:
            with self.hub.subscribe(topic) as news:
                yield STILL_HERE
                while not self.closing.is_set():
                    came = await first_of(news, self.closing, patience=self.heartbeat)
                    if await self.sessions.current(request) is None:
                        yield GONE
                        return
                    if came and not self.closing.is_set():
                        await asyncio.sleep(GATHER_SECONDS)
                        news.clear()
                    yield CHANGED if came else STILL_HERE
        finally:
            self._open[session.id] -= 1
            if not self._open[session.id]:
                del self._open[session.id]
