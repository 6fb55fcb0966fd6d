"""The configuration of a test's service: three channels, a few people, everybody may be asked."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bot.config.loading import load
from bot.config.settings import Settings
from core.errors import ConfigError

AGENT_KEY = "agent-key-of-the-tests"
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PEOPLE = (
    {"name": "Alice", "email": "alice@example.com", "groups": ["finance"]},
    {"name": "Bob", "email": "bob@example.com", "groups": ["finance"]},
    {"name": "Sam", "email": "supervisor@example.com"},
)

_OURS = {"database_url", "secret_key", "secret_key_previous", "http", "public_url", "api_keys"}
"""What the plugin itself has to set."""


def key_of(person: str) -> str:
    """The API key with which that person answers; everybody in ``people`` has one, with the role ``operator``."""
    return f"key-of-{person}"


def settings_for(given: Mapping[str, Any], file: Path) -> Settings:
    """The defaults with ``given`` over them, key by key in each section, for a service whose database is ``file``.

    Raises :class:`ConfigError`, which names the key, for what ``handraise.yaml`` may not hold either, or what the
    plugin sets.
    """
    if taken := sorted(_OURS & set(given)):
        raise ConfigError(f"handraise_settings: {taken[0]} is set by the plugin")
    people = _with_accounts(given.get("people", PEOPLE))
    mails = [one["email"] for one in people if isinstance(one.get("email"), str)]
    defaults: dict[str, Any] = {
        "slack": {"bot_token": "xoxb-none", "signing_secret": "no-slack-secret", "default_channel": "C0HANDRAISE"},
        "email": {
            "smtp_url": "smtp://127.0.0.1:1",
            "from": "Handraise <handraise@handraise.example>",
            "default_to": [mails[0]] if mails else [],
        },
        "pagerduty": {"routing_key": "0" * 32, "api_token": "none", "from_email": "handraise@handraise.example"},
        "recipients": {"allow": ["*"]},
        "suspension": {"default_channel": "slack"},
        "resume": {"allow_networks": ["127.0.0.0/8", "::1/128"]},
        "database": {"statement_seconds": 60, "transaction_seconds": 120},
    }
    merged = {**defaults, **{name: _over(defaults.get(name), value) for name, value in given.items()}}
    operators = [{"name": mail, "key": key_of(mail), "roles": ["operator"]} for mail in mails]
    agent = {"name": "agent", "key": AGENT_KEY, "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]}
    return _checked(
        {
            **merged,
            "people": people,
            "database_url": f"sqlite+aiosqlite:///{file}",
            "secret_key": "the-secret-key-of-the-tests-alone",
            "api_keys": [agent, *operators],
        }
    )


def _with_accounts(people: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Everybody has an account in Slack, and can be asked there."""
    return [{"slack_user_id": f"U0PERSON{number}", **one} for number, one in enumerate(people, 1)]


def _over(below: Any, above: Any) -> Any:
    return {**below, **above} if isinstance(below, Mapping) and isinstance(above, Mapping) else above


def _checked(values: Mapping[str, Any]) -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "handraise_settings"
        file.write_text(yaml.safe_dump(dict(values)))
        try:
            return load(file, {})
        except ConfigError as wrong:
            raise ConfigError(wrong.message.replace(str(file), file.name)) from None
