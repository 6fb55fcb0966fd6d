"""Prints our pages: templates with autoescape, and the headers that every page carries.

What an agent wrote is escaped like everything else, and never becomes a link.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.web.places import Site

_FOLDER = Path(__file__).parent

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
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
class Paper:
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
        """The same page for what is not there, and for what this person may not know of."""
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
