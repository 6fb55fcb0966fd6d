"""Receipts: a signed token, which an agent shows before it acts, that proves the answer to this action.

The claims of a receipt are JSON: ``kid`` (the id of the signing key), ``suspension_id``, ``action_digest``, ``value``,
``person`` (null: nobody answered), ``channel``, ``responded_at`` and ``expires_at``. A value or a person of more than
:data:`LONGEST` bytes is replaced by its SHA-256, as ``value_sha256`` or ``person_sha256``, so that a token stays below
1 kB. itsdangerous signs.

Source: API.md §5, "Receipts"; RFC 8785.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime

import rfc8785
from itsdangerous import BadData, URLSafeSerializer
from pydantic import JsonValue

from core.domain.root_key import keys_of
from core.domain.suspension import Status, Suspension
from core.domain.wire import instant
from core.errors import ReceiptInvalid

Claims = Mapping[str, JsonValue]

LONGEST = 128
"""Bytes of canonical JSON."""
LONGEST_TOKEN = 1024

_TOKEN = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST_TOKEN}}}")
_SIGNING = {"key_derivation": "hmac", "digest_method": hashlib.sha384}
"""48 bytes fill their base64 to the last bit, so that no receipt can be written in two ways."""


def claims_of(suspension: Suspension, expires_at: datetime) -> Claims | None:
    """The claims of a question with an action that an answer, a fallback or a veto's silence has ended; ``None`` for
    any other: its agent may act on nothing."""
    ask, ended, status = suspension.ask, suspension.ended, suspension.status
    if ask.action_digest is None or ended is None or ended.error is not None or status is Status.CANCELLED:
        return None
    person = ended.by if status is Status.RESPONDED else None
    return {
        "suspension_id": ask.id,
        "action_digest": ask.action_digest,
        **_brief("value", ended.value),
        **_brief("person", person),
        "channel": ended.channel,
        "responded_at": instant(ended.at),
        "expires_at": instant(expires_at),
    }


def write_receipt(claims: Claims, key: bytes) -> str:
    """A token signed with the newest of ``key``."""
    return _signer(key).dumps({"kid": _key_id(key), **claims})


def read_receipt(token: str, key: bytes) -> Claims:
    """The claims that :func:`write_receipt` was given. Raises :class:`ReceiptInvalid` for a token that was not made
    here."""
    try:
        if _TOKEN.fullmatch(token):
            claims: Claims = _signer(key).loads(token)
            return claims
    except BadData:
        pass
    raise ReceiptInvalid("This is no receipt of this service.", reason="forged")


def check_receipt(
    claims: Claims, action_digest: str | None, value: JsonValue, now: datetime, *, allow_silence: bool = False
) -> None:
    """Raises :class:`ReceiptInvalid` unless the receipt still proves that this action got this ``value``."""
    if now >= datetime.fromisoformat(str(claims["expires_at"])):
        raise ReceiptInvalid("This receipt has expired.", reason="expired")
    if action_digest != claims["action_digest"]:
        raise ReceiptInvalid("Another action than this one was answered.", reason="other_action")
    answered = {name: claims[name] for name in ("value", "value_sha256") if name in claims}
    if _canonical(answered) != _canonical(_brief("value", value)):
        raise ReceiptInvalid("The answer was another value than this one.", reason="other_value")
    if "person" in claims and claims["person"] is None and not allow_silence:
        message = "Nobody answered before the time ran out; allow_silence accepts such a receipt."
        raise ReceiptInvalid(message, reason="expired_window")


def _brief(name: str, value: JsonValue) -> dict[str, JsonValue]:
    written = _canonical(value)
    return {name: value} if len(written) <= LONGEST else {f"{name}_sha256": hashlib.sha256(written).hexdigest()}


def _canonical(value: JsonValue) -> bytes:
    """The same bytes for the same JSON. RFC 8785 has no form for some numbers and texts, which a form may hold."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _signer(key: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(list(reversed(keys_of(key))), salt="receipt", signer_kwargs=_SIGNING)


def _key_id(key: bytes) -> str:
    """Tells keys apart, and reveals nothing about them."""
    return hashlib.sha256(b"receipt key\n" + keys_of(key)[0]).hexdigest()[:8]
