"""Tokens are found by their fingerprint, for the one purpose they were made for (RFC-0025 §11)."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.domain.people import Address
from core.domain.tokens import TokenPurpose
from core.store import tokens
from core.store.tables import tokens as table
from core.store.tokens import Held
from tests.core.store_examples import OWNER

ALICE = Address("email", "alice@example.com", "alice@example.com")
CHANNEL = Address("slack", "C0OPS")
PAGE, MAIL = TokenPurpose.PAGE, TokenPurpose.MAIL


async def keep(database: Database, *made: tuple[str, TokenPurpose, str, Address]) -> None:
    await database.write(lambda tx: tokens.keep(tx, made))


async def found(database: Database, token: str, purpose: TokenPurpose) -> Held | None:
    return await database.read(lambda conn: tokens.find(conn, token, purpose))


async def test_a_token_leads_to_its_question_and_its_holder(database: Database) -> None:
    await keep(database, ("pagetoken", PAGE, "susp-1", ALICE), ("mailtoken", MAIL, "susp-1", ALICE))
    assert await found(database, "pagetoken", PAGE) == Held("susp-1", ALICE)
    assert await found(database, " MailToken ", MAIL) == Held("susp-1", ALICE)


@pytest.mark.parametrize(("token", "purpose"), [("pagetoken", MAIL), ("mailtoken", PAGE), ("other", PAGE), ("", MAIL)])
async def test_a_token_opens_nothing_else(database: Database, token: str, purpose: TokenPurpose) -> None:
    await keep(database, ("pagetoken", PAGE, "susp-1", ALICE), ("mailtoken", MAIL, "susp-1", ALICE))
    assert await found(database, token, purpose) is None


async def test_a_repeated_send_keeps_the_same_token_once(database: Database) -> None:
    for _ in range(2):
        await keep(database, ("pagetoken", PAGE, "susp-1", ALICE), ("second", PAGE, "susp-1", CHANNEL))
    await keep(database)
    count = sa.select(sa.func.count()).select_from(table)
    assert await database.read(lambda conn: conn.scalar(count)) == 2
    assert await found(database, "second", PAGE) == Held("susp-1", CHANNEL)


async def test_the_token_itself_is_nowhere_in_the_database(database: Database) -> None:
    await keep(database, ("pagetoken", PAGE, "susp-1", ALICE))
    rows = await database.read(lambda conn: conn.execute(sa.select(table)).all())
    assert "pagetoken" not in repr(rows)
    assert OWNER not in repr(rows)
