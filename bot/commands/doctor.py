"""``handraise doctor``: checks everything that has to work, on this machine; or with ``--send`` asks one person.

The checks read the configuration, the database and the vendors themselves, so that they work before the first start
too. They change nothing. ``--send`` is a client of the running service, as the other commands are.

Source: API.md §9; docs/decisions/0069.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from handraise.cli.client import stop
from handraise.cli.terminal import give, say

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
    channel: Annotated[str | None, typer.Option("--channel", help="With --send: slack, email or pagerduty.")] = None,
) -> None:
    """Check that everything works, and say what to do if it does not. Changes nothing; exit status 1 at a fault.

    It looks at the configuration, the database, the secret key, public_url, Slack, mail, PagerDuty, callbacks, alerts
    and people, beside a service that runs or before it does.
    """
    if send is not None:
        from bot.commands.trial import ask_one_person

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
