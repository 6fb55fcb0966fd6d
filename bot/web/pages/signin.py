"""Signing in: the page with every way to sign in, links in mails, and sessions.

A GET shows a button, because mail scanners open links; only the button signs in. Links are signed, short-lived and for
one use. Nothing is stored until one is used; then its nonce is.

A session is a sealed cookie. It ends by time, by signing out, or when the person leaves the directory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from bot.front.connections import vouch
from bot.web.pages.cookies import Content, Seal
from bot.web.pages.forms import Posted, read_post
from bot.web.pages.rendering import BrowserSession, PageContext
from bot.web.pages.urls import INBOX, SIGN_IN, SIGN_OUT, Site, onward, sign_in_place, start_place
from core.domain.notice import LinkTarget, Message, MessageLink, Purpose
from core.domain.people import Address, canonical, read_mail_address
from core.ports import Clock
from core.store.markers import Marker

SESSION = timedelta(hours=12)

_SESSION = "session"
"""What the cookie is called, and what its seal is for."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """``may_sign_in`` is asked at every request, so that a removed person is out at once."""

    room: PageContext
    may_sign_in: Callable[[str], bool]

    async def current(self, request: Request) -> BrowserSession | None:
        held = self.room.seal.open(_SESSION, self.room.cookies.get(request, _SESSION))
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
        sealed = self.room.seal.close(_SESSION, content)
        self.room.cookies.set(response, _SESSION, sealed, max_age=_whole_seconds(SESSION))

    async def end(self, response: Response, session: BrowserSession) -> None:
        """Sign out: the cookie is worthless from now on, as is every copy of it."""
        await self.room.incoming.seen(Marker.SIGNED_OUT, session.id)
        self.room.cookies.drop(response, _SESSION)

    def _now(self) -> int:
        return int(self.room.clock.now().timestamp())


def _whole_seconds(length: timedelta) -> int:
    return int(length.total_seconds())


log = structlog.get_logger(__name__)

LINK_LIFE = timedelta(minutes=15)
LONGEST_LIFE = timedelta(days=7)
"""As long as the use of a link is remembered; after that it could be used again."""

_PURPOSE, _DELIVERY = "sign-in", "sign-in delivery"
_NONCE = 32
"""Characters of hexadecimal."""


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A link's content. ``nonce`` makes it good for one use; ``onward`` is the page after that."""

    mail: str
    nonce: str
    onward: str


@dataclass(frozen=True, slots=True)
class SignInLinks:
    seal: Seal
    site: Site
    clock: Clock

    def issue(self, mail: str, leads_to: str = INBOX, life: timedelta = LINK_LIFE) -> str:
        """A URL that signs ``mail`` in once, within ``life`` (a week at most), and then goes to ``leads_to``."""
        return self.issue_until(mail, leads_to, life)[0]

    def issue_until(self, mail: str, leads_to: str = INBOX, life: timedelta = LINK_LIFE) -> tuple[str, datetime]:
        """:meth:`issue`, with the instant at which the URL expires."""
        until = int((self.clock.now() + min(life, LONGEST_LIFE)).timestamp())
        return self._sealed(mail, leads_to, until, secrets.token_hex(16)), datetime.fromtimestamp(until, UTC)

    def of_delivery(self, mail: str, leads_to: str, asked_at: datetime, delivery: str) -> str:
        """The URL in the message with the id ``delivery``: the same at each try, so that nothing is stored. It can't
        be made from the id, which is not a secret, without our key."""
        until = int((asked_at + LINK_LIFE).timestamp())
        return self._sealed(mail, leads_to, until, self.seal.mark(_DELIVERY, delivery)[:_NONCE])

    def _sealed(self, mail: str, leads_to: str, until: int, nonce: str) -> str:
        content: Content = {"mail": canonical(mail), "until": until, "nonce": nonce, "next": onward(leads_to)}
        return self.site.url(f"{SIGN_IN}/{self.seal.close(_PURPOSE, content)}")

    def read(self, token: str) -> SignInLink | None:
        """``None`` for a link that is not ours or too old. It may have been used already."""
        held = self.seal.open(_PURPOSE, token)
        if held is None or int(held["until"]) <= self.clock.now().timestamp():
            return None
        return SignInLink(str(held["mail"]), str(held["nonce"]), onward(str(held["next"])))


