"""``handraise list``, ``show``, ``timeline`` and ``whoami``: what waits, one question, what happened, and whose key."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from handraise.cli.admin import warn_if_paused
from handraise.cli.arguments import AsJson, Id
from handraise.cli.card import card, channels_of, entry_words, moment
from handraise.cli.client import Client
from handraise.cli.terminal import give_json, one_line, say, say_lines, warn

_PAGE = 200
_MOST_COUNTED = 1_000
"""Above it the number of questions is not counted: each page of the API has whole records."""
_BESIDE_QUESTION = 64
"""Characters of a line of the list that are not the question's."""


class _Status(StrEnum):
    OPEN = "open"
    RESPONDED = "responded"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    ALL = "all"


def list_(
    status: Annotated[_Status, typer.Option("--status", help="Which questions, by how they stand.")] = _Status.OPEN,
    mine: Annotated[
        bool, typer.Option("--mine", help="Only what waits for your own answer; with an agent's key, what it asked.")
    ] = False,
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Only questions with these words, or this ref.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List questions, newest first. With --mine, the soonest deadline first."""
    client = Client()
    path, query = "/v1/suspensions", {} if status is _Status.ALL else {"status": status.value}
    if search is not None:
        query["q"] = search
    if mine and _answers(client):
        if status is not _Status.OPEN or search is not None:
            raise typer.BadParameter("takes neither --status nor --search with this key.", param_hint="'--mine'")
        path, query = "/v1/inbox", {}
    shown, total = _gather(client, path, query, limit)
    if as_json:
        give_json({"items": shown, "total": total})
        return
    warn_if_paused(client)
    for item in shown:
        say(_line(item))
    if not shown:
        warn(f"no {'' if status is _Status.ALL else f'{status.value} '}questions")
    elif total is None:
        warn(f"{len(shown)} of more than {_MOST_COUNTED}. More of them: --limit {min(10_000, limit * 2)}")
    elif total > len(shown):
        warn(f"{len(shown)} of {total}. All of them: --limit {total}")


def _answers(client: Client) -> bool:
    """Whether somebody answers with this key. An agent's own key lists what it has asked anyway."""
    return bool({"operator", "admin"} & set(client.get("/v1/me")["roles"]))


def _gather(client: Client, path: str, query: Mapping[str, str], limit: int) -> tuple[list[dict[str, Any]], int | None]:
    """The first ``limit`` questions, and how many there are; ``None`` if that would take too long to count."""
    shown: list[dict[str, Any]] = []
    counted = 0
    for page in _pages(client, path, query, limit):
        shown += page["items"][: limit - len(shown)]
        counted += len(page["items"])
        if isinstance(page.get("total"), int):
            counted = page["total"]
            if len(shown) >= limit:
                break
        elif counted > max(limit, _MOST_COUNTED):
            return shown, None
    return shown, max(counted, len(shown))


def _pages(client: Client, path: str, query: Mapping[str, str], limit: int) -> Iterator[dict[str, Any]]:
    wanted: dict[str, Any] = {**query, "limit": min(limit, _PAGE)}
    while True:
        page = client.get(path, wanted)
        yield page
        if page["next_cursor"] is None:
            return
        wanted = {**query, "limit": _PAGE, "cursor": page["next_cursor"]}


def _line(item: dict[str, Any]) -> str:
    width = 60
    if sys.stdout.isatty():
        width = min(60, max(20, shutil.get_terminal_size().columns - _BESIDE_QUESTION))
    ends = "for ever" if item["expires_at"] is None else f"until {moment(item['expires_at'])}"
    state = f"attempt {item['attempt']}/{item['max_attempts']}, {ends}"
    return f"{item['ref']:<9} {item['status']:<10} {one_line(item['question'], width):<{width}} {state}"


def show(suspension: Id, as_json: AsJson = False) -> None:
    """Show one question: what is asked, with what, of whom and when, and how it stands."""
    client = Client()
    found = client.find(suspension)
    path = f"/v1/suspensions/{found['id']}"
    notice, entries = client.get(f"{path}/notice"), client.get(f"{path}/timeline")["items"]
    if as_json:
        give_json({"suspension": found, "notice": notice, "timeline": entries})
        return
    for indent, text in card(found, notice, entries):
        say_lines(text, indent)


def timeline(suspension: Id, as_json: AsJson = False) -> None:
    """Show everything that has happened to one question, in order."""
    client = Client()
    found = client.find(suspension)
    path = f"/v1/suspensions/{found['id']}"
    read = client.get(f"{path}/timeline")
    if as_json:
        give_json(read)
        return
    channels = channels_of(client.get(f"{path}/notice"))
    for entry in read["items"]:
        say(f"{entry['at']}  {entry_words(entry, channels)}")


def whoami(as_json: AsJson = False) -> None:
    """Show whose the key is, what it may do, and which service it speaks to."""
    client = Client()
    me = client.get("/v1/me")
    if as_json:
        give_json({**me, "url": client.url})
        return
    say(f"identity  {me['identity']}")
    say(f"key       {me['name']}")
    say(f"roles     {', '.join(me['roles'])}")
    say(f"service   {client.url}")
