"""Seals of a log: the MAC of each line, and the seal over its head. Text in, hex digits out.

A thousand logs may grow in one transaction. So a :class:`LineForm` holds the common parts of one event's lines.

Source: RFC-0019 by way of RFC-0025 §3; docs/reference/audit.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from core.domain.root_key import keys_of
from core.domain.vocabulary import Event
from core.domain.wire import instant

_SEALING = "sealed head\n"


def mac_of_line(key: bytes, previous: str, line: Mapping[str, Any]) -> str:
    """Over the MAC before it and the line's canonical JSON."""
    return mac_of_text(key, previous, _canonical(line))


def mac_of_text(key: bytes, previous: str, line: str) -> str:
    """As :func:`mac_of_line`, of canonical JSON."""
    return _mac(key, f"{_SEALING}{previous}\n{line}")


def older_mac_of_line(key: bytes, previous: str, line: Mapping[str, Any]) -> str:
    """As versions wrote it that sealed no heads."""
    return _mac(key, f"{previous}\n{_canonical(line)}")


def seal_head(key: bytes, intent_id: str, length: int, mac: str) -> str:
    """A seal that proves that the log of an intent had so many lines, the last of them with this ``mac``:
    ``5:<hex>``."""
    text = f"head\n{intent_id}\n{length}\n{mac}"
    return f"{length}:{_mac(key, text)}"


def is_seal(key: bytes, intent_id: str, length: int, mac: str, seal: str) -> bool:
    """Whether ``seal`` is that of a log that ended so."""
    if same(seal_head(key, intent_id, length, mac), seal):
        return True
    return any(same(seal_head(one, intent_id, length, mac), seal) for one in keys_of(key)[1:])


def sealed_length(seal: str) -> int | None:
    """How many lines the log had when its head was sealed, ``None`` if that is no seal at all."""
    length, _, mac = seal.partition(":")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 10 and mac else None


def same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())


class LineForm(NamedTuple):
    """The canonical JSON of an event's line, but for what differs from one log to the next."""

    start: str
    middle: str
    end: str

    @classmethod
    def of(cls, event: Event, at: str) -> LineForm:
        """``at`` is the wire's text for the time."""
        payload = _CANONICAL.encode(dict(event.payload))
        return cls(
            f'{{"actor":{quoted(event.actor)},"created_at":{quoted(at)},"id":',
            f',"payload":{payload},"position":',
            f',"type":{quoted(event.type)}}}',
        )

    def canonical(self, line_id: str, intent_id: str, position: int) -> str:
        start, middle, end = self
        return f'{start}{quoted(line_id)},"intent_id":{quoted(intent_id)}{middle}{position}{end}'


def _canonical(line: Mapping[str, Any]) -> str:
    shown = {**line, "created_at": instant(line["created_at"])}
    return _CANONICAL.encode(shown)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)
"""``json.dumps`` would make one anew for each line."""


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
