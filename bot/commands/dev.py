"""``handraise dev``: a service for one person and the agents on this machine, without a file and without a vendor.

``dev_folder`` keeps what a next start goes on with. The person's own key is new at each start and is kept nowhere: they
answer in the browser.

Source: API.md §9; docs/decisions/0109.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from handraise.cli.terminal import one_line

if TYPE_CHECKING:
    from bot.commands.dev_folder import DevFolder
    from bot.config.settings import Settings
    from bot.wiring.service import Service

PORT, PORTS = 8080, 20
"""The first port that is tried, and how many."""


def dev(
    person: Annotated[str | None, typer.Option("--as", metavar="EMAIL", help="Who you are.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="The port: by default 8080, or the next free one.")
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open your inbox in the browser, signed in.")] = False,
) -> None:
    """Try it with an agent of yours: a service on this machine, for you alone. Questions wait in your browser.

    It needs no file. What was asked, the agent's key and who you are stay in .handraise/ in this folder, for the next
    start. Only you may read it; but an agent that runs as you is you, and can answer itself. For real: `serve`.
    """
    from bot.commands import dev_folder
    from bot.observability.telemetry import set_up_logging

    folder = dev_folder.found(Path.cwd(), person) or dev_folder.make(Path.cwd(), person or _asked())
    set_up_logging("warning", "text")

    from bot.front.this_machine import ThisMachineAlone  # takes a second, as all of the service does
    from bot.server import serve

    serve(
        _settings(folder, port or free_port()),
        folder.path,
        add_routes=lambda app, _: app.add_middleware(ThisMachineAlone),
        announce=lambda service: _announce(folder, service, opens=opens),
    )


def _asked() -> str:
    """The e-mail of whoever sits at the terminal; git's is proposed, as it is known for all their folders."""
    from bot.commands.configuration import ask_for
    from bot.config import values
    from core.errors import ConfigError

    if not sys.stdin.isatty():
        raise ConfigError("Say who you are: handraise dev --as alice@example.com.")
    return ask_for("Your e-mail address", values.Mail, default=_known_to_git())


def _known_to_git() -> str | None:
    """A checkout's own settings could run programs, and are not read."""
    git = shutil.which("git")
    if git is None:
        return None
    told = subprocess.run(  # noqa: S603 (nothing of it is given)
        [git, "config", "--global", "user.email"], capture_output=True, text=True, check=False, cwd="/"
    )
    return told.stdout.strip() or None


def free_port() -> int:
    """The first port from 8080 on that nobody listens on. Raises :class:`core.errors.ConfigError`."""
    from bot.server import listen
    from core.errors import ConfigError

    for port in range(PORT, PORT + PORTS):
        try:
            listen("127.0.0.1", port).close()
        except ConfigError:
            continue
        return port
    raise ConfigError(f"http: every port from {PORT} to {PORT + PORTS - 1} is taken; give another by --port.")


def _settings(folder: DevFolder, port: int) -> Settings:
    """No file and no variable changes them."""
    from bot.config.loading import settings_of
    from bot.keys import new_api_key

    name = folder.person.partition("@")[0]
    return settings_of(
        {
            "database_url": folder.database_url,
            "http": {"host": "127.0.0.1", "port": port},
            "people": [{"name": name, "email": folder.person}],
            "api_keys": [
                {"name": "agent", "key": folder.agent_key, "roles": ["agent"]},
                {"name": folder.person, "key": new_api_key(), "roles": ["operator"]},
            ],
        },
        None,
        {},
    )


def _announce(folder: DevFolder, service: Service, *, opens: bool) -> str:
    url = service.settings.public_url
    link, _ = service.services.running.links.issue_until(folder.person)
    if opens:
        folder.open_in_browser(link)
    return f"""handraise is ready at {url}

Sign in as {one_line(folder.person, 200)} (once, within 15 minutes):

  {link}

In another terminal:

  export HANDRAISE_URL={url}
  export HANDRAISE_API_KEY={folder.agent_key}

A program to paste:

  from handraise import HandraiseSync

  with HandraiseSync() as people:
      print(people.request_input("Refund order 12345?", choices=["approve", "deny"]))

Ctrl-C ends it. What was asked stays in {folder.path}.
For development alone: an agent that runs as you can read its keys there, and answer in your name."""
