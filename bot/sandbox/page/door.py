"""The door of the sandbox's page. Whoever is behind it acts as somebody else, so nobody gets in without its secret.

The signed-in URL sets a cookie and leaves the address bar. A cookie goes to every port of this machine, and so may a
form from any of them: what changes something must be JSON, which no form can send to another origin.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from bot.sandbox.slack.inputs import FormRefused

TEMPLATES = Path(__file__).parent / "templates"

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
}

Handler = Callable[[Request], Awaitable[Response]]


class Door:
    """One secret, made up for one run."""

    def __init__(self) -> None:
        self._key = secrets.token_urlsafe(24)

    def signed_in(self, url: str) -> str:
        """The page's address with its secret; ``url`` is where it is served."""
        return f"{url}/?key={self._key}"

    async def enter(self, request: Request) -> Response:
        """``/``: takes the secret, or shows the page to who has brought it before."""
        if self._is_key(request.query_params.get("key", "")):
            response = RedirectResponse("/", 303, HEADERS)
            response.set_cookie(_cookie(request), self._key, path="/", httponly=True, samesite="lax")
            return response
        if not self._is_inside(request):
            return _closed()
        return HTMLResponse((TEMPLATES / "page.html").read_text(), headers=HEADERS)

    def guarded(self, handler: Handler) -> Handler:
        """``handler``, for who is inside; what can't be done any more is told in words."""

        async def guarded(request: Request) -> Response:
            if not self._is_inside(request):
                return _closed()
            if request.method != "GET" and request.headers.get("content-type") != "application/json":
                return no(415, "Send JSON.")
            try:
                return await handler(request)
            except FormRefused as refusal:
                return JSONResponse({"ok": False, "problems": dict(refusal.problems)}, headers=HEADERS)
            except (LookupError, ValueError) as problem:
                return no(409, f"That can't be done: {problem}.")
            except httpx.HTTPError:
                return no(502, "Handraise did not answer in time. Try again.")

        return guarded

    def _is_inside(self, request: Request) -> bool:
        return self._is_key(request.cookies.get(_cookie(request), ""))

    def _is_key(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._key.encode())


def _cookie(request: Request) -> str:
    """A name per port: cookies know no ports, and two demos may run side by side."""
    return f"handraise_sandbox_{request.url.port}"


def _closed() -> Response:
    headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    return HTMLResponse((TEMPLATES / "closed.html").read_text(), 403, headers)


def done() -> Response:
    return JSONResponse({"ok": True}, headers=HEADERS)


def no(status: int, message: str) -> Response:
    """What did not work, in words for the person."""
    return JSONResponse({"ok": False, "message": message}, status, headers=HEADERS)


def told(response: httpx.Response) -> Response:
    """What the service said to the vendor."""
    return done() if response.is_success else no(502, f"Handraise answered {response.status_code}.")
