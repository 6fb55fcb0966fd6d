"""Planning: the recipients and the channel of each attempt. Frozen into the record when the question opens.

Source: API.md §2, "Whom to ask"; RFC-0026 §4.2(3), §11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from core.domain.channels import RecipientKind
from core.domain.people import Recipient, parse_recipient
from core.domain.policy import PolicyFields, ResolvedPolicy
from core.domain.request import AskRequest, AttemptProblem
from core.domain.suspension import HumanRetryPolicy, PlannedAttempt, Rung
from core.domain.wire import seconds
from core.errors import (
    AnswersUnreachable,
    InvalidRecipient,
    InvalidRequest,
    NoRecipient,
    RecipientNotAllowed,
    SensitiveContent,
    UnknownChannel,
)
from core.ports import Responders
from core.store.outbox import NOBODY_ON_CALL


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    attempts: tuple[PlannedAttempt, ...]
    problems: tuple[AttemptProblem, ...]

    def check(self) -> None:
        """Raises the first problem that refuses the suspension; its ``fields`` name every one of its kind."""
        fatal = [problem for problem in self.problems if problem.fatal]
        if fatal:
            refusal = _ERRORS[fatal[0].code](fatal[0].message)
            refusal.details.update(_fields(fatal))
            raise refusal


def _fields(fatal: Sequence[AttemptProblem]) -> dict[str, JsonValue]:
    """Each field once, as the envelope of a 422 has them."""
    named = {problem.path: problem.message for problem in fatal if problem.code == fatal[0].code and problem.path}
    return {"fields": [{"path": path, "message": said} for path, said in named.items()]} if named else {}


_ERRORS: Mapping[str, type[InvalidRequest]] = {
    error.code: error
    for error in (UnknownChannel, NoRecipient, RecipientNotAllowed, AnswersUnreachable, SensitiveContent)
}


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans against the channels and the directory of this installation. ``paging`` are the channels that reach
    whoever is on call."""

    responders: Responders
    channels: Collection[str]
    default_channel: str | None
    paging: Collection[str] = frozenset()

    def named(self, request: AskRequest) -> AskRequest:
        """Each reference in its one spelling. Raises :class:`InvalidRequest`, which names the field."""
        responders = [self._written(name, f"responders.{index}") for index, name in enumerate(request.responders)]
        notify_to = request.notify_to
        if notify_to is not None:
            notify_to = self._written(notify_to, "notify_to")
        return replace(request, responders=tuple(responders), notify_to=notify_to)

    def _written(self, name: str, path: str) -> str:
        recipient = parse_named(name, path)
        self._check_group(recipient, path)
        return str(recipient)

    def _check_group(self, recipient: Recipient, path: str) -> None:
        if recipient.kind is RecipientKind.GROUP and not self.responders.known_group(recipient.value):
            raise InvalidRequest(f"There is no group {recipient.value!r}.", path=path)
        if recipient.kind is RecipientKind.SCHEDULE and not self.responders.asks_elsewhere:
            raise InvalidRequest("Who is on call is not known here: pagerduty.api_token is not set.", path=path)

    def plan(self, request: AskRequest, resolved: ResolvedPolicy) -> AttemptPlan:
        """Every attempt of the policy; raises :class:`InvalidRecipient` for a reference of no known form."""
        policy = resolved.policy
        rungs = {rung.attempt: rung for rung in policy.escalation_ladder}
        problems = [*_dropped(request, resolved), *self._not_allowed(request, policy)]
        steps = []
        for number in range(1, policy.max_attempts + 1):
            rung = rungs.get(number)
            step, found = self._step(request, number, rung)
            steps.append(step)
            problems += found
        return AttemptPlan(tuple(steps), tuple(problems))

    def _step(self, request: AskRequest, number: int, rung: Rung | None) -> tuple[PlannedAttempt, list[AttemptProblem]]:
        own = rung.channel_hint if rung else None
        channel = own or request.channel_hint or self.default_channel or ""
        notify_to = (rung.notify_to if rung else None) or request.notify_to
        problems = []
        if channel not in self.channels:
            path = "retry_policy.escalation_ladder" if own else "channel_hint"
            known = ", ".join(sorted(self.channels)) or "none is set up"
            said = f"There is no channel {channel!r} here" if channel else "There is no channel"
            problems.append(
                AttemptProblem(number, UnknownChannel.code, f"{said}; expected one of: {known}.", path=path)
            )
            recipients: tuple[str, ...] = ()
        else:
            recipients, problems = self._recipients(request, number, rung, channel)
        quiet = rung is not None and rung.quiet
        return PlannedAttempt(number, channel, notify_to, recipients, rung=rung is not None, quiet=quiet), problems

    def _recipients(
        self, request: AskRequest, number: int, rung: Rung | None, channel: str
    ) -> tuple[tuple[str, ...], list[AttemptProblem]]:
        """The first that fits the channel: the rung's, the call's, the responders reachable there, the default."""
        problems = []
        for given in filter(None, (rung.notify_to if rung else None, request.notify_to)):
            if self.responders.addresses(given, channel):
                return (str(parse_recipient(given)),), self._page_warning(given, number, channel)
            message = f"{given} is not reachable on {channel}; the next recipient that is will be asked."
            problems.append(AttemptProblem(number, "recipient_unreachable", message, fatal=False))
        reachable = tuple(name for name in request.responders if self.responders.addresses(name, channel))
        for recipients in (reachable, tuple(self.responders.defaults(channel))):
            if recipients:
                return recipients, problems
        message = f"Nobody is reachable on {channel} at attempt {number}, and no default is configured."
        return (), [*problems, AttemptProblem(number, NoRecipient.code, message, path="notify_to")]

    def _page_warning(self, given: str, number: int, channel: str) -> list[AttemptProblem]:
        """A person there may be reached through the default service, which pages whoever is on call; so is whoever is
        on call by a schedule."""
        if channel not in self.paging or self.responders.surely_asks(given, channel):
            return []
        message = f"The default service is paged, not {given} alone; {given} may answer."
        return [AttemptProblem(number, "pages_service_only", message, fatal=False)]

    def _not_allowed(self, request: AskRequest, policy: HumanRetryPolicy) -> Sequence[AttemptProblem]:
        """Everybody named anywhere has to be on the allow-list, whether they are asked or may only answer."""
        named = [("notify_to", 1, request.notify_to)]
        named += [(f"responders.{index}", 1, name) for index, name in enumerate(request.responders)]
        ladder = "retry_policy.escalation_ladder"
        named += [(ladder, rung.attempt, rung.notify_to) for rung in policy.escalation_ladder]
        problems = []
        for path, attempt, name in named:
            if name is None:
                continue
            parse_named(name, path)
            if not self.responders.allowed(name):
                message = f"{name} is not among the recipients that this service may ask."
                problems.append(AttemptProblem(attempt, RecipientNotAllowed.code, message, path=path))
        return problems


