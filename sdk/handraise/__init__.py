"""Ask a person from an AI agent, and go on when they have answered."""

from importlib import import_module
from typing import TYPE_CHECKING

from handraise.callbacks import Resumed, verify_callback
from handraise.client import Handraise
from handraise.closed_sets import ChoiceStyle, FallbackPolicy, Kind, ResponseType
from handraise.errors import (
    ConfigurationError,
    HandraiseError,
    InvalidCallback,
    ReceiptRefused,
    RequestRefused,
    ServerUnavailable,
    SuspensionNotSupported,
    UnexpectedResponse,
    UpstreamIntentSuspendedError,
    WorkflowError,
)
from handraise.questions import (
    ApprovalOptions,
    EngagementSignals,
    EscalationRung,
    HumanRetryPolicy,
    Options,
    ResumeTarget,
    SuspensionChoice,
)
from handraise.records import (
    Answered,
    Claim,
    Clarification,
    EngagementDecision,
    GivenAnswer,
    InputCancelledError,
    InputResponse,
    InputTimeoutError,
    Intent,
    LoggedEvent,
    Me,
    NotAnswered,
    Preview,
    Suspended,
    SuspensionRecord,
    TimelineItem,
    UnfitAnswer,
)
from handraise.sync_client import HandraiseSync

if TYPE_CHECKING:
    from handraise.approval import Denied as Denied
    from handraise.approval import needs_approval as needs_approval
    from handraise.asgi import ReceiverReply as ReceiverReply
    from handraise.base_agent import Agent as Agent
    from handraise.base_agent import BaseAgent as BaseAgent
    from handraise.callback_sqlite import SqliteCallbackStore as SqliteCallbackStore
    from handraise.callback_stores import CallbackState as CallbackState
    from handraise.callback_stores import CallbackStore as CallbackStore
    from handraise.callback_stores import MemoryCallbackStore as MemoryCallbackStore
    from handraise.harness import Harness as Harness
    from handraise.harness import HarnessMode as HarnessMode
    from handraise.harness import SignalCoordinator as SignalCoordinator
    from handraise.harness import Transmission as Transmission
    from handraise.lifecycle_hooks import on_engagement_decision as on_engagement_decision
    from handraise.lifecycle_hooks import on_input_received as on_input_received
    from handraise.lifecycle_hooks import on_input_requested as on_input_requested
    from handraise.lifecycle_hooks import on_suspension_expired as on_suspension_expired
    from handraise.receiver import ResumeReceiver as ResumeReceiver
    from handraise.receiver import SessionEnded as SessionEnded
    from handraise.session_turn import Turn as Turn
    from handraise.suspension import CancelledOutcome as CancelledOutcome
    from handraise.suspension import CompletedOutcome as CompletedOutcome
    from handraise.suspension import ExpiredOutcome as ExpiredOutcome
    from handraise.suspension import MemorySessionStore as MemorySessionStore
    from handraise.suspension import Outcome as Outcome
    from handraise.suspension import Pipeline as Pipeline
    from handraise.suspension import Runner as Runner
    from handraise.suspension import SessionLoadFailed as SessionLoadFailed
    from handraise.suspension import SessionSaveFailed as SessionSaveFailed
    from handraise.suspension import SessionStore as SessionStore
    from handraise.suspension import SignalDescriptor as SignalDescriptor
    from handraise.suspension import SuspendedOutcome as SuspendedOutcome
    from handraise.suspension import SuspensionError as SuspensionError
    from handraise.suspension import SuspensionInUnsupportedContext as SuspensionInUnsupportedContext
    from handraise.suspension import SuspensionPersistenceFailed as SuspensionPersistenceFailed
    from handraise.suspension import SuspensionRecordInvalid as SuspensionRecordInvalid
    from handraise.suspension import SuspensionResumePayloadInvalid as SuspensionResumePayloadInvalid
    from handraise.suspension import current_invocation_id as current_invocation_id
    from handraise.suspension import suspend as suspend
    from handraise.veto import VetoOutcome as VetoOutcome

