"""Print docs/reference/configuration.md from the models of ``bot.config``.

``python docs/internals/draw_configuration.py > docs/reference/configuration.md``

A setting's meaning is the docstring below it in its model; a section's is the model's own.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config import values
from bot.config.loading import variable_name
from bot.config.settings import Settings
from bot.vendors import email, pagerduty, slack

KINDS: Mapping[Any, str] = {
    values.Share: "number from 0 to 1",
    values.SecretKey: "text of at least 32 characters",
    values.HeaderKey: "text without blanks",
    values.Mail: "e-mail address",
    values.Sender: "e-mail address, with or without a name",
    values.RecipientRef: "recipient",
    values.HttpUrl: "http(s) URL",
    email.SmtpUrl: "smtp(s) URL",
    email.ImapUrl: "imap(s) URL",
    email.ListenUrl: "lmtp or smtp URL",
    values.DatabaseUrl: "database URL",
    values.PostgresUrl: "PostgreSQL URL",
    values.Network: "network (CIDR)",
    values.WebhookSecret: "`whsec_…`",
    values.KeyHash: "64 hexadecimal digits",
    values.TimeZone: "IANA time zone",
    values.WeekHours: "times by days",
    values.Holiday: "date",
    slack.AppToken: "`xapp-…`",
    slack.SlackPlace: "Slack id (`C…`, `U…`)",
    slack.SlackUser: "Slack user id",
    values.SlackTeam: "Slack workspace id",
    slack.SlackAppId: "Slack app id",
    pagerduty.PagerDutyUser: "PagerDuty user id",
    pagerduty.RoutingKey: "integration key",
    values.OwnPattern: "regular expression",
}
"""What may stand in a setting, if its Python type does not say enough."""

PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", date: "date"}

HEAD = """# Configuration

Every setting, drawn from the code by `python docs/internals/draw_configuration.py`. A test compares them.

`handraise serve` reads `handraise.yaml` in its folder (else `openintent.yaml`), or the file that `--config` names.
Then it reads the environment, which stands above the file. `handraise check` reads both, and names every error.
A key that is not in these tables is an error, too.

A variable is `HANDRAISE_` and the key, with `__` between the levels. Lists in variables are separated by commas.
What stands in a list of the file (`people[]`) has no variable. A `null`, and an empty variable, mean absent.

A setting without a default is absent unless you give it. *Needed* means: if its section is there. *Derived* defaults
follow from other settings, as the meaning says.
"""


@dataclass(slots=True)
class Table:
    """One section: its ``rows`` are key, type, default, variable and meaning."""

    name: str
    about: str
    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)


def page() -> str:
    """Raises :class:`LookupError` with the key of a setting that has no description."""
    top, *sections = _tables(Settings, ())
    sections.sort(key=lambda table: table.name)
    return "\n".join([HEAD, *map(_written, [top, *sections])])


def _written(table: Table) -> str:
    heading = f"## {table.name}" if table.name else "## The top of the file"
    head = "| Key | Type | Default | Variable | Meaning |\n|---|---|---|---|---|"
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    return "\n".join([heading, "", *([table.about, ""] if table.about else []), head, *rows, ""])


def _tables(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[Table]:
    """The table of ``model`` first; then one for each section of the file and each list of mappings in it."""
    table = Table(_name(path), "" if not path else _prose(inspect.getdoc(model) or _missing(path)))
    more: list[Table] = []
    _fill(table, more, model, path)
    if table.rows:
        yield table
    yield from more


def _fill(table: Table, more: list[Table], model: type[BaseModel], path: tuple[str, ...]) -> None:
    hints = get_type_hints(model, include_extras=True)
    for name, info in model.model_fields.items():
        here = (*path, info.alias or name)
        below, is_list = _model_in(info.annotation)
        if below is None:
            table.rows.append(_row(model, name, info, hints[name], here))
        elif is_list:
            more.extend(_tables(below, (*here[:-1], f"{here[-1]}[]")))
        elif not path:
            more.extend(_tables(below, here))
        else:
            _fill(table, more, below, here)


def _row(
    model: type[BaseModel], name: str, info: FieldInfo, hint: Any, path: tuple[str, ...]
) -> tuple[str, str, str, str, str]:
    meaning = _docstrings(model).get(name) or _missing(path)
    variable = "" if any(step.endswith("[]") for step in path) else f"`{variable_name(path)}`"
    if _bare(hint) is dict and variable:
        variable = f"{variable[:-1]}__…`"
    return f"`{_name(path)}`", _kind(hint), _default(info), variable, _prose(meaning)


def _missing(path: tuple[str, ...]) -> str:
    raise LookupError(f"{_name(path)} has no description: write a docstring below it")


def _name(path: tuple[str, ...]) -> str:
    return ".".join(path)


@cache
def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """What stands below each field, its base's too."""
    found: dict[str, str] = {}
    for base in reversed([one for one in model.__mro__ if one.__module__.startswith("bot.")]):
        [body] = [node.body for node in ast.parse(inspect.getsource(base)).body if isinstance(node, ast.ClassDef)]
        for before, after in pairwise(body):
            if (
                isinstance(before, ast.AnnAssign)
                and isinstance(before.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[before.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def _prose(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _model_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model that an annotation holds, and whether it holds several of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    inner = [found for part in get_args(annotation) if (found := _model_in(part))[0] is not None]
    is_list = get_origin(annotation) is tuple
    return (inner[0][0], is_list or inner[0][1]) if inner else (None, False)


def _bare(hint: Any) -> Any:
    """The type itself: without what is annotated, and without ``None``."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    options = [part for part in get_args(hint) if part is not type(None)]
    if type(None) in get_args(hint) and len(options) == 1:
        return _bare(options[0])
    return get_origin(hint) or hint


def _kind(hint: Any) -> str:
    if hint in KINDS:
        return KINDS[hint]
    base, *checks = get_args(hint) or (hint,)
    match get_origin(hint):
        case origin if origin is Annotated:
            said = [check.func.__doc__ for check in checks if getattr(check, "func", None) is not None]
            kind = next((text for text in said if text and text.startswith("whole number from")), None) or _kind(base)
        case origin if type(None) in checks:
            kind = _kind(base)
        case origin if origin is Literal:
            kind = ", ".join(f"`{word}`" for word in get_args(hint))
        case origin if origin in {tuple, frozenset}:
            kind = f"list: {_kind(base)}"
        case origin if origin is dict:
            kind = f"names, each with: {_kind(checks[0])}"
        case _ if hasattr(hint, "__members__"):
            kind = ", ".join(f"`{word.value}`" for word in hint)
        case _:
            kind = PLAIN.get(hint, "text")
    return kind


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "*needed*"
    value = info.get_default(call_default_factory=False)
    if info.default_factory is not None:
        return "*derived*" if info.default_factory_takes_validated_data else ""
    if value is None or value in ((), frozenset()):
        return ""
    if isinstance(value, tuple):
        return f"`{', '.join(map(str, value))}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(page(), end="")
