"""Print docs/reference/cli.md from the command line's own tree.

``python docs/internals/draw_commands.py > docs/reference/cli.md``

What a command does is its docstring, what an option does its help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.main
from handraise.cli.app import app

HEAD = """# The command line

Every command and option of `handraise`, drawn from the code by `python docs/internals/draw_commands.py`. A test
compares them.

`pip install 'handraise[cli]'` brings all that needs the API alone. The server's own commands, under the last two
headings, come with `handraise-server`.

**Where and who.** `HANDRAISE_URL` says where the service is (default `http://127.0.0.1:8080`), `HANDRAISE_API_KEY`
who is asking.

**Output.** What a program reads goes to standard output. Everything else goes to standard error: warnings, "2 of
512", and what `ask` says of a question. Nothing is coloured or boxed. Signs that a terminal would obey are written as
escapes. `--json` prints the API's own reply; its fields stand in `/openapi.json`.

**Exit status.** 0: done. 1: the service has refused it. 2: it can't begin (configuration, database, port, wrong
arguments), or the service is away. 130: Ctrl-C while an answer was waited for, or a form was filled in; the question
stays open.

`ask --wait` adds three: 3 the answer is a no, 4 nobody answered, 5 the question was taken back. 0 is any other answer,
and silence that was agreed to mean going on (`--fallback`, a veto window). So `handraise ask "Deploy?" --choice yes
--choice no --wait && ./deploy` deploys after a yes alone. A no is `deny`, `no`, `reject` and their like; `--negative`
marks any other choice. `run` has the same statuses if its command did not run, and the command's own if it did.

**Completion.** `handraise --install-completion` writes it for your shell (bash, zsh, fish, PowerShell). `handraise
--show-completion` prints it.

```console
$ handraise whoami
$ handraise ask "Refund order 12345?" --choice approve --choice deny --context order=12345 --deadline 2h --wait
$ handraise run --question "Drop the old index?" --to group:dba -- psql -c "drop index old_orders"
$ handraise list --mine
$ handraise show HR-7F3K
$ handraise answer HR-7F3K approve --reason "Seen the invoice"
$ handraise answer HR-9QXA --field amount=20 --field "note=As agreed"
$ handraise cancel HR-7F3K --reason "No longer needed"
```
"""

_LEFT_OUT = {"--help"}
_TYPES = {"str": "TEXT", "path": "FILE", "int": "NUMBER", "int range": "NUMBER"}


def page() -> str:
    group: Any = typer.main.get_command(app)
    context = _context(group, "handraise")
    sections: dict[str, list[str]] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        sections.setdefault(command.rich_help_panel, []).extend(_section(command, f"handraise {name}"))
    parts = [HEAD, *_table(group, context)]
    for heading, lines in sections.items():
        parts += [f"\n## {heading}", *lines]
    return "\n".join(parts).rstrip() + "\n"


def _section(command: Any, path: str) -> Iterator[str]:
    context = _context(command, path)
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    if not names or command.invoke_without_command:
        yield f"\n### {path}\n"
        yield from _paragraphs(command.help or "")
        yield from _table(command, context)
    for name in names:
        yield from _section(command.get_command(context, name), f"{path} {name}")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield " ".join(paragraph.split()) + "\n"


def _table(command: Any, context: Any) -> Iterator[str]:
    records = [one.get_help_record(context) for one in command.params if not _LEFT_OUT & set(one.opts)]
    rows = [(name.strip(), " ".join(said.split())) for name, said in filter(None, records)]
    if rows:
        yield "| Argument or option | Meaning |\n|---|---|"
        yield from (f"| `{_cell(_plain(name))}` | {_cell(said)} |" for name, said in rows)


def _plain(name: str) -> str:
    """``name`` without typer's words for Python's types."""
    return re.sub(r"<(?:list\[)?([^\]>]*)\]?>", lambda found: _TYPES.get(found[1], found[1]), name)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _context(command: Any, path: str) -> Any:
    return command.make_context(path, [], resilient_parsing=True)


if __name__ == "__main__":
    print(page(), end="")
