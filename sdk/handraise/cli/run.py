"""``handraise run``: a command that runs once, if a person approves exactly it.

People see the arguments, the program, the folder, the host and the user as the action. On approval the receipt is used
up, and the command started: its standard streams, signals and exit status are its own. A process that dies between the
two has used the approval up, so nothing ever runs twice.

What must never be: a command that runs although the service did not say, this time, that the receipt is good.

Source: API.md §5 (receipts), §9.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from handraise.cli.arguments import (
    PATIENCE,
    Channel,
    Context,
    Deadline,
    IdempotencyKey,
    Patience,
    Responders,
    Timeout,
    To,
    audience,
)
from handraise.cli.client import Client
from handraise.cli.exit_status import AWAY, INTERRUPTED, REFUSED, status_of
from handraise.cli.question import ask_people
from handraise.cli.terminal import warn
from handraise.questions import APPROVAL_CHOICES, APPROVE

_REPORT_SECONDS = 5.0
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_FROM_TERMINAL = {"SIGINT", "SIGQUIT"}
_ENDED_BY_SIGNAL = 128
"""A shell's own way: 128 and the signal's number."""


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run, and its arguments.")],
    question: Annotated[str, typer.Option("--question", metavar="TEXT", help="What to ask.")],
    to: To = None,
    responder: Responders = None,
    channel: Channel = None,
    context: Context = None,
    timeout: Timeout = None,
    deadline: Deadline = None,
    idempotency_key: IdempotencyKey = None,
    patience: Patience = PATIENCE,
    as_json: Annotated[
        bool, typer.Option("--json", help="The last line on standard error is JSON: whether it ran, and why not.")
    ] = False,
) -> None:
    """Run COMMAND once, if a person approves it. They see exactly what will run, and as whom, where.

    Standard input and output, signals and the exit status are the command's own. If it did not run, the last line on
    standard error says so, and the exit status is that of `ask`: 1 refused, 2 no service or no such command, 3 a no,
    4 nobody answered, 5 taken back. Only an approval runs it: silence never does. The arguments are shown to people and
    kept; secrets belong into the environment.
    """
    task = _task(command)
    body = {
        "question": question,
        "choices": [one.model_dump(exclude_none=True) for one in APPROVAL_CHOICES],
        "action": task.action(),
        "fallback_policy": "fail",
        **audience(to, responder, channel, context, timeout, deadline),
    }
    account = _Account(Client())
    try:
        _allow(account, body, idempotency_key, patience)
        status = _perform(account, task)
    except typer.Exit as ended:
        status = ended.exit_code
    except KeyboardInterrupt:
        status = INTERRUPTED
    if as_json:
        warn(json.dumps({"ran": account.ran, "status": status, **account.told}, ensure_ascii=False))
    elif not account.ran:
        warn(f"handraise: not run (status {status}): {account.known}.")
    raise typer.Exit(status)


@dataclass(frozen=True, slots=True)
class _Task:
    """``program`` is the file that is started; ``arguments`` begin with its name as it was typed."""

    arguments: Sequence[str]
    program: str
    folder: str

    def action(self) -> dict[str, Any]:
        where = {"cwd": self.folder, "host": socket.gethostname(), "user": _user()}
        return {"tool": "run", "argv": list(self.arguments), "program": self.program, **where}


@dataclass(slots=True)
class _Account:
    """What is known so far, for whoever reads why it did not run."""

    client: Client
    ran: bool = False
    known: str = "nobody is known to have been asked"
    question_id: str = ""
    told: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(("ref", "url", "answer", "reason", "by")))


def _task(command: Sequence[str]) -> _Task:
    folder = str(Path.cwd())
    program = shutil.which(command[0])
    if program is None:
        raise typer.BadParameter(f"{command[0]} is no program that can be run.", param_hint="COMMAND")
    try:
        "".join((*command, program, folder)).encode()
    except UnicodeEncodeError:
        raise typer.BadParameter("must be UTF-8: people are shown it.", param_hint="COMMAND") from None
    return _Task(command, str(Path(program).absolute()), folder)


def _user() -> str:
    try:
        import pwd
    except ImportError:  # Windows
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.geteuid()).pw_name  # the environment could name anybody
    except KeyError:
        return str(os.geteuid())


def _allow(account: _Account, body: dict[str, Any], key: str | None, patience: float) -> None:
    """Ask, wait, and use the approval up. Raises :class:`typer.Exit` unless it may run now."""
    asked = ask_people(account.client, body, key)
    ref, account.question_id = asked.ref, asked.id
    account.told |= {"ref": ref, "url": asked.url}
    account.known = f"{ref} was open when it was last looked at"
    account.known += "; the same again with this --idempotency-key goes on waiting" if key else ""
    ended = asked.ended(patience)
    account.told |= {"answer": ended["response"], "reason": ended["reason"], "by": ended["responded_by"]}
    if ended["resolution"] != "responded" or ended["response"] != APPROVE:
        account.known = f"{ref} ended as {ended['response'] or ended['resolution']}"
        raise typer.Exit(status_of(ended) or REFUSED)
    account.known = f"{ref} was approved, and its approval may be used up"
    proof = {"receipt": ended["receipt"], "action": body["action"], "when": APPROVE}
    account.client.post("/v1/receipts/verify", proof, key=str(uuid.uuid4()), patience=patience)


def _perform(account: _Account, task: _Task) -> int:
    """Run it, and tell people what came of it."""
    try:
        returned = _run(task)
    except OSError as failure:
        account.known = f"it can't be started ({failure.strerror}), and the approval is used up"
        _report(account, "failed", f"It can't be started: {failure.strerror}.")
        return AWAY
    account.ran = True
    if returned >= 0:
        _report(account, "failed" if returned else "done", f"Exit status {returned}.")
        return returned
    _report(account, "failed", f"Ended by {signal.Signals(-returned).name}.")
    return _ENDED_BY_SIGNAL - returned


def _report(account: _Account, status: str, text: str) -> None:
    path = f"/v1/suspensions/{account.question_id}/outcome"
    problem = account.client.try_post(path, {"status": status, "text": text}, _REPORT_SECONDS)
    if problem is not None:
        warn(f"handraise: what came of it was not reported ({problem})")


def _run(task: _Task) -> int:
    """Its exit status; below zero the signal that ended it. Signals go on to it, and end only it."""
    early: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _: FrameType | None) -> None:
        if process is None:
            early.append(number)
        elif not (signal.Signals(number).name in _FROM_TERMINAL and _in_foreground()):  # it has it from the terminal
            process.send_signal(number)

    for number in (getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's, which it inherits
            signal.signal(number, pass_on)
    process = subprocess.Popen(task.arguments, executable=task.program, cwd=task.folder)  # noqa: S603 (approved)
    for number in early:
        process.send_signal(number)
    return process.wait()


def _in_foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to the command as well as to this process."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except (OSError, AttributeError):
        return False
