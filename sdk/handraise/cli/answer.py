"""``handraise answer``, ``claim``, ``release``, ``assign``, ``clarify``: what somebody does who may answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from handraise.cli.arguments import AsJson, Id, length
from handraise.cli.client import Client
from handraise.cli.terminal import give_json, say


def answer(
    suspension: Id,
    value: Annotated[str, typer.Argument(help="A choice's value, yes or no, or a text.")],
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; the agent gets it too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer an open question."""
    client = Client()
    found = client.find(suspension)
    body: dict[str, Any] = {"suspension_id": found["id"], "value": value, "metadata": {"via": "cli"}}
    if reason is not None:
        body["metadata"]["reason"] = reason
    done = client.post(f"/v1/intents/{found['intent_id']}/suspend/respond", body)
    if as_json:
        give_json(done)
    elif "required" in done:
        say(f"{found['ref']}: recorded {value!r}, {done['received']} of {done['required']} answers")
    else:
        say(f"{found['ref']}: recorded {done['value']!r} by {done['responded_by']}")


def claim(
    suspension: Id,
    stretch: Annotated[
        int | None,
        typer.Option(
            "--for", parser=length, metavar="LENGTH", help="How long, 1m to 2h. Default: what the service has, 30m."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say that you are on it: nobody else is asked meanwhile. It answers nothing."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/claim", {} if stretch is None else {"seconds": stretch})
    if as_json:
        give_json(done)
    else:
        say(f"{found['ref']}: {done['claimed_by']} is on it until {done['claim_until']}")


def release(suspension: Id, as_json: AsJson = False) -> None:
    """Give a claim back: what waited for you goes out."""
    client = Client()
    found = client.find(suspension)
    done = client.delete(f"/v1/suspensions/{found['id']}/claim")
    if as_json:
        give_json(done)
    else:
        say(f"{found['ref']}: given back, reminders go on")


def assign(
    suspension: Id,
    to: Annotated[str, typer.Argument(help="The person who takes it over, by e-mail.")],
    as_json: AsJson = False,
) -> None:
    """Hand an open question over to one person, who is asked at once."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/assign", {"to": to})
    if as_json:
        give_json(done)
    else:
        say(f"{done['ref']}: handed over to {done['assigned_to']}")


def clarify(
    suspension: Id,
    question: Annotated[str, typer.Argument(help="The question to the agent.")],
    as_json: AsJson = False,
) -> None:
    """Ask the agent back; reminders and the deadline wait until it answers."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/clarify", {"question": question})
    if as_json:
        give_json(done)
        return
    until = done["clarification"]["held_until"]
    say(f"{done['ref']}: asked back, reminders and the deadline wait until {until} at the latest")
