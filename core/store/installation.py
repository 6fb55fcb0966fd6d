"""The installation: its name, and which secret key its database is used with."""

from __future__ import annotations

import uuid

import sqlalchemy as sa

from core.store.database import Tx
from core.store.tables import installation
from core.store.upserts import insert, upsert


def installation_id(tx: Tx) -> str:
    """A short name of this installation, made once. It is in PagerDuty's dedup keys."""
    return _made_once(tx, "id", uuid.uuid4().hex[:12])


def key_check(tx: Tx, check: str) -> bool:
    """Whether ``check``, which is derived from the secret key, is the one that this database was first used with."""
    return _made_once(tx, "key_check", check) == check


def renew_key_check(tx: Tx, check: str) -> None:
    """From now on the database is used with the secret key that ``check`` is derived from."""
    upsert(tx, installation, {"key": "key_check", "value": check}, ("key",))


def _made_once(tx: Tx, name: str, value: str) -> str:
    """The stored value of that name; ``value`` if there was none."""
    wanted = sa.select(installation.c.value).where(installation.c.key == name)
    found: str | None = tx.conn.scalar(wanted)
    if found is not None:
        return found
    tx.conn.execute(insert(tx, installation).values(key=name, value=value).on_conflict_do_nothing())
    return str(tx.conn.scalar(wanted))
