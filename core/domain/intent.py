"""Intents, as far as a suspension touches them: the record, its status changes and state patches.

Links are the kinds of container that an intent is in, as one integer: a lone intent costs no query for any of them. A
bit is set when the first such link is made, and stays: it says where to look, not what is there.

Source: RFC-0001 (lifecycle, patches); RFC-0025 §2; API.md §7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntFlag, StrEnum
from typing import Any, NamedTuple, TypeVar

from pydantic import JsonValue

from core.errors import (
    AlreadySuspended,
    IntentNotActive,
    InvalidRequest,
    InvalidTransition,
    ReservedPath,
    VersionConflict,
)


class IntentLink(IntFlag):
    """A kind of thing that may have to change when the intent moves."""

    NONE = 0
    PARENT = 1
    CHILDREN = 2
    DEPENDENCIES = 4
    """It has upstreams: it depends on them, or takes their outputs as inputs."""
    DEPENDENTS = 8
    """Others depend on it, or take its outputs."""
    TASKS = 16
    PORTFOLIOS = 32
    PHASE = 64
    """It is a phase of a workflow."""
    COORDINATORS = 128
    CHECKPOINTS = 256
    OVER = 16384
    """It has ended, and all that follows from that is done. Beyond every other bit: an index leaves these out."""


class IntentHold(IntFlag):
    """What keeps an intent blocked, or will once its own suspension has ended. We only undo our own holds: a block
    without a hold is its agent's."""

    NONE = 0
    UPSTREAM = 1
    """An intent that it depends on (RFC-0026 §2 rule 2)."""
    COORDINATOR = 2
    """A coordinator with ``block_dependents`` (RFC-0026 §3)."""


class EdgeKind:
    """Why an intent waits for another, its upstream."""

    DEPENDENCY = "dependency"
    """``depends_on`` (RFC-0002)."""
    INPUT = "input"
    """A phase takes an output of the upstream's (RFC-0024)."""
    CHILD = "child"
    """A parent is completed after its children (RFC-0002). It holds nobody."""


HOLD_OF = {EdgeKind.DEPENDENCY: IntentHold.UPSTREAM, EdgeKind.INPUT: IntentHold.COORDINATOR}
"""The hold of an intent as long as an upstream of that kind is not completed."""


RESERVED = "_suspension"
"""The key of ``state`` that mirrors the suspension record. It is the server's (RFC-0025 §5)."""


class IntentStatus(StrEnum):
    """Where an intent stands (RFC-0001, RFC-0025 §2)."""

    DRAFT = "draft"
    ACTIVE = "active"
    BLOCKED = "blocked"
    SUSPENDED = "suspended_awaiting_input"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


