"""Ask a person from an AI agent, and go on when they have answered."""

from handraise.callbacks import Resumed, verify_callback
from handraise.client import Handraise
from handraise.errors import (
    ConfigurationError,
    HandraiseError,
    InputCancelledError,
    InputTimeoutError,
    InvalidCallback,
    NotAnswered,
    RequestRefused,
    ServerUnavailable,
    UnexpectedResponse,
)
from handraise.questions import EscalationRung, HumanRetryPolicy, ResumeTarget, SuspensionChoice
from handraise.records import InputResponse, Suspended, SuspensionRecord

__all__ = [
    "ConfigurationError",
    "EscalationRung",
    "Handraise",
    "HandraiseError",
    "HumanRetryPolicy",
    "InputCancelledError",
    "InputResponse",
    "InputTimeoutError",
    "InvalidCallback",
    "NotAnswered",
    "RequestRefused",
    "ResumeTarget",
    "Resumed",
    "ServerUnavailable",
    "Suspended",
    "SuspensionChoice",
    "SuspensionRecord",
    "UnexpectedResponse",
    "verify_callback",
]
