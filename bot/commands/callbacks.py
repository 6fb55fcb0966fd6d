"""``handraise callbacks`` and ``redrive``: which agents could not be called back, and calling them again.

Source: API.md §5, §9.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from bot.commands.client import Client, stop
from bot.commands.terminal import one_line

_CALLBACK = re.compile(r"[0-9a-f]{32}")
"""How a callback's id looks; a question's is a UUID with its dashes."""


class _Status(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    REFUSED = "refused"
    DEAD = "dead"
    ALL = "all"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("callbacks")(list_)
    app.command()(redrive)


def list_(
    status: Annotated[_Status, typer.Option("--status", help="Which callbacks.")] = _Status.DEAD,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
) -> None:
    """List callbacks to agents, newest first: the dead ones, unless told otherwise."""
    query = {"limit": limit} | ({} if status is _Status.ALL else {"status": status.value})
    for item in Client().get("/v1/callbacks", query)["items"]:
        why = f"  ({one_line(item['reason'], 60)})" if item["reason"] else ""
        tries = f"{item['tries']} tries"
        print(f"{item['id']}  {item['status']:<9}  {tries:<9}  {one_line(item['url'] or '', 60)}{why}")


def redrive(
    callback: Annotated[str, typer.Argument(help="A callback's id (see `callbacks`), or a question's id or ref.")],
) -> None:
    """Send a dead or refused callback again, under the same webhook-id."""
    client = Client()
    for wanted in [callback] if _CALLBACK.fullmatch(callback) else _of_question(client, callback):
        sent = client.post(f"/v1/callbacks/{wanted}/redrive")
        print(f"{sent['id']}: on its way again to {one_line(sent['url'] or '', 200)}")


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
