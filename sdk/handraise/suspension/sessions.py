"""Sessions: the state that outlives an invocation, loaded when one begins and saved when it ends or suspends.

Source: OpenArmature suspension §8.6; harness §2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, JsonValue, ValidationError

from handraise.suspension.errors import SessionLoadFailed, SessionSaveFailed, SuspensionPersistenceFailed
from handraise.suspension.merging import StateModel, problems_of, read, valid, written


class SessionStore(Protocol):
    """States by ``session_id``, as JSON objects. Retry what passes before you raise: what you raise is final.

    Whatever ``load`` raises reaches the caller as :class:`handraise.suspension.SessionLoadFailed`, unless it has a
    ``category`` of its own. What ``save`` raises becomes :class:`handraise.SuspensionPersistenceFailed` at a
    suspension, and else :class:`handraise.suspension.SessionSaveFailed`.
    """

    async def load(self, session_id: str) -> Mapping[str, JsonValue] | None:
        """The saved state; ``None`` for a session that has none yet."""
        ...

    async def save(self, session_id: str, state: Mapping[str, JsonValue]) -> None:
        """Replace what was saved. When it returns, every process loads this."""
        ...


@dataclass
class MemorySessionStore:
    """For one process, and for as long as it lives."""

    _saved: dict[str, str] = field(default_factory=dict, repr=False)

    async def load(self, session_id: str) -> Mapping[str, JsonValue] | None:
        saved = self._saved.get(session_id)
        if saved is None:
            return None
        state: dict[str, JsonValue] = json.loads(saved)
        return state

    async def save(self, session_id: str, state: Mapping[str, JsonValue]) -> None:
        self._saved[session_id] = json.dumps(dict(state))


async def load_session(store: SessionStore | None, session_id: str | None) -> Mapping[str, JsonValue] | None:
    """The session's state; ``None`` without a store, a session, or anything saved. Raises :class:`SessionLoadFailed`,
    or what the store raises if that has a ``category``."""
    if store is None or session_id is None:
        return None
    try:
        return await store.load(session_id)
    except Exception as failure:
        if _has_category(failure):
            raise
        raise SessionLoadFailed("The session could not be loaded.") from failure


async def save_session(store: SessionStore | None, session_id: str | None, state: BaseModel) -> None:
    """Save ``state`` as the session's, if there is one and a store. Raises :class:`SessionSaveFailed`, or what the
    store raises if that has a ``category``."""
    if store is None or session_id is None:
        return
    try:
        await store.save(session_id, written(state))
    except Exception as failure:
        if _has_category(failure):
            raise
        raise SessionSaveFailed("The session could not be saved.") from failure


async def save_suspended(store: SessionStore | None, session_id: str | None, state: BaseModel) -> None:
    """:func:`save_session` before a question is opened: it is open only once both can be found again.

    Raises :class:`handraise.SuspensionPersistenceFailed` (§8.6).
    """
    try:
        await save_session(store, session_id, state)
    except Exception as failure:
        raise SuspensionPersistenceFailed("The session could not be saved.") from failure


def first_state(
    model: type[StateModel],
    saved: Mapping[str, JsonValue] | None,
    initial: Mapping[str, JsonValue] | BaseModel | None,
) -> StateModel:
    """What a run begins with: what was ``saved`` for its session, and over it the fields of ``initial``.

    Raises :class:`SessionLoadFailed` if the former is no ``model``, ``ValueError`` if the whole is none.
    """
    given = initial.model_dump(exclude_unset=True) if isinstance(initial, BaseModel) else dict(initial or {})
    return valid(model, {**_read(model, saved), **given}, "The initial state")


def _read(model: type[BaseModel], saved: Mapping[str, JsonValue] | None) -> dict[str, Any]:
    if saved is None:
        return {}
    try:
        return dict(read(model, saved))
    except ValidationError as problem:
        wrong = problems_of(problem)
    # Outside the handler, so that no traceback carries the values along.
    raise SessionLoadFailed(f"The session's state is no {model.__name__}: {wrong}.")


def _has_category(failure: Exception) -> bool:
    return isinstance(getattr(failure, "category", None), str)
