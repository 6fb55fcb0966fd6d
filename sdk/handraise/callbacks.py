"""Callbacks: verify that one comes from our server, and parse it.

Source: Standard Webhooks, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md;
API.md §5.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from pydantic import Field, JsonValue, ValidationError

from handraise.errors import ConfigurationError, InvalidCallback
from handraise.records import Clarification, InputResponse, Instant, JsonObject, Received

MISSING_HEADER = "missing_header"
MALFORMED_TIMESTAMP = "malformed_timestamp"
WRONG_SIGNATURE = "wrong_signature"
STALE = "stale"
FROM_THE_FUTURE = "from_the_future"
MALFORMED_BODY = "malformed_body"

_PREFIX = "whsec_"
_SHORTEST_KEY, _LONGEST_KEY = 24, 64
"""Bytes of a secret. Source: Standard Webhooks, "Signature scheme"."""
_UNIX_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


class Headers(Protocol):
    """Any framework's headers: a dict, Starlette's, aiohttp's, Flask's."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class Resumed(Received):
    """A callback's content: how a question ended, or that a person asks back (API.md §5).

    ``webhook_id`` is the same however often this callback is sent: an agent that has seen it has done its work.
    ``type`` is ``intent.resumed``, ``intent.suspension_expired``, ``intent.suspension_cancelled``,
    ``intent_authorized`` or ``intent_vetoed``; ignore those you don't know. With ``clarification_requested`` nothing
    has ended: ``clarification`` is what :meth:`Handraise.clarification` answers.
    """

    webhook_id: str
    type: str
    timestamp: Instant
    intent_id: str
    suspension_id: str
    event: str | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    signal_id: str | None = None
    resolution: str | None = None
    value: JsonValue = None
    choice_label: str | None = None
    choice_description: str | None = None
    responded_by: str | None = None
    responded_at: Instant | None = None
    channel: str | None = None
    reason: str | None = None
    metadata: JsonObject = Field(default_factory=dict)
    error: str | None = None
    signal_payload: JsonValue = None
    state: JsonValue = None
    action_digest: str | None = None
    receipt: str | None = None
    suspended_at: Instant | None = None
    signal_metadata: JsonObject = Field(default_factory=dict)
    clarification: Clarification | None = None

    @property
    def answer(self) -> InputResponse | None:
        """The person's answer; ``None`` if time or a cancellation ended the question."""
        if self.resolution != "responded":
            return None
        return InputResponse(
            suspension_id=self.suspension_id,
            value=self.value,
            choice_label=self.choice_label,
            choice_description=self.choice_description,
            responded_by=self.responded_by,
            responded_at=self.responded_at,
            metadata=self.metadata,
        )


def verify_callback(
    headers: Headers,
    body: bytes,
    secrets: str | Sequence[str],
    *,
    tolerance_seconds: float = 300,
    now: datetime | None = None,
) -> Resumed:
    """The callback in ``body``, if one of ``secrets`` (``whsec_…``) has signed exactly these bytes just now.

    Give both secrets while one replaces the other. Raises :class:`InvalidCallback` otherwise, with ``reason`` one of
    the codes above, and :class:`ConfigurationError` if a secret can't be one. ``now`` is for tests.
    """
    webhook_id, timestamp, signatures = _signed_headers(headers)
    content = b".".join((webhook_id.encode("utf-8", "backslashreplace"), timestamp.encode(), body))
    if not _is_signed(content, signatures, _keys(secrets)):
        raise InvalidCallback(WRONG_SIGNATURE, "No secret of ours has signed this callback.")
    age = (now or datetime.now(UTC)).timestamp() - int(timestamp)
    if age > tolerance_seconds:
        raise InvalidCallback(STALE, f"The callback was sent {age:.0f} s ago.")
    if age < -tolerance_seconds:
        raise InvalidCallback(FROM_THE_FUTURE, f"The callback is dated {-age:.0f} s ahead of this clock.")
    return _parse(body, webhook_id)


def check_secrets(secrets: str | Sequence[str]) -> None:
    """Raises :class:`ConfigurationError` unless there is one, and each is ``whsec_`` and the base64 of 24 to 64 bytes.

    The padding of the base64 may be left out, and spaces around it count for nothing.
    """
    _keys(secrets)


def _signed_headers(headers: Headers) -> tuple[str, str, str]:
    given = {name.lower(): value.strip() for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    missing = [name for name in names if not given.get(name)]
    if missing:
        raise InvalidCallback(MISSING_HEADER, f"The callback has no {' and no '.join(missing)}.")
    webhook_id, timestamp, signatures = (given[name] for name in names)
    if not _UNIX_SECONDS.fullmatch(timestamp):
        raise InvalidCallback(MALFORMED_TIMESTAMP, "webhook-timestamp is not a number of Unix seconds.")
    return webhook_id, timestamp, signatures


def _is_signed(content: bytes, signatures: str, keys: Sequence[bytes]) -> bool:
    """Whether any ``v1`` signature of the header is any key's; other versions are ignored, as the spec asks."""
    given = [entry[3:].encode("utf-8", "backslashreplace") for entry in signatures.split() if entry.startswith("v1,")]
    ours = [base64.b64encode(hmac.digest(key, content, hashlib.sha256)) for key in keys]
    return any(hmac.compare_digest(mine, theirs) for mine in ours for theirs in given)


def _keys(secrets: str | Sequence[str]) -> list[bytes]:
    """The HMAC keys. A broken secret is this program's fault, and not a forged callback."""
    given = [secrets] if isinstance(secrets, str) else list(secrets)
    keys = [_key(secret) for secret in given]
    if not keys:
        raise ConfigurationError("Give at least one callback secret (whsec_…).")
    return keys


def _key(secret: str) -> bytes:
    text = secret.strip()
    if not text.startswith(_PREFIX):
        raise ConfigurationError(f"A callback secret begins with {_PREFIX}; one of those given does not.")
    encoded = text.removeprefix(_PREFIX).rstrip("=")
    try:
        key: bytes | None = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = None
    if key is None:  # outside the handler, so that no traceback carries the secret along
        raise ConfigurationError(f"A callback secret is {_PREFIX} and base64; one of those given is not.")
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        wanted = f"{_SHORTEST_KEY} to {_LONGEST_KEY} bytes"
        raise ConfigurationError(f"A callback secret is the base64 of {wanted}; one of those given has {len(key)}.")
    return key


def _parse(body: bytes, webhook_id: str) -> Resumed:
    try:
        envelope = json.loads(body)
        if not isinstance(envelope, Mapping) or not isinstance(envelope.get("data"), Mapping):
            raise InvalidCallback(MALFORMED_BODY, "The callback's body is not an object with data.")
        named = {"type": envelope.get("type"), "timestamp": envelope.get("timestamp"), "webhook_id": webhook_id}
        return Resumed.model_validate({**envelope["data"], **named})
    except ValidationError as problem:
        wrong = ", ".join(sorted({str(error["loc"][0]) for error in problem.errors(include_input=False)}))
        message = f"The callback's body has no usable {wrong}."
    except (ValueError, RecursionError):
        message = "The callback's body is not JSON."
    # Outside the handlers, so that no traceback carries the answer along.
    raise InvalidCallback(MALFORMED_BODY, message)
