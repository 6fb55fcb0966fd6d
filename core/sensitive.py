"""Questions that may not leave as they are, where the policy is to reject them. Source: API.md §2, §8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core.domain.asking import AskRequest
from core.domain.redaction import Policy, Redaction
from core.domain.suspension import Choice
from core.errors import SensitiveContent
from core.planning import Plan, Problem


def with_rejections(plan: Plan, request: AskRequest, choices: tuple[Choice, ...], redaction: Redaction) -> Plan:
    """``plan`` with a problem for every finding, where an attempt goes through a channel that rejects them.

    A channel that no attempt uses says nothing. Each problem names where and what kind, never what.
    """
    rejecting = [step for step in plan.attempts if redaction.policy_on(step.channel) is Policy.REJECT]
    if not rejecting:
        return plan
    found = _problems(rejecting[0].number, rejecting[0].channel, request, choices, redaction)
    return replace(plan, problems=(*plan.problems, *found))


def _problems(
    attempt: int, channel: str, request: AskRequest, choices: tuple[Choice, ...], redaction: Redaction
) -> Iterator[Problem]:
    for finding in redaction.findings(request, choices):
        message = f"{finding.path} holds what may not leave over {channel}: {finding.kind}."
        yield Problem(attempt, SensitiveContent.code, message, path=finding.path)
