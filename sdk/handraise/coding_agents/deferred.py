"""Runs of Claude Code that ended with a call of a tool, and go on once a person has decided about it.

The hook keeps a file for each such call in ``~/.local/state/handraise/deferred``, readable by the user alone.
:func:`resume_runs` starts ``claude -p --resume`` for a run whose questions have all ended; the hook then runs again
with the same calls, finds their questions, and lets them run or not. A receipt counts once, so that a call runs once
however often a run is resumed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from handraise.coding_agents.hook_file import HookSettings
from handraise.coding_agents.hook_protocol import HookCall
from handraise.coding_agents.project import own_home
from handraise.records import Suspended
from handraise.sync_client import HandraiseSync

DEFERRED_SECONDS = 24 * 3600
"""How long people have for a question that no process waits for."""

_POLL_SECONDS = 2.0


class DeferredCall(BaseModel):
    """A call about which a person is asked while nothing runs. ``suspension_id`` is a secret."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    folder: str
    suspension_id: str
    ref: str | None = None


@dataclass(frozen=True)
class DeferredRun:
    """A run that has ended with these calls, each beside its file as it is now."""

    calls: tuple[DeferredCall, ...]
    files: tuple[tuple[Path, int], ...]

    @property
    def session_id(self) -> str:
        return self.calls[0].session_id


@dataclass(frozen=True)
class DeferredRuns:
    """The files of the runs that wait: a folder for each run, in it a file for each call."""

    folder: Path = field(default_factory=lambda: Path(own_home(), ".local/state/handraise/deferred"))

    def remember(self, call: HookCall, asked: Suspended) -> None:
        deferred = DeferredCall(
            session_id=call.session_id, folder=call.folder, suspension_id=asked.suspension_id, ref=asked.ref
        )
        folder = self._folder(call.session_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = folder / f"{os.getpid()}.new"
        made.touch(mode=0o600)
        made.write_text(deferred.model_dump_json(), encoding="utf-8")
        made.replace(folder / f"{_named(asked.suspension_id)}.json")

    def all(self, session_id: str | None = None) -> list[DeferredRun]:
        """Those that wait; ``session_id`` picks one."""
        folders = sorted(self.folder.glob("*")) if session_id is None else [self._folder(session_id)]
        return [run for folder in folders if (run := _run_in(folder)) is not None]

    @contextmanager
    def taken(self, run: DeferredRun) -> Iterator[bool]:
        """Whether this process alone goes on with ``run``. Calls that are not deferred again are forgotten then."""
        folder = self._folder(run.session_id)
        try:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield False
            return
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
            _forget(run)
            with suppress(OSError):  # it holds what was deferred again
                folder.rmdir()
        finally:
            os.close(opened)

    def _folder(self, session_id: str) -> Path:
        return self.folder / _named(session_id)


def resume_runs(
    settings: HookSettings,
    command: Sequence[str],
    tell: Callable[[str], None],
    *,
    session_id: str | None = None,
    runs: DeferredRuns | None = None,
) -> int:
    """Wait for the questions of all runs, or of one, and go on with each run as soon as its questions have ended;
    returns the last status of ``command`` that was not 0. ``command`` is given ``-p --resume`` and the session, before
    its further arguments."""
    runs, worst = runs or DeferredRuns(), 0
    with HandraiseSync(settings.url, settings.api_key) as people:
        while waiting := runs.all(session_id):
            ready = [run for run in waiting if not any(people.get(call.suspension_id).is_open for call in run.calls)]
            for run in ready:
                worst = _go_on(runs, run, command, tell) or worst
            if not ready:
                time.sleep(_POLL_SECONDS)
    return worst


def _go_on(runs: DeferredRuns, run: DeferredRun, command: Sequence[str], tell: Callable[[str], None]) -> int:
    with runs.taken(run) as is_ours:
        if not is_ours:
            time.sleep(_POLL_SECONDS)
            return 0
        full = [command[0], "-p", "--resume", run.session_id, *command[1:]]
        refs = ", ".join(call.ref or "a question" for call in run.calls)
        tell(f"{refs} ended: going on with {run.session_id} in {run.calls[0].folder}")
        status = subprocess.run(full, cwd=run.calls[0].folder, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603
        if status:
            tell(f"{' '.join(full)} ended with status {status}")
        return status


def _run_in(folder: Path) -> DeferredRun | None:
    calls, files = [], []
    for file in sorted(folder.glob("*.json")):
        with suppress(OSError, ValidationError):
            calls.append(DeferredCall.model_validate_json(file.read_bytes()))
            files.append((file, file.stat().st_ino))
    return DeferredRun(tuple(calls), tuple(files)) if calls else None


def _forget(run: DeferredRun) -> None:
    for file, inode in run.files:
        with suppress(FileNotFoundError):
            if file.stat().st_ino == inode:  # else the call was deferred again
                file.unlink()


def _named(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()[:32]
