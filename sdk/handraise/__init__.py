"""Ask a person from an AI agent, and go on when they have answered."""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from handraise.callbacks import Resumed as Resumed
    from handraise.callbacks import verify_callback as verify_callback
    from handraise.client import Handraise as Handraise
    from handraise.closed_sets import ChoiceStyle as ChoiceStyle
    from handraise.closed_sets import FallbackPolicy as FallbackPolicy
    from handraise.closed_sets import Kind as Kind
    from handraise.closed_sets import ResponseType as ResponseType
    from handraise.errors import AlreadyDenied as AlreadyDenied
    from handraise.errors import ConfigurationError as ConfigurationError
    from handraise.errors import HandraiseError as HandraiseError
    from handraise.errors import InvalidCallback as InvalidCallback
    from handraise.errors import ReceiptRefused as ReceiptRefused
    from handraise.errors import RequestRefused as RequestRefused
    from handraise.errors import ScopeLost as ScopeLost
    from handraise.errors import ServerUnavailable as ServerUnavailable
    from handraise.errors import SuspensionNotSupported as SuspensionNotSupported
    from handraise.errors import UnexpectedResponse as UnexpectedResponse
    from handraise.errors import UpstreamIntentSuspendedError as UpstreamIntentSuspendedError
    from handraise.errors import WorkflowError as WorkflowError
    from handraise.execution import Execution as Execution
    from handraise.harness import Harness as Harness
    from handraise.harness import HarnessMode as HarnessMode
    from handraise.harness import SignalCoordinator as SignalCoordinator
    from handraise.harness import Transmission as Transmission
    from handraise.held_lease import Lease as Lease
    from handraise.lifecycle_hooks import on_engagement_decision as on_engagement_decision
    from handraise.lifecycle_hooks import on_input_received as on_input_received
    from handraise.lifecycle_hooks import on_input_requested as on_input_requested
    from handraise.lifecycle_hooks import on_suspension_expired as on_suspension_expired
    from handraise.questions import ApprovalOptions as ApprovalOptions
    from handraise.questions import EngagementSignals as EngagementSignals
    from handraise.questions import EscalationRung as EscalationRung
    from handraise.questions import HumanRetryPolicy as HumanRetryPolicy
    from handraise.questions import Options as Options
    from handraise.questions import ResumeTarget as ResumeTarget
    from handraise.questions import SuspensionChoice as SuspensionChoice
    from handraise.receiver import ResumeReceiver as ResumeReceiver
    from handraise.receiver import SessionEnded as SessionEnded
    from handraise.records import ActionReport as ActionReport
    from handraise.records import Answered as Answered
    from handraise.records import CallbackRecord as CallbackRecord
    from handraise.records import Claim as Claim
    from handraise.records import Clarification as Clarification
    from handraise.records import EarlierAnswer as EarlierAnswer
    from handraise.records import EngagementDecision as EngagementDecision
    from handraise.records import GivenAnswer as GivenAnswer
    from handraise.records import InputCancelledError as InputCancelledError
    from handraise.records import InputResponse as InputResponse
    from handraise.records import InputTimeoutError as InputTimeoutError
    from handraise.records import Intent as Intent
    from handraise.records import LoggedEvent as LoggedEvent
    from handraise.records import Me as Me
    from handraise.records import NotAnswered as NotAnswered
    from handraise.records import Preview as Preview
    from handraise.records import ShownNotice as ShownNotice
    from handraise.records import Suspended as Suspended
    from handraise.records import SuspensionRecord as SuspensionRecord
    from handraise.records import TimelineItem as TimelineItem
    from handraise.records import UnfitAnswer as UnfitAnswer
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
    from handraise.sync_client import HandraiseSync as HandraiseSync
    from handraise.sync_execution import ExecutionSync as ExecutionSync
    from handraise.sync_held_lease import LeaseSync as LeaseSync
    from handraise.veto import VetoOutcome as VetoOutcome
    from handraise.work_records import Task as Task
    from handraise.work_records import Workflow as Workflow
    from handraise.work_records import WorkflowPhase as WorkflowPhase

