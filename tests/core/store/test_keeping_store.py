"""Small things that are kept: idempotent replies, inbound ids, sessions, policies, keys, the installation's name."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy.exc import IntegrityError

from core.store import keeping
from core.store.database import Database, Tx
from core.store.keeping import Kept, Session, StoredKey
from tests.core.examples import after, answered
from tests.core.store_examples import keep, numbered

PATIENCE = 10.0
REPLY = Kept("sha256:1", 201, '{"outcome": "suspended", "ü": null}')


async def keep_reply(database: Database, key: str = "key-1", suspension_id: str | None = None) -> None:
    await database.write(lambda tx: keeping.keep_reply(tx, "refund-agent", key, REPLY, suspension_id, after()))


async def kept(database: Database, key: str = "key-1", owner: str = "refund-agent") -> Kept | None:
    return await database.read(lambda conn: keeping.kept_reply(conn, owner, key))


async def forget(database: Database, now: datetime) -> None:
    await database.write(lambda tx: keeping.forget_old(tx, now))


# --- Idempotent replies -------------------------------------------------------------------------------------------


async def test_the_first_reply_is_kept_for_its_owner_alone(database: Database) -> None:
    await keep_reply(database)
    assert await kept(database) == REPLY
    assert await kept(database, owner="other-agent") is None
    assert await kept(database, key="key-2") is None


async def test_a_key_is_used_once(database: Database) -> None:
    await keep_reply(database)
    with pytest.raises(IntegrityError):
        await keep_reply(database)


async def test_a_reply_about_nothing_in_particular_is_kept_for_seven_days(database: Database) -> None:
    await keep_reply(database)
    await forget(database, after(days=7))
    assert await kept(database) == REPLY
    await forget(database, after(days=7, seconds=1))
    assert await kept(database) is None


async def test_a_reply_is_kept_while_its_question_is_open(database: Database) -> None:
    await keep(database, numbered(1))
    await keep_reply(database, suspension_id="susp-1")
    await forget(database, after(days=365))
    assert await kept(database) == REPLY


async def test_a_reply_is_kept_for_seven_days_after_its_question_has_ended(database: Database) -> None:
    await keep(database, answered(numbered(1), after(days=30)).suspension)
    await keep_reply(database, suspension_id="susp-1")
    await forget(database, after(days=37))
    assert await kept(database) == REPLY
    await forget(database, after(days=37, seconds=1))
    assert await kept(database) is None


async def test_forgetting_takes_what_is_old_and_leaves_the_rest(database: Database) -> None:
    await keep(database, numbered(1), answered(numbered(2), after(minutes=1)).suspension)
    for key, suspension_id in {"open": "susp-1", "ended": "susp-2", "none": None, "gone": "susp-9"}.items():
        await keep_reply(database, key, suspension_id)
    await forget(database, after(days=8))
    left = {key for key in ("open", "ended", "none", "gone") if await kept(database, key)}
    assert left == {"open"}


# --- Inbound ids --------------------------------------------------------------------------------------------------


async def test_an_inbound_id_is_new_once_on_each_channel(database: Database) -> None:
    async def note(channel: str, key: str = "msg-1") -> bool:
        return await database.write(lambda tx: keeping.note_seen(tx, channel, key, after()))

    assert [await note("email"), await note("email"), await note("pagerduty"), await note("email", "msg-2")] == [
        False,
        True,
        False,
        False,
    ]
    assert await database.read(lambda conn: keeping.was_seen(conn, "email", "msg-2"))
    assert not await database.read(lambda conn: keeping.was_seen(conn, "slack", "msg-2"))


async def test_of_many_deliveries_of_one_webhook_one_is_the_first(database: Database) -> None:
    def note(tx: Tx) -> bool:
        return keeping.note_seen(tx, "pagerduty", "webhook-1", after())

    assert sorted(await asyncio.gather(*(database.write(note) for _ in range(16)))) == [False] + [True] * 15


async def test_an_inbound_id_is_forgotten_after_seven_days(database: Database) -> None:
    await database.write(lambda tx: keeping.note_seen(tx, "email", "msg-1", after()))
    await forget(database, after(days=7))
    assert await database.read(lambda conn: keeping.was_seen(conn, "email", "msg-1"))
    await forget(database, after(days=7, seconds=1))
    assert not await database.read(lambda conn: keeping.was_seen(conn, "email", "msg-1"))


# --- Sessions and policies ----------------------------------------------------------------------------------------

SESSION = Session("refund-agent", "sess-1", "https://agent.example/", {"ü": [1]}, after(), after())


async def test_a_session_is_made_and_replaced_and_remembers_since_when(database: Database) -> None:
    await database.write(lambda tx: keeping.put_session(tx, SESSION))
    later = replace(SESSION, callback_url=None, metadata={}, created_at=after(hours=1), updated_at=after(hours=1))
    await database.write(lambda tx: keeping.put_session(tx, later))
    found = await database.read(lambda conn: keeping.get_session(conn, "refund-agent", "sess-1"))
    assert found == replace(later, created_at=after())


async def test_sessions_of_the_same_name_belong_to_their_owners(database: Database) -> None:
    newer = replace(SESSION, owner="other-agent", updated_at=after(hours=1))
    for session in (SESSION, newer):
        await database.write(lambda tx, session=session: keeping.put_session(tx, session))
    assert await database.read(lambda conn: keeping.get_session(conn, "refund-agent", "sess-1")) == SESSION
    assert await database.read(lambda conn: keeping.any_session(conn, "sess-1")) == newer
    assert await database.read(lambda conn: keeping.get_session(conn, "nobody", "sess-1")) is None
    assert await database.read(lambda conn: keeping.any_session(conn, "sess-2")) is None


async def test_an_agents_policy_is_replaced_as_a_whole_and_cleared_by_nothing(database: Database) -> None:
    async def put(policy: dict[str, int]) -> object:
        await database.write(lambda tx: keeping.put_agent_policy(tx, "refund-agent", policy, after()))
        return await database.read(lambda conn: keeping.agent_policy(conn, "refund-agent"))

    assert await database.read(lambda conn: keeping.agent_policy(conn, "refund-agent")) == {}
    assert await put({"max_attempts": 3, "interval_seconds": 60}) == {"max_attempts": 3, "interval_seconds": 60}
    assert await put({"max_attempts": 2}) == {"max_attempts": 2}
    assert await put({}) == {}


# --- API keys -----------------------------------------------------------------------------------------------------


async def test_a_stored_key_is_found_by_its_hash_and_its_name(database: Database) -> None:
    key = StoredKey("deploy-bot", "hash-1", ("agent", "operator"), 1)
    await database.write(lambda tx: keeping.put_key(tx, key, after()))
    assert await database.read(lambda conn: keeping.key_by_hash(conn, "hash-1")) == key
    assert await database.read(lambda conn: keeping.key_by_name(conn, "deploy-bot")) == key
    assert await database.read(lambda conn: keeping.key_by_hash(conn, "hash-2")) is None


async def test_a_key_that_is_made_again_replaces_the_old_one(database: Database) -> None:
    for generation in (1, 2):
        key = StoredKey("deploy-bot", f"hash-{generation}", ("agent",), generation)
        await database.write(lambda tx, key=key: keeping.put_key(tx, key, after()))
    assert await database.read(lambda conn: keeping.key_by_hash(conn, "hash-1")) is None
    assert await database.read(keeping.all_keys) == [StoredKey("deploy-bot", "hash-2", ("agent",), 2)]


async def test_keys_are_listed_by_name_and_share_no_hash(database: Database) -> None:
    for name in ("b", "a"):
        key = StoredKey(name, f"hash-{name}", ("agent",), 1)
        await database.write(lambda tx, key=key: keeping.put_key(tx, key, after()))
    assert [key.name for key in await database.read(keeping.all_keys)] == ["a", "b"]
    with pytest.raises(IntegrityError):
        await database.write(lambda tx: keeping.put_key(tx, StoredKey("c", "hash-a", ("agent",), 1), after()))


# --- The installation ---------------------------------------------------------------------------------------------


async def test_an_installation_is_named_once_and_for_all(database: Database, other_database: Database) -> None:
    name = await database.write(keeping.installation_id)
    assert len(name) == 12
    assert await other_database.write(keeping.installation_id) == name


async def test_processes_that_start_together_agree_on_the_name(database: Database, other_database: Database) -> None:
    """On PostgreSQL all of them find no name, and still end with the same one."""
    together = threading.Barrier(4)

    def start(tx: Tx) -> str:
        if tx.conn.dialect.name == "postgresql":
            together.wait(PATIENCE)
        return keeping.installation_id(tx)

    names = await asyncio.gather(*(db.write(start) for db in (database, other_database) for _ in range(2)))
    assert len(set(names)) == 1
