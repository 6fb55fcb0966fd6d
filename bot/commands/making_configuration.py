"""Making a configuration, for ``handraise init``. A file of its own, because it imports the configuration's reader."""

from __future__ import annotations

import base64
import math
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bot.config.loading import settings_of, without_nulls
from bot.config.settings import Http
from bot.keys import key_file, new_api_key, root_key
from core.domain.root_key import RootKey
from core.errors import ConfigError

AGENT = "agent"
ADMIN = "admin"
"""Whose key the second is, if no person is named."""
_KEYS = ("HANDRAISE_SECRET_KEY", "HANDRAISE_SECRET_KEY_PREVIOUS")
PAGE = "docs/reference/configuration.md"


@dataclass(frozen=True, slots=True)
class FirstSettings:
    """The values of the new file; an empty one is left out, or stands there as an example behind a ``#``."""

    people: Sequence[tuple[str, str]] = ()
    """Names and e-mail addresses; the first is the admin."""
    agent: str = AGENT
    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str | None = None
    database_url: str = "sqlite+aiosqlite:///handraise.db"
    slack_bot_token: str | None = None
    slack_app_token: str | None = None
    slack_channel: str | None = None
    smtp_url: str | None = None
    mail_from: str | None = None
    pagerduty_key: str | None = None


@dataclass(frozen=True, slots=True)
class FirstFile:
    """The file's text, and the secrets that are shown once: the keys by name, and the agent's webhook secret."""

    text: str
    keys: Sequence[tuple[str, str]]
    webhook_secret: str


def make(wanted: FirstSettings, path: Path) -> FirstFile:
    """The content for ``path``. Keys are new, and only their hashes are in it. Raises :class:`InvalidConfiguration`
    if `serve` would refuse it."""
    secret, webhook_secret = secrets.token_hex(32), _webhook_secret()
    admin = wanted.people[0][1] if wanted.people else ADMIN
    keys = [(wanted.agent, new_api_key()), (admin, new_api_key())]
    kept = _kept_key(wanted, path)
    root = kept or RootKey(secret.encode())
    hashes = [root.hash_api_key(key) for _, key in keys]
    text = "\n".join(
        [
            _HEAD,
            _listening(wanted),
            _database(wanted, secret if kept is None else None),
            _keys(keys, hashes, webhook_secret),
            _people(wanted),
            _slack(wanted),
            _mail(wanted),
            _pagerduty(wanted),
            _policy(),
        ]
    )
    settings_of(without_nulls(yaml.safe_load(text)), path, {})
    return FirstFile(text, keys, webhook_secret)


def _kept_key(wanted: FirstSettings, path: Path) -> RootKey | None:
    """The secret key from the environment, or from a service that ran here before: its database needs that one.
    ``None`` if the file should have a new one."""
    named = {name: os.environ[name] for name in _KEYS if name in os.environ}
    settings = settings_of({"database_url": wanted.database_url}, path, named)
    if settings.secret_key is not None:
        return root_key(settings, path.parent)
    return root_key(settings, path.parent) if key_file(settings, path.parent).exists() else None


def write(text: str, path: Path, *, over: bool) -> None:
    """Write ``path``, mode 0600, whole or not at all; ``over`` an existing file if allowed.

    Raises :class:`ConfigError`.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp makes it 0600
        fresh = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if over:
                fresh.replace(path)
            else:
                path.hardlink_to(fresh)  # never overwrites a file, even one made meanwhile
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        raise there_already(path) from None
    except OSError as failure:
        raise ConfigError(f"{path} can't be written: {failure.strerror}.") from None


def there_already(path: Path) -> ConfigError:
    return ConfigError(f"{path} is there already, and stays as it is. --force writes it anew.")


def _webhook_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def _quoted(text: str) -> str:
    """As YAML's double-quoted text: unprintable characters are escaped."""
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf).rstrip("\n")


_HEAD = f"""# Handraise. `handraise check` reads this file, and `handraise serve` runs by it.
# People, keys and channels are taken in while it runs: `handraise reload`.
# Every setting, with its default and its variable: {PAGE}
"""


