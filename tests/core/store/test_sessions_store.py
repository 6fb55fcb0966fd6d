"""Agents' sessions and default policies."""

from __future__ import annotations

from dataclasses import replace

from core.database.database import Database
from core.store import sessions
from core.store.sessions import Session
from tests.core.examples import after

SESSION = Session("refund-agent", "sess-1", "https://agent.example/", {"ü": [1]}, after(), after())


async def test_a_session_is_made_and_replaced_and_remembers_since_when(database: Database) -> None:
    await database.write(lambda tx: sessions.put_session(tx, SESSION))
    later = replace(SESSION, callback_url=None, metadata={}, created_at=after(hours=1), updated_at=after(hours=1))
    await database.write(lambda tx: sessions.put_session(tx, later))
    found = await database.read(lambda conn: sessions.get_session(conn, "refund-agent", "sess-1"))
    assert found == replace(later, created_at=after())


async def test_sessions_of_the_same_name_belong_to_their_owners(database: Database) -> None:
    newer = replace(SESSION, owner="other-agent", updated_at=after(hours=1))
    for session in (SESSION, newer):
        await database.write(lambda tx, session=session: sessions.put_session(tx, session))
    assert await database.read(lambda conn: sessions.get_session(conn, "refund-agent", "sess-1")) == SESSION
    assert await database.read(lambda conn: sessions.any_session(conn, "sess-1")) == newer
    assert await database.read(lambda conn: sessions.get_session(conn, "nobody", "sess-1")) is None
    assert await database.read(lambda conn: sessions.any_session(conn, "sess-2")) is None


async def test_an_agents_policy_is_replaced_as_a_whole_and_cleared_by_nothing(database: Database) -> None:
    async def put(policy: dict[str, int]) -> object:
        await database.write(lambda tx: sessions.put_agent_policy(tx, "refund-agent", policy, after()))
        return await database.read(lambda conn: sessions.agent_policy(conn, "refund-agent"))

    assert await database.read(lambda conn: sessions.agent_policy(conn, "refund-agent")) == {}
    assert await put({"max_attempts": 3, "interval_seconds": 60}) == {"max_attempts": 3, "interval_seconds": 60}
    assert await put({"max_attempts": 2}) == {"max_attempts": 2}
    assert await put({}) == {}
