"""Published secrets: those in this repository's files, which everybody can read, and those that anybody would guess.

``published.txt`` lists the first, one a line; a test collects them from all files, and fails if one is missing there.
They are not kept as digests: a ``key_hash`` can be compared with a known key's hash, and nothing is lost, since each is
in the repository anyway.

Off loopback such a secret is an error, on loopback a warning (API.md §8). No message has the value.

Source: docs/decisions/0088.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING

from bot.config.catalogue import description
from core.domain.root_key import RootKey

if TYPE_CHECKING:
    from bot.config.known import Path
    from bot.config.settings import Settings

LIST = File(__file__).with_name("published.txt")
SHORTEST_KEY = 20
"""Characters of a plain API key: with fewer it is a word, and somebody's guess."""

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(me|this|it)|replace[-_ ]?(me|this|it|with)|example|placeholder|(your|insert|put)[-_ ].*(key|secret)"
    r"|^(my|the|a)[-_ ].*(key|secret)|secret[-_ ]?key|webhook[-_ ]?secret|openssl|xxxxxx|…|\.\.\.$"
)
_FEWEST = 8
"""Different characters: what is random and long enough has more."""
_LONGEST_PART = 16
"""A text that repeats a part of so many characters is that part."""

_RANDOM = "make one with `openssl rand -hex 32`"
_PAGE = "docs/how-to/secret-key.md says what else changes with it"
_KEY = "take it out, and make one with `handraise keys create NAME --role ROLE`, which the database keeps"
_READ = "stands in Handraise's own files, where everybody can read it"
_GUESSED = "is a placeholder that anybody would guess"

Weak = tuple["Path", str]
"""Where it stands, and the rest of the sentence that begins with the key: what is wrong, and how to mend it."""


@cache
def published() -> frozenset[str]:
    """The values that stand in this repository's files."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def is_guessable(secret: str) -> bool:
    """Whether it is a placeholder, or one short part again and again. That a secret is random nobody can see."""
    lower = secret.lower()
    return _PLACEHOLDER.search(lower) is not None or len(set(lower)) < min(_FEWEST, len(lower)) or _repeats(lower)


def _repeats(text: str) -> bool:
    longest = min(_LONGEST_PART, len(text) // 2)
    return any(text == (text[:size] * len(text))[: len(text)] for size in range(1, longest + 1))


def why_weak(secret: str) -> str | None:
    """What is wrong with a secret that is none; ``None`` if nothing is known against it."""
    if secret in published():
        return _READ
    return _GUESSED if is_guessable(secret) else None


def why_weak_key(key: str) -> str | None:
    """As :func:`why_weak`, of a plain API key."""
    return why_weak(key) or (f"has fewer than {SHORTEST_KEY} characters" if len(key) < SHORTEST_KEY else None)


def is_off_loopback(settings: Settings) -> bool:
    """Whether others than this machine may come in: by the address that it listens on, or through a proxy."""
    return not (settings.http.is_loopback and settings.leads_here)


def weak_secrets(settings: Settings, root: RootKey | None = None) -> Iterator[Weak]:
    """Every secret of the configuration that is none. ``root`` is the root key that counts, if that is not configured:
    without any, nothing can be said of hashes."""
    if settings.secret_key is not None:
        root = root or RootKey(settings.secret_key.encode(), tuple(map(_root, settings.secret_key_previous)))
        yield from _weak(
            ("secret_key",), settings.secret_key, f"{_RANDOM} (docs/how-to/secret-key.md says what follows)"
        )
    hashes = _hashes(root) if root is not None and any(entry.key_hash for entry in settings.api_keys) else frozenset()
    for index, entry in enumerate(settings.api_keys):
        why = None if entry.key is None else why_weak_key(entry.key)
        if why is not None:
            yield ("api_keys", index, "key"), f"{why}: {_KEY}"
        if entry.key_hash is not None and (entry.key_hash in published() or entry.key_hash in hashes):
            yield ("api_keys", index, "key_hash"), f"is the hash of a key that {_READ}: {_KEY}"
        for number, secret in enumerate(entry.webhook_secrets):
            yield from _weak(("api_keys", index, "webhook_secrets", number), secret, _WEBHOOK)
    for name in settings.channels:
        for place, secret, mend in description(name).secrets(settings.section(name)):
            yield from _weak((name, *place), secret, mend)


_WEBHOOK = 'make one with `echo "whsec_$(openssl rand -base64 32)"`, and hand it to the agent'


def _weak(path: Path, secret: str, mend: str) -> Iterator[Weak]:
    why = why_weak(secret)
    if why is not None:
        yield path, f"{why}: {mend}"


def _root(secret: str) -> RootKey:
    return RootKey(secret.encode())


def _hashes(root: RootKey) -> frozenset[str]:
    """What the published keys would be stored as. A ``key_hash`` may still be of an earlier root key."""
    return frozenset(hashed for key in published() for hashed in root.hashes(key))
