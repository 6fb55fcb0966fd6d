"""The installation: its name, the fingerprint of its secret key, and facts about its ways in."""

from __future__ import annotations

import uuid

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert, upsert
from core.store.tables import installation

_LEARNED = "learned."


def installation_id(tx: Tx) -> str:
    """A short name of this installation, made once. It is in PagerDuty's dedup keys."""
    return _made_once(tx, "id", uuid.uuid4().hex[:12])


def key_check(tx: Tx, check: str) -> bool:
    """Whether ``check``, which is derived from the secret key, is the one that this database was first used with."""
    return _made_once(tx, "key_check", check) == check


def renew_key_check(tx: Tx, check: str) -> None:
    """From now on the database is used with the secret key that ``check`` is derived from."""
    upsert(tx, installation, {"key": "key_check", "value": check}, ("key",))


def learn(tx: Tx, name: str, value: str) -> None:
    """Keep ``value`` under ``name``, in the place of what was known before."""
    upsert(tx, installation, {"key": _LEARNED + name, "value": value}, ("key",))


def everything_learned(conn: sa.Connection) -> dict[str, str]:
    """What was kept last, by name."""
    rows = conn.execute(sa.select(installation).where(installation.c.key.startswith(_LEARNED, autoescape=True)))
    return {row.key.removeprefix(_LEARNED): row.value for row in rows}


def known_check(conn: sa.Connection) -> str | None:
    """The check of the secret key that this database is used with; ``None`` if it was used with none yet."""
    return _stored(conn, "key_check")


def _stored(conn: sa.Connection, name: str) -> str | None:
    found: str | None = conn.scalar(sa.select(installation.c.value).where(installation.c.key == name))
    return found


def _made_once(tx: Tx, name: str, value: str) -> str:
    """The stored value of that name; ``value`` if there was none."""
    found = _stored(tx.conn, name)
    if found is not None:
        return found
    tx.conn.execute(insert(tx, installation).values(key=name, value=value).on_conflict_do_nothing())
    return str(_stored(tx.conn, name))
