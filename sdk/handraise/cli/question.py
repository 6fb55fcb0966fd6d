"""One question at the command line: asked, told to whoever watches, and waited for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import typer

from handraise.cli.arguments import span
from handraise.cli.card import attempt_words, channels_of
from handraise.cli.client import Client
from handraise.cli.exit_status import INTERRUPTED
from handraise.cli.terminal import one_line, warn

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """``outcome`` is the reply to asking, ``notice`` what people are shown."""

    client: Client
    outcome: Record
    notice: Record

    @property
    def id(self) -> str:
        return str(self.outcome["suspension_id"])

    @property
    def ref(self) -> str:
        return str(self.outcome["ref"])

    @property
    def url(self) -> str | None:
        return self.notice.get("url")

    def ended(self, patience: float) -> Record:
        """The ended record. Raises :class:`typer.Exit` at Ctrl-C: the question is the service's, and stays."""
        try:
            warn(f"{self.ref}: waiting for an answer")
            ended: Record = self.client.wait(self.id, patience)
        except KeyboardInterrupt:
            warn("")
            take_back = f"`handraise cancel {self.ref}` takes it back"
            warn(f"{self.ref}: not waiting any more. The question stays open; {take_back}.")
            raise typer.Exit(INTERRUPTED) from None
        warn(f"{self.ref}: {_ending(ended)}")
        return ended


def ask_people(client: Client, body: Record, key: str | None) -> AskedQuestion:
    """Ask, and say on standard error whom, where it is answered, and what silence means."""
    outcome = client.post("/v1/suspensions", body, key=key)
    notice = client.get(f"/v1/suspensions/{outcome['suspension_id']}/notice")
    for line in _told(outcome, notice):
        warn(f"{outcome['ref']}: {line}")
    return AskedQuestion(client, outcome, notice)


def _told(asked: Record, shown: Record) -> list[str]:
    """Whom it asks, where it is answered, and what happens if nobody answers, and when."""
    attempts = [attempt_words(one, shown.get("people", {}), channels_of(shown)) for one in asked["ladder"]]
    first, rest = attempts[:1], len(attempts) - 1
    more = "" if rest < 1 else f", then {rest} more attempt{'s' if rest > 1 else ''}"
    lines = ["the same question is open already, and nobody is asked twice"] if asked.get("joined") else []
    lines += [f"asks {one_line(first[0], 300)}{more}"] if first else []
    if shown.get("url"):
        lines.append(str(shown["url"]))
    lines += [one_line(f"attempt {one['attempt']}: {one['message']}", 400) for one in asked.get("problems", [])]
    return [*lines, _silence(asked)]


def _silence(asked: Record) -> str:
    """What happens if nobody answers, when, and in how long."""
    said = one_line(asked["silence"], 400)
    if asked["expires_at"] is None:
        return said
    end, start = (datetime.fromisoformat(asked[name]) for name in ("expires_at", "suspended_at"))
    return f"{said} That is in {span(end - start)}."


def _ending(ended: Record) -> str:
    """How it ended, and why."""
    why = f": {one_line(ended['reason'], 400)}" if ended["reason"] else ""
    if ended["resolution"] == "responded":
        return f"answered by {ended['responded_by']}{why}"
    if ended["continued_with"] is None:
        return f"{ended['resolution']}, without an answer{why}"
    return "nobody answered; what was agreed for that case counts"
