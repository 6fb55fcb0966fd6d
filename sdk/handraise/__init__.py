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
    from handraise.lifecycle_hooks import on_engagement_decision as on_engagement_decision
    from handraise.lifecycle_hooks import on_input_received as on_input_received
    from handraise.lifecycle_hooks import on_input_requested as on_input_requested
    from handraise.lifecycle_hooks import on_suspension_expired as on_suspension_expired
    from handraise.receiver import ResumeReceiver as ResumeReceiver
    from handraise.receiver import SessionEnded as SessionEnded
    from handraise.session_turn import Turn as Turn
    from handraise.veto import VetoOutcome as VetoOutcome

_LATER = {
    "Agent": "base_agent",
    "BaseAgent": "base_agent",
    "CallbackState": "callback_stores",
    "CallbackStore": "callback_stores",
    "Denied": "approval",
    "MemoryCallbackStore": "callback_stores",
    "ReceiverReply": "asgi",
    "ResumeReceiver": "receiver",
    "SessionEnded": "receiver",
    "SqliteCallbackStore": "callback_sqlite",
    "Turn": "session_turn",
    "VetoOutcome": "veto",
    "needs_approval": "approval",
    "on_engagement_decision": "lifecycle_hooks",
    "on_input_received": "lifecycle_hooks",
    "on_input_requested": "lifecycle_hooks",
    "on_suspension_expired": "lifecycle_hooks",
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
    "ChoiceStyle",
    "Claim",
    "Clarification",
    "ConfigurationError",
    "Denied",
    "EngagementDecision",
    "EngagementSignals",
    "EscalationRung",
    "FallbackPolicy",
    "GivenAnswer",
    "Handraise",
    "HandraiseError",
    "HandraiseSync",
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
    "NotAnswered",
    "Options",
    "Preview",
    "ReceiptRefused",
    "ReceiverReply",
    "RequestRefused",
    "ResponseType",
    "ResumeReceiver",
    "ResumeTarget",
    "Resumed",
    "ServerUnavailable",
    "SessionEnded",
    "SqliteCallbackStore",
    "Suspended",
    "SuspensionChoice",
    "SuspensionNotSupported",
    "SuspensionRecord",
    "TimelineItem",
    "Turn",
    "UnexpectedResponse",
    "UnfitAnswer",
    "UpstreamIntentSuspendedError",
    "VetoOutcome",
    "WorkflowError",
    "needs_approval",
    "on_engagement_decision",
    "on_input_received",
    "on_input_requested",
    "on_suspension_expired",
    "verify_callback",
]
