"""MACs and seals of the log: what is written in bulk is what is checked line by line."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

from core.domain.root_key import RenewedKey
from core.domain.vocabulary import Event
from core.domain.wire import instant
from core.store.log_seals import LineForm, is_seal, mac_of_line, mac_of_text, seal_head
from tests.core.examples import START

KEY = b"k" * 32
PAYLOADS: list[dict[str, Any]] = [
    {},
    {"to": "blocked", "from": "active", "reason": None},
    {"b": {"z": 1, "a": [True, 2.5, "ü\u2028"]}, "a": 'quoted "so" \\ \n'},
]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("line_id", ["0190-1", 'odd " id \\ ü'])
def test_a_form_is_the_canonical_json_of_each_line_of_its_event(payload: dict[str, Any], line_id: str) -> None:
    event = Event("status_changed", payload, 'agent "ü"')
    form = LineForm.of(event, instant(START))
    for position in (1, 1000):
        line = {
            "id": line_id,
            "intent_id": f"intent {line_id}",
            "position": position,
            "type": event.type,
            "actor": event.actor,
            "payload": payload,
            "created_at": START,
        }
        written = mac_of_text(KEY, "before", form.canonical(line_id, f"intent {line_id}", position))
        assert written == mac_of_line(KEY, "before", line)


@pytest.mark.parametrize("length", [1, 32, 64, 65])
def test_a_mac_is_hmac_sha256_however_often_its_key_was_used(length: int) -> None:
    key = b"k" * length
    for text in ("one", "another", "one"):
        wanted = hmac.new(key, f"sealed head\nbefore\n{text}".encode(), hashlib.sha256).hexdigest()
        assert mac_of_text(key, "before", text) == wanted


def test_a_renewed_key_seals_as_the_newest_and_knows_the_seals_of_those_before() -> None:
    renewed = RenewedKey(b"n" * 32, [KEY])
    assert seal_head(renewed, "intent-1", 2, "mac") == seal_head(b"n" * 32, "intent-1", 2, "mac")
    assert is_seal(renewed, "intent-1", 2, "mac", seal_head(KEY, "intent-1", 2, "mac"))
    assert not is_seal(b"n" * 32, "intent-1", 2, "mac", seal_head(KEY, "intent-1", 2, "mac"))
