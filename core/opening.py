"""From what a caller asks for to the frozen question: policy, choices, plan, checks. Nothing is stored here.

Source: API.md §2, §3; RFC-0026 §4, §5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.domain.asking import AskRequest, action_digest, check_request, settle_choices
from core.domain.people import Recipient, RecipientKind
from core.domain.policy import PolicyFields, ResolvedPolicy, resolve_policy
from core.domain.redaction import Redaction
from core.domain.suspension import Ask, Choice
from core.electorate import who_could_answer
from core.errors import AnswersUnreachable, CallbackNotAllowed, InvalidRequest
from core.planning import Plan, Planner, Problem, parse_named
from core.ports import Agents, Responders
from core.sensitive import with_rejections


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that could be opened, and what its attempts would meet."""

    request: AskRequest
    choices: tuple[Choice, ...]
    resolved: ResolvedPolicy
    plan: Plan

    def ask(self, *, suspension_id: str, ref: str, intent_id: str, created_by: str, now: datetime) -> Ask:
        """The frozen question, opened at ``now``."""
        request, policy = self.request, self.resolved.policy
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
            channel_hint=request.channel_hint,
            notify_to=request.notify_to,
            responders=request.responders,
            answers_required=request.answers_required,
            timeout=request.timeout,
            expires_at=None if policy.interval is None else now + policy.interval * policy.max_attempts,
            fallback_value=request.fallback_value,
            with_retry_policy=self.resolved.given,
            confidence=request.confidence,
            decision_record=request.decision_record,
            kind=request.kind,
            action=request.action,
            action_digest=action_digest(request.action),
            form_schema=request.form_schema,
            on_behalf_of=request.on_behalf_of,
            resume=request.resume,
            traceparent=request.traceparent,
        )


@dataclass(frozen=True, slots=True)
class Drafter:
    """Drafts questions against this installation's channels, people and platform policy."""

    planner: Planner
    responders: Responders
    agents: Agents
    platform: PolicyFields
    allow_self_response: bool = False
    redaction: Redaction = field(default_factory=Redaction)

    def draft(self, request: AskRequest, created_by: str, agent_default: PolicyFields) -> Draft:
        """Raises the :class:`InvalidRequest` that refuses the request as such; the plan's problems are left to
        its caller, since a preview shows them."""
        choices = settle_choices(request)
        resolved = resolve_policy(
            request.policy,
            agent_default,
            self.platform,
            timeout=request.timeout,
            fallback_policy=request.fallback_policy,
        )
        check_request(request, choices, resolved)
        self._check_people(request)
        self._check_callback(request, created_by)
        plan = self.planner.plan(request, resolved.policy)
        problems = (*plan.problems, *self._too_few(request, plan, created_by))
        plan = with_rejections(replace(plan, problems=problems), request, choices, self.redaction)
        return Draft(request, choices, resolved, plan)

    def _too_few(self, request: AskRequest, plan: Plan, created_by: str) -> Iterator[Problem]:
        """Where more answers are needed than people may ever give one."""
        needed = request.answers_required
        if needed == 1:
            return
        allow_self = self.allow_self_response
        people = who_could_answer(request, plan.attempts, created_by, self.responders, allow_self=allow_self)
        if len(people) < needed:
            message = f"answers_required is {needed}, and {len(people)} may answer this question."
            yield Problem(1, AnswersUnreachable.code, message, path="answers_required")

    def _check_people(self, request: AskRequest) -> None:
        for index, name in enumerate(request.responders):
            path = f"responders.{index}"
            recipient = parse_named(name, path)
            self._check_group(recipient, path)
        if request.notify_to is not None:
            self._check_group(parse_named(request.notify_to, "notify_to"), "notify_to")

    def _check_group(self, recipient: Recipient, path: str) -> None:
        if recipient.kind is RecipientKind.GROUP and not self.responders.known_group(recipient.value):
            raise InvalidRequest(f"There is no group {recipient.value!r}.", path=path)
        if recipient.kind is RecipientKind.SCHEDULE and not self.responders.asks_elsewhere:
            raise InvalidRequest("Who is on call is not known here: pagerduty.api_token is not set.", path=path)

    def _check_callback(self, request: AskRequest, created_by: str) -> None:
        url = request.resume.callback_url
        if url is not None and (problem := self.agents.may_call(created_by, url)) is not None:
            raise CallbackNotAllowed(problem, path="resume.callback_url")
