"""Ask a person from an AI agent, and go on when they have answered."""

from handraise.callbacks import Resumed, verify_callback
from handraise.client import Handraise
from handraise.errors import (
    ConfigurationError,
    HandraiseError,
    InvalidCallback,
    ReceiptRefused,
    RequestRefused,
    ServerUnavailable,
    UnexpectedResponse,
)
from handraise.questions import EscalationRung, HumanRetryPolicy, ResumeTarget, SuspensionChoice
from handraise.records import (
    Clarification,
    GivenAnswer,
    InputCancelledError,
    InputResponse,
    InputTimeoutError,
    NotAnswered,
    Suspended,
    SuspensionRecord,
)

__all__ = [
    "Clarification",
    "ConfigurationError",
    "EscalationRung",
    "GivenAnswer",
    "Handraise",
    "HandraiseError",
    "HumanRetryPolicy",
    "InputCancelledError",
    "InputResponse",
    "InputTimeoutError",
    "InvalidCallback",
    "NotAnswered",
    "ReceiptRefused",
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
