"""What ``handraise keys`` does to the database. Apart from the command's own words, since it loads all of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.commands.setting_up import settings_and_folder
from bot.keys import RootKey, new_api_key, root_key
from core.errors import ConfigError
from core.store import keeping, schema
from core.store.database import Database, Tx, open_database
from core.store.keeping import StoredKey
from core.store.unusable import opening


@dataclass(frozen=True, slots=True)
class NewKey:
    """``secret`` and ``webhook_secret`` are known here alone, and once."""

    roles: tuple[str, ...]
    secret: str
    webhook_secret: str


def make(config: Path | None, name: str, roles: Sequence[str]) -> NewKey:
    """Raises :class:`ConfigError` where there is a key of that name."""
    database, root, configured = _open(config)
    if name in configured:
        raise ConfigError(f"The configuration has a key named {name} already.")
    with database.engine.begin() as conn:
        if keeping.key_by_name(conn, name) is not None:
            raise ConfigError(f"There is a key named {name} already; `handraise keys rotate {name}` renews its secret.")
        secret = new_api_key()
        made = StoredKey(name, root.hash_api_key(secret), tuple(sorted(roles)), generation=1)
        keeping.put_key(Tx(conn), made, datetime.now(UTC))
    return NewKey(made.roles, secret, root.webhook_secret(name, 1))


def renew(config: Path | None, name: str) -> str:
    """The next webhook secret of the key; raises :class:`ConfigError` where there is none of that name to renew."""
    database, root, configured = _open(config)
    if name in configured:
        message = f"{name} is a key of the configuration: add the new secret to its webhook_secrets there."
        raise ConfigError(message)
    with database.engine.begin() as conn:
        found = keeping.key_by_name(conn, name)
        if found is None:
            raise ConfigError(f"There is no key named {name}.")
        renewed = StoredKey(name, found.key_hash, found.roles, found.generation + 1)
        keeping.put_key(Tx(conn), renewed, datetime.now(UTC))
    return root.webhook_secret(name, renewed.generation)


def known(config: Path | None) -> list[tuple[str, str, str]]:
    """Every key's name, its roles, and where it is kept."""
    database, _, configured = _open(config)
    with database.engine.connect() as conn:
        stored = {key.name: ", ".join(key.roles) for key in keeping.all_keys(conn)}
    return [
        (name, roles, "configuration" if name in configured else "database")
        for name, roles in sorted({**stored, **configured}.items())
    ]


def hashed(config: Path | None, key: str) -> str:
    """What stands for ``key`` as its ``key_hash``."""
    _, root, _ = _open(config)
    return root.hash_api_key(key)


def _open(config: Path | None) -> tuple[Database, RootKey, dict[str, str]]:
    """The database with its schema ready, the root key, and the configured keys' names and roles."""
    settings, folder = settings_and_folder(config)
    database = open_database(settings.database_url)
    with opening(database.engine.url):
        schema.prepare(database)
    configured = {entry.name: ", ".join(sorted(entry.roles)) for entry in settings.api_keys}
    return database, root_key(settings, folder), configured
