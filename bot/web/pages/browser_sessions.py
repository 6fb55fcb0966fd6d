"""Sessions of the pages: a sealed cookie, ended by time, by signing out, or by the person's leaving the directory."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from bot.web.connections import vouch
from bot.web.pages.cookies import Content
from bot.web.pages.rendering import BrowserSession, PageContext
from core.store.markers import Marker

SESSION = timedelta(hours=12)

_PURPOSE, _COOKIE = "session", "session"


@dataclass(frozen=True, slots=True)
class Sessions:
    """``may_sign_in`` is asked at every request, so that whoever is removed is out at once."""

    room: PageContext
    may_sign_in: Callable[[str], bool]

    async def current(self, request: Request) -> BrowserSession | None:
        held = self.room.seal.open(_PURPOSE, self.room.cookies.get(request, _COOKIE))
        if held is None or int(held["until"]) <= self._now():
            return None
        mail, session_id = str(held["mail"]), str(held["id"])
        if not self.may_sign_in(mail) or await self.room.incoming.was_seen(Marker.SIGNED_OUT, session_id):
            return None
        vouch(request.scope)
        return BrowserSession(session_id, self.room.responders.actor(mail))

    def begin(self, response: Response, mail: str) -> None:
        """Sign ``mail`` in, in the browser that gets ``response``."""
        content: Content = {"mail": mail, "until": self._now() + _whole_seconds(SESSION), "id": secrets.token_hex(16)}
        sealed = self.room.seal.close(_PURPOSE, content)
        self.room.cookies.set(response, _COOKIE, sealed, max_age=_whole_seconds(SESSION))

    async def end(self, response: Response, session: BrowserSession) -> None:
        """Sign out: the cookie is worth nothing from now on, wherever a copy of it is."""
        await self.room.incoming.seen(Marker.SIGNED_OUT, session.id)
        self.room.cookies.drop(response, _COOKIE)

    def _now(self) -> int:
        return int(self.room.clock.now().timestamp())


def _whole_seconds(length: timedelta) -> int:
    return int(length.total_seconds())