def schedules_in(request: AskRequest, *levels: PolicyFields) -> Sequence[str]:
    """The on-call schedules that ``request`` names, or the ladder of any of these ``levels``, each once."""
    rungs = (rung for level in (request.policy, *levels) for rung in level.escalation_ladder or ())
    named = (request.notify_to, *request.responders, *(rung.notify_to for rung in rungs))
    return [name for name in dict.fromkeys(named) if name is not None and _is_schedule(name)]


def _is_schedule(name: str) -> bool:
    try:
        return parse_recipient(name).kind is RecipientKind.SCHEDULE
    except InvalidRecipient:
        return False


ON_CALL_UNREACHABLE = "on_call_unreachable"


def reaches_nobody_now(steps: Sequence[PlannedAttempt], responders: Responders) -> Iterator[AttemptProblem]:
    """Where nobody could be asked by an attempt's schedule at this moment, as far as its people are known."""
    for step in steps:
        for name in filter(_is_schedule, step.recipients):
            people = responders.known_on_call(name)
            if people is None:
                continue
            then = "If it is so when this attempt is due, the next one is due at once."
            if not people:
                message = f"Nobody whom this service may ask is on call by {name} now. {then}"
                yield AttemptProblem(step.number, NOBODY_ON_CALL, message, fatal=False)
            elif not any(responders.addresses(one, step.channel) for one in people):
                message = f"Nobody who is on call by {name} now is reachable on {step.channel}. {then}"
                yield AttemptProblem(step.number, ON_CALL_UNREACHABLE, message, fatal=False)


DROPPED = "attempts_dropped"


def _dropped(request: AskRequest, resolved: ResolvedPolicy) -> Iterator[AttemptProblem]:
    """Attempts that come too late for the window: they are never made."""
    if not resolved.dropped:
        return
    window, remaining = request.window, resolved.policy.max_attempts
    field = "timeout_seconds" if window.is_veto else "deadline_seconds"
    which = f"Attempt {remaining + 1} is"
    if resolved.dropped > 1:
        which = f"Attempts {remaining + 1} to {remaining + resolved.dropped} are"
    message = f"{which} dropped: they would be due after the end, by {field} ({seconds(window.length)})."
    yield AttemptProblem(remaining + 1, DROPPED, message, fatal=False, path=field)


def parse_named(text: str, path: str) -> Recipient:
    """The recipient in a request field; the error names the field."""
    try:
        return parse_recipient(text)
    except InvalidRecipient as refusal:
        raise InvalidRecipient(refusal.message, recipient=text, path=path) from None
