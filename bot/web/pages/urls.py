"""URLs of our pages, and which of them a sign-in may lead to. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

INBOX = "/inbox"
INBOX_ANSWER = "/inbox/answer"
INBOX_TOGETHER = "/inbox/together"
ME = "/me"
INSIGHTS = "/insights"
LIVE = "/live"
SIGN_IN = "/signin"
SIGN_OUT = "/signout"

REF = re.compile(r"[A-Za-z0-9-]{1,64}")
TOKEN = re.compile(r"[A-Za-z0-9]{16,64}")

_ONWARD = re.compile(rf"/inbox(?:\?[A-Za-z0-9_.~%&=+-]{{1,500}})?|/insights|/me|/q/{REF.pattern}")


@dataclass(frozen=True, slots=True)
class Site:
    """This service's address from outside. ``public_url`` may have a path of its own before ours."""

    public_url: str
    base: str = field(init=False)
    is_https: bool = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        object.__setattr__(self, "base", parts.path.rstrip("/"))
        object.__setattr__(self, "is_https", parts.scheme == "https")

    def path(self, place: str) -> str:
        """``place`` as a link on one of our pages."""
        return f"{self.base}{place}"

    def url(self, place: str) -> str:
        """``place`` as a link in a mail."""
        return f"{self.public_url}{place}"


def answer_place(token: str) -> str:
    return f"/a/{token.lower()}"


def question_place(ref: str) -> str:
    return f"/q/{ref}"


def sign_in_place(onward: str) -> str:
    """The sign-in page, with the page after it."""
    return _leading(SIGN_IN, onward)


def _leading(place: str, onward: str) -> str:
    return place if onward == INBOX else f"{place}?next={quote(onward)}"


def start_place(provider: str, onward: str = INBOX) -> str:
    """The start of a sign-in through ``provider``, with the page after it."""
    return _leading(f"{SIGN_IN}/{provider}/start", onward)


def back_place(provider: str) -> str:
    """The return from ``provider``: the path of its redirect URI."""
    return f"{SIGN_IN}/{provider}/callback"


def onward(wanted: str | None) -> str:
    """Where to go after signing in: ``wanted`` if it is a question, the inbox, the insights or ``/me``; the inbox for
    anything else.

    Other sites' addresses in all their spellings (``//host``, ``/\\host``, ``https:host``) are "anything else".
    """
    return wanted if wanted is not None and _ONWARD.fullmatch(wanted) else INBOX
