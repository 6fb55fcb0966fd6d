"""Authentication of a mail's sender: only the topmost Authentication-Results with our own MX's name is believed. Pure.

The sender may have written everything below that field; the MX has to strip other fields with its name. So the name is
compared exactly. A spelling that the MX does not strip (an encoded word, a comment or quotes around it, a letter that
only looks alike) is not our MX's.

With ``dkim`` the signer has to be exactly the sender's own domain. Organisational domains (whose is ``co.uk`` or
``github.io``?) take the Public Suffix List, and an outdated list errs on the wrong side (decision 0019).

Source: RFC 8601 §5; RFC 7489 §3.1 (alignment); facts on mail §B3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import authres

from core.domain.people import comparable_domain


class SenderAuth(StrEnum):
    """The condition for a reply to count. ``token_only`` trusts the token and the From; ``link_only`` takes no reply
    by mail."""

    DMARC = "dmarc"
    DKIM = "dkim"
    TOKEN_ONLY = "token_only"
    LINK_ONLY = "link_only"


def is_authentic(fields: Sequence[str], sender: str, mode: SenderAuth, authserv_id: str) -> bool:
    """Whether ``sender`` (the address in From) wrote this, as far as ``mode`` asks. Never for ``link_only``.
    ``fields`` are the mail's Authentication-Results, top to bottom."""
    domain = sender.rpartition("@")[2]
    match mode:
        case SenderAuth.TOKEN_ONLY:
            return True
        case SenderAuth.LINK_ONLY:
            return False
        case SenderAuth.DMARC:
            return _dmarc_passed(_our_results(fields, authserv_id), domain)
        case SenderAuth.DKIM:
            return _dkim_passed(_our_results(fields, authserv_id), domain)


LAST_REPLY = "last_reply"
"""The name of what is kept of the last reply (``core.store.installation``)."""
_MOST_NAMES = 3
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class LastReply:
    """When the last reply came in, and the authserv-ids of its Authentication-Results, top to bottom. The mail's
    writer may have forged these: they help an operator to find the fault, and prove nothing."""

    at: datetime
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: Sequence[str], at: datetime) -> LastReply:
        """For a mail with these Authentication-Results: the first few names, each once."""
        names = dict.fromkeys(name[:_LONGEST_NAME] for name in map(_named, fields) if name)
        return cls(at, tuple(names)[:_MOST_NAMES])

    def written(self) -> str:
        return json.dumps({"at": self.at.isoformat(), "names": self.names})

    @classmethod
    def read(cls, text: str) -> LastReply:
        """The value that :meth:`written` wrote."""
        kept = json.loads(text)
        return cls(datetime.fromisoformat(kept["at"]), tuple(kept["names"]))


def _dmarc_passed(results: list[authres.AuthenticationResult], domain: str) -> bool:
    verdicts = [(one.result, comparable_domain(_property(one, "from"))) for one in results if one.method == "dmarc"]
    return bool(verdicts) and all(verdict == ("pass", comparable_domain(domain)) for verdict in verdicts)


def _dkim_passed(results: list[authres.AuthenticationResult], domain: str) -> bool:
    passed = [one for one in results if one.method == "dkim" and one.result == "pass"]
    # If the MX names no d= (Gmail's does not), i= has that domain or one below it (RFC 6376 §3.5).
    signers = {comparable_domain(_property(one, "d") or _property(one, "i")) for one in passed}
    return comparable_domain(domain) in signers


def _property(result: authres.AuthenticationResult, name: str) -> str:
    """The domain in ``header.from``, ``header.d`` or ``header.i``. Empty if there is none, or more than one."""
    values = [one.value or "" for one in result.properties if one.type == "header" and one.name == name]
    return str(values[0]).rpartition("@")[2] if len(values) == 1 else ""


def _our_results(fields: Sequence[str], authserv_id: str) -> list[authres.AuthenticationResult]:
    """The results of our MX; empty if there are none that can be read."""
    for value in fields:
        if _named(value) != authserv_id.lower():
            continue
        try:
            parsed = authres.all_features().parse_value(value)
        except (authres.AuthResError, ValueError, RecursionError):
            return []
        return [one for one in parsed.results if hasattr(one, "method")]
    return []


def _named(value: str) -> str:
    """The authserv-id of a field: its first word, in plain letters."""
    found = re.match(r"\s*([!-\x27*-:<-~]+)(?=[\s;])", value)
    return found[1].lower() if found else ""
