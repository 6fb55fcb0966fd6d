"""Drafting: from a caller's request to the frozen question. Policy, choices, plan, checks; nothing is stored here.

If the policy rejects sensitive data, each finding becomes a problem of the draft (:func:`with_rejections`).

Quiet attempts are decided when the question opens: an attempt waits if its rung is quiet and everybody whom it asks is
outside their hours. A shared channel, and a person without hours, is always there.

Source: API.md §2, §3, §8; RFC-0026 §4, §5; docs/decisions/0008-quiet-hours.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from core.domain.hours import quiet_times
from core.domain.people import parse_recipient
from core.domain.policy import PolicyFields, ResolvedPolicy, resolve_policy
from core.domain.redaction.kinds import Finding
from core.domain.redaction.redaction import Policy, Redaction
from core.domain.request import AskRequest, AttemptProblem, action_digest, check_request, settle_choices
from core.domain.suspension import Ask, AskFields, Choice, HumanRetryPolicy, PlannedAttempt
from core.domain.window import Window
from core.domain.wire import instant
from core.engine.channel_views import beside
from core.engine.permissions import Permissions
from core.engine.planning import AttemptPlan, Planner, reaches_nobody_now
from core.errors import AnswersUnreachable, CallbackNotAllowed, SensitiveContent
from core.ports import Agents, Responders


async def findings(redaction: Redaction, request: AskRequest) -> Sequence[Finding]:
    """What is in all of ``request`` that may not leave, beside the event loop; nothing if nobody rejects any."""
    if not redaction.rejects:
        return ()
    return await beside(redaction.findings, request)


def with_rejections(plan: AttemptPlan, found: Sequence[Finding], redaction: Redaction) -> AttemptPlan:
    """``plan`` with a problem for everything ``found``, where an attempt goes through a channel that rejects it.

    A channel that no attempt uses says nothing. Each problem names where and what kind, never what.
    """
    rejecting = [step for step in plan.attempts if redaction.policy_on(step.channel) is Policy.REJECT]
    if not rejecting:
        return plan
    return replace(plan, problems=(*plan.problems, *_problems(rejecting[0].number, rejecting[0].channel, found)))


def _problems(attempt: int, channel: str, found: Sequence[Finding]) -> Iterator[AttemptProblem]:
    for finding in found:
        message = f"{finding.path} holds what may not leave over {channel}: {finding.kind}."
        yield AttemptProblem(attempt, SensitiveContent.code, message, path=finding.path)


NOT_COUNTED = "answer_not_counted"


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that could be opened, and what its attempts would meet."""

    request: AskRequest
    choices: tuple[Choice, ...]
    resolved: ResolvedPolicy
    plan: AttemptPlan

    def ask(self, *, suspension_id: str, ref: str, intent_id: str, created_by: str, now: datetime) -> Ask:
        """The frozen question, opened at ``now``."""
        request, policy, window = self.request, self.resolved.policy, self.request.window
        asked: dict[str, Any] = {one.name: getattr(request, one.name) for one in fields(AskFields)}
        return Ask(
            id=suspension_id,
            ref=ref,
            intent_id=intent_id,
            created_by=created_by,
            question=request.question,
            response_type=request.response_type,
            choices=self.choices,
            context=request.context,
            suspended_at=now,
            attempts=self.plan.attempts,
            policy=policy,
            expires_at=None if (length := window.end_of(policy)) is None else now + length,
            with_retry_policy=self.resolved.given,
            action_digest=action_digest(request.action),
            **asked | {"timeout": window.timeout, "deadline": window.deadline},
        )


