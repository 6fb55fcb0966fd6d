"""Keys at rest: found by what they are, revoked for good, renewed beside the one before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from core.database.database import Database
from core.store import api_keys
from core.store.api_keys import StoredKey
from core.store.tables import api_keys as table
from tests.core.examples import after

KEY = StoredKey("deploy-bot", "hash-1", ("agent", "operator"), 1, salt="5a17")


async def put(database: Database, key: StoredKey) -> None:
    await database.write(lambda tx: api_keys.put(tx, key, after()))


async def found(database: Database, *hashes: str) -> StoredKey | None:
    return await database.read(lambda conn: api_keys.by_hash(conn, hashes))


async def test_a_stored_key_is_found_by_its_hash_and_its_name(database: Database) -> None:
    await put(database, KEY)
    assert await found(database, "hash-1") == KEY
    assert await found(database, "hash-0", "hash-1") == KEY
    assert await database.read(lambda conn: api_keys.by_name(conn, "deploy-bot")) == KEY
    assert await found(database, "hash-2") is None


async def test_a_key_that_is_made_again_replaces_the_old_one(database: Database) -> None:
    for generation in (1, 2):
        await put(database, StoredKey("deploy-bot", f"hash-{generation}", ("agent",), generation))
    assert await found(database, "hash-1") is None
    assert await database.read(api_keys.every) == [StoredKey("deploy-bot", "hash-2", ("agent",), 2)]


async def test_keys_are_listed_by_name_and_share_no_hash(database: Database) -> None:
    for name in ("b", "a"):
        await put(database, StoredKey(name, f"hash-{name}", ("agent",), 1))
    assert [key.name for key in await database.read(api_keys.every)] == ["a", "b"]
    with pytest.raises(IntegrityError):
        await put(database, StoredKey("c", "hash-a", ("agent",), 1))


async def test_of_a_renewed_key_both_are_found_and_the_old_one_opens_for_a_while(database: Database) -> None:
    until = after(hours=24)
    await put(database, replace(KEY, key_hash="hash-2", previous_hash="hash-1", previous_until=until))
    for key_hash in ("hash-1", "hash-2"):
        key = await found(database, key_hash)
        assert key is not None
        assert key.opens(key_hash, until - timedelta(seconds=1))
    assert not key.opens("hash-1", until)
    assert key.opens("hash-2", until)
    assert not key.opens("hash-3", after())


async def test_a_revoked_key_keeps_the_time_at_which_it_first_was(database: Database) -> None:
    await put(database, replace(KEY, previous_hash="hash-0", previous_until=after(days=1)))
    for moment in (after(seconds=1), after(seconds=2)):
        gone = await database.write(lambda tx, at=moment: api_keys.revoke(tx, "deploy-bot", None, at))
        assert gone is not None
        assert gone.revoked_at == after(seconds=1)
        assert not gone.opens("hash-1", moment)
        assert not gone.opens("hash-0", moment)


async def test_the_configurations_key_is_revoked_by_a_row_above_it(database: Database) -> None:
    of_file = StoredKey("refund-agent", "hash-f", ("agent",), 0)
    assert await database.write(lambda tx: api_keys.revoke(tx, "refund-agent", None, after())) is None
    gone = await database.write(lambda tx: api_keys.revoke(tx, "refund-agent", of_file, after()))
    assert gone is not None
    assert gone.shuts_out_file(after())
    assert await database.read(api_keys.every) == [gone]


async def test_rows_of_an_older_version_are_keys_as_before(database: Database) -> None:
    old = {"name": "old", "key_hash": "hash-o", "roles": ["agent"], "generation": 2, "created_at": after()}
    await database.write(lambda tx: tx.conn.execute(table.insert(), old))
    key = await found(database, "hash-o")
    assert key == StoredKey("old", "hash-o", ("agent",), 2)
    assert key.opens("hash-o", after(days=999))
    assert not key.shuts_out_file(after(days=999))
