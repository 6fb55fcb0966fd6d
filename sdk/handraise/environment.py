"""The server's URL and the key, given or from the environment; and ids as parts of a path, and refs."""

from __future__ import annotations

import os
from urllib.parse import quote, urlsplit

from handraise.errors import ConfigurationError


def url_of(given: str | None) -> str:
    """``given``, or ``HANDRAISE_URL``. Raises :class:`ConfigurationError` if it is not a server's URL."""
    url = (given or os.environ.get("HANDRAISE_URL", "")).strip()
    if not url:
        raise ConfigurationError("No server: set HANDRAISE_URL or pass url=, for example http://127.0.0.1:8080.")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("The server's URL must begin with http:// or https:// and name a host.")
    return url


def api_key_of(given: str | None) -> str:
    """``given``, or ``HANDRAISE_API_KEY``. Raises :class:`ConfigurationError`, without the key, if it is invalid."""
    key = (given or os.environ.get("HANDRAISE_API_KEY", "")).strip()
    if not key:
        raise ConfigurationError("No API key: set HANDRAISE_API_KEY or pass api_key=.")
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("The API key holds characters that no HTTP header may have.")
    return key


def segment(identifier: str) -> str:
    """An id as one segment of a path. Raises ``ValueError`` for an empty one."""
    if not identifier:
        raise ValueError("An empty id names nothing.")
    return quote(identifier, safe="")


def is_ref(identifier: str) -> bool:
    """Whether this looks like a question's public reference, ``HR-7F3K``."""
    return identifier.strip().upper().startswith("HR-")
