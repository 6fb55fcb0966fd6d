"""``handraise keys``: make API keys and webhook secrets. Opens the database, and prints each secret once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.domain.people import Role

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
    from bot.commands import making_keys

    made = making_keys.make(config, name, [one.value for one in role])
    print(f"name            {name}")
    print(f"roles           {', '.join(made.roles)}")
    print(f"api key         {made.secret}")
    print(f"webhook secret  {made.webhook_secret}")
    print("They are shown only now. The key is stored as a hash, the secret not at all.")


@app.command()
def rotate(name: Name, config: Config = None) -> None:
    """Add a webhook secret to the key NAME; the one before stays valid until the next rotation."""
    from bot.commands import making_keys

    print(f"webhook secret  {making_keys.renew(config, name)}")
    print("Callbacks are signed with it and with the one before, from now on.")


@app.command("list")
def show(config: Config = None) -> None:
    """List the keys of the configuration and of the database, without their secrets."""
    from bot.commands import making_keys

    for name, roles, where in making_keys.known(config):
        print(f"{name}  {roles}  ({where})")


@app.command("hash")
def hash_key(config: Config = None) -> None:
    """Read a key from standard input and print its key_hash for the configuration."""
    from bot.commands import making_keys

    print(making_keys.hashed(config, sys.stdin.readline().strip()))