_LATER = {
    "Agent": "base_agent",
    "BaseAgent": "base_agent",
    "CallbackState": "callback_stores",
    "CallbackStore": "callback_stores",
    "CancelledOutcome": "suspension",
    "CompletedOutcome": "suspension",
    "Denied": "approval",
    "ExpiredOutcome": "suspension",
    "Harness": "harness",
    "HarnessMode": "harness",
    "MemoryCallbackStore": "callback_stores",
    "MemorySessionStore": "suspension",
    "Outcome": "suspension",
    "Pipeline": "suspension",
    "ReceiverReply": "asgi",
    "ResumeReceiver": "receiver",
    "Runner": "suspension",
    "SessionEnded": "receiver",
    "SessionLoadFailed": "suspension",
    "SessionSaveFailed": "suspension",
    "SessionStore": "suspension",
    "SignalCoordinator": "harness",
    "SignalDescriptor": "suspension",
    "SqliteCallbackStore": "callback_sqlite",
    "SuspendedOutcome": "suspension",
    "SuspensionError": "suspension",
    "SuspensionInUnsupportedContext": "suspension",
    "SuspensionPersistenceFailed": "suspension",
    "SuspensionRecordInvalid": "suspension",
    "SuspensionResumePayloadInvalid": "suspension",
    "Transmission": "harness",
    "Turn": "session_turn",
    "VetoOutcome": "veto",
    "current_invocation_id": "suspension",
    "needs_approval": "approval",
    "on_engagement_decision": "lifecycle_hooks",
    "on_input_received": "lifecycle_hooks",
    "on_input_requested": "lifecycle_hooks",
    "on_suspension_expired": "lifecycle_hooks",
    "suspend": "suspension",
}
"""What is imported when it is first named: asyncio and sqlite3 take their time."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


__all__ = [
    "Agent",
    "Answered",
    "ApprovalOptions",
    "BaseAgent",
    "CallbackState",
    "CallbackStore",
    "CancelledOutcome",
    "ChoiceStyle",
    "Claim",
    "Clarification",
    "CompletedOutcome",
    "ConfigurationError",
    "Denied",
    "EngagementDecision",
    "EngagementSignals",
    "EscalationRung",
    "ExpiredOutcome",
    "FallbackPolicy",
    "GivenAnswer",
    "Handraise",
    "HandraiseError",
    "HandraiseSync",
    "Harness",
    "HarnessMode",
    "HumanRetryPolicy",
    "InputCancelledError",
    "InputResponse",
    "InputTimeoutError",
    "Intent",
    "InvalidCallback",
    "Kind",
    "LoggedEvent",
    "Me",
    "MemoryCallbackStore",
    "MemorySessionStore",
    "NotAnswered",
    "Options",
    "Outcome",
    "Pipeline",
    "Preview",
    "ReceiptRefused",
    "ReceiverReply",
    "RequestRefused",
    "ResponseType",
    "ResumeReceiver",
    "ResumeTarget",
    "Resumed",
    "Runner",
    "ServerUnavailable",
    "SessionEnded",
    "SessionLoadFailed",
    "SessionSaveFailed",
    "SessionStore",
    "SignalCoordinator",
    "SignalDescriptor",
    "SqliteCallbackStore",
    "Suspended",
    "SuspendedOutcome",
    "SuspensionChoice",
    "SuspensionError",
    "SuspensionInUnsupportedContext",
    "SuspensionNotSupported",
    "SuspensionPersistenceFailed",
    "SuspensionRecord",
    "SuspensionRecordInvalid",
    "SuspensionResumePayloadInvalid",
    "TimelineItem",
    "Transmission",
    "Turn",
    "UnexpectedResponse",
    "UnfitAnswer",
    "UpstreamIntentSuspendedError",
    "VetoOutcome",
    "WorkflowError",
    "current_invocation_id",
    "needs_approval",
    "on_engagement_decision",
    "on_input_received",
    "on_input_requested",
    "on_suspension_expired",
    "suspend",
    "verify_callback",
]
