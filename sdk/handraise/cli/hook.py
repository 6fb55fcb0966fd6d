"""``handraise hook …``: the hooks of coding agents, and what a person does about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from handraise.cli.arguments import AsJson, length
from handraise.cli.client import stop
from handraise.cli.terminal import give_json, say, warn
from handraise.coding_agents.hook_protocol import Program

if TYPE_CHECKING:
    from handraise.coding_agents.hook_file import HookSettings  # these take longer than all the rest

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_CANT_BEGIN = 2
_SECONDS = 600
Seconds = Annotated[int, typer.Option("--timeout", min=30, help="When the program ends its hooks, in seconds.")]
SayNo = Annotated[str | None, typer.Option("--say-no", metavar="TEXT", help="Say no with this text, and ask nobody.")]
Name = Annotated[Program, typer.Argument(help="claude-code, codex or gemini.")]


@app.command("claude-code")
def claude_code(
    timeout: Seconds = _SECONDS,
    defer: Annotated[
        bool, typer.Option("--defer", help="End the run at once; `handraise hook resume` goes on with it.")
    ] = False,
    say_no: SayNo = None,
) -> None:
    """Answer one call of a tool, as Claude Code writes it to standard input. Settings run this, not people."""
    _run(Program.CLAUDE_CODE, timeout, say_no, defer=defer)


@app.command()
def codex(timeout: Seconds = _SECONDS, say_no: SayNo = None) -> None:
    """Answer one call of a tool, as Codex writes it to standard input. Settings run this, not people."""
    _run(Program.CODEX, timeout, say_no)


@app.command()
def gemini(timeout: Seconds = _SECONDS, say_no: SayNo = None) -> None:
    """Answer one call of a tool, as Gemini CLI writes it to standard input. Settings run this, not people."""
    _run(Program.GEMINI, timeout, say_no)


def _run(program: Program, seconds: int, refusal: str | None, *, defer: bool = False) -> NoReturn:
    from handraise.coding_agents.agent_hook import AgentHook

    raise typer.Exit(AgentHook(program, seconds, defer, refusal).run())


@app.command()
def login(
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="The service; asked for if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which service the hooks ask, and with which key: an agent's, which can ask and can't answer.

    Both go into ~/.config/handraise/hook.toml, readable by you alone, and are read from there alone. The rest of the
    file stays as it is.
    """
    from handraise.coding_agents.hook_check import checked_key
    from handraise.coding_agents.hook_file import HookFile, HookSettings, check_url
    from handraise.errors import HandraiseError

    file = HookFile()
    try:
        before = file.read().model_dump(exclude_unset=True) if file.path.exists() else {}
        given = url or typer.prompt("URL of the service", err=True)
        check_url(given)
        key = typer.prompt("An agent's API key", hide_input=True, err=True).strip()
        settings = HookSettings(**{**before, "url": given, "api_key": key})
        name = checked_key(settings)
        file.write(settings)
    except HandraiseError as problem:
        _refuse(problem)
    if as_json:
        give_json({"file": str(file.path), "url": given, "key": name})
    else:
        say(f"{file.path}: the hooks ask {given} as {name}. `handraise hook install claude-code` is next.")


@app.command()
def install(
    name: Name,
    project: Annotated[bool, typer.Option("--project", help="For the project in this folder alone.")] = False,
    every_call: Annotated[
        bool, typer.Option("--every-call", help="Before every call of a tool, not only where you would be asked.")
    ] = False,
    defer: Annotated[
        bool, typer.Option("--defer", help="Claude Code with -p: end the run at once, and go on after the answer.")
    ] = False,
    wait: Annotated[
        int | None,
        typer.Option("--wait", parser=length, metavar="LENGTH", help="How long the hook waits. Default: 10m."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the hook out again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the hook into the settings of NAME, in place of an earlier one of ours. Nothing else in them changes."""
    from handraise.coding_agents import program_settings
    from handraise.coding_agents.hook_file import HookFile
    from handraise.errors import ConfigurationError

    file = program_settings.settings_file(name, Path.cwd() if project else None)
    entry = program_settings.HookEntry(name, wait or _SECONDS, every_call, defer)
    try:
        if not remove:
            HookFile().read()
            program_settings.check(entry)
        settings = program_settings.read_settings(file)
        made = program_settings.without_hook(settings) if remove else program_settings.with_hook(settings, entry)
        program_settings.write_settings(file, made)
    except ConfigurationError as problem:
        _refuse(problem)
    written = [] if remove else [{"event": event.value, **entry.hook(event)} for event in entry.events]
    if as_json:
        give_json({"file": str(file), "hooks": written})
        return
    say(f"{file}: {'the hook is taken out' if remove else 'the hook is written'}")
    for one in written:
        say(f"  {one['event']}: {one['command']}")
    for line in () if remove else program_settings.NEXT[name]:
        say(line)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List what nobody is asked about. It is yours to edit, in ~/.config/handraise/hook.toml."""
    file, settings = _settings()
    unasked = {"commands": settings.commands, "tools": settings.tools, "reading": settings.reading}
    if as_json:
        give_json({"file": file, **unasked})
        return
    say(f"{file}: nobody is asked about")
    for command in settings.commands:
        say(f"  {command}")
    say(f"  the tools {', '.join(settings.tools)}" if settings.tools else "  no tool by its name")
    if settings.reading:
        say("  reading inside the project, by a tool that only reads, but for hidden files")


@app.command()
def doctor(
    name: Name,
    program: Annotated[
        str | None, typer.Option("--program", metavar="FILE", help="The program; found on PATH if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the hook of NAME: its file, the service, the settings, and one call of a tool by the program itself.

    The program runs once in an empty folder, with a model on this machine that asks for one command, and with the hook
    in a mode that says no to everything. Nobody is asked, and nothing leaves this machine but a look at the service.
    """
    from handraise.coding_agents.hook_check import examine

    findings = examine(name, program, Path.cwd())
    if as_json:
        give_json([{"ok": finding.ok, "subject": finding.subject, "text": finding.text} for finding in findings])
    for finding in () if as_json else findings:
        say(f"{'ok  ' if finding.ok else '-   ' if finding.ok is None else 'BAD '} {finding.subject}: {finding.text}")
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(1)


@app.command()
def resume(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="More arguments for claude, behind --: a model, settings.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="This run alone; a receiver of callbacks knows it.")
    ] = None,
    program: Annotated[str, typer.Option("--program", metavar="FILE", help="Claude Code.")] = "claude",
) -> None:
    """Go on with the runs of Claude Code that --defer has ended, each as soon as its question has an end.

    It waits until none is left, and starts `claude -p --resume` in the folder of each.
    """
    from handraise.coding_agents.deferred import resume_runs
    from handraise.errors import HandraiseError

    _, settings = _settings()
    try:
        status = resume_runs(settings, [program, *(arguments or [])], warn, session_id=session)
    except (HandraiseError, OSError) as problem:
        _refuse(problem)
    raise typer.Exit(1 if status else 0)


def _settings() -> tuple[str, HookSettings]:
    from handraise.coding_agents.hook_file import HookFile
    from handraise.errors import ConfigurationError

    try:
        return str(HookFile().path), HookFile().read()
    except ConfigurationError as problem:
        _refuse(problem)


def _refuse(problem: Exception) -> NoReturn:
    stop(str(problem), _CANT_BEGIN)
