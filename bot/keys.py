"""Keys: the root key with everything derived from it, and every API key that this service knows.

One secret is kept: ``secret_key``, or on loopback a file beside the database. Each use has a derived key of its own, so
that one that gets out opens nothing else. API keys are stored as their HMAC; webhook secrets are not stored at all.

API keys come from the configuration and from the command line. A stored row outranks the configuration's key of that
name (``core.store.api_keys``). Each process reads changes every other second, so that a revoked key is out everywhere
within five.

Source: API.md §1, §5, §8; RFC 5869 §3.2 (``info`` tells the uses apart); github.com/standard-webhooks/standard-webhooks
(``whsec_``).
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

import sqlalchemy as sa

from bot.config.loading import check_hashes
from bot.config.people_and_keys import ApiKey
from bot.config.settings import Settings
from core.database.database import Database
from core.domain.people import Actor, Role, canonical
from core.domain.root_key import RootKey
from core.errors import ConfigError
from core.hub import Wakeup
from core.ports import Clock, Responders
from core.store import api_keys
from core.store.api_keys import StoredKey

KEY_FILE = "handraise.db.key"
"""Its name if no database file lends it one."""

_SIZE = 32
_SALT_SIZE = 16


def new_salt() -> str:
    """What makes a key's webhook secrets its own: 16 random bytes, as 32 hexadecimal digits."""
    return secrets.token_hex(_SALT_SIZE)


def new_api_key() -> str:
    """A key that nobody has seen yet; it is shown once and stored as its hash."""
    return f"hr_{secrets.token_urlsafe(_SIZE)}"


def same(left: str, right: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def root_key(settings: Settings, folder: Path) -> RootKey:
    """The configured ``secret_key``; else the one in the key file, which is made if there is none.

    ``folder`` is the configuration's (or the working directory): the place of the key file if the database has no
    file. Raises :class:`ConfigError` for a key file that can't be made, is damaged, or that others may read, and if a
    ``key_hash`` is that of a key that everybody knows.
    """
    if settings.secret_key is not None:
        return RootKey(settings.secret_key.encode(), tuple(_previous(settings.secret_key_previous)))
    path = key_file(settings, folder)
    try:
        if not path.exists():
            _make(path)
        root = _read(path)
    except OSError as failure:
        message = f"{path}: the secret key can't be kept here ({failure.strerror}); set HANDRAISE_SECRET_KEY"
        raise ConfigError(message) from None
    check_hashes(settings, root)
    return root


def _previous(written: Iterable[str]) -> Iterator[RootKey]:
    """What was configured, and for 64 hexadecimal digits also what a key file with these would hold."""
    for text in written:
        yield RootKey(text.encode())
        if re.fullmatch(f"[0-9a-f]{{{2 * _SIZE}}}", text):
            yield RootKey(bytes.fromhex(text))


def key_file(settings: Settings, folder: Path) -> Path:
    """``handraise.db.key`` beside ``handraise.db``."""
    url = sa.make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        return Path(f"{url.database}.key")
    return folder / KEY_FILE


def _make(path: Path) -> None:
    """Write a new key: complete, mode 0600 and on disk before it has its name; never over one that is there."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp makes it 0600
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_SIZE) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process was first; its key counts
            path.hardlink_to(fresh)
        _sync_folder(path.parent)
    finally:
        fresh.unlink()


def _sync_folder(folder: Path) -> None:
    """A name is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> RootKey:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ConfigError(f"{path}: others may read this secret key; run chmod 600 on it")
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) != _SIZE:
        raise ConfigError(f"{path}: this is no secret key of Handraise; restore it, or set HANDRAISE_SECRET_KEY")
    return RootKey(secret)


REFRESH = timedelta(seconds=2)
"""How old what is known of the stored keys may be. A revoked key, its streams and its waits end within five seconds
(API.md §1)."""


