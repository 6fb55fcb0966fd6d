"""``handraise keys``: make API keys and webhook secrets. Opens the database, and prints each secret once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.keys import RootKey, new_api_key, root_key
from core.domain.people import Role
from core.errors import ConfigError
from core.store import keeping, schema
from core.store.database import Database, Tx, open_database
from core.store.keeping import StoredKey
from core.store.unusable import opening

app = typer.Typer(help="Make API keys and rotate webhook secrets.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option("--config", help="The configuration file.")]
Name = Annotated[str, typer.Argument(help="The key's name; an e-mail address makes it that person's.")]


@app.command()
def create(
    name: Name,
    role: Annotated[list[Role], typer.Option("--role", help="agent, operator or admin; may be repeated.")],
    config: Config = None,
) -> None:
    """Make a key NAME with the given roles; prints it and its webhook secret, once."""
    database, root, configured = _open(config)
    if name in configured:
        raise ConfigError(f"The configuration has a key named {name} already.")
    with database.engine.begin() as conn:
        if keeping.key_by_name(conn, name) is not None:
            raise ConfigError(f"There is a key named {name} already; `handraise keys rotate {name}` renews its secret.")
        secret = new_api_key()
        roles = tuple(sorted(one.value for one in role))
        made = StoredKey(name, root.hash_api_key(secret), roles, generation=1)
        keeping.put_key(Tx(conn), made, datetime.now(UTC))
    print(f"name            {name}")
    print(f"roles           {', '.join(roles)}")
    print(f"api key         {secret}")
    print(f"webhook secret  {root.webhook_secret(name, 1)}")
    print("They are shown only now. The key is stored as a hash, the secret not at all.")


@app.command()
def rotate(name: Name, config: Config = None) -> None:
    """Add a webhook secret to the key NAME; the one before stays valid until the next rotation."""
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
    print(f"webhook secret  {root.webhook_secret(name, renewed.generation)}")
    print("Callbacks are signed with it and with the one before, from now on.")


@app.command("list")
def show(config: Config = None) -> None:
    """List the keys of the configuration and of the database, without their secrets."""
    database, _, configured = _open(config)
    with database.engine.connect() as conn:
        stored = {key.name: ", ".join(key.roles) for key in keeping.all_keys(conn)}
    for name, roles in sorted({**stored, **configured}.items()):
        where = "configuration" if name in configured else "database"
        print(f"{name}  {roles}  ({where})")


@app.command("hash")
def hash_key(config: Config = None) -> None:
    """Read a key from standard input and print its key_hash for the configuration."""
    import sys

    _, root, _ = _open(config)
    print(root.hash_api_key(sys.stdin.readline().strip()))


def _open(config: Path | None) -> tuple[Database, RootKey, dict[str, str]]:
    """The database with its schema ready, the root key, and the configured keys' names and roles."""
    from bot.commands.setting_up import settings_and_folder

    settings, folder = settings_and_folder(config)
    database = open_database(settings.database_url)
    with opening(database.engine.url):
        schema.prepare(database)
    configured = {entry.name: ", ".join(sorted(entry.roles)) for entry in settings.api_keys}
    return database, root_key(settings, folder), configured
