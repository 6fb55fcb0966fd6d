"""What every page has at hand, and what all of them do with a request that is no good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response

from bot.web.cookies import Cookies, FormGuard
from bot.web.paper import Paper
from bot.web.places import SIGN_OUT, Site
from bot.web.posted import BadPost, Posted
from bot.web.sealed import Seal
from core.domain.people import Actor
from core.engine import Engine
from core.errors import DatabaseUnavailable
from core.ports import Clock

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Session:
    """One browser of one person. ``id`` is what signing out ends."""

    id: str
    actor: Actor

    @property
    def identity(self) -> str:
        return self.actor.identity


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What every page shows of a session: who it is, and the form token of the button to sign out."""

    identity: str
    token: str


@dataclass(frozen=True, slots=True)
class Room:
    engine: Engine
    clock: Clock
    site: Site
    seal: Seal
    cookies: Cookies
    guard: FormGuard
    paper: Paper

    @classmethod
    def furnish(cls, engine: Engine, clock: Clock, public_url: str, key: bytes) -> Room:
        site, seal = Site(public_url), Seal(key)
        cookies = Cookies(site)
        return cls(engine, clock, site, seal, cookies, FormGuard(seal, cookies), Paper(site))

    def form_page(
        self,
        request: Request,
        template: str,
        place: str,
        status: int = 200,
        session: Session | None = None,
        **values: object,
    ) -> Response:
        """A page with a form of ours, at ``place``; with a session, it also has the button to sign out."""
        visitor = self.guard.visitor(request)
        signed_in = None if session is None else SignedIn(session.identity, self._token(visitor, SIGN_OUT, session))
        form_token = self._token(visitor, place, session)
        page = self.paper.page(template, status, signed_in=signed_in, form_token=form_token, **values)
        self.guard.keep(page, visitor)
        return page

    def accepts(self, request: Request, posted: Posted, place: str, session: Session | None = None) -> bool:
        """Whether ``posted`` is the form of our own page at ``place``, in this browser and for this session."""
        return self.guard.accepts(request, posted, _bound(place, session))

    def _token(self, visitor: str, place: str, session: Session | None) -> str:
        return self.guard.token(visitor, _bound(place, session))

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` with a page for every way in which a request may be bad, or our database away."""

        @wraps(handler)
        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except BadPost as bad:
                return self.paper.message("That did not work", bad.message, "Nothing was recorded.", status=bad.status)
            except DatabaseUnavailable:
                return self.paper.message(
                    "Please try again in a minute",
                    "Our database is not available just now. Nothing was recorded.",
                    "Go back to keep what you typed.",
                    status=503,
                )

        return handle


def _bound(place: str, session: Session | None) -> str:
    return place if session is None else f"{place} {session.id}"
