"""``/me``: the stored data of the signed-in person beside their answers, and a button to delete it.

Source: API.md §6, "What a reply means".
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.answer import signed_out
from bot.web.pages.forms import BadPost, read_post
from bot.web.pages.moments import moment
from bot.web.pages.rendering import BrowserSession, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import ME, sign_in_place
from bot.web.pages.view import Flash, Tone
from core.engine.signature_lines import SignatureLines
from core.store.signature_lines import KEPT

log = structlog.get_logger(__name__)

_FORGOTTEN = "Forgotten. In your later replies these lines are your own words again."


@dataclass(frozen=True, slots=True)
class PersonalDataPage:
    room: PageContext
    sessions: Sessions
    signatures: SignatureLines

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.renderer.redirect(sign_in_place(ME))
        return await self._show(request, session)

    async def forget(self, request: Request) -> Response:
        """Delete all lines that they have called their signature; nothing without the form token."""
        session = await self.sessions.current(request)
        if session is None:
            return signed_out(self.room, ME)
        posted = await read_post(request)
        if not self.room.accepts(request, posted, ME, session):
            return self.room.renderer.stale()
        if posted.one("do") != "forget_signature":
            raise BadPost(400, "The form asked for something unknown.")
        await self.signatures.forget(session.identity)
        log.info("page.signature_forgotten")
        return await self._show(request, session, Flash(_FORGOTTEN, Tone.GOOD))

    async def _show(self, request: Request, session: BrowserSession, news: Flash | None = None) -> Response:
        kept = await self.signatures.kept(session.identity)
        zone = self.room.responders.time_zone(session.identity)
        since = None if kept.since is None else moment(kept.since, self.room.clock.now(), zone)
        return self.room.form_page(
            request, "personal_data.html", ME, session=session, count=kept.count, since=since, days=KEPT.days, news=news
        )
