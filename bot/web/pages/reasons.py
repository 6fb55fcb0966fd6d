"""Reasons in words: why a notice has not gone out, or waits. Pure.

A reason is a stable code of a channel or of the relay (``core.ports``). What a channel's own code says stands behind
it, so that whoever runs the service can look it up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.store.outbox import NOBODY_ON_CALL, RETURNED

_GIVEN_UP = "gave_up: "
_AFTER_DATA = "_after_data"
_STATUS = re.compile(r"(?:smtp|http)_([0-9]{3})")

_AWAY = "the server can’t be reached"
_NO_ACCESS = "the service does not let us in"
_NOT_THERE = "there is no such recipient"
_WORDS: Mapping[str, str] = {
    "paused": "notices are paused",
    "question_ended": "the question had ended",
    "superseded": "a later reminder went out instead",
    NOBODY_ON_CALL: "nobody is on call",
    "on_call_unreachable": "whoever is on call can’t be reached there",
    "on_call_not_allowed": "whoever is on call is not among those who may be asked",
    **dict.fromkeys(("smtp_unreachable", "connect_failed", "api_away", "smtp_disconnected", "connection_lost"), _AWAY),
    **dict.fromkeys(("smtp_timeout", "connect_timeout", "timeout"), "the server does not reply"),
    **dict.fromkeys(("smtp_certificate", "smtp_tls", "smtp_starttls_missing"), "the connection is not secure"),
    **dict.fromkeys(("channel_not_found", "no_such_user", "user_not_found", "address_invalid"), _NOT_THERE),
    **dict.fromkeys(("unknown_service", "not_found", "gone"), _NOT_THERE),
    **dict.fromkeys(("invalid_auth", "not_authed", "token_revoked", "account_inactive"), _NO_ACCESS),
    **dict.fromkeys(("not_in_channel", "is_archived"), "the conversation is closed to us"),
    **dict.fromkeys(("ratelimited", "rate_limited", "waits_for_its_turn"), "the service takes no more just now"),
    "channel_not_configured": "the channel is not set up",
    "nothing_is_sent": "it stands on its page alone",
    "database_unavailable": "our database was away",
}


def told_reason(code: str) -> str:
    """``the server can’t be reached``; of an unknown code that it is one: ``it was refused (odd_code)``."""
    if code.startswith(RETURNED):
        return "it came back"
    if code.startswith(_GIVEN_UP):
        return f"given up: {told_reason(code.removeprefix(_GIVEN_UP))}"
    code = code.removesuffix(_AFTER_DATA)
    if (status := _STATUS.fullmatch(code)) is not None:
        return f"the server answers {status[1]}"
    return _WORDS.get(code, f"it did not go through ({code[:60]})")


def told_why_nobody(reasons: tuple[str, ...]) -> str:
    """Why an attempt has reached nobody, as the end of a sentence."""
    return "; ".join(dict.fromkeys(map(told_reason, reasons))) or "there is nobody to send it to"
