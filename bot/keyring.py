"""Every API key that this service knows: the configuration's, and those made on the command line.

Source: API.md §1, §5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bot.config import Settings
from bot.keys import RootKey, same
from core.domain.people import Actor, Role, canonical
from core.ports import Responders
from core.store import keeping
from core.store.database import Database
from core.store.keeping import StoredKey


class KeyRing:
    """Finds out whose key a request came with, and which secrets sign a key's callbacks."""

    def __init__(self, settings: Settings, root: RootKey, database: Database) -> None:
        self._root = root
        self._database = database
        self._configured = {
            entry.key_hash or root.hash_api_key(entry.key or ""): (entry.name, entry.roles)
            for entry in settings.api_keys
        }
        self._secrets = {entry.name: entry.webhook_secrets for entry in settings.api_keys}
        self._stored: Mapping[str, StoredKey] = {}
        self._people: Responders | None = None

    def introduce(self, people: Responders) -> None:
        """The directory that says which person a key's name is."""
        self._people = people

    async def refresh(self) -> None:
        """Read again what the command line may have changed."""
        found = await self._database.read(keeping.all_keys)
        self._stored = {key.name: key for key in found}

    async def actor(self, api_key: str) -> Actor | None:
        """Whoever holds ``api_key``, ``None`` for one that we don't know."""
        digest = self._root.hash_api_key(api_key)
        for known, (name, roles) in self._configured.items():
            if same(known, digest):
                return self._actor(name, roles)
        stored = await self._database.read(lambda conn: keeping.key_by_hash(conn, digest))
        return None if stored is None else self._actor(stored.name, map(Role, stored.roles))

    def _actor(self, name: str, roles: Iterable[Role]) -> Actor:
        person = self._people.actor(name).person if self._people is not None else None
        return Actor(canonical(name), frozenset(roles), key=name, person=person)

    def stored_roles(self, name: str) -> frozenset[Role]:
        """The roles of the stored key of that name; none where there is no such key."""
        key = self._stored.get(name)
        return frozenset(map(Role, key.roles)) if key is not None else frozenset()

    def stored_names(self) -> Collection[str]:
        """The names of all stored keys."""
        return self._stored.keys()

    def secrets(self, name: str) -> Sequence[str]:
        """The secrets that sign callbacks for the key ``name``; none where it has none."""
        stored = self._stored.get(name)
        derived = self._root.webhook_secrets(name, stored.generation) if stored is not None else ()
        return (*self._secrets.get(name, ()), *derived)
