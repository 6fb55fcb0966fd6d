"""Signing in by a link in a mail. A GET shows a button, since mail scanners open links; only the button signs in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from bot.web.places import SIGN_IN, SIGN_OUT, onward
from bot.web.posted import Posted, read_post
from bot.web.room import Room
from bot.web.signed_in import Sessions
from bot.web.signin_links import LINK_LIFE, SignInLink, SignInLinks, read_mail_address
from core.domain.notice import Message, Purpose
from core.domain.people import Address

log = structlog.get_logger(__name__)

MAIL_CHANNEL = "email"
_SENT, _USED = "signin", "signin-link"


@dataclass(frozen=True, slots=True)
class SignIn:
    """``channels`` are those that are set up: without mail no link can be sent."""

    room: Room
    sessions: Sessions
    links: SignInLinks
    channels: Collection[str]

    async def ask(self, request: Request) -> Response:
        """Where an address is entered."""
        leads_to = onward(request.query_params.get("next"))
        if await self.sessions.current(request) is not None:
            return self.room.paper.redirect(leads_to)
        return self._ask(request, leads_to)

    async def send(self, request: Request) -> Response:
        """The same answer whoever it is, and as fast: what differs happens after the response."""
        posted = await read_post(request)
        if not self.room.accepts(request, posted, SIGN_IN):
            return self.room.paper.stale()
        leads_to, mail = onward(posted.one("next")), read_mail_address(posted.one("email"))
        if mail is None or MAIL_CHANNEL not in self.channels:
            return self._ask(request, leads_to, posted)
        page = self.room.paper.message(
            "Look into your mail",
            f"If {mail} is known here, a link is on its way. It works once, within {LINK_LIFE.seconds // 60} minutes.",
            "There is at most one link a minute. You can close this page.",
        )
        page.background = BackgroundTask(self._send_link, mail, leads_to)
        return page

    async def confirm(self, request: Request) -> Response:
        """The page behind the link: a button, and nothing has happened yet."""
        token = request.path_params["token"]
        link = await self._usable(token)
        if link is None:
            return self._worthless()
        place = f"{SIGN_IN}/{token}"
        return self.room.form_page(request, "signin_confirm.html", place, mail=link.mail, action=place)

    async def enter(self, request: Request) -> Response:
        token = request.path_params["token"]
        posted = await read_post(request)
        if not self.room.accepts(request, posted, f"{SIGN_IN}/{token}"):
            return self.room.paper.stale()
        link = await self._usable(token)
        if link is None or await self.room.engine.seen(_USED, link.nonce):
            return self._worthless()
        log.info("signin.completed")
        response = self.room.paper.redirect(link.onward)
        self.sessions.begin(response, link.mail)
        return response

    async def leave(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.paper.redirect(SIGN_IN)
        posted = await read_post(request)
        if not self.room.accepts(request, posted, SIGN_OUT, session):
            return self.room.paper.stale()
        response = self.room.paper.message("You are signed out", onward=(SIGN_IN, "Sign in again"))
        await self.sessions.end(response, session)
        return response

    def _ask(self, request: Request, leads_to: str, posted: Posted | None = None) -> Response:
        is_wrong = posted is not None and MAIL_CHANNEL in self.channels
        return self.room.form_page(
            request,
            "signin.html",
            SIGN_IN,
            status=422 if is_wrong else 200,
            leads_to=leads_to,
            typed=posted.one("email") if posted is not None else "",
            problem="Enter a whole e-mail address, such as alice@example.com." if is_wrong else None,
            can_send=MAIL_CHANNEL in self.channels,
        )

    async def _send_link(self, mail: str, leads_to: str) -> None:
        if not self.sessions.may_sign_in(mail):
            return
        minute = int(self.room.clock.now().timestamp()) // 60
        if await self.room.engine.seen(_SENT, f"{self.room.seal.mark('signin-mail', mail)}:{minute}"):
            return
        message = Message(
            Purpose.SIGN_IN,
            "Your sign-in link",
            f"Open this link to sign in. It works once, within {LINK_LIFE.seconds // 60} minutes. "
            "If you did not ask for it, do nothing: without the link nobody gets in.",
            link=self.links.issue(mail, leads_to),
        )
        await self.room.engine.tell(message, Address(MAIL_CHANNEL, mail, mail))
        log.info("signin.link_sent")

    async def _usable(self, token: str) -> SignInLink | None:
        link = self.links.read(token)
        if link is None or not self.sessions.may_sign_in(link.mail):
            return None
        return None if await self.room.engine.was_seen(_USED, link.nonce) else link

    def _worthless(self) -> Response:
        """One page for a forged link, an old one and a used one."""
        return self.room.paper.message(
            "This link does not work any more",
            "A sign-in link works once, and only for a few minutes.",
            status=404,
            onward=(SIGN_IN, "Get a new link"),
        )
