"""``handraise doctor``: checks everything that has to work, on this machine; or with ``--send`` asks one person.

The checks read the configuration, the database and the vendors themselves, so that they work before the first start
too. They change nothing. ``--send`` is a client of the running service, as the other commands are.

Source: API.md §9; docs/decisions/0069.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from handraise.cli.client import Client, stop
from handraise.cli.terminal import give, say, warn

from bot.commands.backup import ConfigFile

if TYPE_CHECKING:
    from bot.doctor.findings import Finding

VERSION = 1
"""Of the shape of ``--json``. Fields and subjects may be added without a new one."""


def doctor(
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
    reach: Annotated[
        list[str] | None,
        typer.Option("--reach", metavar="URL", help="An agent's callback address to try; may be repeated."),
    ] = None,
    send: Annotated[
        str | None,
        typer.Option("--send", metavar="WHO", help="Ask this person a test question and wait; checks nothing else."),
    ] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="With --send: the name of the channel.")] = None,
) -> None:
    """Check that everything works, and say what to do if it does not. Changes nothing; exit status 1 at a fault.

    It looks at the configuration, the database, the secret key, public_url, Slack, mail, PagerDuty, callbacks, alerts
    and people, beside a service that runs or before it does.
    """
    if send is not None:
        ask_one_person(send, channel, as_json=as_json)
        return
    if channel is not None:
        stop("--channel belongs to --send", 2)
    findings = _examine(config, reach or ())
    from bot.doctor.findings import Severity, worst

    level = worst(findings)
    if as_json:
        told = {"version": VERSION, "level": level.value, "findings": [one.json for one in findings]}
        give(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for one in findings:
            say(one.line)
    raise typer.Exit(1 if level is Severity.FAULT else 0)


def _examine(config: ConfigFile, reach: Sequence[str]) -> Sequence[Finding]:
    import structlog  # a tenth of a second, which the list of commands need not pay

    from bot.doctor.checks import CHECKS
    from bot.doctor.configuration import read
    from bot.doctor.examination import Examination, examine

    # What the parts log while they fail is told by the findings.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    found = read(config, os.environ)
    if not isinstance(found, tuple):
        return found
    settings, folder = found

    return examine(Examination(settings, folder, reach=reach), CHECKS)


SECONDS = 900
QUESTION = "This is a test of Handraise. Has it reached you?"
CONTEXT = {"why": "Somebody runs `handraise doctor --send`. Any answer will do, and nothing follows from it."}
_WAITS = {"pending", "sending"}
_LOOK_SECONDS = 0.5
_STOPPED = 130
"""As a shell has it for a command that Ctrl-C has ended."""


def ask_one_person(who: str, channel: str | None, *, as_json: bool) -> None:
    """One real question to one person, through the running service; Ctrl-C cancels it. It is asked once and ends by
    itself after :data:`SECONDS`. Exit status 0 once they have answered; 1 if they have not, were not reached or the
    service refuses."""
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
