"""The audit trail as JSON Lines: what ``handraise export`` writes, and what suspensions that are moved out end up in.

    {"kind": "export" | "archive", …}     what this is, and which part of the whole
    {"kind": "log", …}                    one intent: where these lines begin, and the head of its log
    {"kind": "event", …}                  its events in order, each with its MAC
    {"kind": "suspension" | "outbox", …}  in an archive: the records that were moved out, as they stood
    {"kind": "end", …}                    how much there was, and a seal over every byte before

ASCII alone, so that no reader splits a line where there is none. Source: docs/audit.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import JsonValue

from core.domain.wire import JsonObject, instant
from core.store.chain import Start
from core.store.log import Logged

FORMAT = 1


@dataclass(slots=True)
class Writer:
    """Makes the lines of one file in order, and counts and hashes them for the last one."""

    key: bytes
    logs: int = 0
    events: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def begin(self, kind: str, installation: str, now: datetime, **wanted: JsonValue) -> str:
        return self.add({"kind": kind, "format": FORMAT, "installation": installation, "at": instant(now), **wanted})

    def log(self, intent_id: str, start: Start, length: int | None, mac: str | None) -> str:
        """``length`` and ``mac`` are ``None`` where the lines that follow need not go up to the head."""
        self.logs += 1
        after: JsonObject = {"after": start.position, "after_mac": start.mac, "after_seal": start.seal}
        return self.add({"kind": "log", "intent_id": intent_id, **after, "length": length, "mac": mac})

    def event(self, line: Logged) -> str:
        self.events += 1
        return self.add(
            {
                "kind": "event",
                "intent_id": line.intent_id,
                "position": line.position,
                "id": line.id,
                "type": line.type,
                "actor": line.actor,
                "payload": line.payload,
                "created_at": instant(line.created_at),
                "mac": line.mac,
            }
        )

    def row(self, kind: str, row: Mapping[str, Any]) -> str:
        """A record of the database as it stands."""
        return self.add({"kind": kind, "row": {name: _plain(value) for name, value in row.items()}})

    def end(self) -> str:
        """The last line. With it the file is whole, and sealed."""
        sha256 = self._digest.hexdigest()
        seal = seal_file(self.key, sha256, self.logs, self.events)
        return self.add({"kind": "end", "logs": self.logs, "events": self.events, "sha256": sha256, "seal": seal})

    def add(self, record: Mapping[str, Any]) -> str:
        line = json.dumps(record, separators=(",", ":")) + "\n"
        self._digest.update(line.encode())
        return line


def seal_file(key: bytes, sha256: str, logs: int, events: int) -> str:
    """The MAC at a file's end, over the digest of all lines before it."""
    return hmac.new(key, f"file\n{sha256}\n{logs}\n{events}".encode(), hashlib.sha256).hexdigest()


def _plain(value: Any) -> JsonValue:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    plain: JsonValue = value
    return plain
