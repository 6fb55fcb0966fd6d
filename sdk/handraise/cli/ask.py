"""``handraise ask``, ``cancel`` and ``report``: ask a person, wait, take the question back, and say what came of it.

What a script reads is on standard output: the ref and the id, or with ``--wait`` the answer alone. What a person reads
about it is on standard error.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from handraise.cli.arguments import AsJson, Id, action_of, context_of, form_of, length, span
from handraise.cli.card import attempt_words, channels_of
from handraise.cli.client import Client
from handraise.cli.terminal import give, give_json, one_line, say, warn

_INTERRUPTED = 130


class _Status(StrEnum):
    DONE = "done"
    FAILED = "failed"


class _Kind(StrEnum):
    INPUT = "input"
    VETO = "veto"


def ask(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    choice: Annotated[
        list[str] | None,
        typer.Option("--choice", metavar="VALUE[=LABEL]", help="An answer to choose; may be repeated."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="WHOM", help="Whom to ask: an e-mail, group:NAME, or a place on a channel."),
    ] = None,
    responder: Annotated[
        list[str] | None,
        typer.Option("--responder", metavar="WHOM", help="Who may answer, and is asked without --to; may be repeated."),
    ] = None,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="The name of the channel, as the service is set up.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            metavar="KEY=VALUE",
            help="What to show beside it; a JSON object or @FILE with one will do as well. May be repeated.",
        ),
    ] = None,
    action: Annotated[
        str | None,
        typer.Option("--action", metavar="JSON", help="What will run if it is approved: an object, or @FILE with one."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--form", metavar="FILE", help="Ask for a form: a file with its JSON Schema.")
    ] = None,
    kind: Annotated[
        _Kind, typer.Option("--kind", help="veto: it goes ahead unless somebody objects within --timeout.")
    ] = _Kind.INPUT,
    timeout: Annotated[
        int | None,
        typer.Option(
            "--timeout",
            parser=length,
            metavar="LENGTH",
            help="How long each attempt waits, such as 90, 30m, 2h; the policy says how many there are.",
        ),
    ] = None,
    deadline: Annotated[
        int | None,
        typer.Option("--deadline", parser=length, metavar="LENGTH", help="How long in all, whatever the attempts."),
    ] = None,
    fallback: Annotated[
        str | None,
        typer.Option("--fallback", metavar="VALUE", help="The value that the agent goes on with if nobody answers."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print nothing else.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a person. With no --choice, any text is an answer; with yes and no, it is a confirmation."""
    body = _question(question, choice or [], form, kind)
    optional = {
        "notify_to": to,
        "responders": responder,
        "channel_hint": channel,
        "timeout_seconds": timeout,
        "deadline_seconds": deadline,
        "context": context_of(context) if context else None,
        "action": None if action is None else action_of(action),
    }
    body |= {name: value for name, value in optional.items() if value is not None}
    if fallback is not None:
        body |= {"fallback_policy": "complete_with_fallback", "fallback_value": fallback}
    client = Client()
    asked = client.post("/v1/suspensions", body)
    shown = client.get(f"/v1/suspensions/{asked['suspension_id']}/notice")
    for line in _told(asked, shown):
        warn(f"{asked['ref']}: {line}")
    if wait:
        _print_end(_ended(client, asked), as_json=as_json)
    elif as_json:
        give_json({**asked, "url": shown.get("url")})
    else:
        say(f"{asked['ref']}  {asked['suspension_id']}")


def cancel(
    suspension: Id,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the log, and to the agent.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take an open question back: nobody is asked any more. For whoever asked it, and admins."""
    client = Client()
    found = client.find(suspension)
    done = client.post(f"/v1/suspensions/{found['id']}/cancel", {} if reason is None else {"reason": reason})
    if as_json:
        give_json(done)
    else:
        say(f"{done['ref']}: cancelled, nobody is asked any more")


def report(
    suspension: Id,
    status: Annotated[_Status, typer.Argument(help="What came of it.")],
    text: Annotated[str | None, typer.Argument(help="What people read beside it.")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Where there is more.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what came of a question that has ended: people see it. Once, with the key that asked."""
    client = Client()
    found = client.find(suspension)
    said = {"status": status.value, "text": text, "url": url}
    done = client.post(f"/v1/suspensions/{found['id']}/outcome", said)
    if as_json:
        give_json(done)
    else:
        say(f"{done['ref']}: reported {done['reported']['status']}")


def _question(question: str, choices: list[str], form: str | None, kind: _Kind) -> dict[str, Any]:
    if form is not None:
        if choices:
            raise typer.BadParameter("can't be given beside --choice.", param_hint="'--form'")
        return {"question": question, "kind": kind.value, "response_type": "form", "form_schema": form_of(form)}
    return {"question": question, **({} if kind is _Kind.INPUT else {"kind": kind.value}), **_answers(choices, kind)}


def _answers(choices: list[str], kind: _Kind) -> dict[str, Any]:
    if not choices:
        return {} if kind is _Kind.VETO else {"response_type": "text"}
    pairs = [text.partition("=") for text in choices]
    if {value for value, _, _ in pairs} == {"yes", "no"} and kind is _Kind.INPUT:
        return {"response_type": "confirm"}
    return {
        "response_type": "choice",
        "choices": [{"value": value, "label": label or value} for value, _, label in pairs],
    }


def _told(asked: dict[str, Any], shown: dict[str, Any]) -> list[str]:
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


def _silence(asked: dict[str, Any]) -> str:
    """What happens if nobody answers, when, and in how long."""
    said = one_line(asked["silence"], 400)
    if asked["expires_at"] is None:
        return said
    end, start = (datetime.fromisoformat(asked[name]) for name in ("expires_at", "suspended_at"))
    return f"{said} That is in {span(end - start)}."


def _ended(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    """The ended record. Raises :class:`typer.Exit` at Ctrl-C: the question is the service's, and stays."""
    ref = asked["ref"]
    try:
        warn(f"{ref}: waiting for an answer")
        ended: dict[str, Any] = client.wait(asked["suspension_id"])
    except KeyboardInterrupt:
        warn("")
        warn(f"{ref}: not waiting any more. The question stays open; `handraise cancel {ref}` takes it back.")
        raise typer.Exit(_INTERRUPTED) from None
    return ended


def _print_end(ended: dict[str, Any], *, as_json: bool) -> None:
    """The answer alone on standard output; status 1 if there is none."""
    value = ended["response"] if ended["resolution"] == "responded" else ended["continued_with"]
    if as_json:
        give_json(ended)
    elif value is not None:
        give(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if value is None:
        warn(f"{ended['ref']}: {ended['resolution']}, without an answer")
        raise typer.Exit(1)
