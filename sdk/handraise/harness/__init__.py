"""The harness: between a transport and a :class:`handraise.Runner` that may be suspended.

A transport (an HTTP route, a queue, a command line) hands over a transmission. ``classification`` says which path it
takes, before anything runs. ``harness`` runs one turn, which is one call of ``invoke()``, and ``outbound`` is the reply
to the caller: completed, suspended or an error, each in a shape of its own. ``buckets`` say what the caller may do
about an error. ``signal_coordinator`` brings a signal back to the invocation that waits for it.

Read ``classification``, ``outbound``, ``harness``; then ``signal_coordinator`` and ``buckets``. ``errors`` are the four
categories of the specification.

What must never be: a turn that waits for a person, a transmission that takes two paths, a signal that answers another
key's question or runs a node twice, and a suspended invocation that nothing leads back to.

Source: OpenArmature harness; ``docs/how-to/harness.md``.
"""

from handraise.harness.buckets import BUCKETS, Bucket, Categorized, categorized
from handraise.harness.classification import DispatchPath, HarnessMode, InboundDispatch, Transmission, classify
from handraise.harness.errors import (
    HarnessError,
    HarnessPathClassificationAmbiguous,
    HarnessSessionIdUnresolved,
    HarnessSignalCorrelationFailed,
    HarnessSignalSubscriptionFailed,
)
from handraise.harness.harness import Harness, payload_session
from handraise.harness.outbound import (
    CompletionResponse,
    ErrorResponse,
    NotAnsweredResponse,
    Outbound,
    ResumedAcknowledgment,
    SuspendedAcknowledgment,
    outbound_of,
)
from handraise.harness.signal_coordinator import SignalCoordinator

__all__ = [
    "BUCKETS",
    "Bucket",
    "Categorized",
    "CompletionResponse",
    "DispatchPath",
    "ErrorResponse",
    "Harness",
    "HarnessError",
    "HarnessMode",
    "HarnessPathClassificationAmbiguous",
    "HarnessSessionIdUnresolved",
    "HarnessSignalCorrelationFailed",
    "HarnessSignalSubscriptionFailed",
    "InboundDispatch",
    "NotAnsweredResponse",
    "Outbound",
    "ResumedAcknowledgment",
    "SignalCoordinator",
    "SuspendedAcknowledgment",
    "Transmission",
    "categorized",
    "classify",
    "outbound_of",
    "payload_session",
]
