"""The hook itself: one call of a tool in on standard input, one verdict out on standard output."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, field

from handraise.coding_agents.approval_question import ask, verdict_of
from handraise.coding_agents.decision import needs_nobody
from handraise.coding_agents.deferred import DEFERRED_SECONDS, DeferredRuns
from handraise.coding_agents.hook_file import HookFile, HookSettings
from handraise.coding_agents.hook_protocol import (
    Allow,
    Defer,
    Deny,
    HookCall,
    HookEvent,
    Program,
    UnreadableCall,
    Verdict,
    read_call,
    written,
)
from handraise.coding_agents.isolation import BLOCKED, Interrupted, Watch, forget_environment, margin
from handraise.coding_agents.project import Project
from handraise.errors import AlreadyDenied, HandraiseError
from handraise.records import Suspended, SuspensionRecord
from handraise.sync_client import HandraiseSync

SHORTEST_SECONDS = 30
"""Of a program's time-out: in less, neither a person nor the words about their silence have room."""

_LONGEST_CALL = 8 * 1024 * 1024
_PATIENCE_SECONDS = 20.0
_GOODBYE_SECONDS = 2.0
_NOBODY_ASKED = "Nobody could be asked, so nobody has decided. Nothing has run."


@dataclass(frozen=True)
class AgentHook:
    """The hook of ``program``, which ends its hooks after ``seconds``. With ``defer`` a run of Claude Code ends with
    the call, and goes on with it after the answer. With ``refusal`` it says no with that text, and asks nobody. Other
    places of the files are for tests."""

    program: Program
    seconds: int
    defer: bool = False
    refusal: str | None = None
    file: HookFile = field(default_factory=HookFile)
    runs: DeferredRuns = field(default_factory=DeferredRuns)

    def run(self) -> int:
        """Answer one call; returns the exit status.

        Whatever goes wrong is an explicit no, which the model is told, or status 2 if not even the call can be read.
        """
        watch = Watch(self.seconds)
        try:
            call = read_call(self.program, sys.stdin.buffer.read(_LONGEST_CALL))
            sys.stdout.write(written(call, self._verdict(call, watch)) + "\n")
            sys.stdout.flush()
        except UnreadableCall as problem:
            sys.stderr.write(f"handraise: {problem}, so it is no\n")
        except Interrupted:
            sys.stderr.write("handraise: ended before anybody has decided, so it is no\n")
        else:
            return 0
        return BLOCKED

    def _verdict(self, call: HookCall, watch: Watch) -> Verdict:
        if self.refusal is not None:
            return Deny(self.refusal)
        try:
            settings = self.file.read()
            forget_environment(settings.ca_file)
            if needs_nobody(call, settings.unasked, Project(call.folder)):
                return Allow()
            patience = min(_PATIENCE_SECONDS, watch.left / 2)
            with HandraiseSync(settings.url, settings.api_key, patience_seconds=patience) as people:
                return self._by_a_person(people, call, settings, watch)
        except AlreadyDenied as denied:
            return Deny(denied.tool_result())
        except HandraiseError as failure:
            return Deny(f"{_NOBODY_ASKED} {failure}")
        except Exception as failure:  # noqa: BLE001 (whatever it is, it is no)
            return Deny(f"{_NOBODY_ASKED} ({type(failure).__name__})")

    def _by_a_person(self, people: HandraiseSync, call: HookCall, settings: HookSettings, watch: Watch) -> Verdict:
        is_deferred = self.defer and can_be_deferred(call)
        asked = ask(people, call, settings, DEFERRED_SECONDS if is_deferred else asked_seconds(self.seconds))
        if is_deferred and (ended := people.get(asked.suspension_id)).is_open:
            self.runs.remember(call, asked)
            return Defer()
        if not is_deferred:
            ended = _waited(people, asked, watch)
        return verdict_of(people, call, asked, ended)


def asked_seconds(seconds: int) -> int:
    """How long people have: the service ends the question before the hook ends, so that silence is told as silence."""
    left = seconds - margin(seconds)
    return max(1, int(left - min(10.0, left / 5)))


def can_be_deferred(call: HookCall) -> bool:
    """Whether the program can end with this call, and be resumed with it."""
    return call.program is Program.CLAUDE_CODE and call.event is HookEvent.PRE_TOOL_USE and call.call_id is not None


def _waited(people: HandraiseSync, asked: Suspended, watch: Watch) -> SuspensionRecord:
    """The question at its end, or as it was when the hook had to end before: then it is taken back, so that nobody
    answers for nothing."""
    try:
        return people.wait(asked.suspension_id, give_up_after_seconds=max(0.1, watch.left - _GOODBYE_SECONDS))
    except TimeoutError:
        seen = people.get(asked.suspension_id)
        _take_back(people, asked)
        return seen
    except Interrupted:
        watch.end_within(_GOODBYE_SECONDS)
        _take_back(people, asked)
        raise


def _take_back(people: HandraiseSync, asked: Suspended) -> None:
    with suppress(HandraiseError):
        people.cancel(asked.suspension_id, "The coding agent does not wait for it any more.")