_MODULES = {
    "ActionReport": "records",
    "Agent": "base_agent",
    "AlreadyDenied": "errors",
    "Answered": "records",
    "ApprovalOptions": "questions",
    "BaseAgent": "base_agent",
    "CallbackRecord": "records",
    "CallbackState": "callback_stores",
    "CallbackStore": "callback_stores",
    "CancelledOutcome": "suspension",
    "ChoiceStyle": "closed_sets",
    "Claim": "records",
    "Clarification": "records",
    "CompletedOutcome": "suspension",
    "ConfigurationError": "errors",
    "Denied": "approval",
    "EarlierAnswer": "records",
    "EngagementDecision": "records",
    "EngagementSignals": "questions",
    "EscalationRung": "questions",
    "Execution": "execution",
    "ExecutionSync": "sync_execution",
    "ExpiredOutcome": "suspension",
    "FallbackPolicy": "closed_sets",
    "GivenAnswer": "records",
    "Handraise": "client",
    "HandraiseError": "errors",
    "HandraiseSync": "sync_client",
    "Harness": "harness",
    "HarnessMode": "harness",
    "HumanRetryPolicy": "questions",
    "InputCancelledError": "records",
    "InputResponse": "records",
    "InputTimeoutError": "records",
    "Intent": "records",
    "InvalidCallback": "errors",
    "Kind": "closed_sets",
    "Lease": "held_lease",
    "LeaseSync": "sync_held_lease",
    "LoggedEvent": "records",
    "Me": "records",
    "MemoryCallbackStore": "callback_stores",
    "MemorySessionStore": "suspension",
    "NotAnswered": "records",
    "Options": "questions",
    "Outcome": "suspension",
    "Pipeline": "suspension",
    "Preview": "records",
    "ReceiptRefused": "errors",
    "ReceiverReply": "asgi",
    "RequestRefused": "errors",
    "ResponseType": "closed_sets",
    "ResumeReceiver": "receiver",
    "ResumeTarget": "questions",
    "Resumed": "callbacks",
    "Runner": "suspension",
    "ScopeLost": "errors",
    "ServerUnavailable": "errors",
    "SessionEnded": "receiver",
    "SessionLoadFailed": "suspension",
    "SessionSaveFailed": "suspension",
    "SessionStore": "suspension",
    "ShownNotice": "records",
    "SignalCoordinator": "harness",
    "SignalDescriptor": "suspension",
    "SqliteCallbackStore": "callback_sqlite",
    "Suspended": "records",
    "SuspendedOutcome": "suspension",
    "SuspensionChoice": "questions",
    "SuspensionError": "suspension",
    "SuspensionInUnsupportedContext": "suspension",
    "SuspensionNotSupported": "errors",
    "SuspensionPersistenceFailed": "suspension",
    "SuspensionRecord": "records",
    "SuspensionRecordInvalid": "suspension",
    "SuspensionResumePayloadInvalid": "suspension",
    "Task": "work_records",
    "TimelineItem": "records",
    "Transmission": "harness",
    "Turn": "session_turn",
    "UnexpectedResponse": "errors",
    "UnfitAnswer": "records",
    "UpstreamIntentSuspendedError": "errors",
    "VetoOutcome": "veto",
    "Workflow": "work_records",
    "WorkflowError": "errors",
    "WorkflowPhase": "work_records",
    "current_invocation_id": "suspension",
    "needs_approval": "approval",
    "on_engagement_decision": "lifecycle_hooks",
    "on_input_received": "lifecycle_hooks",
    "on_input_requested": "lifecycle_hooks",
    "on_suspension_expired": "lifecycle_hooks",
    "suspend": "suspension",
    "verify_callback": "callbacks",
}
"""What is imported when it is first named: asyncio and sqlite3 take their time."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "ActionReport",
    "Agent",
    "AlreadyDenied",
    "Answered",
    "ApprovalOptions",
    "BaseAgent",
    "CallbackRecord",
    "CallbackState",
    "CallbackStore",
    "CancelledOutcome",
    "ChoiceStyle",
    "Claim",
    "Clarification",
    "CompletedOutcome",
    "ConfigurationError",
    "Denied",
    "EarlierAnswer",
    "EngagementDecision",
    "EngagementSignals",
    "EscalationRung",
    "Execution",
    "ExecutionSync",
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
    "Lease",
    "LeaseSync",
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
    "ScopeLost",
    "ServerUnavailable",
    "SessionEnded",
    "SessionLoadFailed",
    "SessionSaveFailed",
    "SessionStore",
    "ShownNotice",
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
    "Task",
    "TimelineItem",
    "Transmission",
    "Turn",
    "UnexpectedResponse",
    "UnfitAnswer",
    "UpstreamIntentSuspendedError",
    "VetoOutcome",
    "Workflow",
    "WorkflowError",
    "WorkflowPhase",
    "current_invocation_id",
    "needs_approval",
    "on_engagement_decision",
    "on_input_received",
    "on_input_requested",
    "on_suspension_expired",
    "suspend",
    "verify_callback",
]
