"""Errors of a suspension: the four categories of the specification, and two of its sessions.

``category`` is the specification's own code, the same in every library; match on it or on the class. No message holds a
question, an answer or a state.

Source: OpenArmature suspension §9; for sessions, OpenArmature harness §7.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from handraise.errors import HandraiseError

WhyInvalid = Literal["unknown", "open", "running", "resumed", "over", "foreign", "used"]


class SuspensionError(HandraiseError):
    """The root of the four. ``category`` is the code of OpenArmature suspension §9."""

    category: ClassVar[str]


class SuspensionPersistenceFailed(SuspensionError):
    """The paused invocation could not be stored, and nothing of it was: no question is open.

    Raised by ``suspend()`` in the node body, which may catch it like any other error. ``__cause__`` says why: the
    server's refusal (:class:`handraise.RequestRefused`), its silence, or what the session's store has raised.
    """

    category = "suspension_persistence_failed"


class SuspensionRecordInvalid(SuspensionError):
    """There is nothing to resume under this ``invocation_id``. ``reason`` says why.

    - ``unknown``: this key has suspended no such invocation, or retention has moved it out.
    - ``open``: nobody has answered yet.
    - ``running``: another process goes on with it now. Should it die, try again in a minute.
    - ``resumed``: it has gone on already.
    - ``over``: its intent has been completed or abandoned meanwhile.
    - ``foreign``: the record was written by another program, or names a node that this one lacks.
    - ``used``: a run was to begin under the id of one that has been answered.
    """

    category = "suspension_record_invalid"

    def __init__(self, reason: WhyInvalid, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class SuspensionResumePayloadInvalid(SuspensionError):
    """The invocation can't go on with the signal's payload: the state would not fit its model, or the payload is not
    the recorded one. The message names fields and no value."""

    category = "suspension_resume_payload_invalid"


class SuspensionInUnsupportedContext(SuspensionError):
    """``suspend()`` was called outside a node body, or where the gate could be passed without an answer."""

    category = "suspension_in_unsupported_context"


class SessionStoreFailed(HandraiseError):
    """The store of sessions has failed; ``__cause__`` is what it raised."""

    category: ClassVar[str]


class SessionLoadFailed(SessionStoreFailed):
    """The session could not be loaded: no node has run."""

    category = "session_load_failed"


class SessionSaveFailed(SessionStoreFailed):
    """The nodes have run, and the session could not be saved at the end.

    An invocation that was resumed may be resumed again: it does not count as completed.
    """

    category = "session_save_failed"
