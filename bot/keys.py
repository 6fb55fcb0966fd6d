"""The root key, and everything that is derived from it.

One secret is kept: ``secret_key``, or on loopback a file beside the database. Each use has a key of its own, so that
one that gets out opens nothing else; API keys are stored as their HMAC, and webhook secrets not at all.

Source: API.md §1, §5, §8; RFC 5869 §3.2 (``info`` tells the uses apart); github.com/standard-webhooks/standard-webhooks
(``whsec_``).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from bot.config import Settings
from core.errors import ConfigError

KEY_FILE = "handraise.db.key"
"""Its name where no database file lends it one."""

_SIZE = 32
_VALID_GENERATIONS = 2
"""How many webhook secrets of a key are valid at once: the newest, and the one before it while receivers change."""


@dataclass(frozen=True, slots=True)
class RootKey:
    """What every other key comes from. Never logged, never shown."""

    secret: bytes = field(repr=False)

    def derive(self, purpose: str) -> bytes:
        """The key for ``purpose``: 32 bytes that tell nothing about those for other purposes."""
        return hmac.digest(self.secret, f"handraise/1/{purpose}".encode(), hashlib.sha256)

    def hash_api_key(self, api_key: str) -> str:
        """What is stored of an API key, and looked up: HMAC-SHA-256, as 64 hexadecimal digits."""
        return hmac.digest(self.derive("api-key"), api_key.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()

    def webhook_secret(self, name: str, generation: int) -> str:
        """The ``whsec_…`` of that generation, from 1, of the API key ``name``."""
        made = hmac.digest(self.derive("webhook-secret"), f"{generation}\n{name}".encode(), hashlib.sha256)
        return f"whsec_{base64.b64encode(made).decode()}"

    def webhook_secrets(self, name: str, generation: int) -> tuple[str, ...]:
        """Those that are valid once ``generation`` secrets have been handed out, the newest first."""
        oldest = max(generation - _VALID_GENERATIONS, 0)
        return tuple(self.webhook_secret(name, number) for number in range(generation, oldest, -1))


def new_api_key() -> str:
    """A key that nobody has seen yet; it is shown once and stored as its hash."""
    return f"hr_{secrets.token_urlsafe(_SIZE)}"


def same(left: str, right: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def root_key(settings: Settings, folder: Path) -> RootKey:
    """The configured ``secret_key``; else the one in the key file, which is made where there is none.

    ``folder`` is the configuration's (or the working directory): the place of the key file where the database has no
    file. Raises :class:`ConfigError` for a key file that can't be made, is damaged, or that others may read.
    """
    if settings.secret_key is not None:
        return RootKey(settings.secret_key.encode())
    path = key_file(settings, folder)
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as failure:
        message = f"{path}: the secret key can't be kept here ({failure.strerror}); set HANDRAISE_SECRET_KEY"
        raise ConfigError(message) from None


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
