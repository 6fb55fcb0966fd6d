"""An admin's commands: pause and unpause notices, list and redrive callbacks, make a link to sign in with, reload the
configuration.

Each is one call over HTTP with an admin's key. Source: API.md §5, §9.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from handraise.cli.arguments import AsJson
from handraise.cli.client import Client, part, stop
from handraise.cli.terminal import give_json, one_line, say, warn

_CALLBACK = re.compile(r"[0-9a-f]{32}")
"""How a callback's id looks; a question's is a UUID with its dashes."""


_CANT_BEGIN = 2
"""A configuration that is wrong, as at a start."""


class _CallbackStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    REFUSED = "refused"
    DEAD = "dead"
    ALL = "all"


def list_(
    status: Annotated[_CallbackStatus, typer.Option("--status", help="Which callbacks.")] = _CallbackStatus.DEAD,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List callbacks to agents, newest first: the dead ones, unless told otherwise."""
    query = {"limit": limit} | ({} if status is _CallbackStatus.ALL else {"status": status.value})
    page = Client().get("/v1/callbacks", query)
    if as_json:
        give_json(page)
        return
    if not page["items"]:
        warn(f"no {'' if status is _CallbackStatus.ALL else f'{status.value} '}callbacks")
    for item in page["items"]:
        why = f"  ({one_line(item['reason'], 60)})" if item["reason"] else ""
        tries = f"{item['tries']} tries"
        say(f"{item['id']}  {item['status']:<9}  {tries:<9}  {one_line(item['url'] or '', 60)}{why}")


def redrive(
    callback: Annotated[str, typer.Argument(help="A callback's id (see `callbacks`), or a question's id or ref.")],
    as_json: AsJson = False,
) -> None:
    """Send a dead or refused callback again, under the same webhook-id."""
    client = Client()
    wanted = [callback] if _CALLBACK.fullmatch(callback) else _of_question(client, callback)
    sent_again = []
    for one in wanted:
        sent = client.post(f"/v1/callbacks/{part(one)}/redrive")
        sent_again.append(sent)
        if not as_json:
            say(f"{sent['id']}: on its way again to {one_line(sent['url'] or '', 200)}")

    if as_json:
        give_json({"items": sent_again})


def _of_question(client: Client, reference: str) -> list[str]:
    """Its callbacks that did not arrive."""
    found = client.find(reference)
    entries = client.get(f"/v1/suspensions/{found['id']}/timeline")["items"]
    callbacks = [entry for entry in entries if entry["kind"] == "callback"]
    failed = [entry["id"] for entry in callbacks if entry["status"] in {"dead", "refused"}]
    if not failed:
        said = ", ".join(entry["status"] for entry in callbacks) or "there is none"
        stop(f"{found['ref']} has no dead or refused callback ({said})", 1)
    return failed


def pause(
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; operators are told.")] = None,
    as_json: AsJson = False,
) -> None:
    """Pause all new notices: nobody is asked anything. Answers, callbacks and the clock go on."""
    shown = Client().post("/v1/pause", {} if reason is None else {"reason": reason})
    if as_json:
        give_json(shown)
        return
    say(f"Paused since {shown['paused_at']} by {shown['paused_by']}. `handraise unpause` ends it.")


def unpause(as_json: AsJson = False) -> None:
    """Let notices leave again: each question that is still open asks once."""
    shown = Client().delete("/v1/pause")
    if as_json:
        give_json(shown)
        return
    say(f"Notices leave again: {shown['released']} that waited go out, {shown['dropped']} older ones were dropped.")


def warn_if_paused(client: Client) -> None:
    """A line above whatever is listed, for whoever wonders why nobody answers."""
    shown = client.get("/v1/pause")
    if shown["paused"]:
        warn(f"New notices are paused since {shown['paused_at']}; {shown['held']} wait.")


def signin_link(
    email: Annotated[str, typer.Argument(help="Whose link it is: somebody of the directory, by e-mail.")],
    as_json: AsJson = False,
) -> None:
    """Make a link by which EMAIL signs in to the pages, once, within 15 minutes. Needs an admin's key.

    Whoever has the link is that person to the pages: hand it over where nobody else reads it.
    """
    made = Client().post("/v1/signin-links", {"email": email})
    if as_json:
        give_json(made)
        return
    say(made["url"])
    say(f"It works once, until {made['expires_at']}.")


def reload(
    force: Annotated[
        bool, typer.Option("--force", help="Take it in also if no admin's key, no key or nobody to ask would be left.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have the running service read its configuration again: people, groups, keys, the allow-list, channels' settings.

    What can't change without a restart is named, and stays as it is. A wrong file changes nothing: every error is
    printed, and the exit status is 2. So does a file that would leave no admin's key, no key or nobody to ask where
    there were some, or make your own key no admin's; --force takes that in. Other processes on the same PostgreSQL
    follow within seconds.
    """
    done = Client(refused=_CANT_BEGIN).post("/v1/reload?force=true" if force else "/v1/reload")
    if as_json:
        give_json(done)
        return
    for warning in done["warnings"]:
        warn(f"handraise: warning: {warning}")
    for waiting in done["needs_restart"]:
        warn(f"handraise: warning: {waiting['message']}")
    changed = ", ".join(done["changed"])
    say(f"Taken in: {changed}." if changed else "Nothing that can be taken in has changed.")
