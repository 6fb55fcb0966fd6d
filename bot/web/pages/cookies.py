"""Cookies and seals: our two cookies, the form token, and sealed values that a browser holds for us.

A form token proves that a form came from our own page: an HMAC over the page's place and the visitor's cookie. The
cookie is same-site, so that a form on another site comes without it. It is Lax: when a page is opened from a mail, a
Strict one would not be sent with the GET, a new one would be set, and the form in an older tab would stop working.

A sealed value (a session, a sign-in link) can be read by its holder and made by nobody else: it is JSON, signed by
itsdangerous. A seal names its purpose, and one purpose never opens another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from itsdangerous import BadData, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.forms import Posted
from bot.web.pages.urls import Site

_SEALED = re.compile(r"[A-Za-z0-9_.-]{1,2048}")
_SIGNING = {"key_derivation": "hmac", "digest_method": hashlib.sha384}
"""48 bytes fill their base64 to the last bit, so that no seal can be written in two ways."""

Content = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Seal:
    """Makes and checks seals under a derived key."""

    key: bytes = field(repr=False)

    def close(self, purpose: str, content: Content) -> str:
        """``content`` as text that is safe in a URL and in a cookie."""
        return self._of(purpose).dumps(dict(content))

    def open(self, purpose: str, sealed: str) -> dict[str, str | int] | None:
        """The content of :meth:`close`; ``None`` for anything that was not sealed for this purpose."""
        try:
            return self._of(purpose).loads(sealed) if _SEALED.fullmatch(sealed) else None
        except BadData:
            return None

    def _of(self, purpose: str) -> URLSafeSerializer:
        return URLSafeSerializer(self.key, salt=f"pages.{purpose}", signer_kwargs=_SIGNING)

    def mark(self, purpose: str, *parts: str) -> str:
        """A keyed digest of ``parts``, the same each time."""
        text = json.dumps(["pages", purpose, *parts])
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()

    def is_mark(self, given: str, purpose: str, *parts: str) -> bool:
        return hmac.compare_digest(given.encode(), self.mark(purpose, *parts).encode())


FORM_TOKEN = "form_token"
_VISITOR = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Cookies:
    """Sets and reads cookies, which are sent only below the public URL: other services of the host don't get them.

    Over https their names begin with ``__Host-``: no neighbouring domain can plant one. A browser takes that name only
    for the path ``/``. Below a path of ours the prefix is ``__Secure-``, which no neighbour without https can plant.
    Source: https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-4.1.3.
    """

    site: Site

    def name(self, short: str) -> str:
        if not self.site.is_https:
            return f"handraise_{short}"
        return f"__Secure-handraise_{short}" if self.site.base else f"__Host-handraise_{short}"

    @property
    def path(self) -> str:
        return self.site.base or "/"

    def get(self, request: Request, short: str) -> str:
        return request.cookies.get(self.name(short), "")

    def set(self, response: Response, short: str, value: str, max_age: int | None = None) -> None:
        response.set_cookie(
            self.name(short),
            value,
            max_age=max_age,
            path=self.path,
            httponly=True,
            samesite="lax",
            secure=self.site.is_https,
        )

    def drop(self, response: Response, short: str) -> None:
        response.delete_cookie(
            self.name(short), path=self.path, httponly=True, samesite="lax", secure=self.site.is_https
        )


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
        """``place`` is the page's own, and names the signed-in person."""
        return self.seal.mark("form", place, visitor)

    def accepts(self, request: Request, posted: Posted, place: str) -> bool:
        visitor = self.cookies.get(request, "form")
        if not _VISITOR.fullmatch(visitor):
            return False
        return self.seal.is_mark(posted.one(FORM_TOKEN), "form", place, visitor)