_MOVES = {
    IntentStatus.DRAFT: {IntentStatus.ACTIVE, IntentStatus.ABANDONED},
    IntentStatus.ACTIVE: {IntentStatus.BLOCKED, IntentStatus.COMPLETED, IntentStatus.ABANDONED},
    IntentStatus.BLOCKED: {IntentStatus.ACTIVE, IntentStatus.ABANDONED},
    IntentStatus.SUSPENDED: set(),
    IntentStatus.COMPLETED: set(),
    IntentStatus.ABANDONED: set(),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """``log_length`` and ``log_mac`` are the head of its event chain, and ``log_seal`` proves that we wrote that
    head (:data:`UNBORN`: nothing has been written yet). ``state`` is without the reserved key. ``links`` says which
    containers it has to do with, ``held`` what keeps it blocked."""

    id: str
    title: str
    description: str
    status: IntentStatus
    version: int
    state: Mapping[str, JsonValue]
    constraints: Mapping[str, JsonValue]
    confidence: float
    created_by: str
    created_at: datetime
    updated_at: datetime
    abandonment_reason: str | None = None
    suspension_id: str | None = None
    log_length: int = 0
    log_mac: str = ""
    log_seal: str | None = None
    parent_id: str | None = None
    depends_on: tuple[str, ...] = ()
    governance_policy: Mapping[str, JsonValue] | None = None
    links: IntentLink = IntentLink.NONE
    held: IntentHold = IntentHold.NONE

    def moved(self, status: IntentStatus, held: IntentHold) -> Intent:
        """At that status, one version on."""
        return replace(self, status=status, version=self.version + 1, held=held)

    def holding(self, held: IntentHold) -> Intent:
        """The intent with that hold. Its version stays: no client sees the hold."""
        return self if held == self.held else replace(self, held=held)

    def logged(self, length: int, mac: str, seal: str | None) -> Intent:
        """The intent with its log grown to that head."""
        return replace(self, log_length=length, log_mac=mac, log_seal=seal)


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait of an intent for a person, from ``began`` to ``ended``; ``None`` if it still waits."""

    began: datetime
    ended: datetime | None


class Dependent(NamedTuple):
    """The part of an intent that changes when an upstream moves. There may be thousands, and a tuple is made in a
    third of the time."""

    id: str
    status: IntentStatus
    version: int
    links: IntentLink
    held: IntentHold
    log_length: int
    log_mac: str
    log_seal: str | None

    def moved(self, status: IntentStatus, held: IntentHold) -> Dependent:
        one, _, version, links, _, length, mac, seal = self
        return Dependent(one, status, version + 1, links, held, length, mac, seal)

    def holding(self, held: IntentHold) -> Dependent:
        return self if held == self.held else self._replace(held=held)

    def logged(self, length: int, mac: str, seal: str | None) -> Dependent:
        one, status, version, links, held, *_ = self
        return Dependent(one, status, version, links, held, length, mac, seal)


Moving = TypeVar("Moving", Intent, Dependent)
"""Whichever of the two is at hand."""


UNBORN = ""
"""The seal of an intent that is being made in this transaction. No row that is read has it."""


def title_of(question: str) -> str:
    """The title of an intent that is made for a question."""
    return question[:200]


def check_move(current: IntentStatus, wanted: IntentStatus) -> None:
    """Raises :class:`InvalidTransition` unless RFC-0001 allows ``current`` → ``wanted`` by a status change."""
    if wanted is IntentStatus.SUSPENDED:
        message = "Suspend an intent with POST /intents/{id}/suspend."
        raise InvalidTransition(message, status=current.value)
    if current is IntentStatus.SUSPENDED:
        message = "The intent waits for an answer; answer it or cancel the suspension."
        raise InvalidTransition(message, status=current.value)
    if wanted not in _MOVES[current]:
        raise InvalidTransition(f"An intent can't go from {current} to {wanted}.", status=current.value)


def check_version(intent: Intent, expected: int) -> None:
    """Raises :class:`VersionConflict` if the change was made for another version."""
    if intent.version != expected:
        raise VersionConflict(f"The intent is at version {intent.version}.", current_version=intent.version)


def check_suspendable(intent: Intent) -> None:
    """Raises :class:`AlreadySuspended`, or :class:`IntentNotActive`."""
    if intent.status is IntentStatus.SUSPENDED:
        raise AlreadySuspended("The intent already waits for an answer.")
    if intent.status is not IntentStatus.ACTIVE:
        raise IntentNotActive(f"Only an active intent can be suspended; this one is {intent.status}.")


@dataclass(frozen=True, slots=True)
class Patch:
    """One change of the state. ``op`` is ``set``, ``append`` or ``remove``; ``path`` may begin with ``/`` or not."""

    op: str
    path: str
    value: JsonValue = None


def apply_patches(state: Mapping[str, JsonValue], patches: Sequence[Patch]) -> dict[str, JsonValue]:
    """The state after every patch, in order; the original is left alone.

    Raises :class:`ReservedPath` for the server's own key and :class:`InvalidRequest` for a path that leads nowhere.
    """
    changed: dict[str, JsonValue] = deepcopy(dict(state))
    for number, patch in enumerate(patches):
        parts = _parts(patch.path, number)
        if parts[0] == RESERVED:
            raise reserved_path()
        _apply(changed, parts, patch, number)
    return changed


def reserved_path() -> ReservedPath:
    return ReservedPath("state._suspension belongs to the server.")


def replace_state(wanted: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A whole new state; the reserved key in it is left out, since the server's record is preserved."""
    return {key: value for key, value in wanted.items() if key != RESERVED}


def _parts(path: str, number: int) -> list[str]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.removeprefix("/").split("/")]
    if not all(parts):
        raise InvalidRequest("A path names at least one key, and none of them empty.", path=f"patches.{number}.path")
    return parts


def _apply(state: dict[str, JsonValue], parts: list[str], patch: Patch, number: int) -> None:
    target: Any = state
    for part in parts[:-1]:
        target = _step(target, part, patch, number)
    last = parts[-1]
    match patch.op:
        case "set":
            _set(target, last, patch.value, number)
        case "append":
            _append(target, last, patch.value, number)
        case "remove":
            _remove(target, last, number)
        case _:
            raise InvalidRequest("op is one of set, append, remove.", path=f"patches.{number}.op")


def _step(target: Any, part: str, patch: Patch, number: int) -> Any:
    if isinstance(target, dict):
        if part not in target and patch.op != "remove":
            target[part] = {}
        if part in target:
            return target[part]
    elif isinstance(target, list) and part.isascii() and part.isdigit() and int(part) < len(target):
        return target[int(part)]
    raise _nowhere(number)


def _set(target: Any, last: str, value: JsonValue, number: int) -> None:
    if isinstance(target, dict):
        target[last] = value
    elif isinstance(target, list) and last.isascii() and last.isdigit() and int(last) < len(target):
        target[int(last)] = value
    else:
        raise _nowhere(number)


def _append(target: Any, last: str, value: JsonValue, number: int) -> None:
    if isinstance(target, dict):
        items = target.setdefault(last, [])
        if isinstance(items, list):
            items.append(value)
            return
    raise InvalidRequest("append needs a list at this path.", path=f"patches.{number}.path")


def _remove(target: Any, last: str, number: int) -> None:
    if isinstance(target, dict) and last in target:
        del target[last]
    elif isinstance(target, list) and last.isascii() and last.isdigit() and int(last) < len(target):
        del target[int(last)]
    else:
        raise _nowhere(number)


def _nowhere(number: int) -> InvalidRequest:
    return InvalidRequest("This path leads nowhere in the state.", path=f"patches.{number}.path")
