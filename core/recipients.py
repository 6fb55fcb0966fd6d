"""Whom an attempt asks, as of now: its references are frozen, the people behind them and the allow-list are not.

Source: API.md §2, "Whom to ask"; RFC-0026 §11.
"""

from __future__ import annotations

from core.domain.people import Address
from core.domain.suspension import PlannedAttempt
from core.ports import Responders

NOT_ALLOWED = "recipient_not_allowed"
GONE = "recipient_gone"


def addresses_of(step: PlannedAttempt, responders: Responders) -> tuple[Address, ...]:
    """Every address that the attempt may ask, once."""
    found = dict.fromkeys(
        address
        for reference in step.recipients
        if responders.allowed(reference)
        for address in responders.addresses(reference, step.channel)
    )
    return tuple(found)


def no_longer_asked(step: PlannedAttempt, to: Address, responders: Responders) -> str | None:
    """Why a message that has waited is not to be sent to ``to`` any more, as a stable code; ``None`` where it is.

    Asked before each send, since the configuration may have changed while the row waited.
    """
    if to in addresses_of(step, responders):
        return None
    anyway = (address for name in step.recipients for address in responders.addresses(name, step.channel))
    return NOT_ALLOWED if to in anyway else GONE
