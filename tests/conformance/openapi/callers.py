"""Who sends the requests: keys of every role in turn, and vendors that sign."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import schemathesis
from requests import PreparedRequest
from requests.auth import AuthBase
from schemathesis.schemas import BaseSchema

from tests.world import INBOUND_SECRET, KEYS, World

EVERYBODY = (None, "agent", "operator", "admin", "other_agent", "agent", "operator", "admin")
"""Without a key, too; those who may do most come twice."""

ANSWERING = re.compile(
    r"/(suspend/respond|suspensions/\{suspension_id\}/(claim|assign|clarify)|signals/\{signal_id\}"
    r"|checkpoints/\{checkpoint_id\}/(approve|reject))$"
)

ADMINS_ALONE = re.compile(r"/audit/(export|verify)$|/mail/quarantine|/signin-links$|/keys/\{name\}$|/pause$")


class InTurn:
    """Made-up requests go out as everybody in turn; edge cases as an admin, who gets far enough to meet them; stories,
    where one request uses what another has made, are told by one role."""

    def __init__(self, storyteller: str, roles: Sequence[str | None] = EVERYBODY) -> None:
        self._storyteller = storyteller
        self._roles = cycle(roles)

    def get(self, case: schemathesis.Case, context: schemathesis.AuthContext) -> str | None:
        role = self._role(case)
        return None if role is None else KEYS[role]

    def _role(self, case: schemathesis.Case) -> str | None:
        if case.meta is None:  # it was not made up
            return "operator" if ANSWERING.search(case.path) else "admin" if ADMINS_ALONE.search(case.path) else "agent"
        match case.meta.phase.name.value:
            case "coverage":
                return "admin"
            case "stateful":
                return self._storyteller
        return next(self._roles)

    def set(self, case: schemathesis.Case, data: str, context: schemathesis.AuthContext) -> None:
        case.headers["X-API-Key"] = data


@dataclass(frozen=True)
class PagerDuty(AuthBase):
    """Signs what looks signed; anything else stays as it was made up."""

    world: World
    header = "X-PagerDuty-Signature"
    looks_signed = re.compile(r"\s*v1=[0-9a-f]{64}(\s*,\s*v1=[0-9a-f]{64})*\s*")

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        if self.looks_signed.fullmatch(str(request.headers.get(self.header, ""))):
            body = request.body or b""
            request.headers[self.header] = self.signature(body.encode() if isinstance(body, str) else bytes(body))
        return request

    def signature(self, raw: bytes) -> str:
        return "v1=" + _hmac(self.world.pager.webhooks.secrets[0], raw)


class MailServer(PagerDuty):
    header = "X-Handraise-Signature"
    looks_signed = re.compile(r"\s*t=[0-9]{1,12}\s*,\s*v1=[0-9a-f]{64}\s*")

    def signature(self, raw: bytes) -> str:
        at = f"{int(self.world.clock.now().timestamp())}"
        return f"t={at},v1=" + _hmac(INBOUND_SECRET, f"{at}.".encode() + raw)


def sign(schema: BaseSchema, world: World) -> None:
    schema.auth.set_from_requests(PagerDuty(world)).apply_to(path="/pagerduty/webhooks")
    schema.auth.set_from_requests(MailServer(world)).apply_to(path="/email/inbound")


def _hmac(secret: str, raw: bytes) -> str:
    return hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
