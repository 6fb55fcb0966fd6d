"""Secrets that anybody can read: whatever stands in this repository's files as a secret key, an API key, or the secret
of a webhook. `python -m tests.published` adds what is missing to the list that the product refuses.

A secret is found by what it is called (``secret_key: …``, ``KEYS = {…}``, ``X-API-Key: …``) or by its form
(``whsec_…``, ``hr_…``, 64 hexadecimal digits). What is found besides does no harm: nobody's random key is among it.
"""

from __future__ import annotations

import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.config.published import LIST, is_guessable, published, why_weak

ROOT = Path(__file__).parents[1]

_NAME = (
    r"(?:secret_keys?(?:_previous)?|(?:inbound|signing|webhook|client)_secrets?|api_?keys?|x-api-key|key_hash|key"
    r"|[a-z_]*(?:secret|keys?)(?=\s*=\s*b?[\"'\[{(]))"
)
_QUOTED_VALUE = re.compile(rf"(?i)(?<![a-z]){_NAME}\\?[\"']?\s*[:=]\s*[\[(]?\s*b?(?:\"([^\"\n]+)\"|'([^'\n]+)')")
_BARE_VALUE = re.compile(rf"(?i)(?<![a-z]){_NAME}[\"']?\s*[:=]\s*\[?\s*([^\s\"'`,\]}})\[({{#$<]+)")
"""As YAML, a shell and a header have it. In a program this is a variable's name."""
_LISTS = re.compile(r"(?is)(?<![a-z])[a-z_]*(?:keys|secrets?)\b[\"']?[^=:\n]*[:=]\s*[\[({]([^\])}]*)[\])}]")
_QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
_FORMED = re.compile(r"whsec_[A-Za-z0-9+/=]{8,}|hr_[A-Za-z0-9_-]{16,}|(?<![0-9a-f:])[0-9a-f]{64}(?![0-9a-f])")
_CALLED_SO = re.compile(r"""["']((?=[^"']*(?:key|secret))[A-Za-z0-9]+(?:-[A-Za-z0-9]+){2,})["']""")
_REPEATED = re.compile(r"""b?["']([!-~]{1,64})["'] \* (\d{1,3})\b""")

_A_SECRET = re.compile(r"(?=.*[^A-Za-z])[A-Za-z0-9_+/=.:~!-]{4,200}|[A-Za-z0-9 .:_-]{32,200}")
"""A word alone is too short for a key, and is what settings are called."""
_NO_SECRETS = {"requirements.lock", "requirements-prod.lock", "requirements.txt", "schemas", "static", LIST.name}
"""Sums of packages, others' files, and the list itself."""


def renew_secrets(written: dict[str, Any]) -> None:
    """Give a configuration secrets of its own: those of the tests stand in the repository, and are refused wherever it
    says that others come in. Its ``secret_key`` stays if it is not published."""
    if why_weak(written.get("secret_key") or ""):
        written["secret_key"] = secrets.token_hex(32)
    for entry in written.get("api_keys", ()):
        entry["key"] = secrets.token_hex(16)
        entry.pop("webhook_secrets", None)
    for section, name in (("slack", "signing_secret"), ("email", "inbound_secret")):
        if name in written.get(section, {}):
            written[section][name] = secrets.token_hex(16)
    if "pagerduty" in written:
        written["pagerduty"]["webhook_secrets"] = [secrets.token_hex(16)]


def collected() -> frozenset[str]:
    """Every secret in the files that the repository keeps."""
    return frozenset(value for path in _files() for value in secrets_in(path))


def secrets_in(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return
    for found in _values(text, is_program=path.suffix in {".py", ".js", ".html"}):
        if _A_SECRET.fullmatch(value := found.strip()):
            yield value


def _values(text: str, *, is_program: bool) -> Iterator[str]:
    for double, single in _QUOTED_VALUE.findall(text):
        yield double or single
    if not is_program:
        yield from _BARE_VALUE.findall(text)
    for listed in _LISTS.finditer(text):
        yield from _QUOTED.findall(listed[1])
    yield from _FORMED.findall(text)
    yield from _CALLED_SO.findall(text)
    for part, times in _REPEATED.findall(text):
        yield part * int(times)


def _files() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and not _NO_SECRETS & {path.name, path.parent.name} and path.is_file():
            yield path


if __name__ == "__main__":
    known = published() | {value for value in collected() if not is_guessable(value)}
    LIST.write_text("".join(f"{value}\n" for value in sorted(known)), encoding="utf-8")
