"""``handraise keys``: make, renew and revoke API keys and webhook secrets. Opens the database, and prints each
secret once. A running service needs no restart: it knows within five seconds."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.terminal import give_json, say, warn

from core.domain.people import Role
from core.errors import ConfigError

if TYPE_CHECKING:
    from bot.commands.making_keys import Renewed

app = typer.Typer(help="Make, renew and revoke API keys and webhook secrets.", no_args_is_help=True)

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LONGEST_OVERLAP = timedelta(days=365)

Config = Annotated[Path | None, typer.Option("--config", help="The configuration file.")]
Name = Annotated[str, typer.Argument(help="The key's name; an e-mail address makes it that person's.")]


@app.command()
def create(
    name: Name,
    role: Annotated[list[Role], typer.Option("--role", help="agent, operator or admin; may be repeated.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a key NAME with the given roles; prints it and its webhook secret, once."""
    from bot.commands import making_keys

    made = making_keys.make(config, name, [one.value for one in role])
    if as_json:
        written = {"name": made.name, "roles": [*made.roles]}
        give_json({**written, "api_key": made.secret, "webhook_secret": made.webhook_secret})
        return
    say(f"name            {made.name}")
    say(f"roles           {', '.join(made.roles)}")
    say(f"api key         {made.secret}")
    say(f"webhook secret  {made.webhook_secret}")
    say("They are shown only now. The key is stored as a hash, the secret not at all.")


@app.command()
def rotate(
    name: Name,
    api_key: Annotated[
        bool, typer.Option("--api-key", help="Renew the API key instead of the webhook secret.")
    ] = False,
    overlap: Annotated[
        str, typer.Option("--overlap", help="How long the old API key works beside the new one: 24h, 30m, 7d, 0.")
    ] = "24h",
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a webhook secret to the key NAME; the one before stays valid until the next rotation.

    With --api-key, make a new API key under the same name, roles and webhook secrets.
    """
    from bot.commands import making_keys

    if api_key:
        _show_renewed(making_keys.renew_api_key(config, name, _overlap(overlap)), as_json=as_json)
        return
    secret = making_keys.renew(config, name)
    if as_json:
        give_json({"name": name, "webhook_secret": secret})
        return
    say(f"webhook secret  {secret}")
    say("Callbacks are signed with it and with the one before, from now on.")


def _show_renewed(renewed: Renewed, *, as_json: bool) -> None:
    if as_json:
        until = None if renewed.until is None else f"{renewed.until:%Y-%m-%dT%H:%M:%SZ}"
        give_json({"api_key": renewed.secret, "old_key_until": until})
        return
    say(f"api key         {renewed.secret}")
    say("It is shown only now, and stored as a hash.")
    where = "The key of the configuration" if renewed.in_file else "The key before it"
    if renewed.until is None:
        say(f"{where} does not work any more.")
    else:
        say(f"{where} works until {renewed.until:%Y-%m-%d %H:%M:%S} UTC; no older one does.")


def _overlap(text: str) -> timedelta:
    """The length of ``24h``, ``30m``, ``7d`` or ``90`` (seconds)."""
    found = re.fullmatch(r"([0-9]{1,8})([smhd]?)", text.strip().lower())
    length = timedelta(seconds=int(found[1]) * _SECONDS[found[2]]) if found else None
    if length is None or length > _LONGEST_OVERLAP:
        raise ConfigError("--overlap must be a number with s, m, h or d, such as 24h, and a year at most.")
    return length


@app.command()
def revoke(name: Name, config: Config = None, as_json: AsJson = False) -> None:
    """Revoke the key NAME for good, wherever it is kept; its open streams and waits end within five seconds.

    A key of the configuration stays revoked, though it still stands there. `keys create NAME` makes a new key of that
    name.
    """
    from bot.commands import making_keys

    at = making_keys.revoke(config, name)
    if as_json:
        give_json({"name": name, "revoked_at": f"{at:%Y-%m-%dT%H:%M:%SZ}"})
    else:
        say(f"{name} is revoked since {at:%Y-%m-%d %H:%M:%S} UTC.")


@app.command("list")
def show(config: Config = None, as_json: AsJson = False) -> None:
    """List the keys of the configuration and of the database, without their secrets."""
    from bot.commands import making_keys

    known = [*making_keys.known(config)]
    if as_json:
        give_json({"items": [{"name": name, "roles": roles, "kept_in": where} for name, roles, where in known]})
        return
    for name, roles, where in known:
        say(f"{name}  {roles}  ({where})")


@app.command("hash")
def hash_key(config: Config = None, as_json: AsJson = False) -> None:
    """Read a key from standard input and print its key_hash for the configuration."""
    from bot.commands import making_keys

    made, warning = making_keys.hashed(config, sys.stdin.readline().strip())
    if warning is not None:
        warn(f"handraise: warning: {warning}")
    if as_json:
        give_json({"key_hash": made})
    else:
        say(made)
