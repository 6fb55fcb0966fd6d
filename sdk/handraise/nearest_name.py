"""The nearest name: what somebody who misspelt a name most likely meant. Pure.

One rule for keywords of the SDK, commands and options at the command line, and fields of the API.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 80
"""Characters. The comparison is quadratic, and nobody misspells a longer name."""


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``given`` is most like, ``None`` if it is like none of them."""
    near = get_close_matches(given, list(known), n=1) if len(given) <= LONGEST_NAME else []
    return near[0] if near else None
