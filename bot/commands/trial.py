"""A trial for ``handraise doctor --send``: one real question to one person, through the running service.

It says where the question went, waits for the answer and prints it. Ctrl-C cancels the question. It is asked once and
ends by itself after :data:`SECONDS`.
"""

from __future__ import annotations

import json
import time
from typing import Any

import typer
from handraise.cli.client import Client
from handraise.cli.terminal import give, say, warn

SECONDS = 900
QUESTION = "This is a test of Handraise. Has it reached you?"
CONTEXT = {"why": "Somebody runs `handraise doctor --send`. Any answer will do, and nothing follows from it."}
_WAITS = {"pending", "sending"}
_LOOK_SECONDS = 0.5
_STOPPED = 130
"""As a shell has it for a command that Ctrl-C has ended."""


def ask_one_person(who: str, channel: str | None, *, as_json: bool) -> None:
    """Exit status 0 once they have answered; 1 if they have not, were not reached or the service refuses."""
    client = Client()
    body = {
        "question": QUESTION,
        "response_type": "choice",
        "choices": [{"value": "yes", "label": "Yes, it has"}, {"value": "no", "label": "Not as it should"}],
        "context": CONTEXT,
        "notify_to": who,
        "timeout_seconds": SECONDS,
        "retry_policy": {"max_attempts": 1, "interval_seconds": SECONDS, "final_fallback_policy": "fail"},
        **({} if channel is None else {"channel_hint": channel}),
    }
    asked = client.post("/v1/suspensions", body)
    warn(f"{asked['ref']}: asked {who}; Ctrl-C cancels the question")
    try:
        _wait(client, asked, as_json=as_json)
    except KeyboardInterrupt:
        client.post(f"/v1/suspensions/{asked['suspension_id']}/cancel", {"reason": "the test was stopped"})
        warn(f"{asked['ref']}: cancelled")
        raise typer.Exit(_STOPPED) from None


def _wait(client: Client, asked: dict[str, Any], *, as_json: bool) -> None:
    sent = _deliveries(client, asked["suspension_id"])
    for one in sent:
        why = f": {one['reason']}" if one["reason"] else ""
        warn(f"{asked['ref']}: {one['status']} to {one['recipient']} by {one['channel']}{why}")
    if all(one["status"] in {"refused", "dead"} for one in sent):
        client.post(f"/v1/suspensions/{asked['suspension_id']}/cancel", {"reason": "it reached nobody"})
        warn(f"{asked['ref']}: it has reached nobody, and is cancelled; `handraise doctor` says why")
        raise typer.Exit(1)
    ended = client.wait(asked["suspension_id"])
    if as_json:
        give(
            json.dumps(
                {
                    "ref": asked["ref"],
                    "deliveries": sent,
                    "resolution": ended["resolution"],
                    "response": ended["response"],
                    "responded_by": ended["responded_by"],
                    "channel": ended["channel"],
                },
                ensure_ascii=False,
                indent=2,
            )
        )
    elif ended["resolution"] == "responded":
        say(f"{asked['ref']}: {ended['responded_by']} answered {ended['response']!r} by {ended['channel']}")
    else:
        warn(f"{asked['ref']}: {ended['resolution']}, without an answer")
    raise typer.Exit(0 if ended["resolution"] == "responded" else 1)


def _deliveries(client: Client, suspension_id: str) -> list[dict[str, Any]]:
    """The settled deliveries; the current ones if the question has ended meanwhile."""
    while True:
        items = client.get(f"/v1/suspensions/{suspension_id}/timeline")["items"]
        sent = [one for one in items if one["kind"] == "delivery"]
        ended = client.get(f"/v1/suspensions/{suspension_id}")["status"] != "open"
        if ended or (sent and all(one["status"] not in _WAITS for one in sent)):
            return sent
        time.sleep(_LOOK_SECONDS)
