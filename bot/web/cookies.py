"""Our two cookies, and the form token that proves that a form came from our own page.

A form token is an HMAC over the page's place and the visitor's cookie. The cookie is same-site, so a form on another
site comes without it. It is Lax rather than Strict: opened from a mail, a Strict one would not be sent with the GET, a
new one would be set, and the form in an older tab would be worth nothing.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from bot.web.places import Site
from bot.web.posted import Posted
from bot.web.sealed import Seal

FORM_TOKEN = "form_token"
_VISITOR = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Cookies:
    """Sets and reads cookies. Over https their names begin with ``__Host-``: no neighbouring domain can plant one."""

    site: Site

    def name(self, short: str) -> str:
        return f"__Host-handraise_{short}" if self.site.is_https else f"handraise_{short}"

    def get(self, request: Request, short: str) -> str:
        return request.cookies.get(self.name(short), "")

    def set(self, response: Response, short: str, value: str, max_age: int | None = None) -> None:
        response.set_cookie(
            self.name(short),
            value,
            max_age=max_age,
            path="/",
            httponly=True,
            samesite="lax",
            secure=self.site.is_https,
        )

    def drop(self, response: Response, short: str) -> None:
        response.delete_cookie(self.name(short), path="/", httponly=True, samesite="lax", secure=self.site.is_https)


@dataclass(frozen=True, slots=True)
class FormGuard:
    """Tells our own forms from others'."""

    seal: Seal
    cookies: Cookies

    def visitor(self, request: Request) -> str:
        """The visitor's cookie, or a new one that the response must set (:meth:`keep`)."""
        known = self.cookies.get(request, "form")
        return known if _VISITOR.fullmatch(known) else secrets.token_hex(16)

    def keep(self, response: Response, visitor: str) -> None:
        self.cookies.set(response, "form", visitor)

    def token(self, visitor: str, place: str) -> str:
        """``place`` is the page's own, and whoever is signed in there."""
        return self.seal.mark("form", place, visitor)

    def accepts(self, request: Request, posted: Posted, place: str) -> bool:
        visitor = self.cookies.get(request, "form")
        if not _VISITOR.fullmatch(visitor):
            return False
        return self.seal.is_mark(posted.one(FORM_TOKEN), "form", place, visitor)
