"""Is the sender who they say? Only our own MX is believed: the topmost Authentication-Results under its name. Pure.

Everything below that field may have been written by the sender; the MX has to strip other fields that bear its name.
Source: RFC 8601 §5; RFC 7489 §3.1 (alignment); facts on mail §B3.
"""

from __future__ import annotations

import re
from email.message import Message
from enum import StrEnum

import authres

from channels.email.addressing import header_values


class SenderAuth(StrEnum):
    """What makes a reply count. ``token_only`` trusts the token and the From; ``link_only`` takes no reply by mail."""

    DMARC = "dmarc"
    DKIM = "dkim"
    TOKEN_ONLY = "token_only"
    LINK_ONLY = "link_only"


def is_authentic(message: Message, sender: str, mode: SenderAuth, authserv_id: str) -> bool:
    """Whether ``sender`` (the address in From) wrote this, as far as ``mode`` asks. Never for ``link_only``."""
    domain = sender.rpartition("@")[2]
    match mode:
        case SenderAuth.TOKEN_ONLY:
            return True
        case SenderAuth.LINK_ONLY:
            return False
        case SenderAuth.DMARC:
            return _dmarc_passed(_our_results(message, authserv_id), domain)
        case SenderAuth.DKIM:
            return _dkim_passed(_our_results(message, authserv_id), domain)


def _dmarc_passed(results: list[authres.AuthenticationResult], domain: str) -> bool:
    verdicts = [(one.result, _property(one, "from")) for one in results if one.method == "dmarc"]
    return bool(verdicts) and all(verdict == ("pass", domain) for verdict in verdicts)


def _dkim_passed(results: list[authres.AuthenticationResult], domain: str) -> bool:
    signers = [_property(one, "d") for one in results if one.method == "dkim" and one.result == "pass"]
    return any(_aligned(signer, domain) for signer in signers)


def _aligned(signer: str, domain: str) -> bool:
    """The signer is the sender's domain or one above it, and no top-level domain."""
    return "." in signer and (domain == signer or domain.endswith("." + signer))


def _property(result: authres.AuthenticationResult, name: str) -> str:
    """``header.from`` or ``header.d``, lower case."""
    values = [one.value or "" for one in result.properties if one.type == "header" and one.name == name]
    return str(values[0]).casefold().rpartition("@")[2] if len(values) == 1 else ""


def _our_results(message: Message, authserv_id: str) -> list[authres.AuthenticationResult]:
    """What our MX found; empty where it said nothing that can be read."""
    for value in header_values(message, "Authentication-Results"):
        if _named(value) != authserv_id.casefold():
            continue
        try:
            parsed = authres.all_features().parse_value(value)
        except (authres.AuthResError, ValueError, RecursionError):
            return []
        return [one for one in parsed.results if hasattr(one, "method")]
    return []


def _named(value: str) -> str:
    """The authserv-id of a field: its first word, behind any comments."""
    found = re.match(r'\s*(?:\([^()]*\)\s*)*"?([^\s;"()]+)', value)
    return found[1].casefold() if found else ""