class KeyRing:
    """Finds out whose key a request came with, and which secrets sign a key's callbacks."""

    def __init__(self, settings: Settings, root: RootKey, database: Database, clock: Clock) -> None:
        self._root = root
        self._database = database
        self._clock = clock
        self._configured: Mapping[str, StoredKey] = {}
        self._secrets: Mapping[str, Sequence[str]] = {}
        self._stored: Mapping[str, StoredKey] = {}
        self._stored_by_hash: Mapping[str, StoredKey] = {}
        self._stored_roles: Mapping[str, frozenset[Role]] = {}
        self._reads_own = settings.answers.operators_read == "own_groups"
        self._people: Responders | None = None
        self._watched: dict[Wakeup, Sequence[str]] = {}
        self.configure(settings.api_keys)

    def introduce(self, people: Responders) -> None:
        """The directory that says which person a key's name is."""
        self._people = people

    def configure(self, entries: Iterable[ApiKey]) -> None:
        """The configuration's keys are these from now on. Whoever holds a stream open with one that is gone is told.

        Questions of a key that is gone may still be open, so its callbacks stay signed.
        """
        entries = tuple(entries)
        self._configured = {entry.name: key_of_file(entry, self._root) for entry in entries}
        self._secrets = {**self._secrets, **{entry.name: entry.webhook_secrets for entry in entries}}
        self._tell_watchers()

    def valid_with(self, entries: Iterable[ApiKey]) -> Mapping[str, frozenset[Role]]:
        """What each valid key might do if the configuration's keys were ``entries``, by name; of the stored ones as far
        as the last refresh knows."""
        of_file = {entry.name: entry.roles for entry in entries if not self.shuts_out_file(entry.name)}
        return {**of_file, **{key.name: frozenset(map(Role, key.roles)) for key in self._valid()}}

    async def refresh(self) -> None:
        """Read again what the command line or another process may have changed; whoever holds a stream open with a
        key that is not valid any more is told."""
        found = await self._database.read(api_keys.every)
        self._stored = {key.name: key for key in found}
        hashes = ((one, key) for key in found for one in (key.key_hash, key.previous_hash))
        self._stored_by_hash = {one: key for one, key in hashes if one is not None}
        self._stored_roles = roles_of(self._valid())
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        for gone, digests in self._watched.items():
            if not self._opens(digests):
                gone.set()

    @contextmanager
    def watching(self, api_key: str) -> Iterator[Wakeup]:
        """An event that is set as soon as ``api_key`` is known not to be valid any more."""
        gone = Wakeup()
        self._watched[gone] = self._root.hashes(api_key)
        try:
            yield gone
        finally:
            del self._watched[gone]

    async def actor(self, api_key: str) -> Actor | None:
        """Whoever holds ``api_key``, ``None`` for one that we don't know, or not any more."""
        digests = self._root.hashes(api_key)
        configured = self._of_file(digests)
        if configured is not None:
            return self._actor(configured)
        stored = await self._database.read(lambda conn: api_keys.by_hash(conn, digests))
        opening = next((one for one in digests if stored is not None and stored.opens(one, self._clock.now())), None)
        if stored is None or opening is None:
            return None
        if opening != digests[0]:
            await self._database.write(lambda tx: api_keys.renew_hash(tx, stored, opening, digests[0]))
        return self._actor(stored)

    def knows(self, api_key: str) -> bool:
        """Whether ``api_key`` is valid, as far as the last refresh knows. It lets nobody in: see :meth:`actor`."""
        return self._opens(self._root.hashes(api_key))

    def holder(self, name: str) -> Actor | None:
        """Whoever holds the key ``name``, as far as the last refresh knows; ``None`` if it is not valid any more."""
        configured, stored = self._configured.get(name), self._stored.get(name)
        if configured is not None and not self.shuts_out_file(name):
            return self._actor(configured)
        return None if stored is None or stored.revoked_at is not None else self._actor(stored)

    async def revoke(self, name: str) -> datetime | None:
        """Revoke the key ``name``, here at once and elsewhere within seconds; the instant at which it first was.
        ``None`` if there is no such key."""
        now, of_file = self._clock.now(), self._configured.get(name)
        gone = await self._database.write(lambda tx: api_keys.revoke(tx, name, of_file, now))
        await self.refresh()
        return None if gone is None else gone.revoked_at

    def _opens(self, digests: Sequence[str]) -> bool:
        """Whether a key with one of these hashes is valid, as far as the last refresh knows."""
        if self._of_file(digests) is not None:
            return True
        now, found = self._clock.now(), ((one, self._stored_by_hash.get(one)) for one in digests)
        return any(key is not None and key.opens(one, now) for one, key in found)

    def _of_file(self, digests: Sequence[str]) -> StoredKey | None:
        """The configuration's key with one of these hashes, unless a stored row stands above it."""
        found = None
        for key in self._configured.values():  # all of them: the time does not tell which it is
            known = [same(key.key_hash, one) for one in digests]
            if any(known) and not self.shuts_out_file(key.name):
                found = key
        return found

    def _actor(self, key: StoredKey) -> Actor:
        person = self._people.actor(key.name).person if self._people is not None else None
        roles = frozenset(map(Role, key.roles))
        identity = canonical(key.name) if self._people is None else self._people.identity_of(key.name)
        return Actor(identity, roles, key=key.name, person=person, reads_own=self._reads_own)

    def shuts_out_file(self, name: str) -> bool:
        """Whether the configuration's key of that name was revoked, or has been replaced by another."""
        row = self._stored.get(name)
        return row is not None and row.shuts_out_file(self._clock.now())

    @property
    def shut_out(self) -> Collection[str]:
        """The names of the configuration's keys that are not valid, although they stand there."""
        return tuple(name for name in self._configured if self.shuts_out_file(name))

    def stored_roles(self, name: str) -> frozenset[Role]:
        """The roles of the stored keys that are ``name``'s, who has this identity; none if there is no such key."""
        return self._stored_roles.get(name, _NO_ROLES)

    def stored_names(self) -> Collection[str]:
        """The names of all stored keys that are valid."""
        return tuple(key.name for key in self._valid())

    def _valid(self) -> Iterable[StoredKey]:
        return (key for key in self._stored.values() if key.revoked_at is None)

    def secrets(self, name: str) -> Sequence[str]:
        """The secrets that sign callbacks for the key ``name``; none if it has none.

        A revoked key's questions may still be open, so its callbacks stay signed. A key that was made anew under a
        name of the configuration has its own secrets alone.
        """
        stored = self._stored.get(name)
        configured = self._secrets.get(name, ())
        if stored is None:
            return configured
        roots = (self._root, *self._root.previous)  # receivers hold what an earlier root key has made
        made = (root.webhook_secrets(name, stored.generation, stored.salt) for root in roots)
        derived = tuple(chain.from_iterable(made))
        return derived if derived and self.shuts_out_file(name) else (*configured, *derived)


_NO_ROLES: frozenset[Role] = frozenset()


def roles_of(keys: Iterable[StoredKey]) -> Mapping[str, frozenset[Role]]:
    """What the keys of one identity may do together, by identity."""
    found: dict[str, frozenset[Role]] = {}
    for key in keys:
        name = canonical(key.name)
        found[name] = found.get(name, _NO_ROLES) | frozenset(map(Role, key.roles))
    return found


def key_of_file(entry: ApiKey, root: RootKey) -> StoredKey:
    """A key of the configuration as a row would hold it. Its webhook secrets are the configuration's own."""
    key_hash = entry.key_hash or root.hash_api_key(entry.key or "")
    return StoredKey(entry.name, key_hash, tuple(sorted(entry.roles)), generation=0)
