"""``handraise answer``, ``claim``, ``release``, ``assign``, ``clarify``: what somebody does who may answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from handraise.cli.arguments import AsJson, Id, length
from handraise.cli.client import Client
from handraise.cli.form_answer import answer_by_hand, form_from_options
from handraise.cli.terminal import give_json, one_line, say

_LONGEST = 400


def answer(
    suspension: Id,
    value: Annotated[
        str | None, typer.Argument(help="A choice's value, yes or no, or a text. A form takes none.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field", metavar="NAME=VALUE", help="A field of a form, read as its schema says; may be repeated."
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--form", metavar="JSON", help="A whole form: an object, or @FILE with one.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; the agent gets it too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer an open question.

    A form is asked for field by field at a terminal: Enter takes what stands in brackets, or leaves an optional field
    out. What does not fit is asked again. With --field or --form nothing is asked, so that scripts can answer.
    """
    client = Client()
    found = client.find(suspension)
    body: dict[str, Any] = {"suspension_id": found["id"], "metadata": {"via": "cli"}}
    if reason is not None:
        body["metadata"]["reason"] = reason
    path = f"/v1/intents/{found['intent_id']}/suspend/respond"
    if found["response_type"] == "form":
        done = _fill(client, found, path, body, value, field or [], form)
    else:
        done = client.post(path, {**body, "value": _plain_value(found, value, field or [], form)})
    if as_json:
        give_json(done)
    elif "required" in done:
        given = "a form" if value is None else repr(value)
        say(f"{found['ref']}: recorded {given}, {done['received']} of {done['required']} answers")
    else:
        say(f"{found['ref']}: recorded {_told(done['value'])} by {done['responded_by']}")


def _fill(
    client: Client,
    found: dict[str, Any],
    path: str,
    body: dict[str, Any],
    value: str | None,
    field: Sequence[str],
    form: str | None,
) -> Any:
    if value is not None:
        raise typer.BadParameter("the question asks for a form: give --field NAME=VALUE.", param_hint="'VALUE'")
    if field or form is not None:
        return client.post(path, {**body, "value": form_from_options(found, field, form)})
    return answer_by_hand(client, found, path, body)


def _plain_value(found: dict[str, Any], value: str | None, field: Sequence[str], form: str | None) -> str:
    if field or form is not None:
        raise typer.BadParameter("the question asks for no form.", param_hint="'--field'" if field else "'--form'")
    if value is not None:
        return value
    values = [choice["value"] for choice in found["choices"]]  # of a confirmation too
    takes = f"give one of: {', '.join(values)}." if values else "give a text."
    raise typer.BadParameter(one_line(takes, _LONGEST), param_hint="'VALUE'")


def _told(value: Any) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
