"""Arguments that several commands take, and how what is typed becomes a value. Pure, but for the files that are named.

A value that can't be read is a usage error (status 2) that names the option and says what it takes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

Id = Annotated[str, typer.Argument(help="The question's id, or its ref (HR-7F3K).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

To = Annotated[
    str | None,
    typer.Option("--to", metavar="WHOM", help="Whom to ask: an e-mail, group:NAME, or a place on a channel."),
]
Responders = Annotated[
    list[str] | None,
    typer.Option("--responder", metavar="WHOM", help="Who may answer, and is asked without --to; may be repeated."),
]
Channel = Annotated[
    str | None, typer.Option("--channel", metavar="NAME", help="The name of the channel, as the service is set up.")
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="KEY=VALUE",
        help="What to show beside it; a JSON object or @FILE with one will do as well. May be repeated.",
    ),
]
IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="The same key and question again, from wherever: the same question, and nobody is asked twice.",
    ),
]

_LENGTH = re.compile(r"([0-9]{1,8})([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MOST_SECONDS = 31_536_000
_STANDARD_INPUT = "-"


def length(text: str) -> int:
    """Seconds: ``90``, ``90s``, ``30m``, ``2h``, ``7d``; a year at most."""
    found = _LENGTH.fullmatch(text.strip().lower())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 1 <= seconds <= _MOST_SECONDS:
        raise typer.BadParameter("must be seconds, or a number with s, m, h or d, such as 90, 30m, 2h; a year at most.")
    return seconds


Timeout = Annotated[
    int | None,
    typer.Option(
        "--timeout",
        parser=length,
        metavar="LENGTH",
        help="How long each attempt waits, such as 90, 30m, 2h; the policy says how many there are.",
    ),
]
Deadline = Annotated[
    int | None,
    typer.Option("--deadline", parser=length, metavar="LENGTH", help="How long in all, whatever the attempts."),
]
Patience = Annotated[
    int,
    typer.Option(
        "--patience",
        parser=length,
        metavar="LENGTH",
        help="How long to go on trying if the service is away while an answer is waited for.",
    ),
]
PATIENCE: Any = "60s"  # as it would be typed: typer hands a default to the parser, too


def audience(
    to: str | None,
    responders: Sequence[str] | None,
    channel: str | None,
    context: Sequence[str] | None,
    timeout: int | None,
    deadline: int | None,
) -> dict[str, Any]:
    """The fields of a question that say whom to ask, until when, and what to show beside it."""
    given = {
        "notify_to": to,
        "responders": responders,
        "channel_hint": channel,
        "context": context_of(context) if context else None,
        "timeout_seconds": timeout,
        "deadline_seconds": deadline,
    }
    return {name: value for name, value in given.items() if value is not None}


def context_of(given: Sequence[str]) -> dict[str, Any]:
    """What people are shown beside the question: each of ``given`` is a JSON object, ``@FILE`` with one, or
    ``KEY=VALUE``. Later ones add to earlier ones."""
    context: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if text.startswith("@"):
            context |= _object(_content(text[1:], "--context"), "--context", text[1:])
        elif text.lstrip().startswith("{"):
            context |= _object(text, "--context", "it")
        elif equals and key.strip():
            context[key.strip()] = value
        else:
            raise _bad("--context", "must be a JSON object, @FILE that holds one, or KEY=VALUE.")
    return context


def action_of(given: str) -> dict[str, Any]:
    """What will run: a JSON object, or ``@FILE`` with one."""
    return object_of(given, "--action")


def object_of(given: str, option: str) -> dict[str, Any]:
    """A JSON object, or ``@FILE`` with one."""
    if given.startswith("@"):
        return _object(_content(given[1:], option), option, given[1:])
    return _object(given, option, "it")


def form_of(file: str) -> dict[str, Any]:
    """The JSON Schema in ``file``."""
    name = file.removeprefix("@")
    return _object(_content(name, "--form"), "--form", name)


def _content(name: str, option: str) -> str:
    try:
        return sys.stdin.read() if name == _STANDARD_INPUT else Path(name).read_text(encoding="utf-8")
    except OSError as failure:
        raise _bad(option, f"{name} can't be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise _bad(option, f"{name} is not UTF-8.") from None


def _object(text: str, option: str, name: str) -> dict[str, Any]:
    try:
        value = _DECODER.decode(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # so that it can be sent
    except RecursionError:
        raise _bad(option, f"{name} is nested too deeply.") from None
    except ValueError:
        raise _bad(option, f"{name} is not JSON.") from None
    if not isinstance(value, dict):
        raise _bad(option, f"{name} is JSON, but not an object.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""``NaN`` and its like are no JSON."""


def _bad(option: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(why, param_hint=f"'{option}'")


def span(stretch: timedelta) -> str:
    """``less than a minute``, ``42 min``, ``3 h 20 min``, ``2 days 5 h``; rounded down."""
    minutes = stretch // timedelta(minutes=1)
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