MAIL_CHANNEL, SLACK_CHANNEL = "email", "slack"


@dataclass(frozen=True, slots=True)
class SignIn:
    """``channels`` are those set up, without mail if it must not send links. ``providers`` are shown as buttons: the
    key and the name of each."""

    room: PageContext
    sessions: Sessions
    links: SignInLinks
    channels: Collection[str]
    providers: Sequence[tuple[str, str]] = ()

    async def ask(self, request: Request) -> Response:
        """The page to enter an address."""
        leads_to = onward(request.query_params.get("next"))
        if await self.sessions.current(request) is not None:
            return self.room.renderer.redirect(leads_to)
        return self._ask(request, leads_to)

    async def send(self, request: Request) -> Response:
        """The same reply for everybody, and as fast: all differences come after the response."""
        posted = await read_post(request)
        if not self.room.accepts(request, posted, SIGN_IN):
            return self.room.renderer.stale()
        leads_to, mail = onward(posted.one("next")), read_mail_address(posted.one("email"))
        if mail is None or MAIL_CHANNEL not in self.channels:
            return self._ask(request, leads_to, posted)
        page = self.room.renderer.message(
            "Check your mail",
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
        session = await self.sessions.current(request)
        if session is not None and session.identity == self.room.responders.identity_of(link.mail):
            return self.room.renderer.redirect(link.onward)  # in this browser already, and the link stays good
        place = f"{SIGN_IN}/{token}"
        return self.room.form_page(request, "signin_confirm.html", place, mail=link.mail, action=place)

    async def enter(self, request: Request) -> Response:
        token = request.path_params["token"]
        posted = await read_post(request)
        if not self.room.accepts(request, posted, f"{SIGN_IN}/{token}"):
            return self.room.renderer.stale()
        link = await self._usable(token)
        if link is None or await self.room.incoming.seen(Marker.SIGN_IN_USED, link.nonce):
            return self._worthless()
        log.info("signin.completed")
        response = self.room.renderer.redirect(link.onward)
        self.sessions.begin(response, link.mail)
        return response

    async def leave(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.renderer.redirect(SIGN_IN)
        posted = await read_post(request)
        if not self.room.accepts(request, posted, SIGN_OUT, session):
            return self.room.renderer.stale()
        again = sign_in_place(onward(posted.one("next")))
        response = self.room.renderer.message("You are signed out", onward=(again, "Sign in again"))
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
            has_slack=SLACK_CHANNEL in self.channels,
            providers=[(start_place(key, leads_to), name) for key, name in self.providers],
        )

    async def _send_link(self, mail: str, leads_to: str) -> None:
        if not self.sessions.may_sign_in(mail):
            return
        mail = self.room.responders.identity_of(mail)
        minute = int(self.room.clock.now().timestamp()) // 60
        if await self.room.incoming.seen(Marker.SIGN_IN_SENT, f"{self.room.seal.mark('signin-mail', mail)}:{minute}"):
            return
        message = Message(
            Purpose.SIGN_IN,
            "Your sign-in link",
            f"Open this link to sign in. It works once, within {LINK_LIFE.seconds // 60} minutes. "
            "If you did not ask for it, do nothing: without the link nobody gets in.",
            link_to=MessageLink(LinkTarget.SIGN_IN, leads_to),
        )
        mailboxes = self.room.responders.addresses(mail, MAIL_CHANNEL)
        await self.room.incoming.tell(message, next(iter(mailboxes), Address(MAIL_CHANNEL, mail, mail)))
        log.info("signin.link_sent")

    async def _usable(self, token: str) -> SignInLink | None:
        link = self.links.read(token)
        if link is None or not self.sessions.may_sign_in(link.mail):
            return None
        return None if await self.room.incoming.was_seen(Marker.SIGN_IN_USED, link.nonce) else link

    def _worthless(self) -> Response:
        """One page for a forged link, an old one and a used one."""
        return self.room.renderer.message(
            "This link does not work any more",
            "A sign-in link works once, and only for a few minutes.",
            status=404,
            onward=(SIGN_IN, "Get a new link"),
        )
