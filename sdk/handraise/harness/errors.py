"""Errors of the harness itself, before or after a turn. No message holds an answer.

Source: OpenArmature harness §10.
"""

from __future__ import annotations

from typing import ClassVar

from handraise.errors import HandraiseError


class HarnessError(HandraiseError):
    """The root of the four. ``category`` is the code of OpenArmature harness §10."""

    category: ClassVar[str]


class HarnessPathClassificationAmbiguous(HarnessError):
    """The transmission could take two paths, or none: its stated intent and its fields disagree."""

    category = "harness_path_classification_ambiguous"


class HarnessSessionIdUnresolved(HarnessError):
    """The transmission continues a session and names none, or an invalid id."""

    category = "harness_session_id_unresolved"


class HarnessSignalSubscriptionFailed(HarnessError):
    """The suspended invocation has no way back, so that the suspension is an error. Its question was taken back."""

    category = "harness_signal_subscription_failed"


class HarnessSignalCorrelationFailed(HarnessError):
    """No invocation waits for the signal (yet). Nothing of it is kept: send it again."""

    category = "harness_signal_correlation_failed"
