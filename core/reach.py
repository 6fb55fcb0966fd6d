"""Where one person is reached by themselves: for a hand-over, and to tell them what came of something they did."""

from __future__ import annotations

from collections.abc import Iterable

from core.domain.people import Address
from core.ports import Responders

PAGES = "pagerduty"
"""Reaches whoever is on call, not the person one has in mind."""


def personal_address(
    responders: Responders, channels: Iterable[str], identity: str, preferred: str | None = None
) -> Address | None:
    """An address of ``identity`` on the ``preferred`` channel, else on the first that has one; ``None`` where none has.

    ``identity`` is an e-mail or a key's name; only the former has addresses.
    """
    if "@" not in identity:
        return None
    for channel in sorted(channels, key=lambda name: name != preferred):
        if channel != PAGES and (found := responders.addresses(identity, channel)):
            return found[0]
    return None
