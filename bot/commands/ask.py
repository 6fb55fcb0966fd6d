"""``handraise ask``, ``answer``, ``list``, ``show``: the API from a terminal, over HTTP.

Where the service is and who is asking comes from ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from bot.commands.client import Client
from bot.commands.pause import warn_if_paused
from bot.commands.terminal import one_line

Id = Annotated[str, typer.Argument(help="The suspension's id, or its ref (HR-7F3K).")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(ask)
    app.command()(answer)
    app.command()(assign)
    app.command()(clarify)
    app.command("list")(list_)
    app.command()(show)


def ask(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    choice: Annotated[list[str] | None, typer.Option("--choice", help="VALUE or VALUE=LABEL; may be repeated.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Whom to ask: an e-mail, group:NAME, slack:C…")] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="slack, email or pagerduty.")] = None,
    timeout: Annotated[int | None, typer.Option("--timeout", min=1, help="Seconds until nobody answered.")] = None,
    fallback: Annotated[str | None, typer.Option("--fallback", help="What to go on with if nobody answers.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it alone.")] = False,
) -> None:
    """Ask a person. With no --choice, any text is an answer; with yes and no, it is a confirmation."""
    body = _question(question, choice or [])
    optional = {"notify_to": to, "channel_hint": channel, "timeout_seconds": timeout}
    body |= {name: value for name, value in optional.items() if value is not None}
    if fallback is not None:
        body |= {"fallback_policy": "complete_with_fallback", "fallback_value": fallback}
    client = Client()
    asked = client.post("/v1/suspensions", body)
    if not wait:
        print(f"{asked['ref']}  {asked['suspension_id']}")
        return
    print(f"{asked['ref']}: waiting for an answer", file=sys.stderr)
    _print_end(client.wait(asked["suspension_id"]))


def answer(
    suspension: Id,
    value: Annotated[str, typer.Argument(help="A choice's value, yes or no, or a text.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Why; it travels to the agent.")] = None,
) -> None:
    """Answer an open question."""
    client = Client()
    found = client.find(suspension)
    body: dict[str, Any] = {"suspension_id": found["id"], "value": value, "metadata": {"via": "cli"}}
    if reason is not None:
        body["metadata"]["reason"] = reason
    done = client.post(f"/v1/intents/{found['intent_id']}/suspend/respond", body)
    if "required" in done:
        print(f"{found['ref']}: recorded {value!r}, {done['received']} of {done['required']} answers")
    else:
        print(f"{found['ref']}: recorded {done['value']!r} by {done['responded_by']}")


def list_(
    status: Annotated[str, typer.Option("--status", help="open, responded, expired, cancelled or all.")] = "open",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
) -> None:
    """List questions, newest first."""
    query = {"limit": limit} | ({} if status == "all" else {"status": status})
    client = Client()
    warn_if_paused(client)
    for item in client.get("/v1/suspensions", query)["items"]:
        ends = item["expires_at"] or "never"
        state = f"attempt {item['attempt']}/{item['max_attempts']}, ends {ends}"
        print(f"{item['ref']:<9} {item['status']:<10} {one_line(item['question'], 60):<60} {state}")


def assign(
    suspension: Id,
    to: Annotated[str, typer.Argument(help="The person who takes it over, by e-mail.")],
) -> None:
    """Hand an open question over to one person, who is asked at once."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/assign", {"to": to})
    print(f"{done['ref']}: handed over to {done['assigned_to']}")


def clarify(suspension: Id, question: Annotated[str, typer.Argument(help="What the agent has to say first.")]) -> None:
    """Ask the agent back; the clock holds until it answers."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/clarify", {"question": question})
    print(f"{done['ref']}: asked back, the clock holds until {done['clarification']['held_until']} at the latest")


def show(suspension: Id) -> None:
    """Show one question and everything that has happened to it."""
    client = Client()
    found = client.find(suspension)
    print(f"{found['ref']}  {found['status']}  asked by {found['created_by']} at {found['suspended_at']}")
    print(f"  {one_line(found['question'], 400)}")
    for one in found["choices"]:
        print(f"  - {one['value']}: {one['label']}")
    if found["answers_required"] > 1:
        people = ", ".join(one["responded_by"] for one in found["answers"]) or "nobody"
        print(f"  answers: {found['answers_received']} of {found['answers_required']}, by {people}")
    if found["assigned_to"]:
        print(f"  handed over to {found['assigned_to']}")
    if found["clarification"]:
        print(f"  {found['clarification']['asked_by']} asked: {one_line(found['clarification']['question'], 400)}")
        print(f"  clarified: {one_line(found['clarification']['text'] or 'not yet', 400)}")
    if found["resolution"] == "responded":
        print(f"  answer: {found['response']!r} by {found['responded_by']} via {found['channel']}")
    for entry in client.get(f"/v1/suspensions/{found['id']}/timeline")["items"]:
        print(f"  {entry['at']}  {_told(entry)}")


def _question(question: str, choices: list[str]) -> dict[str, Any]:
    if not choices:
        return {"question": question, "response_type": "text"}
    pairs = [text.partition("=") for text in choices]
    if {value for value, _, _ in pairs} == {"yes", "no"}:
        return {"question": question, "response_type": "confirm"}
    listed = [{"value": value, "label": label or value} for value, _, label in pairs]
    return {"question": question, "response_type": "choice", "choices": listed}


def _print_end(ended: dict[str, Any]) -> None:
    """The answer alone on standard output; status 1 where there is none."""
    value = ended["response"] if ended["resolution"] == "responded" else ended["continued_with"]
    if value is None:
        print(f"{ended['ref']}: {ended['resolution']}, without an answer", file=sys.stderr)
        raise typer.Exit(1)
    print(value)


def _told(entry: dict[str, Any]) -> str:
    if entry["kind"] == "event" and entry["type"] == "intent.suspension_message_received":
        received = entry["payload"]
        return f"{entry['type']}  {received['channel']} {received['kind']}: {received['reason']}"
    if entry["kind"] == "event":
        return f"{entry['type']}  by {entry['actor']}"
    if entry["kind"] == "attempt":
        return f"attempt {entry['attempt']} via {entry['channel']} to {', '.join(entry['recipients'])}"
    where = f" via {entry['channel']}" if entry["channel"] else ""
    why = f" ({entry['reason']})" if entry["reason"] else ""
    return f"{entry['kind']}{where}: {entry['status']}, {entry['tries']} tries{why}"
