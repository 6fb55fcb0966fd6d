"""Idempotent replies: the first is kept for its owner, as long as its question is open and a week longer."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy.exc import IntegrityError

from core.database.database import Database
from core.store import idempotency
from core.store.idempotency import Kept
from tests.core.examples import after, answered
from tests.core.store_examples import keep, numbered

REPLY = Kept("sha256:1", 201, '{"outcome": "suspended", "ü": null}')


async def keep_reply(database: Database, key: str = "key-1", suspension_id: str | None = None) -> None:
    await database.write(lambda tx: idempotency.keep_reply(tx, "refund-agent", key, REPLY, suspension_id, after()))


async def kept(database: Database, key: str = "key-1", owner: str = "refund-agent") -> Kept | None:
    return await database.read(lambda conn: idempotency.kept_reply(conn, owner, key))


async def forget(database: Database, now: datetime) -> None:
    await database.write(lambda tx: idempotency.forget_old(tx, now))


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
