"""``handraise ask``, ``answer``, ``list``, ``show``: the API from a terminal, over HTTP.

Where the service is and who is asking comes from ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from handraise.cli.admin import warn_if_paused
from handraise.cli.client import Client
from handraise.cli.terminal import give, one_line, say, say_lines, warn

Id = Annotated[str, typer.Argument(help="The question's id, or its ref (HR-7F3K).")]


def ask(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    choice: Annotated[list[str] | None, typer.Option("--choice", help="VALUE or VALUE=LABEL; may be repeated.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Whom to ask: an e-mail, group:NAME, slack:C…")] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="slack, email or pagerduty.")] = None,
    timeout: Annotated[
        int | None,
        typer.Option("--timeout", min=1, help="Seconds that each attempt waits; the policy says how many there are."),
    ] = None,
    deadline: Annotated[
        int | None, typer.Option("--deadline", min=1, help="Seconds in all, however many attempts there are.")
    ] = None,
    fallback: Annotated[
        str | None, typer.Option("--fallback", help="The value that the agent goes on with if nobody answers.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print nothing else.")] = False,
) -> None:
    """Ask a person. With no --choice, any text is an answer; with yes and no, it is a confirmation."""
    body = _question(question, choice or [])
    optional = {"notify_to": to, "channel_hint": channel, "timeout_seconds": timeout, "deadline_seconds": deadline}
    body |= {name: value for name, value in optional.items() if value is not None}
    if fallback is not None:
        body |= {"fallback_policy": "complete_with_fallback", "fallback_value": fallback}
    client = Client()
    asked = client.post("/v1/suspensions", body)
    warn(f"{asked['ref']}: {_silence(asked)}")
    if not wait:
        say(f"{asked['ref']}  {asked['suspension_id']}")
        return
    warn(f"{asked['ref']}: waiting for an answer")
    _print_end(client.wait(asked["suspension_id"]))


def answer(
    suspension: Id,
    value: Annotated[str, typer.Argument(help="A choice's value, yes or no, or a text.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Why; the agent gets it too.")] = None,
) -> None:
    """Answer an open question."""
    client = Client()
    found = client.find(suspension)
    body: dict[str, Any] = {"suspension_id": found["id"], "value": value, "metadata": {"via": "cli"}}
    if reason is not None:
        body["metadata"]["reason"] = reason
    done = client.post(f"/v1/intents/{found['intent_id']}/suspend/respond", body)
    if "required" in done:
        say(f"{found['ref']}: recorded {value!r}, {done['received']} of {done['required']} answers")
    else:
        say(f"{found['ref']}: recorded {done['value']!r} by {done['responded_by']}")


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
        say(f"{item['ref']:<9} {item['status']:<10} {one_line(item['question'], 60):<60} {state}")


def assign(suspension: Id, to: Annotated[str, typer.Argument(help="The person who takes it over, by e-mail.")]) -> None:
    """Hand an open question over to one person, who is asked at once."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/assign", {"to": to})
    say(f"{done['ref']}: handed over to {done['assigned_to']}")


def clarify(suspension: Id, question: Annotated[str, typer.Argument(help="The question to the agent.")]) -> None:
    """Ask the agent back; reminders and the deadline wait until it answers."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/clarify", {"question": question})
    until = done["clarification"]["held_until"]
    say(f"{done['ref']}: asked back, reminders and the deadline wait until {until} at the latest")


def show(suspension: Id) -> None:
    """Show one question and everything that has happened to it."""
    client = Client()
    found = client.find(suspension)
    say(f"{found['ref']}  {found['status']}  asked by {found['created_by']} at {found['suspended_at']}")
    _show_notice(client.get(f"/v1/suspensions/{found['id']}/notice"), is_open=found["status"] == "open")
    if found["answers_required"] > 1:
        people = ", ".join(one["responded_by"] for one in found["answers"]) or "nobody"
        say(f"  answers: {found['answers_received']} of {found['answers_required']}, by {people}")
    if found["assigned_to"]:
        say(f"  handed over to {found['assigned_to']}")
    if found["clarification"]:
        say(f"  {found['clarification']['asked_by']} asked: {one_line(found['clarification']['question'], 400)}")
        say(f"  clarified: {one_line(found['clarification']['text'] or 'not yet', 400)}")
    if found["resolution"] == "responded":
        say(f"  answer: {found['response']!r} by {found['responded_by']} via {found['channel']}")
    for entry in client.get(f"/v1/suspensions/{found['id']}/timeline")["items"]:
        say(f"  {entry['at']}  {_told(entry)}")


def _show_notice(notice: dict[str, Any], *, is_open: bool) -> None:
    """What people are shown of it, all of it; redacted as it is for them."""
    say_lines(notice["question"], "  ")
    for one in notice["choices"]:
        about = f" ({one['description']})" if one["description"] else ""
        say(f"  - {one['value']}: {one['label']}{about}")
    for key, value in notice["context"].items():
        say(f"  {key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if notice["risk"] is not None:
        say(f"  risk: {notice['risk']}")
    action = notice["action"]
    if action is not None:
        say(f"  {action['heading']}:")
        say_lines(action["text"], "    ")
        if action["hidden"] is not None:
            say(f"  {action['hidden']}")
    if is_open:
        say(f"  {notice['silence']}")


def _silence(asked: dict[str, Any]) -> str:
    """What happens if nobody answers, when, and in how long."""
    said = one_line(asked["silence"], 400)
    if asked["expires_at"] is None:
        return said
    end, start = (datetime.fromisoformat(asked[name]) for name in ("expires_at", "suspended_at"))
    return f"{said} That is in {_span(end - start)}."


def _span(length: timedelta) -> str:
    """``less than a minute``, ``42 min``, ``3 h 20 min``, ``2 days 5 h``; rounded down."""
    minutes = length // timedelta(minutes=1)
    if minutes < 1:
        return "less than a minute"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return _two(minutes // 60, "h", minutes % 60, "min")
    return _two(minutes // 1440, "days", minutes % 1440 // 60, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f" {small} {small_unit}" if small else ""
    return f"{large} {large_unit}{rest}"


def _question(question: str, choices: list[str]) -> dict[str, Any]:
    if not choices:
        return {"question": question, "response_type": "text"}
    pairs = [text.partition("=") for text in choices]
    if {value for value, _, _ in pairs} == {"yes", "no"}:
        return {"question": question, "response_type": "confirm"}
    listed = [{"value": value, "label": label or value} for value, _, label in pairs]
    return {"question": question, "response_type": "choice", "choices": listed}


def _print_end(ended: dict[str, Any]) -> None:
    """The answer alone on standard output; status 1 if there is none."""
    value = ended["response"] if ended["resolution"] == "responded" else ended["continued_with"]
    if value is None:
        warn(f"{ended['ref']}: {ended['resolution']}, without an answer")
        raise typer.Exit(1)
    give(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


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
