"""``handraise ask``, ``cancel`` and ``report``: ask a person, wait, take the question back, and say what came of it.

What a script reads is on standard output: the ref and the id, or with ``--wait`` the answer alone. What a person reads
about it is on standard error.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from handraise.cli.arguments import (
    PATIENCE,
    AsJson,
    Channel,
    Context,
    Deadline,
    Id,
    IdempotencyKey,
    Patience,
    Responders,
    Timeout,
    To,
    action_of,
    audience,
    form_of,
)
from handraise.cli.client import Client
from handraise.cli.exit_status import noes, status_of, value_of
from handraise.cli.outputs import Output, check_output, write_output
from handraise.cli.question import AskedQuestion, ask_people
from handraise.cli.terminal import give, give_json, say, warn


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
    negative: Annotated[
        list[str] | None,
        typer.Option(
            "--negative",
            metavar="VALUE",
            help="A choice that says no, if its value is none of deny, no, reject and their like; may be repeated.",
        ),
    ] = None,
    to: To = None,
    responder: Responders = None,
    channel: Channel = None,
    context: Context = None,
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
    timeout: Timeout = None,
    deadline: Deadline = None,
    fallback: Annotated[
        str | None,
        typer.Option("--fallback", metavar="VALUE", help="The value that the agent goes on with if nobody answers."),
    ] = None,
    idempotency_key: IdempotencyKey = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print nothing else.")] = False,
    patience: Patience = PATIENCE,
    output: Annotated[
        Output | None,
        typer.Option(
            "--output",
            help="Wait, and write answer, reason, by, receipt and url: to $GITHUB_OUTPUT; to handraise.env for "
            "GitLab's dotenv reports; or as JSON in place of the answer.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a person. With no --choice, any text is an answer; with yes and no, it is a confirmation.

    With --wait the exit status is 0 for an answer, 3 for a no, 4 if nobody answered, 5 if the question was taken back.
    Without --wait, 0 says that it has been asked.
    """
    if output is not None:
        if output is Output.JSON and as_json:
            raise typer.BadParameter("json can't be given beside --json.", param_hint="'--output'")
        check_output(output)
    body = _question(question, choice or [], negative or [], form, kind)
    body |= audience(to, responder, channel, context, timeout, deadline)
    if action is not None:
        body["action"] = action_of(action)
    if fallback is not None:
        body |= {"fallback_policy": "complete_with_fallback", "fallback_value": fallback}
    asked = ask_people(Client(), body, idempotency_key)
    if wait or output is not None:
        _go_by_answer(asked, patience, output, as_json=as_json)
    elif as_json:
        give_json({**asked.outcome, "url": asked.url})
    else:
        say(f"{asked.ref}  {asked.id}")


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


def _question(question: str, choices: list[str], negatives: list[str], form: str | None, kind: _Kind) -> dict[str, Any]:
    if form is not None:
        if choices:
            raise typer.BadParameter("can't be given beside --choice.", param_hint="'--form'")
        return {"question": question, "kind": kind.value, "response_type": "form", "form_schema": form_of(form)}
    is_veto = kind is _Kind.VETO
    answers = _answers([text.partition("=") for text in choices], set(negatives), is_veto=is_veto)
    return {"question": question, **({"kind": kind.value} if is_veto else {}), **answers}


def _answers(choices: list[tuple[str, str, str]], negatives: set[str], *, is_veto: bool) -> dict[str, Any]:
    values = {value for value, _, _ in choices}
    if unknown := sorted(negatives - values):
        raise typer.BadParameter(f"{unknown[0]} is the value of no --choice.", param_hint="'--negative'")
    if not choices:
        return {} if is_veto else {"response_type": "text"}
    if values == {"yes", "no"} and not is_veto and not negatives:
        return {"response_type": "confirm"}
    made = [{"value": value, "label": label or value} for value, _, label in choices]
    marked = [{**one, "metadata": {"negative": True}} if one["value"] in negatives else one for one in made]
    return {"response_type": "choice", "choices": marked}


def _go_by_answer(asked: AskedQuestion, patience: float, output: Output | None, *, as_json: bool) -> None:
    """Wait; the answer alone is on standard output, and the exit status says what it means."""
    record = asked.outcome["suspension"]
    if record["choices"] and not noes(record):
        warn(f"{asked.ref}: no choice says no, so every answer exits with 0. --negative VALUE marks one that does.")
    ended = asked.ended(patience)
    value = value_of(ended)
    if output is not None:
        write_output(output, ended, asked.url)
    if as_json:
        give_json(ended)
    elif value is not None and output is not Output.JSON:
        give(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if status := status_of(ended):
        raise typer.Exit(status)
