"""Suspension: a run of plain async functions, or of a graph, stops at a person's decision and goes on in any process.

The mechanism (OpenArmature suspension §3, §8.4). ``suspend()`` stores the paused invocation at the server, in the
transaction that opens the question, and then raises a private ``BaseException``. ``except Exception`` does not catch
it, nor does middleware that isolates failures. The body ends there, and so does everything that waits for the body:
what stands behind ``suspend()``, in the node or after ``next()`` in a middleware, does not run on that attempt. Never
write a bare ``except`` or ``except BaseException`` around it. Should one swallow the exception all the same, the run is
suspended: what runs the body looks at what was stored, and not at what the body made of it.

Read ``descriptor``, ``outcomes``, ``suspending``, ``merging``, ``paused``, ``invocation_lease``, ``pipeline``.
``errors`` are the four categories of §9, ``sessions`` the store of what outlives an invocation.

What must never be: a next node that runs before its signal, a payload that nobody gave, a question that is open for an
invocation that was not stored, and two processes that go on with the same one.
"""

from handraise.suspension.descriptor import SignalDescriptor
from handraise.suspension.errors import (
    SessionLoadFailed,
    SessionSaveFailed,
    SuspensionError,
    SuspensionInUnsupportedContext,
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
    SuspensionResumePayloadInvalid,
)
from handraise.suspension.outcomes import (
    CancelledOutcome,
    CompletedOutcome,
    ExpiredOutcome,
    Outcome,
    Runner,
    SuspendedOutcome,
)
from handraise.suspension.pipeline import Pipeline
from handraise.suspension.sessions import MemorySessionStore, SessionStore
from handraise.suspension.suspending import current_invocation_id, suspend

__all__ = [
    "CancelledOutcome",
    "CompletedOutcome",
    "ExpiredOutcome",
    "MemorySessionStore",
    "Outcome",
    "Pipeline",
    "Runner",
    "SessionLoadFailed",
    "SessionSaveFailed",
    "SessionStore",
    "SignalDescriptor",
    "SuspendedOutcome",
    "SuspensionError",
    "SuspensionInUnsupportedContext",
    "SuspensionPersistenceFailed",
    "SuspensionRecordInvalid",
    "SuspensionResumePayloadInvalid",
    "current_invocation_id",
    "suspend",
]
