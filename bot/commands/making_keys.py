"""Making keys: the database work of ``handraise keys``. A file of its own, because it imports all of the store.

A running service sees each change within five seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from bot.config.loading import settings_and_folder
from bot.config.published import is_off_loopback, why_weak_key
from bot.keys import key_of_file, new_api_key, new_salt, root_key
from core.database.database import Database, Tx, open_database, opening
from core.domain.people import canonical, key_name
from core.domain.root_key import RootKey
from core.errors import ConfigError
from core.store import api_keys, schema
from core.store.api_keys import StoredKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewKey:
    """``secret`` and ``webhook_secret`` are known only here, and only once."""

    name: str
    roles: tuple[str, ...]
    secret: str
    webhook_secret: str


@dataclass(frozen=True, slots=True)
class Renewed:
    """``until`` is the end of the previous key, ``None`` for at once. ``in_file``: the previous one is the
    configuration's."""

    name: str
    secret: str
    until: datetime | None
    in_file: bool


@dataclass(frozen=True, slots=True)
class _Keys:
    """The database with its schema ready, the root key, the configuration's keys by name, and the owners of further
    addresses."""

    database: Database
    root: RootKey
    configured: Mapping[str, StoredKey]
    owners: Mapping[str, str]

    @classmethod
    def of(cls, config: Path | None) -> _Keys:
        settings, folder = settings_and_folder(config)
        database = open_database(settings.database_url, settings.database.deadlines)
        with opening(database.engine.url):
            schema.prepare(database)
        root = root_key(settings, folder)
        owners = {canonical(alias): one.email for one in settings.people for alias in one.aliases}
        return cls(database, root, {entry.name: key_of_file(entry, root) for entry in settings.api_keys}, owners)

    def change(self, change: Callable[[Tx], T]) -> T:
        """Run ``change`` in one transaction, while no other process changes a key."""

        def job(tx: Tx) -> T:
            api_keys.lock(tx)
            return change(tx)

        async def write() -> T:
            try:
                return await self.database.write(job)
            finally:
                await self.database.close()

        return asyncio.run(write())


def make(config: Path | None, name: str, roles: Sequence[str]) -> NewKey:
    """A new key, with a webhook secret of its own; a revoked key's name may be used again.

    Raises :class:`ConfigError` for an invalid name, and if there is a key of that name.
    """
    name = _name(name)
    keys = _Keys.of(config)
    secret, salt = new_api_key(), new_salt()
    made = StoredKey(name, keys.root.hash_api_key(secret), tuple(sorted(roles)), generation=1, salt=salt)

    def change(tx: Tx) -> None:
        found = api_keys.by_name(tx.conn, name)
        if (owner := keys.owners.get(canonical(name))) is not None:
            raise ConfigError(f"{name} is an alias of {owner} in people: name the key {owner}, if it is theirs.")
        if found is None and name in keys.configured:
            raise ConfigError(f"The configuration has a key named {name} already.")
        if found is not None and found.revoked_at is None:
            raise ConfigError(
                f"There is a key named {name} already; `handraise keys rotate {name}` renews its secret, "
                "and with --api-key the key."
            )
        file_until = None if found is None else found.file_until
        api_keys.put(tx, replace(made, file_until=file_until), datetime.now(UTC))

    keys.change(change)
    return NewKey(name, made.roles, secret, keys.root.webhook_secret(name, 1, salt))


def renew(config: Path | None, name: str) -> str:
    """The next webhook secret of the key; raises :class:`ConfigError` if there is none of that name to renew."""
    name = _name(name)
    keys = _Keys.of(config)

    def change(tx: Tx) -> StoredKey:
        found = _valid(tx, name, keys)
        if found.generation == 0:
            message = f"{name} is a key of the configuration: add the new secret to its webhook_secrets there."
            raise ConfigError(message)
        renewed = replace(found, generation=found.generation + 1)
        api_keys.put(tx, renewed, datetime.now(UTC))
        return renewed

    renewed = keys.change(change)
    return keys.root.webhook_secret(name, renewed.generation, renewed.salt)


def renew_api_key(config: Path | None, name: str, overlap: timedelta) -> Renewed:
    """A new key for the same name; the previous one stays valid for ``overlap``. A key of the configuration is
    replaced as well: the row takes precedence. Raises :class:`ConfigError` if there is none of that name."""
    name = _name(name)
    keys = _Keys.of(config)
    secret, now = new_api_key(), datetime.now(UTC)
    until = now + overlap if overlap else api_keys.FOR_GOOD

    def change(tx: Tx) -> StoredKey:
        found = _valid(tx, name, keys)
        is_of_file = api_keys.by_name(tx.conn, name) is None
        file_until = until if is_of_file else api_keys.FOR_GOOD
        renewed = replace(
            found,
            key_hash=keys.root.hash_api_key(secret),
            previous_hash=None if is_of_file else found.key_hash,
            previous_until=None if is_of_file else until,
            file_until=file_until,
        )
        api_keys.put(tx, renewed, now)
        return renewed

    renewed = keys.change(change)
    return Renewed(name, secret, until if overlap else None, in_file=renewed.previous_hash is None)


def revoke(config: Path | None, name: str) -> datetime:
    """When the key was revoked: now, or the first time. Raises :class:`ConfigError` if there is none."""
    name = _name(name)
    keys = _Keys.of(config)
    of_file = keys.configured.get(name)
    gone = keys.change(lambda tx: api_keys.revoke(tx, name, of_file, datetime.now(UTC)))
    if gone is None or gone.revoked_at is None:
        raise ConfigError(f"There is no key named {name}.")
    return gone.revoked_at


def known(config: Path | None) -> list[tuple[str, str, str]]:
    """Every key's name, its roles, and its place or that it is revoked."""
    keys, now = _Keys.of(config), datetime.now(UTC)
    with keys.database.engine.connect() as conn:
        stored = {key.name: key for key in api_keys.every(conn)}
    every = {**keys.configured, **stored}
    return [(name, ", ".join(key.roles), _where(key, keys, now)) for name, key in sorted(every.items())]


def hashed(config: Path | None, key: str) -> tuple[str, str | None]:
    """The ``key_hash`` of ``key``, and a warning if it is not a key. Off loopback that raises :class:`ConfigError`:
    a hash does not show what it was made of."""
    settings, _ = settings_and_folder(config)
    why = why_weak_key(key)
    warning = None if why is None else f"The key {why}. `handraise keys create NAME --role ROLE` makes one."
    if warning is not None and is_off_loopback(settings):
        raise ConfigError(warning)
    return _Keys.of(config).root.hash_api_key(key), warning


def _valid(tx: Tx, name: str, keys: _Keys) -> StoredKey:
    """The key of that name. Raises :class:`ConfigError` if there is none, or it is revoked."""
    found = api_keys.by_name(tx.conn, name) or keys.configured.get(name)
    if found is None:
        raise ConfigError(f"There is no key named {name}.")
    if found.revoked_at is not None:
        raise ConfigError(f"The key {name} is revoked; `handraise keys create {name}` makes a new one of that name.")
    return found


def _where(key: StoredKey, keys: _Keys, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M} UTC"
    if keys.configured.get(key.name) is key:
        return "configuration"
    if key.previous_until is not None and now < key.previous_until:
        return f"database, the key before it until {key.previous_until:%Y-%m-%d %H:%M} UTC"
    return "database"


def _name(text: str) -> str:
    try:
        return key_name(text)
    except ValueError as wrong:
        raise ConfigError(f"The name of a key {wrong}.") from None
