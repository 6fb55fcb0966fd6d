"""Rendering of pages: templates with autoescape, the headers of every page, and what all pages share.

An agent's text is escaped like everything else, and never becomes a link. A bad request gets the same reply on every
page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.web.pages.cookies import Cookies, FormGuard, Seal
from bot.web.pages.forms import BadPost, Posted
from bot.web.pages.urls import SIGN_OUT, Site
from core.domain.people import Actor, Role
from core.engine.channel_views import ChannelViews
from core.engine.engine import Engine
from core.engine.permissions import Permissions
from core.engine.queries import Queries
from core.errors import DatabaseUnavailable
from core.inbound.reports import InboundReports
from core.ports import Clock, Responders

_FOLDER = Path(__file__).parent

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}

_templates = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class PageRenderer:
    """Pages of one site."""

    site: Site

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = _templates.get_template(template).render(
            path=self.site.path, edition=_EDITION, signed_in=values.pop("signed_in", None), **values
        )
        return HTMLResponse(text, status, headers=HEADERS)

    def message(self, title: str, *lines: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page that says one thing."""
        return self.page("message.html", status, title=title, lines=lines, onward=values.pop("onward", None), **values)

    def redirect(self, place: str) -> Response:
        """Go there with a GET."""
        return RedirectResponse(self.site.path(place), 303, headers=HEADERS)

    def unknown(self) -> HTMLResponse:
        """The same page for a missing question and for one that this person may not know of."""
        return self.message(
            "There is nothing here",
            "This link is unknown or too old.",
            "If you came from a message, open the link in the latest one.",
            status=404,
        )

    def stale(self) -> HTMLResponse:
        """The form token is missing or wrong: another site's form, or a browser that keeps no cookies."""
        return self.message(
            "Please reload the page",
            "Nothing was recorded: this form does not belong to the page that you have open.",
            "Go back, reload the page and try again. Your browser has to accept cookies from this site.",
            status=403,
        )


def _edition() -> str:
    """Changes with the files in ``static``, so that no browser keeps an old one."""
    digest = hashlib.sha256()
    for file in sorted((_FOLDER / "static").glob("*")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


_EDITION = _edition()


Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """One browser of one person. Signing out ends its ``id``."""

    id: str
    actor: Actor

    @property
    def identity(self) -> str:
        return self.actor.identity


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The session's part of every page: the person, the form token of the button to sign out, and whether there
    is a link to the figures."""

    identity: str
    token: str
    reads_figures: bool = False


@dataclass(frozen=True, slots=True)
class PageContext:
    engine: Engine
    permissions: Permissions
    queries: Queries
    channel_views: ChannelViews
    incoming: InboundReports
    clock: Clock
    site: Site
    seal: Seal
    cookies: Cookies
    guard: FormGuard
    renderer: PageRenderer

    @classmethod
    def furnish(
        cls, engine: Engine, incoming: InboundReports, clock: Clock, public_url: str, key: bytes
    ) -> PageContext:
        site, seal = Site(public_url), Seal(key)
        cookies = Cookies(site)
        return cls(
            engine,
            engine.permissions,
            engine.queries,
            engine.channel_views,
            incoming,
            clock,
            site,
            seal,
            cookies,
            FormGuard(seal, cookies),
            PageRenderer(site),
        )

    @property
    def responders(self) -> Responders:
        return self.permissions.responders

    def form_page(
        self,
        request: Request,
        template: str,
        place: str,
        status: int = 200,
        session: BrowserSession | None = None,
        **values: object,
    ) -> Response:
        """A page with a form of ours, at ``place``; with a session, it also has the button to sign out."""
        visitor = self.guard.visitor(request)
        signed_in = None if session is None else self._signed_in(visitor, session)
        form_token = self._token(visitor, place, session)
        page = self.renderer.page(template, status, signed_in=signed_in, form_token=form_token, **values)
        self.guard.keep(page, visitor)
        return page

    def _signed_in(self, visitor: str, session: BrowserSession) -> SignedIn:
        actor = session.actor
        reads_figures = actor.has(Role.OPERATOR) and actor.reads_all
        return SignedIn(session.identity, self._token(visitor, SIGN_OUT, session), reads_figures)

    def accepts(self, request: Request, posted: Posted, place: str, session: BrowserSession | None = None) -> bool:
        """Whether ``posted`` is the form of our own page at ``place``, in this browser and for this session."""
        return self.guard.accepts(request, posted, _bound(place, session))

    def _token(self, visitor: str, place: str, session: BrowserSession | None) -> str:
        return self.guard.token(visitor, _bound(place, session))

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` with a page for every kind of bad request, and for a database that is away."""

        @wraps(handler)
        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except BadPost as bad:
                return self.renderer.message(
                    "That did not work", bad.message, "Nothing was recorded.", status=bad.status
                )
            except DatabaseUnavailable:
                return self.renderer.message(
                    "Please try again in a minute",
                    "Our database is not available just now. Nothing was recorded.",
                    "Go back to keep what you typed.",
                    status=503,
                )

        return handle


def _bound(place: str, session: BrowserSession | None) -> str:
    return place if session is None else f"{place} {session.id}"
