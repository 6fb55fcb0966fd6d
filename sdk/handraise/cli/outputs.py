"""``--output``: an ending for the programs of a CI system, as ``answer``, ``reason``, ``by``, ``receipt`` and ``url``.

People wrote answer and reason, so nothing in them may become a name, a line or a variable of its own.

- ``github`` appends to the file that ``GITHUB_OUTPUT`` names. Each value stands between delimiters that nobody can
  guess, so that it may hold line ends and ``answer=``.
- ``gitlab`` writes ``handraise.env`` in the working directory, for ``artifacts:reports:dotenv``. Values are
  percent-encoded (UTF-8): GitLab takes no line ends, strips blanks, and expands ``$``. A value that is too long for
  GitLab's 5 KB is left empty.
- ``json`` prints one object.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#multiline-strings;
https://docs.gitlab.com/ci/yaml/artifacts_reports/#artifactsreportsdotenv.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer

from handraise.cli.exit_status import value_of
from handraise.cli.terminal import give_json, warn

DOTENV = "handraise.env"
_LONGEST = 1_000
"""Bytes of one value: five of them and their names stay below GitLab's 5 KB. A receipt has 1,024 at most."""
_AS_IS = ":/@"
Values = Mapping[str, str]


class Output(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    JSON = "json"


def check_output(output: Output) -> None:
    """Raises :class:`typer.BadParameter`, before anybody is asked, if it can't be written."""
    place = _place(output)
    if place is None:
        return
    try:
        with place.open("a", encoding="utf-8"):
            pass
    except OSError as failure:
        raise _bad(f"{place} can't be written: {failure.strerror}.") from None


def write_output(output: Output, ended: Mapping[str, Any], url: str | None) -> None:
    """Write how the question ended; what there is nothing to say of is empty, and ``null`` in JSON."""
    said = {name: ended.get(field) for name, field in (("reason", "reason"), ("by", "responded_by"))}
    values = {"answer": value_of(ended), **said, "receipt": ended.get("receipt"), "url": url}
    place = _place(output)
    if place is None:
        give_json(values)
        return
    texts = {name: _text(value) for name, value in values.items()}
    if output is Output.GITHUB:
        with place.open("a", encoding="utf-8", newline="") as file:
            file.write(github_lines(texts))
    else:
        place.write_text(dotenv_lines(texts), encoding="ascii", newline="")


def github_lines(values: Values) -> str:
    """Each value between delimiters of its own."""
    lines = []
    for name, value in values.items():
        end = f"handraise_{secrets.token_hex(16)}"
        lines.append(f"{name}<<{end}\n{value}\n{end}\n")
    return "".join(lines)


def dotenv_lines(values: Values) -> str:
    """One line for each value, percent-encoded."""
    return "".join(f"{name}={_encoded(name, value)}\n" for name, value in values.items())


def _encoded(name: str, value: str) -> str:
    written = quote(value, safe=_AS_IS, errors="replace")
    if len(written) <= _LONGEST or name == "receipt":
        return written
    warn(f"handraise: {name} is too long for GitLab ({len(written)} bytes), and is left empty in {DOTENV}")
    return ""


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _place(output: Output) -> Path | None:
    """The file that is written; none if it is standard output."""
    match output:
        case Output.JSON:
            return None
        case Output.GITLAB:
            return Path(DOTENV)
    if not (named := os.environ.get("GITHUB_OUTPUT")):
        raise _bad("github needs GITHUB_OUTPUT, the name of a file, which GitHub Actions sets for each step.")
    return Path(named)


def _bad(why: str) -> typer.BadParameter:
    return typer.BadParameter(why, param_hint="'--output'")