@dataclass(frozen=True, slots=True)
class Drafter:
    """Drafts questions against this installation's channels, people and platform policy."""

    planner: Planner
    permissions: Permissions
    agents: Agents
    platform: PolicyFields
    redaction: Redaction = field(default_factory=Redaction)

    def draft(
        self,
        request: AskRequest,
        created_by: str,
        agent_default: PolicyFields,
        now: datetime,
        found: Sequence[Finding] = (),
        agents: Sequence[str] = (),
    ) -> Draft:
        """As of ``now``. ``found`` is what is sensitive in the request, where a channel rejects that. ``agents`` is
        whose intent it is, beside whoever asks.

        Raises the :class:`InvalidRequest` that refuses the request as such; the plan's problems are left to
        its caller, since a preview shows them."""
        choices = settle_choices(request)
        resolved = resolve_policy(
            request.policy, agent_default, self.platform, window=request.window, fallback_policy=request.fallback_policy
        )
        check_request(request, choices, resolved)
        request = self.planner.named(request)
        self._check_callback(request, created_by)
        plan = self.planner.plan(request, resolved)
        plan = replace(plan, problems=(*plan.problems, *self._too_few(request, plan, (created_by, *agents))))
        plan = with_rejections(plan, found, self.redaction)
        unmanned = reaches_nobody_now(plan.attempts, self.permissions.responders)
        plan = replace(plan, problems=(*plan.problems, *unmanned))
        plan = _waiting_for_openings(plan, resolved.policy, request.window, self.permissions.responders, now)
        return Draft(request, choices, resolved, plan)

    def _too_few(self, request: AskRequest, plan: AttemptPlan, agents: Sequence[str]) -> Iterator[AttemptProblem]:
        """Where more answers are needed than people may ever give one."""
        needed = request.answers_required
        if needed == 1:
            return
        people = self.permissions.who_could_answer(request, plan.attempts, agents)
        if len(people) < needed:
            message = f"answers_required is {needed}, and {len(people)} may answer this question."
            yield AttemptProblem(1, AnswersUnreachable.code, message, path="answers_required")
        asked = dict.fromkeys((*request.responders, *(one for step in plan.attempts for one in step.recipients)))
        for recipient in map(parse_recipient, asked):
            if recipient.is_mailbox and not self.permissions.responders.is_known(recipient.identity):
                message = f"{recipient.value} is not in the directory; of several answers, theirs does not count."
                yield AttemptProblem(1, NOT_COUNTED, message, fatal=False)

    def _check_callback(self, request: AskRequest, created_by: str) -> None:
        url = request.resume.callback_url
        if url is not None and (problem := self.agents.may_call(created_by, url)) is not None:
            raise CallbackNotAllowed(problem, path="resume.callback_url")


WAITS = "waits_for_opening"


def _waiting_for_openings(
    plan: AttemptPlan, policy: HumanRetryPolicy, window: Window, responders: Responders, now: datetime
) -> AttemptPlan:
    """The plan with the times of its quiet attempts, and a notice about each that waits."""
    if not any(step.quiet for step in plan.attempts):
        return plan
    due = [now + policy.due_after(step.number) for step in plan.attempts]
    opens = [_opening(step, at, responders) for step, at in zip(plan.attempts, due, strict=True)]
    times = quiet_times(due, opens, _latest(policy, window, now))
    steps = tuple(
        replace(step, waits_until=at) if at > own else step
        for step, own, at in zip(plan.attempts, due, times, strict=True)
    )
    return replace(plan, attempts=steps, problems=(*plan.problems, *_notices(steps)))


def _latest(policy: HumanRetryPolicy, window: Window, now: datetime) -> datetime | None:
    """As for claims: nothing waits into the last half interval before the end (API.md §3)."""
    length = window.end_of(policy)
    return None if length is None or policy.interval is None else now + length - policy.interval / 2


def _opening(step: PlannedAttempt, at: datetime, responders: Responders) -> datetime | None:
    """When the first of those whom a quiet attempt asks is there, ``None`` for one that is not quiet."""
    if not step.quiet:
        return None
    addresses = [address for name in step.recipients for address in responders.addresses(name, step.channel)]
    opens = [at if one.person is None else responders.next_opening(one.person, at) for one in addresses]
    return min((opening for opening in opens if opening is not None), default=None)


def _notices(steps: tuple[PlannedAttempt, ...]) -> Iterator[AttemptProblem]:
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        if step.waits_until is None:
            continue
        until = f"Nobody whom attempt {step.number} asks is at work then: it waits until {instant(step.waits_until)}"
        if following is not None and following.waits_until == step.waits_until:
            until += f", and attempt {following.number} is sent instead"
        yield AttemptProblem(step.number, WAITS, f"{until}.", fatal=False)
