"""Requests of this machine alone: a web page in the same browser can't use a service that listens on loopback.

A page of the web reaches loopback in two ways. Its own name may lead to 127.0.0.1 (DNS rebinding): then ``Host`` names
it. Or it sends a form or a script's request across: then ``Origin`` or ``Sec-Fetch-Site`` says so. Programs send
neither.

Source: https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site; decision 0109.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from core.errors import envelope

HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_READING = frozenset({"GET", "HEAD"})
_OWN = frozenset({"same-origin", "none"})
"""From a page of ours; or typed by the person, from a bookmark, from another program."""


class ThisMachineAlone:
    """Refuses with 403 what another site's page sends, and whatever came by another name than loopback's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_own(scope["method"], Headers(scope=scope)):
            message = "This service answers this machine alone, by its own address, and no other site's pages."
            await JSONResponse(envelope("forbidden", message), 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def is_own(method: str, headers: Headers) -> bool:
    """Whether a request comes from here. A link elsewhere may lead to our pages, since a GET decides nothing."""
    host = headers.get("host", "")
    if _name(f"//{host}") not in HOSTS:
        return False
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and origin != f"http://{host}" and not (origin == "null" and site == "same-origin"):
        return False
    is_navigation = method in _READING and headers.get("sec-fetch-mode") == "navigate"
    return site is None or site in _OWN or is_navigation


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
