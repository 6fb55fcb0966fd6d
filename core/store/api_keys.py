"""API keys: those made on the command line, and changes to those in the configuration.

A row takes precedence over the key of that name in the configuration: from ``file_until`` on, the file's key is not
valid. Rows are never deleted, so that a revoked key stays revoked.

Source: API.md §1, §5; docs/decisions/0032.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.locks import lock_table
from core.database.upserts import upsert
from core.store.tables import api_keys

FOR_GOOD = datetime(1970, 1, 1, tzinfo=UTC)
"""``file_until`` of a key of the configuration that is out at once, whatever the clocks of several hosts say."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key: its hash, and how many webhook secrets it has had (they are derived, never stored).

    ``salt`` tells its webhook secrets from those of an earlier key of that name; rows of an older version have none.
    ``previous_hash`` is valid beside ``key_hash`` until ``previous_until``, while clients change over.
    """

    name: str
    key_hash: str
    roles: tuple[str, ...]
    generation: int
    salt: str | None = None
    previous_hash: str | None = None
    previous_until: datetime | None = None
    revoked_at: datetime | None = None
    file_until: datetime | None = None

    def opens(self, key_hash: str, now: datetime) -> bool:
        """Whether a key with this hash is valid."""
        if self.revoked_at is not None:
            return False
        return key_hash == self.key_hash or (key_hash == self.previous_hash and _before(now, self.previous_until))

    def shuts_out_file(self, now: datetime) -> bool:
        """Whether the key of that name in the configuration is not valid any more."""
        return self.file_until is not None and not _before(now, self.file_until)


def _before(now: datetime, end: datetime | None) -> bool:
    return end is not None and now < end


def put(tx: Tx, key: StoredKey, now: datetime) -> None:
    values = {
        "name": key.name,
        "key_hash": key.key_hash,
        "roles": list(key.roles),
        "generation": key.generation,
        "salt": key.salt,
        "previous_hash": key.previous_hash,
        "previous_until": key.previous_until,
        "revoked_at": key.revoked_at,
        "file_until": key.file_until,
        "created_at": now,
    }
    upsert(tx, api_keys, values, ("name",))


def by_hash(conn: sa.Connection, key_hashes: Iterable[str]) -> StoredKey | None:
    """The key that has, or had before it, one of these hashes; whether it is valid is for :meth:`StoredKey.opens`."""
    hashes = list(key_hashes)
    known = api_keys.c.key_hash.in_(hashes) | api_keys.c.previous_hash.in_(hashes)
    return _stored(conn.execute(sa.select(api_keys).where(known)).first())


def by_name(conn: sa.Connection, name: str) -> StoredKey | None:
    return _stored(conn.execute(sa.select(api_keys).where(api_keys.c.name == name)).first())


def every(conn: sa.Connection) -> list[StoredKey]:
    """All of them, by name."""
    found = (_stored(row) for row in conn.execute(sa.select(api_keys).order_by(api_keys.c.name)))
    return [key for key in found if key is not None]


def revoke(tx: Tx, name: str, of_file: StoredKey | None, now: datetime) -> StoredKey | None:
    """Revoke the key ``name`` for good; ``None`` if there is none. ``of_file`` is the configuration's.

    Revoked again, it keeps the time at which it first was.
    """
    lock(tx)
    found = by_name(tx.conn, name) or of_file
    if found is None:
        return None
    if found.revoked_at is not None:
        return found
    gone = replace(found, previous_hash=None, previous_until=None, revoked_at=now, file_until=FOR_GOOD)
    put(tx, gone, now)
    return gone


def renew_hash(tx: Tx, key: StoredKey, old: str, new: str) -> None:
    """The same API key under another root key: ``new`` takes the place of ``old``, as long as it is still there."""
    for column in (api_keys.c.key_hash, api_keys.c.previous_hash):
        same = (api_keys.c.name == key.name) & (column == old)
        tx.conn.execute(api_keys.update().where(same).values({column: new}))


def lock(tx: Tx) -> None:
    """Nobody else changes a key before this transaction is over: two changes of one name must not undo each other.
    Reading goes on meanwhile, and keys change seldom."""
    lock_table(tx, api_keys)


def _stored(row: Any) -> StoredKey | None:
    if row is None:
        return None
    return StoredKey(
        row.name,
        row.key_hash,
        tuple(row.roles),
        row.generation,
        row.salt,
        row.previous_hash,
        row.previous_until,
        row.revoked_at,
        row.file_until,
    )