def _listening(wanted: FirstSettings) -> str:
    url = "#public_url: https://handraise.example.com" if wanted.public_url is None else _public(wanted.public_url)
    return f"""# Where the service listens. Off loopback every way in needs its secret.
http: {{host: {_quoted(wanted.host)}, port: {wanted.port}}}
# The address at which people reach it, usually a reverse proxy's. Without it, links lead to this machine.
{url}
"""


def _public(url: str) -> str:
    return f"public_url: {_quoted(url)}"


def _database(wanted: FirstSettings, secret: str | None) -> str:
    key = "# The secret key stays where it is: in HANDRAISE_SECRET_KEY, or in the file beside the database."
    if secret is not None:
        key = f"""# Signs links, keys and the audit trail. Back it up: what it has signed ends with it.
# HANDRAISE_SECRET_KEY takes its place if it is set, and ends the keys below.
secret_key: {secret}"""
    return f"""# SQLite for one process; postgresql+psycopg://user:password@host/name for several.
database_url: {_quoted(wanted.database_url)}
{key}
"""


def _keys(keys: Sequence[tuple[str, str]], hashes: Sequence[str], webhook_secret: str) -> str:
    (agent, _), (admin, _) = keys
    return f"""# Keys, by their hashes: the keys themselves were shown when this file was made.
# More: handraise keys create NAME --role agent (kept in the database).
api_keys:
  - name: {_quoted(agent)}
    roles: [agent]
    key_hash: {hashes[0]}
    webhook_secrets: [{webhook_secret}]  # signs the callbacks to the agent
  - name: {_quoted(admin)}
    roles: [admin]
    key_hash: {hashes[1]}
"""


def _people(wanted: FirstSettings) -> str:
    listed = [f"  - {{name: {_quoted(name)}, email: {_quoted(mail)}}}" for name, mail in wanted.people]
    example = "#  - {name: Alice, email: alice@example.com, groups: [finance]}"
    entries = "\n".join(["people:", *listed] if listed else ["#people:", example])
    return f"""# Who may be asked. group:finance asks a whole group.
{entries}
# Whom agents may have asked besides. Absent: people and groups, and what the channels name.
#recipients: {{allow: ["*@example.com", "group:*", "slack:C0123456789"]}}
"""


def _slack(wanted: FirstSettings) -> str:
    about = "# Slack over sockets: a bot token and an app-level token (docs/how-to/slack.md)."
    if wanted.slack_bot_token is None:
        return f"""{about}
#slack:
#  bot_token: xoxb-…
#  app_token: xapp-…
#  default_channel: C0123456789
"""
    tokens = [f"  bot_token: {_quoted(wanted.slack_bot_token)}"]
    tokens += [f"  app_token: {_quoted(wanted.slack_app_token)}"] if wanted.slack_app_token else []
    tokens += [f"  default_channel: {_quoted(wanted.slack_channel)}"] if wanted.slack_channel else []
    return "\n".join([about, "slack:", *tokens, ""])


def _mail(wanted: FirstSettings) -> str:
    about = "# Mail goes out by this server. How replies come in: docs/how-to/mail.md."
    if wanted.smtp_url is None and wanted.mail_from is None:
        return f"""{about}
#email:
#  smtp_url: smtp://user:password@mail.example.com:587
#  from: Handraise <handraise@example.com>
"""
    lines = [f"  smtp_url: {_quoted(wanted.smtp_url)}"] if wanted.smtp_url else []
    lines += [f"  from: {_quoted(wanted.mail_from)}"] if wanted.mail_from else []
    if not Http(host=wanted.host).is_loopback:  # there, mail has to have a door
        lines.append(f"  inbound_secret: {secrets.token_hex(32)}  # signs mail that is posted to /email/inbound")
    return "\n".join([about, "email:", *lines, ""])


def _pagerduty(wanted: FirstSettings) -> str:
    about = "# PagerDuty: the integration key of a service, Events API v2 (docs/how-to/pagerduty.md)."
    if wanted.pagerduty_key is None:
        return f"""{about}
#pagerduty:
#  routing_key: 0123456789abcdef0123456789abcdef
"""
    return f"""{about}
pagerduty:
  routing_key: {_quoted(wanted.pagerduty_key)}
"""


def _policy() -> str:
    return """# What holds if neither an agent nor its call says otherwise: asked three times, an hour apart.
suspension:
  default_retry_policy: {max_attempts: 3, interval_seconds: 3600, final_fallback_policy: fail}
"""
